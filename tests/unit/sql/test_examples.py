"""The example queries and the documentation of the tables: each runs, and the page docs/user/sql.md is current."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from builders.logdirs import write
from builders.planes import host, marked, profile, tpu

import tpu_profile_plugin as tp
from tpu_profile_plugin import sql
from tpu_profile_plugin.cli import main

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "user" / "sql.md"
US = 10**6
STATEMENTS = {example.id: example.sql for example in sql.EXAMPLES}


def page() -> Iterator[str]:
    """The lines of the page."""
    yield "# SQL: tables and examples\n"
    yield "[How to query](programs.md#sql): `tpu-profile query` and `OpenLogdir.sql()`. Times are picoseconds (ps)."
    for table in sql.schema():
        yield f"\n## Table {table.name}\n\n{table.summary}\n"
        yield "| Column | Type | Unit | Meaning |\n| --- | --- | --- | --- |"
        for column in table.columns:
            kind = {"string": "text", "boolean": "true or false"}.get(column.type) or "number"
            whole = "whole number" if column.dtype.startswith(("int", "uint")) else kind
            sentence = column.sentence.replace("|", "\\|")
            yield f"| `{column.id}` | {whole} | {column.unit} | {sentence} |"
    yield "\n## Examples"
    for example in sql.EXAMPLES:
        yield f"\n### {example.title}\n\n{example.sentence}\n\n```sql\n{example.sql.strip()}\n```"


def test_the_page_of_the_tables_is_current() -> None:
    """`UPDATE_GOLDEN=1` writes it anew."""
    wanted = "\n".join(page()) + "\n"
    if os.environ.get("UPDATE_GOLDEN"):
        PAGE.write_text(wanted)
    assert PAGE.read_text() == wanted, "docs/user/sql.md: UPDATE_GOLDEN=1 pytest tests/unit/sql/test_examples.py"


def test_the_command_prints_tables_and_examples(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["query", "--schema"]) == main(["query", "--examples"]) == 0
    printed = capsys.readouterr().out
    assert all(example.sql in printed for example in sql.EXAMPLES)
    assert all(f"{table.name}: {table.summary}" in printed for table in sql.schema())


def test_there_are_twelve_that_differ() -> None:
    assert len({example.id for example in sql.EXAMPLES}) == len(sql.EXAMPLES) == 12
    for example in sql.EXAMPLES:
        assert example.id.replace("_", "").isalnum()
        assert example.sentence.endswith(".")
        assert not example.title.endswith(".")
        assert max(map(len, example.sql.splitlines())) <= 120


def test_each_runs_over_the_demo() -> None:
    logdir = tp.open(ROOT / "demo")
    empty = {"collectives_by_late_device", "memory_at_peak", "uneven_ops"}
    for name, statement in STATEMENTS.items():
        result = logdir.sql(statement, "train_*")
        assert (len(result) == 0) == (name in empty), name
        assert result.notes == (), name


def test_the_tables_of_sql_are_those_of_python() -> None:
    logdir = tp.open(ROOT / "demo")
    for run in logdir.runs():
        for table in sql.schema():
            numbers = [column.id for column in table.columns if column.dtype == "int64"]
            sums = ", ".join(f'coalesce(sum("{id_}"), 0)::VARCHAR AS "{id_}"' for id_ in numbers)
            (row,) = logdir.sql(f"SELECT count(*) AS n, {sums} FROM {table.name}", [run.name])
            there = run.relation(table.name).read()
            expected = {id_: str(sum(value or 0 for value in there.column(id_))) for id_ in numbers}
            assert row == {"n": len(there), **expected}, (run.name, table.name)


STEPS = "0 100 1 {_ct=9, _c=1}\n100 200 2 {_ct=9, _c=2}"
OPS = "0 40 fusion.1\n60 30 fusion.2\n110 50 fusion.1\n165 100 fusion.2"
SOURCES = ', source="model.py:12", tf_op="jit/add:Add"'


@pytest.fixture
def run(tmp_path: Path) -> Any:
    text = profile(tpu(OPS, steps=STEPS, more=SOURCES), host(marked("10 30 load", steps=2, period=100)))
    slower = text.replace("+40us", "+55us")
    files = {f"{run}/plugins/profile/s/{host}.xplane.pb": text for run in "ab" for host in ("h0", "h1")}
    files["b/plugins/profile/s/h1.xplane.pb"] = slower
    return tp.open(write(tmp_path, files))


def answers(logdir: Any, name: str, *columns: str, **more: Any) -> list[tuple[Any, ...]]:
    return [tuple(row[column] for column in columns) for row in logdir.sql(STATEMENTS[name], **more)]


def test_the_longest_gaps_of_the_slowest_step(run: Any) -> None:
    columns = ("host", "plane", "step", "begin_ps", "duration_ps", "before", "after")
    found = answers(run, "slowest_step_gaps", *columns, runs="a*")
    assert [(plane, step, begin // US, duration // US, *ops) for _, plane, step, begin, duration, *ops in found] == [
        ("/device:TPU:0", 3, 265, 35, "fusion.2", None),
        ("/device:TPU:0", 3, 100, 10, None, "fusion.1"),
        ("/device:TPU:0", 3, 160, 5, "fusion.1", "fusion.2"),
    ]


def test_ops_by_source_line(run: Any) -> None:
    columns = ("run", "source_file", "source_line", "ops", "occurrences", "self_ps", "self_percent")
    assert sorted(answers(run, "ops_by_source_line", *columns)) == [
        ("a/s", "model.py", 12, 2, 8, 440 * US, 100),
        ("b/s", "model.py", 12, 2, 8, 455 * US, 100),
    ]


def test_two_runs_compared_by_op(run: Any) -> None:
    columns = ("name", "base_occurrences", "occurrences", "base_each_ps", "each_ps", "change_ps")
    assert answers(run, "compare_runs_by_op", *columns) == [
        ("fusion.1", 4, 4, 45 * US, 48.75 * US, 15 * US),
        ("fusion.2", 4, 4, 65 * US, 65 * US, 0),
    ]


def test_ops_that_take_longer_on_some_hosts(run: Any) -> None:
    columns = ("name", "hosts", "fastest_ps", "slowest_ps", "slowest_host", "difference_ps")
    assert answers(run, "uneven_ops", *columns, runs="b*")[0] == ("fusion.1", 2, 45 * US, 52.5 * US, "h1", 15 * US)


def test_times_and_parts_of_the_steps(run: Any) -> None:
    assert answers(run, "step_times", "run", "steps", "devices", "median_ps", "longest_ps", runs="a*") == [
        ("a/s", 2, 2, 150 * US, 200 * US)
    ]
    parts = answers(run, "step_parts", "part", "mean_ps", runs="a*")
    assert parts[0] == ("compute_ps", 110 * US)
    assert sum(mean for _, mean in parts) == 150 * US
    assert answers(run, "hosts_side_by_side", "host", "compute_ps", runs="b*")[0] == ("h1", 117.5 * US)


def test_functions_of_the_host(run: Any) -> None:
    assert answers(run, "host_functions", "name", "calls", "self_ps", runs="a*") == [
        ("train", 4, 280 * US),
        ("load", 4, 120 * US),
    ]
