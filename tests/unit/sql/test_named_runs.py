"""The tables that statements read, and the runs that they name."""

from __future__ import annotations

from typing import Any

import pytest

from tpu_profile_plugin.sql.check import check
from tpu_profile_plugin.sql.engine import connect, lock

TABLES = ("events", "steps", "ops")


@pytest.fixture(scope="module")
def connection() -> Any:
    connection = connect(100 << 20)
    lock(connection)
    return connection


def runs(connection: Any, statement: str) -> dict[str, list[str] | None]:
    checked = check(connection, statement, TABLES)
    assert checked.runs.keys() == checked.tables
    return {name: None if named is None else sorted(named) for name, named in checked.runs.items()}


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        ("FROM events WHERE run = 'a'", {"events": ["a"]}),
        ("FROM Events AS e WHERE 'a' = E.RUN AND depth = 1", {"events": ["a"]}),
        ("FROM events WHERE run IN ('a', 'b') AND run IN ('b', 'c')", {"events": ["b"]}),
        ("FROM events e JOIN steps s ON true WHERE e.run = 'a' AND s.run = 'b'", {"events": ["a"], "steps": ["b"]}),
        ("FROM events e, steps s WHERE e.run = 'a'", {"events": ["a"], "steps": None}),
        ("FROM events WHERE run = 'a' UNION ALL FROM events WHERE run = 'b'", {"events": ["a", "b"]}),
        ("WITH e AS (FROM events WHERE run = 'a') FROM e", {"events": ["a"]}),
        ("WITH steps AS (FROM events WHERE run = 'a') FROM steps WHERE run = 'b'", {"events": ["a"]}),
        ("SELECT (SELECT 1 FROM ops WHERE run = 'a') FROM steps WHERE run = 'b'", {"ops": ["a"], "steps": ["b"]}),
        # All runs may be needed.
        ("FROM events", {"events": None}),
        ("FROM events WHERE run = 'a' OR depth = 1", {"events": None}),
        ("FROM events WHERE NOT run = 'a'", {"events": None}),
        ("FROM events WHERE run <> 'a'", {"events": None}),
        ("FROM events WHERE run = host", {"events": None}),
        ("FROM events WHERE run IN ('a', host)", {"events": None}),
        ("FROM events WHERE run = lower('A')", {"events": None}),
        ("FROM events WHERE host = 'a'", {"events": None}),
        ("SELECT host AS run FROM events WHERE run = 'a'", {"events": None}),
        ("FROM events AS e(run, x) WHERE e.run = 'a'", {"events": None}),
        ("FROM events e JOIN steps s USING (run) WHERE run = 'a'", {"events": None, "steps": None}),
        ("FROM events e ASOF JOIN steps s ON e.step >= s.step WHERE s.run = 'a'", {"events": None, "steps": None}),
        ("FROM events e POSITIONAL JOIN steps s WHERE s.run = 'a'", {"events": None, "steps": None}),
        ("FROM events TABLESAMPLE 10 ROWS WHERE run = 'a'", {"events": None}),
        ("FROM events WHERE run = 'a' UNION ALL FROM events", {"events": None}),
        ("FROM events e WHERE e.run = 'a' AND EXISTS (FROM events WHERE run = e.run)", {"events": None}),
        ("WITH events AS (FROM main.events) FROM events WHERE run = 'a'", {"events": None}),
        # Their rows are not read.
        ("DESCRIBE events", {}),
        ("DESCRIBE SELECT * FROM events WHERE run = 'a'", {}),
        ("SELECT 1", {}),
    ],
)  # fmt: skip
def test_runs_of_a_statement(connection: Any, statement: str, named: dict[str, list[str] | None]) -> None:
    assert runs(connection, statement) == named
