"""The envelope: its bound in bytes, pages, numbers, and errors that name the argument."""

from __future__ import annotations

import json
import math
from typing import Annotated, Any, Literal

import numpy as np
import pytest
from builders.logdirs import SMALL, write

import tpu_profile_plugin
from tpu_profile_plugin.answers import envelope
from tpu_profile_plugin.answers.answer import Answer, Cannot, Link, Next
from tpu_profile_plugin.answers.envelope import Door, ask, compact, error_of
from tpu_profile_plugin.answers.verb import Asked, Verb, verb
from tpu_profile_plugin.errors import BadRequest, CorruptProfile, NoData, NotFound
from tpu_profile_plugin.tables.table import Table, numbers, texts

COLUMNS = (texts("id", "Id", ""), numbers("self_ps", "Self", "ps", ""), texts("text", "Text", ""))
NEEDS = "Record it."


@pytest.fixture
def logdir(tmp_path):
    files = {"plugins/profile/s/a.xplane.pb": SMALL, "plugins/profile/s/b.xplane.pb": SMALL}
    return tpu_profile_plugin.open(write(tmp_path / "logs", files))


def told(monkeypatch: pytest.MonkeyPatch, answer: Answer | Exception) -> Verb:
    """Makes all questions have this answer."""

    def question(
        asked: Asked,
        *,
        sort: Annotated[Literal["up", "down"], "Order."] = "up",
        depth: Annotated[int, "Levels."] = 1,
        share: Annotated[float, "Least share."] = 0.0,
        find: Annotated[str, "Text."] = "",
    ) -> Answer:
        """What is the answer?"""
        if isinstance(answer, Exception):
            raise answer
        return answer

    made = verb(question, needs=NEEDS)
    monkeypatch.setattr(envelope, "find", lambda name: made)
    return made


def asked(logdir: Any, arguments: dict[str, Any] | None = None, **keywords: Any) -> Any:
    door = Door(lambda one, about: {"tool": one.verb, "arguments": {**about, **one.arguments}})
    return ask(logdir, "question", arguments or {}, door, **keywords)


def table(count: int, text: str = "", id_: str = "op") -> Table:
    return Table(COLUMNS, [[f"{id_}{i}" for i in range(count)], np.arange(count), [text] * count], name="ops")


def test_all_of_it(logdir, monkeypatch):
    facts = {"time_ps": 1_234_567, "share_percent": 12.3456789, "parts": [{"wait_ps": 5_000_000}]}
    base = {"share_percent": "of the step"}
    further = (Next("ops", {"sort": "up"}, "why"), Next("runs", {}, "all"))
    told(monkeypatch, Answer(Link("hlo_stats", {"row": "a~b;c~1"}), facts, table(2), base, further))
    assert asked(logdir, host="b") == {
        "answer": {
            "time_ms": 0.001235,
            "share_percent": 12.3457,
            "parts": [{"wait_ms": 0.005}],
            "ops": [{"id": "op0", "self_ms": 0.0, "text": ""}, {"id": "op1", "self_ms": 0.0, "text": ""}],
        },
        "units": {"time_ms": "ms", "share_percent": "%", "wait_ms": "ms", "self_ms": "ms"},
        "base": {"share_percent": "of the step"},
        "from": {"run": "s", "hosts": ["b"], "tool": "hlo_stats"},
        "link": "http://localhost:6006/data/plugin/profile/index.html?run=s&host=b&tool=hlo_stats&row=a~b;c~1",
        "next": [
            {"tool": "ops", "arguments": {"run": "s", "host": "b", "sort": "up"}},
            {"tool": "runs", "arguments": {}},
        ],
        "rows": {"from": 0, "to": 2, "of": 2},
        "cursor": None,
        "cannot_answer": None,
    }


@pytest.mark.parametrize("limit", [2000, 3000, 8000, 50_000])
@pytest.mark.parametrize(("text", "id_"), [("", "op"), ("é" * 5000, "op"), ("x" * 500, "y" * 700)])
def test_pages_hold_every_row_once_within_the_limit(logdir, monkeypatch, limit, text, id_):
    further = tuple(Next("ops", {"find": f"{i}" * 100}, "why") for i in range(9))
    told(monkeypatch, Answer(Link("hlo_stats"), {"note": "n" * 900}, table(70, text, id_), next=further))
    rows, cursor, pages = [], None, 0
    while pages == 0 or cursor:
        page = asked(logdir, cursor=cursor, max_bytes=limit)
        assert len(compact(page).encode()) <= limit
        assert page["rows"] == {"from": len(rows), "to": len(rows) + len(page["answer"]["ops"]), "of": 70}
        assert len(page["next"]) <= 6
        rows += [row["id"] for row in page["answer"]["ops"]]
        cursor, pages = page["cursor"], pages + 1
    assert rows == [f"{id_}{i}" for i in range(70)]


def test_an_id_that_does_not_fit_asks_for_more_bytes(logdir, monkeypatch):
    told(monkeypatch, Answer(Link("hlo_stats"), {}, table(3, id_="z" * 9000)))
    with pytest.raises(BadRequest, match="try max_bytes") as error:
        asked(logdir)
    assert error.value.details["argument"] == "max_bytes"
    enough = int(error.value.message.rpartition(" ")[2].rstrip("."))
    assert asked(logdir, max_bytes=enough)["rows"] == {"from": 0, "to": 1, "of": 3}


def test_no_rows(logdir, monkeypatch):
    told(monkeypatch, Answer(Link("hlo_stats"), {}, table(0)))
    page = asked(logdir)
    assert (page["answer"], page["rows"], page["cursor"]) == ({"ops": []}, {"from": 0, "to": 0, "of": 0}, None)


@pytest.mark.parametrize("cursor", ["5", "5-", "-5-abc", "5-000000000000", "٥-000000000000", "x" * 5000])
def test_a_cursor_of_another_question_is_refused(logdir, monkeypatch, cursor):
    told(monkeypatch, Answer(Link("hlo_stats"), {}, table(3)))
    with pytest.raises(BadRequest, match="another question") as error:
        asked(logdir, cursor=cursor)
    assert error.value.details["argument"] == "cursor"


def test_a_cursor_belongs_to_its_arguments(logdir, monkeypatch):
    told(monkeypatch, Answer(Link("hlo_stats"), {}, table(300)))
    cursor = asked(logdir, {"sort": "up"})["cursor"]
    assert asked(logdir, {"sort": "up"}, cursor=cursor)["rows"]["from"] > 0
    for arguments, keywords in (({"sort": "down"}, {}), ({"sort": "up"}, {"host": "a"})):
        with pytest.raises(BadRequest, match="another question"):
            asked(logdir, arguments, cursor=cursor, **keywords)


def test_what_the_profile_does_not_tell(logdir, monkeypatch):
    told(monkeypatch, NoData("No steps."))
    assert asked(logdir)["cannot_answer"] == {"reason": "No steps.", "how_to_record": NEEDS}
    told(monkeypatch, Answer(Link("memory_viewer"), {"peak_bytes": 7}, cannot=Cannot("No heap.", "Do that.")))
    page = asked(logdir)
    assert (page["answer"], page["units"]) == ({"peak_bytes": 7}, {"peak_bytes": "bytes"})
    assert page["cannot_answer"] == {"reason": "No heap.", "how_to_record": "Do that."}


def test_a_run_without_profiles_cannot_answer(tmp_path):
    logdir = tpu_profile_plugin.open(write(tmp_path / "logs", {"plugins/profile/empty": None}))
    page = ask(logdir, "ops", {}, Door(lambda one, about: ""), run="empty")
    assert page["from"] == {"run": "empty", "hosts": [], "tool": "overview_page"}
    assert page["cannot_answer"]["reason"]


@pytest.mark.parametrize(
    ("arguments", "argument", "choices"),
    [
        ({"sort": "left"}, "sort", ["up", "down"]),
        ({"sort": 1}, "sort", ["up", "down"]),
        ({"depth": 1.5}, "depth", []),
        ({"depth": True}, "depth", []),
        ({"depth": 10**5000}, "depth", []),
        ({"share": 10**400}, "share", []),
        ({"share": math.nan}, "share", []),
        ({"share": "1"}, "share", []),
        ({"find": "a\0b"}, "find", []),
        ({"find": "\ud800"}, "find", []),
        ({"find": "x" * 20_001}, "find", []),
        ({"find": None}, "find", []),
        ({"find": ["x"]}, "find", []),
        ({"fnid": "x"}, "fnid", ["sort", "depth", "share", "find", "run", "host", "cursor", "max_bytes"]),
    ],
)
def test_a_wrong_argument_is_named_with_its_choices(logdir, monkeypatch, arguments, argument, choices):
    told(monkeypatch, Answer(Link("")))
    with pytest.raises(BadRequest) as error:
        asked(logdir, arguments)
    found = error_of(error.value)["error"]
    assert (found["argument"], found["choices"]) == (argument, choices)
    assert argument in found["message"]
    assert len(found["message"]) < 300


def test_whole_numbers_may_be_written_as_fractions(monkeypatch):
    checked = told(monkeypatch, Answer(Link(""))).checked({"depth": 2.0, "share": 1})
    assert checked == {"depth": 2, "share": 1.0}
    assert [type(value) for value in checked.values()] == [int, float]


@pytest.mark.parametrize("limit", [0, 1999, 1_000_001])
def test_limits_of_the_limit(logdir, monkeypatch, limit):
    told(monkeypatch, Answer(Link("")))
    with pytest.raises(BadRequest, match=r"from 2,000 to 1,000,000") as error:
        asked(logdir, max_bytes=limit)
    assert error.value.details["argument"] == "max_bytes"


def test_runs_and_hosts_are_choices(logdir):
    with pytest.raises(NotFound) as error:
        ask(logdir, "ops", {}, Door(lambda one, about: ""), run="../s")
    assert (error.value.details["argument"], error.value.details["choices"]) == ("run", ["s"])
    with pytest.raises(NotFound) as error:
        ask(logdir, "ops", {}, Door(lambda one, about: ""), host="c")
    assert (error.value.details["argument"], error.value.details["choices"]) == ("host", ["a", "b"])


def test_errors_are_small():
    error = NotFound("m" * 9000, argument="name", choices=[f"{i}" * 100 for i in range(10**4)])
    found = error_of(error)
    assert len(compact(found)) < 8000
    assert len(found["error"]["choices"]) > 10


def test_the_error_of_a_damaged_file_names_it():
    found = error_of(CorruptProfile("no varint at byte 0", file="a.xplane.pb", offset=0))["error"]
    assert found["message"] == "a.xplane.pb: no varint at byte 0"
    assert (found["code"], found["argument"], found["choices"]) == ("corrupt_profile", None, [])


def test_texts_that_are_not_unicode_are_escaped():
    """Command lines may hold any bytes."""
    text = compact({"run": "a\udce9", "é": 1})
    assert text.encode().decode() == text
    assert json.loads(text) == {"run": "a\udce9", "é": 1}
