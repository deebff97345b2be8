"""Hostile SQL is refused or stopped with a clear error, by Python and by the command line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from builders.hostile_sql import LIMIT, REFUSED, STOPPED
from builders.logdirs import SMALL, write
from builders.rings import many

import tpu_profile_plugin as tp
from tpu_profile_plugin.cli import main
from tpu_profile_plugin.errors import QueryFailed, QueryRefused, QueryStopped
from tpu_profile_plugin.sql.functions import FUNCTIONS

REFUSALS = (QueryRefused, QueryFailed, QueryStopped)


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("logs"), {"plugins/profile/s/h.xplane.pb": SMALL})


def test_statements_are_refused(logs: Path) -> None:
    opened = tp.open(logs)
    assert len(REFUSED) + len(STOPPED) > 70
    for statement, message in REFUSED:
        with pytest.raises(REFUSALS, match=message) as error:
            opened.sql(statement)
        assert str(logs) not in error.value.message, statement[:99]


def test_statements_are_stopped(logs: Path) -> None:
    opened = tp.open(logs)
    for statement, message in STOPPED[:: many(3, 1)]:
        with pytest.raises(QueryStopped, match=message):
            opened.sql(statement, seconds=0.5, memory_bytes=100 << 20)
        assert opened.sql("SELECT 1 AS one")["one"].tolist() == [1], statement[:99]


def test_the_process_outlives_half_a_surrogate_pair(logs: Path) -> None:
    opened = tp.open(logs)
    for statement in ("SELECT '\ud800'", 'SELECT 1 AS "\udfff"', "-- \ud800\nSELECT 1", "SELECT chr(55296)"):
        with pytest.raises(REFUSALS, match=r"surrogate|UTF8"):
            opened.sql(statement)
        assert opened.sql("SELECT 1 AS one")["one"].tolist() == [1]


def test_bits_are_texts(logs: Path) -> None:
    found = tp.open(logs).sql("SELECT '101'::BIT AS a, ['1'::BIT] AS b, {'c': '01'::BIT} AS a, 5 AS bit")
    assert [found[name].tolist() for name in ("a", "b", "a_2", "bit")] == [["101"], ["[1]"], ["{'c': 01}"], [5]]


def test_the_command_refuses_and_stops_them(logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # Each that is stopped costs a process.
    for statement, message in (*REFUSED[:: many(8, 1)], *STOPPED[:: many(len(STOPPED), 4)]):
        if statement:  # without one, the command tells its usage
            seconds = "0.5" if message == LIMIT else "30"
            status = main(["query", statement, "--logdir", str(logs), "--seconds", seconds])
            shown = capsys.readouterr()
            told = (status in (1, 2), shown.out, bool(re.search(message, shown.err)), "Traceback" in shown.err)
            assert told == (True, "", True, False), (statement[:99], shown.err)


def test_functions_are_a_closed_list() -> None:
    """What the engine offers beyond arguments and clock is not in it; names of other versions may be."""
    duckdb = pytest.importorskip("duckdb")
    query = "SELECT DISTINCT lower(function_name), function_type FROM duckdb_functions() WHERE has_side_effects"
    changing = {name for name, kind in duckdb.sql(query).fetchall() if kind == "scalar"}
    harmless = {"error", "gen_random_uuid", "random", "uuid", "uuidv4", "uuidv7"}
    assert changing - harmless
    assert not (changing - harmless) & FUNCTIONS
    state = re.compile(
        "__|duckdb_|has_|inet_|pg_|pragma_|read_|col_description|.*(current_(data|q|r|s|u)|getenv|serial)"
    )
    assert [name for name in FUNCTIONS if state.match(name)] == []
