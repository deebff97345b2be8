"""The verb `query`: rows of SQL in the form of other answers."""

from __future__ import annotations

from pathlib import Path

import pytest
from builders.asking import asked, page
from builders.logdirs import write
from builders.planes import tpu

import tpu_profile_plugin
from tpu_profile_plugin.errors import BadRequest, NotFound, ProfileError
from tpu_profile_plugin.opening import OpenLogdir

OPS = tpu("0 40 fusion.1\n60 30 fusion.2\n100 100 fusion.1", steps="0 100 1 {_ct=9, _c=1}\n100 100 2 {_ct=9, _c=2}")


@pytest.fixture
def logdir(tmp_path: Path) -> OpenLogdir:
    return tpu_profile_plugin.open(write(tmp_path, {f"plugins/profile/{run}/h.xplane.pb": OPS for run in "ab"}))


def test_rows_with_units(logdir: OpenLogdir) -> None:
    statement = "SELECT run, name, self_ps, 50.0 AS part_percent FROM ops WHERE run = 'a' ORDER BY self_ps DESC"
    found = asked(logdir, "query", statement=statement, runs="a*")
    assert found["answer"] == {
        "rows_found": 2,
        "rows": [
            {"id": "1", "run": "a", "name": "fusion.1", "self_ms": 0.14, "part_percent": 50},
            {"id": "2", "run": "a", "name": "fusion.2", "self_ms": 0.03, "part_percent": 50},
        ],
    }
    assert found["units"] == {"self_ms": "ms", "part_percent": "%"}
    assert found["base"] == {"part_percent": "as the statement computes it"}
    assert found["from"]["tool"] == "query"
    assert [row["self_ps"] for row in page(logdir, found)] == [140_000_000, 30_000_000]


def test_columns_of_equal_names(logdir: OpenLogdir) -> None:
    found = asked(logdir, "query", statement="SELECT 1 AS id, 2 AS a, 3 AS a, 1e9 AS t_ps, 4 AS t_ms")
    assert list(found["answer"]["rows"][0]) == ["id", "id 2", "a", "a_2", "t_ms", "t_ms 2"]


def test_rows_are_paged_and_cut(logdir: OpenLogdir) -> None:
    found = asked(logdir, "query", statement="SELECT range AS n FROM range(1000)", rows=500)
    assert found["answer"]["notes"] == ["Only the first 500 rows are shown."]
    assert found["rows"]["of"] == 500
    following = asked(logdir, "query", statement="SELECT range AS n FROM range(1000)", rows=500, cursor=found["cursor"])
    assert following["answer"]["rows"][0]["n"] == found["rows"]["to"]


@pytest.mark.parametrize(
    ("arguments", "argument", "message"),
    [
        ({"statement": "SELECT 1,\n x FROM ops"}, "statement", "(line 2, column 2)"),
        ({"statement": "DROP TABLE ops"}, "statement", "DROP statements are not allowed"),
        ({"statement": "SELECT * FROM '/etc/passwd'"}, "statement", "There is no table"),
        ({"statement": f"SELECT {', '.join(f'{i} AS c{i}' for i in range(61))}"}, "statement", "61 columns"),
        ({"statement": "SELECT 1", "seconds": 61.0}, "seconds", "at most 60"),
        ({"statement": "SELECT 1", "rows": 0}, "rows", "rows must be more than 0"),
        ({}, "statement", "query needs statement"),
    ],
)
def test_wrong_statements(logdir: OpenLogdir, arguments: dict[str, object], argument: str, message: str) -> None:
    with pytest.raises(BadRequest) as raised:
        asked(logdir, "query", **arguments)
    assert raised.value.details["argument"] == argument
    assert message in raised.value.message


def test_runs_that_do_not_exist(logdir: OpenLogdir) -> None:
    with pytest.raises(NotFound) as raised:
        asked(logdir, "query", statement="SELECT 1", runs="x*")
    assert (raised.value.details["argument"], raised.value.details["choices"]) == ("runs", ["b", "a"])


def test_a_statement_that_takes_too_long_is_stopped(logdir: OpenLogdir) -> None:
    with pytest.raises(ProfileError, match=r"took longer than 0\.2 s") as raised:
        asked(logdir, "query", statement="SELECT count(*) FROM range(100000000) a, range(100000) b", seconds=0.2)
    assert raised.value.details["argument"] == "statement"


def test_without_duckdb_it_says_how_to_install(logdir: OpenLogdir, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    found = asked(logdir, "query", statement="SELECT 1")
    assert "SQL needs duckdb" in found["cannot_answer"]["reason"]
    assert "pip install" in found["cannot_answer"]["how_to_record"]
