"""Hostile SQL is refused or stopped with a clear error, by Python and by the command line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from builders.hostile_sql import LIMIT, REFUSED, STOPPED
from builders.logdirs import SMALL, write

import tpu_profile_plugin as tp
from tpu_profile_plugin.cli import main
from tpu_profile_plugin.errors import QueryFailed, QueryRefused, QueryStopped

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
    for statement, message in STOPPED:
        with pytest.raises(QueryStopped, match=message):
            opened.sql(statement, seconds=0.5, memory_bytes=100 << 20)
        assert opened.sql("SELECT 1 AS one")["one"].tolist() == [1], statement[:99]


def test_the_command_refuses_and_stops_them(logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for statement, message in (*REFUSED, *STOPPED[::4]):  # each of the others costs a process
        if statement:  # without one, the command tells its usage
            seconds = "0.5" if message == LIMIT else "30"
            status = main(["query", statement, "--logdir", str(logs), "--seconds", seconds])
            shown = capsys.readouterr()
            told = (status in (1, 2), shown.out, bool(re.search(message, shown.err)), "Traceback" in shown.err)
            assert told == (True, "", True, False), (statement[:99], shown.err)
