"""Queries over typed-in runs: rows, types, several runs and hosts, kept tables, limits and errors."""

from __future__ import annotations

import io
import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from builders.logdirs import settle, write
from builders.planes import host, profile, tpu

import tpu_profile_plugin as tp
from tpu_profile_plugin import sql
from tpu_profile_plugin.errors import BadRequest, MissingPackage, NotFound, QueryFailed, QueryRefused, QueryStopped
from tpu_profile_plugin.opening import OpenLogdir
from tpu_profile_plugin.sql import running
from tpu_profile_plugin.sql.table_files import TableFiles

US = 10**6
STEPS = "0 100 1 {_ct=9, _c=1}\n100 100 2 {_ct=9, _c=2}"
FIRST = tpu("0 40 fusion.1\n60 30 fusion.2\n100 100 fusion.1", steps=STEPS)
SECOND = tpu("0 50 fusion.1\n60 30 fusion.2\n100 100 fusion.1", steps=STEPS)


def logdir(root: Path, **runs: tuple[str | bytes, ...]) -> OpenLogdir:
    """Runs by name, each with the profiles of its hosts h0, h1, ..."""
    files = {
        f"{run}/plugins/profile/2026_01_01/h{number}.xplane.pb": text
        for run, texts in runs.items()
        for number, text in enumerate(texts)
    }
    return tp.open(write(root, files))


def rows(result: Any) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in result]


def test_a_query_reads_all_runs_and_hosts(tmp_path: Path) -> None:
    opened = logdir(tmp_path, a=(FIRST, SECOND), b=(SECOND,))
    result = opened.sql("SELECT run, host, sum(self_ps) AS busy_ps, count(*) AS n FROM ops GROUP BY ALL ORDER BY ALL")
    assert rows(result) == [
        ("a/2026_01_01", "h0", 170 * US, 2),
        ("a/2026_01_01", "h1", 180 * US, 2),
        ("b/2026_01_01", "h0", 180 * US, 2),
    ]
    assert (result.cut, result.notes, len(result)) == (False, (), 3)
    assert [column.unit for column in result.columns] == ["", "", "ps", ""]
    assert result.columns[0].sentence == "Name of the run."


def test_runs_are_chosen_by_pattern_and_by_name(tmp_path: Path) -> None:
    opened = logdir(tmp_path, train_1=(FIRST,), train_2=(FIRST,), serve=(FIRST,))
    names = "SELECT DISTINCT run FROM steps ORDER BY 1"
    assert rows(opened.sql(names, "train*")) == [("train_1/2026_01_01",), ("train_2/2026_01_01",)]
    assert rows(opened.sql(names, ["serve/2026_01_01"])) == [("serve/2026_01_01",)]
    with pytest.raises(NotFound, match=r"No run matches 'x\*'; there are"):
        opened.sql(names, "x*")
    with pytest.raises(NotFound, match="There is no run 'train_3'"):
        opened.sql(names, ["train_3"])
    with pytest.raises(NotFound, match="No profile found"):
        tp.open(write(tmp_path / "empty", {"nothing": None})).sql(names)


def test_values_keep_their_types(tmp_path: Path) -> None:
    result = logdir(tmp_path, a=(FIRST,)).sql("""
        SELECT 9007199254740993 AS whole, sum(9007199254740993) AS total, 2.5 AS part, sum(1e30::HUGEINT) AS huge,
               NULL AS nothing, 'ä' AS letters, true AS flag, [1, 2] AS list, {'a': 1} AS struct,
               DATE '2026-01-02' AS day, INTERVAL 1 DAY AS span, 1 AS a, 2 AS a,
               CASE WHEN count(*) > 5 THEN 1 END AS absent, 0.5::DOUBLE AS half_ms
        FROM range(1)
    """)
    (row,) = result
    assert row == {
        **{"whole": 9007199254740993, "total": 9007199254740993, "part": 2.5, "huge": 1e30, "nothing": None},
        **{"letters": "ä", "flag": True, "list": "[1, 2]", "struct": "{'a': 1}", "day": "2026-01-02"},
        **{"span": row["span"], "a": 1, "a_2": 2, "absent": None, "half_ms": 0.5},
    }
    assert {column.id: column.unit for column in result.columns if column.unit} == {"half_ms": "ms"}
    assert result.to_arrow().schema.field("list").type == pyarrow.list_(pyarrow.int32())
    assert result.to_arrow().schema.field("total").type == pyarrow.int64()
    assert result["whole"].tolist() == [9007199254740993]
    assert result.to_pandas()["total"].tolist() == [9007199254740993]


def test_a_result_in_other_forms(tmp_path: Path) -> None:
    result = logdir(tmp_path, a=(FIRST,)).sql(
        """SELECT name, self_ps FROM ops UNION ALL SELECT 'a,"b"', NULL ORDER BY 2"""
    )
    assert result.to_csv() == f'name,self_ps\nfusion.2,{30 * US}\nfusion.1,{140 * US}\n"a,""b""",\n'
    assert json.loads(result.to_json())[0] == {"name": "fusion.2", "self_ps": 30 * US}
    assert pyarrow.parquet.read_table(io.BytesIO(result.to_parquet())).to_pylist() == result.to_arrow().to_pylist()
    assert pyarrow.table(result).num_rows == 3
    assert "<td" in result._repr_html_()
    assert repr(result) == "<Result, 3 rows: name, self_ps>"
    assert result.table.units == ["", "ps"]


def test_a_mean_may_have_the_name_of_a_column(tmp_path: Path) -> None:
    mean = "SELECT avg(duration_ps) + 0.5 AS duration_ps, max(name) AS number FROM steps"
    result = logdir(tmp_path, a=(FIRST,)).sql(mean)
    assert result["duration_ps"].tolist() == [100 * US + 0.5]
    assert [(column.id, column.unit, column.type) for column in result.columns] == [
        ("duration_ps", "ps", "number"),
        ("number", "", "string"),
    ]


def test_more_rows_than_the_limit_are_cut_and_told(tmp_path: Path) -> None:
    opened = logdir(tmp_path, a=(FIRST,))
    result = opened.sql("SELECT range FROM range(1000000000000)", rows=10)
    assert (result["range"].tolist(), result.cut) == (list(range(10)), True)
    assert result.notes == ("Only the first 10 rows are shown.",)
    assert not opened.sql("SELECT range FROM range(10)", rows=10).cut


def test_tables_are_made_once_for_each_content_of_the_files(tmp_path: Path, tables: Path) -> None:
    opened = logdir(tmp_path, a=(FIRST, SECOND))
    count = "SELECT sum(self_ps) AS s FROM ops"

    def made() -> dict[str, int]:
        return {path.name: path.stat().st_mtime_ns for path in tables.glob("*/*") if len(path.name) == 32}

    assert rows(opened.sql(count)) == [(350 * US,)]
    first = made()
    assert len(first) == 1  # of `ops` only
    assert rows(opened.sql("DESCRIBE steps"))[0][:2] == ("run", "VARCHAR")
    assert rows(tp.open(tmp_path).sql(count)) == [(350 * US,)]
    assert made().keys() == first.keys()
    write(tmp_path, {"a/plugins/profile/2026_01_01/h0.xplane.pb": tpu("0 7 fusion.9", steps=STEPS)})
    settle(tmp_path, 1800)
    assert rows(opened.sql(count)) == [(187 * US,)]
    assert len(made()) == 2
    for path in tables.glob("*/*"):
        path.write_bytes(b"damaged")
    assert rows(opened.sql(count)) == [(187 * US,)]


@pytest.mark.parametrize("content", [b"damaged", b"PAR1" + b"\0" * 99 + b"PAR1", None])
def test_a_damaged_or_lost_table_is_made_again(tmp_path: Path, tables: Path, content: bytes | None) -> None:
    opened = logdir(tmp_path, a=(FIRST,))
    assert rows(opened.sql("SELECT count(*) FROM ops")) == [(2,)]
    (file,) = (path for path in tables.glob("*/*") if len(path.name) == 32)
    file.unlink()
    if content is not None:
        file.write_bytes(content)
    assert rows(opened.sql("SELECT count(*) FROM ops")) == [(2,)]


@pytest.mark.skipif(os.name == "nt", reason="Windows does this otherwise")
def test_tables_are_private(tmp_path: Path, tables: Path) -> None:
    logdir(tmp_path, a=(FIRST,)).sql("FROM steps")
    assert tables.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o077 for path in tables.glob("*/*")} == {0}


def test_tables_may_be_in_any_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = logdir(tmp_path, a=(FIRST,)).runs()
    monkeypatch.chdir(tmp_path)
    for directory in ("it's [one]", "ü=3 {a,b}"):
        files = TableFiles(Path(directory), 1 << 20)
        assert rows(sql.start(runs, "SELECT count(*) FROM ops", files=files).result()) == [(2,)]


def test_a_cache_that_is_too_small_for_the_runs_is_told(tmp_path: Path) -> None:
    runs = logdir(tmp_path, a=(FIRST,), b=(FIRST,)).runs()
    files = TableFiles(tmp_path / "small", 1000)
    with pytest.raises(QueryStopped, match="The table ops is deleted while it is used"):
        sql.start(runs, "FROM ops", files=files).result()


@pytest.mark.parametrize(
    "limits", [{"rows": 0}, {"seconds": -1.0}, {"seconds": float("inf")}, {"seconds": float("nan")}]
)
def test_limits_are_positive_and_finite(tmp_path: Path, limits: dict[str, Any]) -> None:
    with pytest.raises(BadRequest, match="must be more than 0, and at most"):
        logdir(tmp_path, a=(FIRST,)).sql("SELECT 1", **limits)


def test_profiles_in_memory_are_told_apart_by_their_bytes(tmp_path: Path) -> None:
    texts = [FIRST, FIRST.replace("+40us", "+41us")]
    contents = [logdir(tmp_path / str(i), a=(text,)).run().profiles[0].data.tobytes() for i, text in enumerate(texts)]
    assert len(contents[0]) == len(contents[1])
    sums = [rows(tp.open(data).sql("SELECT sum(self_ps) FROM ops")) for data in contents]
    assert sums == [[(170 * US,)], [(171 * US,)]]


def test_hosts_and_runs_that_cannot_be_read_are_told(tmp_path: Path) -> None:
    opened = logdir(tmp_path, a=(FIRST, b"\xff" * 9), b=(b"\xff" * 9,))
    for _ in range(2):  # the second time from the kept table
        result = opened.sql("SELECT run, host FROM ops GROUP BY ALL")
        assert rows(result) == [("a/2026_01_01", "h0")]
        assert sorted(note.partition(":")[0] for note in result.notes) == [
            "Host h1 is left out",
            "Run b/2026_01_01 is left out",
        ]
    with pytest.raises(Exception, match="XSpace") as error:
        opened.sql("FROM ops", "b*")
    assert type(error.value).__name__ == "CorruptProfile"


def test_a_table_without_rows_has_its_columns(tmp_path: Path) -> None:
    opened = logdir(tmp_path, a=(host("0 5 work"),))
    result = opened.sql("SELECT run, count(*) AS n, sum(duration_ps) AS s FROM collectives GROUP BY run")
    assert (len(result), list(result.to_arrow().schema.names)) == (0, ["run", "n", "s"])
    assert rows(opened.sql("SELECT sum(bytes) FROM collectives")) == [(None,)]


def test_tables_can_be_described(tmp_path: Path) -> None:
    opened = logdir(tmp_path, a=(FIRST,))
    assert [row[0] for row in rows(opened.sql("SHOW TABLES"))] == sorted(table.name for table in sql.schema())
    for table in sql.schema():
        described = opened.sql(f"DESCRIBE {table.name}")
        kept = opened.sql(f"DESCRIBE SELECT * FROM {table.name} WHERE false")
        assert described.to_arrow()["column_name"].to_pylist() == [column.id for column in table.columns]
        assert rows(described) == rows(kept)
    read = opened.sql("SELECT column_name, count FROM (SUMMARIZE ops)", rows=3)
    assert rows(read) == [("run", 2), ("host", 2), ("backend", 2)]
    assert "plan" in rows(opened.sql("EXPLAIN SELECT count(*) FROM ops"))[0][0]


def test_declared_types_are_those_of_the_files(tmp_path: Path) -> None:
    """A table without a file is made of declarations: its columns must have the types that files have."""
    opened = logdir(tmp_path, a=(profile(FIRST, host("0 5 work")),))
    for table in sql.schema():
        declared = rows(opened.sql(f"DESCRIBE {table.name}"))
        file = rows(opened.sql(f"SELECT column_name, column_type FROM (SUMMARIZE SELECT * FROM {table.name})"))
        assert [row[:2] for row in declared] == file, table.name


@pytest.mark.parametrize(
    ("statement", "message", "place"),
    [
        ("SELEC 1", "syntax error", (1, 1)),
        ("SELECT name,\n  'ü', nme FROM ops", 'Referenced column "nme" not found', (2, 8)),
        ("SELECT nofunction(1)", r"The function nofunction\(\) is not allowed", (1, 8)),
        ("SELECT 'ü',\n* FROM opz", "There is no table 'opz'.* Did you mean ops", (2, 8)),
        ("EXPLAIN\nSELECT 'ü' FROM opz", "There is no table 'opz'", (2, 17)),
        (f"SELECT '{'x' * 300}', nme, '{'y' * 300}' FROM ops", 'column "nme"', (1, 312)),
    ],
)
def test_errors_have_a_place(tmp_path: Path, statement: str, message: str, place: tuple[int, int]) -> None:
    with pytest.raises((QueryFailed, QueryRefused), match=message) as error:
        logdir(tmp_path, a=(FIRST,)).sql(statement)
    assert (error.value.details["line"], error.value.details["column"]) == place
    assert "LINE" not in error.value.message
    assert str(tmp_path) not in error.value.message


def test_a_value_that_cannot_be_converted_is_named(tmp_path: Path) -> None:
    with pytest.raises(QueryFailed, match="Could not convert string 'h0'"):
        logdir(tmp_path, a=(FIRST,)).sql("SELECT host::INT FROM ops")


def test_a_query_can_be_cancelled(tmp_path: Path) -> None:
    runs = logdir(tmp_path, a=(FIRST,)).runs()
    query = sql.start(runs, "SELECT count(*) FROM range(10000000) a, range(10000000) b WHERE a.range * b.range = 7")
    while (state := query.status().state) != "running":
        assert state in ("waiting", "reading")
        time.sleep(0.01)
    with pytest.raises(TimeoutError):
        query.result(0.01)
    query.cancel()
    with pytest.raises(QueryStopped, match="cancelled"):
        query.result(10)
    assert query.status().state == "cancelled"
    assert query.status().elapsed_s == query.status().elapsed_s > 0
    query.cancel()
    again = sql.start(runs, "SELECT 1 AS one")
    assert rows(again.result(10)) == [(1,)]
    again.cancel()
    assert again.status().state == "done"


def test_a_cancelled_reader_leaves_no_table(tmp_path: Path, tables: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tpu_profile_plugin.sql import table_files

    write_parquet, reached, go = table_files.write_parquet, threading.Event(), threading.Event()

    def slow(stream: Any, target: Any, on_rows: Any) -> int:
        reached.set()
        go.wait(10)
        return write_parquet(stream, target, on_rows)

    monkeypatch.setattr(table_files, "write_parquet", slow)
    runs = logdir(tmp_path, a=(FIRST,)).runs()
    first, second = (sql.start(runs, "SELECT count(*) AS n FROM ops") for _ in range(2))
    reached.wait(10)
    assert {first.status().state, second.status().state} <= {"waiting", "reading"}
    first.cancel()
    go.set()
    with pytest.raises(QueryStopped, match="cancelled"):
        first.result(10)
    assert rows(second.result(10)) == [(2,)]
    assert not list(tables.glob(".new-*"))


def test_time_is_limited(tmp_path: Path) -> None:
    endless = "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT count(*) FROM t"
    with pytest.raises(QueryStopped, match=r"longer than 0\.3 s") as error:
        logdir(tmp_path, a=(FIRST,)).sql(endless, seconds=0.3)
    assert error.value.details == {"limit": "time"}


def test_without_the_packages_the_message_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = logdir(tmp_path, a=(FIRST,))
    assert sql.missing() == ""
    monkeypatch.setattr(running.importlib.util, "find_spec", lambda name: None)
    assert sql.missing() == 'SQL needs duckdb and pyarrow: pip install "tpu-profile-plugin[sql]"'
    with pytest.raises(MissingPackage, match=r"\[sql\]"):
        opened.sql("SELECT 1")


def test_this_program_does_not_import_duckdb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    monkeypatch.setattr(running, "missing", str)
    assert len(logdir(tmp_path, a=(FIRST,)).sql("FROM ops")) == 2


def test_runs_that_the_statement_excludes_are_not_read(tmp_path: Path, tables: Path) -> None:
    opened = logdir(tmp_path, a=(FIRST,), b=(FIRST,), c=(b"\xff" * 9,))
    result = opened.sql("SELECT run, count(*) AS n FROM ops WHERE run = 'a/2026_01_01' GROUP BY run")
    assert (rows(result), result.notes) == ([("a/2026_01_01", 2)], ())
    assert len([path for path in tables.glob("*/*") if len(path.name) == 32]) == 1
    assert rows(opened.sql("SELECT count(*) FROM ops WHERE run = 'x'", "a*")) == [(0,)]
    assert opened.sql("SELECT count(*) FROM ops").notes[0].startswith("Run c/2026_01_01 is left out")
