"""SQL over HTTP: statements over several runs, results as JSON, CSV and Parquet, refusals, cancelling."""

from __future__ import annotations

import io
import re
import time
from pathlib import Path
from typing import Any

import pytest
from builders.hostile_sql import REFUSED, STOPPED
from builders.logdirs import write
from builders.profiles.step_profiles import gpu
from builders.rings import many
from builders.servers.board import Board

from tpu_profile_plugin.units import MIB

ORIGIN = {"Origin": "http://localhost", "X-Profile-Request": "1"}
STEPS = "SELECT run, host, step, duration_ps FROM steps ORDER BY ALL"
ENDLESS = "SELECT sum(a.range * b.range) AS n FROM range(10000000) AS a, range(10000000) AS b"


@pytest.fixture(scope="module")
def board(tmp_path_factory):
    root = tmp_path_factory.mktemp("sql")
    files = {
        "two/plugins/profile/s1/h.xplane.pb": gpu(),
        "one/plugins/profile/s2/w.xplane.pb": gpu(),
        "bad/plugins/profile/none": None,
    }
    board = Board(write(root / "logs", files), root / "home")
    yield board
    board.plugin.server.close()


def post(board: Board, route: str, body: Any, headers: dict[str, str] = ORIGIN) -> Any:
    return board.client.post(f"{board.prefix}/{route}", json=body, headers=headers)


def ended(board: Board, statement: str, runs: Any = "*") -> Any:
    """The last state of a query."""
    answer = post(board, "query", {"statement": statement, "runs": runs})
    assert answer.status_code in (200, 202), answer.text
    state = answer.json
    for _ in range(1500):
        if state["state"] in ("done", "failed", "cancelled"):
            return state
        time.sleep(0.02)
        state = board.json("query_status", query=state["query"])
    raise AssertionError(state)


def code(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json["error"]["code"]


def test_what_can_be_asked(board):
    about = board.json("query_about")
    assert about["missing"] is None
    assert about["limits"] == {"seconds": 30.0, "rows": 100000, "memory_bytes": 1 << 30}
    tables = {table["name"]: table for table in about["tables"]}
    assert {"steps", "ops", "collectives", "allocations"} <= tables.keys()
    assert tables["steps"]["columns"][:2] == [
        {"id": "run", "type": "string", "unit": "", "sentence": "Name of the run."},
        {"id": "host", "type": "string", "unit": "", "sentence": "Host whose file has the row."},
    ]


def test_rows_of_one_run(board):
    state = ended(board, STEPS, ["two/s1"])
    assert (state["state"], state["rows"], state["cut"], state["error"]) == ("done", 3, False, None)
    table = board.json("query_result", query=state["query"])
    assert [(col["id"], col["label"], col.get("unit")) for col in table["cols"]] == [
        ("run", "Run", None),
        ("host", "Host", None),
        ("step", "Step", None),
        ("duration_ps", "Duration", "ps"),
    ]
    rows = [[cell["v"] for cell in row["c"]] for row in table["rows"]]
    assert [row[:3] for row in rows] == [["two/s1", "h", step] for step in range(3)]
    again = board.json("query_result", query=state["query"], rows="2")
    assert again["rows"] == table["rows"][:2]


def test_integers_that_numbers_of_json_would_round_are_texts(board):
    state = ended(board, "SELECT a, a - 1 AS b, 5 AS c FROM (VALUES (9007199254740993), (NULL), (-7)) AS t(a)")
    table = board.json("query_result", query=state["query"])
    assert [col["type"] for col in table["cols"]] == ["string", "number", "number"]
    rows = [[cell["v"] for cell in row["c"]] for row in table["rows"]]
    assert rows == [["9007199254740993", 9007199254740992, 5], [None, None, 5], ["-7", -8, 5]]


def test_rows_as_files(board):
    import pyarrow.parquet

    state = ended(board, "SELECT run, count(*) AS n FROM steps GROUP BY run ORDER BY run")
    csv = board.get("query_result", query=state["query"], format="csv")
    assert csv.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert csv.headers["Content-Disposition"] == 'attachment; filename="query.csv"'
    assert csv.headers["Cache-Control"] == "no-store"
    assert csv.text.split() == ['"run","n"', '"one/s2",3', '"two/s1",3']
    parquet = board.get("query_result", query=state["query"], format="parquet")
    rows = pyarrow.parquet.read_table(io.BytesIO(parquet.data)).to_pylist()
    assert rows == [{"run": "one/s2", "n": 3}, {"run": "two/s1", "n": 3}]


@pytest.mark.parametrize(
    ("runs", "names"),
    [
        ("*", ["one/s2", "two/s1"]),
        ("t*", ["two/s1"]),
        ("?ne/s2", ["one/s2"]),
        (["two/s1", "one/s2", "two/s1"], ["one/s2", "two/s1"]),
    ],
)
def test_chosen_runs(board, runs, names):
    state = ended(board, "SELECT DISTINCT run FROM steps ORDER BY run", runs)
    table = board.json("query_result", query=state["query"])
    assert [row["c"][0]["v"] for row in table["rows"]] == names


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({}, (400, "bad_request")),
        ({"statement": ""}, (400, "bad_request")),
        ({"statement": 7}, (400, "bad_request")),
        ({"statement": "SELECT 1", "runs": []}, (400, "bad_request")),
        ({"statement": "SELECT 1", "runs": [1]}, (400, "bad_request")),
        ({"statement": "SELECT 1", "runs": {"a": 1}}, (400, "bad_request")),
        ({"statement": "SELECT 1", "runs": "nothing*"}, (404, "run_not_found")),
        ({"statement": "SELECT 1", "runs": ["nope"]}, (404, "run_not_found")),
        ({"statement": "SELECT 1", "runs": ["../two/s1"]}, (404, "run_not_found")),
        ({"statement": "SELECT 1", "runs": ["bad/none"]}, (404, "no_data")),
        ({"statement": "SELECT 1", "run_path": "/etc"}, (403, "forbidden")),
    ],
)
def test_bad_requests(board, body, expected):
    assert code(post(board, "query", body)) == expected


def test_unknown_queries_and_formats(board):
    for route in ("query_status", "query_result"):
        assert board.refused(route, query="nope")[:2] == (404, "query_not_found")
        assert board.refused(route)[:2] == (400, "bad_request")
    assert code(post(board, "query_cancel", {"query": "nope"})) == (404, "query_not_found")
    query = ended(board, "SELECT 1 AS one")["query"]
    assert board.refused("query_result", query=query, format="xml")[:2] == (400, "bad_request")
    for rows in ("x", "-1", "9" * 30, "٣"):
        assert board.refused("query_result", query=query, rows=rows)[:2] == (400, "bad_request")


def test_a_wrong_statement_names_its_place(board):
    state = ended(board, "SELECT step,\n  nope FROM steps")
    assert (state["state"], state["rows"], state["error"]["code"]) == ("failed", None, "query_failed")
    assert state["error"]["details"] == {"line": 2, "column": 3}
    assert board.refused("query_result", query=state["query"])[:2] == (400, "query_failed")


def test_a_running_query_is_cancelled(board):
    started = post(board, "query", {"statement": ENDLESS})
    assert (started.status_code, started.json["rows"], started.headers["Cache-Control"]) == (202, None, "no-store")
    query = started.json["query"]
    assert board.refused("query_result", query=query)[1] == "bad_request"
    cancelled = post(board, "query_cancel", {"query": query}).json
    for _ in range(500):
        if cancelled["state"] == "cancelled":
            break
        time.sleep(0.02)
        cancelled = board.json("query_status", query=query)
    assert (cancelled["state"], cancelled["error"]["code"]) == ("cancelled", "query_stopped")
    assert ended(board, "SELECT 1 AS one")["state"] == "done"


def test_more_rows_than_the_limit_are_cut(board):
    state = ended(board, "SELECT range FROM range(200000)")
    assert (state["rows"], state["cut"]) == (100_000, True)
    assert state["notes"]


def test_hostile_statements_are_refused(board):
    for statement, message in REFUSED:
        if statement == "" or len(statement) > MIB:
            assert code(post(board, "query", {"statement": statement})) == (400, "bad_request")
            continue
        state = ended(board, statement)
        assert (state["state"], state["rows"]) == ("failed", None), statement
        assert state["error"]["code"] in ("query_refused", "query_failed", "query_stopped"), statement
        assert re.search(message, state["error"]["message"]), statement


def test_endless_and_huge_statements_are_stopped(board, monkeypatch):
    with monkeypatch.context() as limited:
        limited.setattr(board.plugin.server._sql.queries, "limits", {"seconds": 0.5, "memory_bytes": 100 << 20})
        for statement, message in STOPPED[:: many(5, 3)]:
            state = ended(board, statement)
            assert (state["state"], state["error"]["code"]) == ("failed", "query_stopped"), statement
            assert re.search(message, state["error"]["message"]), statement
    assert ended(board, "SELECT 1 AS one")["rows"] == 1


def test_an_answer_in_json_has_a_limited_number_of_cells(board, monkeypatch):
    monkeypatch.setattr("tpu_profile_plugin.server.queries._MOST_CELLS", 2000)
    columns = ", ".join(f"range AS c{i}" for i in range(50))
    state = ended(board, f"SELECT {columns} FROM range(41)")
    assert state["rows"] == 41
    assert len(board.json("query_result", query=state["query"])["rows"]) == 40
    csv = board.get("query_result", query=state["query"], format="csv")
    assert csv.text.count("\n") == 42


def test_nothing_is_written_into_the_logdir(board):
    ended(board, STEPS)
    logs = board.plugin.server.logdir.absolute_path
    assert board.json("status")["runs"] == 3
    assert {path.suffix for path in Path(logs).rglob("*") if path.is_file()} == {".pb"}


def test_without_a_disk_cache_tables_are_temporary(tmp_path):
    board = Board(write(tmp_path / "logs", {"a/plugins/profile/s/h.xplane.pb": gpu()}), "off")
    assert ended(board, STEPS)["rows"] == 3
    files = board.plugin.server._table_files()
    [made] = map(Path, files._temporary)
    assert any(made.iterdir())
    board.plugin.server.close()
    assert not made.exists()


def test_without_the_extra_the_page_says_what_to_install(board, monkeypatch):
    import importlib.util

    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *more: None if name == "duckdb" else find(name, *more)
    )
    assert 'pip install "tpu-profile-plugin[sql]"' in board.json("query_about")["missing"]
    refused = post(board, "query", {"statement": "SELECT 1"})
    assert code(refused) == (501, "missing_package")
    assert 'pip install "tpu-profile-plugin[sql]"' in refused.json["error"]["message"]


def test_a_row_per_run_with_the_labels_beside_it(tmp_path):
    files = {
        "logs/plugins/profile/s/h.xplane.pb": gpu(),
        "logs/plugins/profile/s/labels.json": b'{"commit": "8d24e0c"}',
    }
    board = Board(write(tmp_path, files) / "logs", tmp_path / "home")
    state = ended(board, "SELECT run, commit, step_ps > 0 AS has_steps FROM runs")
    found = board.json("query_result", query=state["query"])
    assert [row["c"] for row in found["rows"]] == [[{"v": "s"}, {"v": "8d24e0c"}, {"v": True}]]
    board.plugin.server.close()
