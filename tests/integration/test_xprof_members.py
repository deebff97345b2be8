"""No answer of `/data` has a member that XProf's lacks: additions of ours are in `/page` alone.

Asked are all requests of which XProf's answer is stored beside the checkout (../shared); skipped without them.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from builders.servers.board import Board

SHARED = Path(__file__).parents[3] / "shared"
GOLDEN = SHARED / "traces" / "golden"
REQUESTS = json.loads((GOLDEN / "index.json").read_text()) if GOLDEN.is_dir() else []
NAMES = sorted(json.loads((Path(__file__).parents[1] / "parity_floor.json").read_text()))

ALLOWED = {
    # The stored answers are excerpts: they lack the first table, names of pipelines, HTML and summary.
    "tf_data_bottleneck_analysis": {
        *("[0].cols", "[0].rows", "[2].p", "[2].p.is_input_bound", "[2].p.summary_message"),
        *("[1].cols.input_pipeline", "[2].cols.input_pipeline", "[2].cols.bottleneck", "[2].cols.suggestion"),
    },
}
"""Members of our answers that the stored answers lack although XProf has them."""


def additions(ours: Any, xprofs: Any, at: str = "") -> Iterator[str]:
    """Where `ours` has what `xprofs` lacks: members of objects, columns and cells, columns, items of lists."""
    if isinstance(ours, dict) and isinstance(xprofs, dict):
        yield from (f"{at}.{name}" for name in ours if name not in xprofs)
        if "cols" in ours and "cols" in xprofs:
            yield from _table_additions(ours, xprofs, at)
        elif "traceEvents" in ours and "traceEvents" in xprofs:
            yield from (f"{at}.traceEvents{kind}" for kind in _members(ours) - _members(xprofs))
        else:
            for name in ours.keys() & xprofs.keys():
                yield from additions(ours[name], xprofs[name], f"{at}.{name}")
    elif isinstance(ours, list) and isinstance(xprofs, list):
        yield from (f"{at}[{i}]" for i in range(len(xprofs), len(ours)))
        for i, (one, other) in enumerate(zip(ours, xprofs, strict=False)):
            yield from additions(one, other, f"{at}[{i}]")


def _table_additions(ours: Any, xprofs: Any, at: str) -> Iterator[str]:
    known = {column["id"]: column for column in xprofs["cols"]}
    for column in ours["cols"]:
        name = f"{at}.cols.{column['id']}"
        yield from additions(column, known[column["id"]], name) if column["id"] in known else [name]
    yield from additions(ours.get("p") or {}, xprofs.get("p") or {}, f"{at}.p")
    cells = [{name for row in table["rows"] for cell in row["c"] for name in cell or ()} for table in (ours, xprofs)]
    yield from (f"{at}.rows.c.{name}" for name in cells[0] - cells[1] if xprofs["rows"])
    yield from (f"{at}.rows.{name}" for name in {name for row in ours["rows"] for name in row} - {"c"})


def _members(trace: Any) -> set[tuple[str, str]]:
    """The kinds of events (metadata by name), each with the members that events of the kind have."""
    members = set()
    for event in filter(None, trace["traceEvents"]):
        kind = event["name"] if event["ph"] == "M" else event["ph"]
        members |= {(kind, name) for name in event} | {(kind, f"args.{name}") for name in event.get("args") or ()}
    return members


def decoded(body: bytes) -> Any:
    """JSON, or the text of an answer that is none."""
    try:
        return json.loads(body)
    except ValueError:
        return body


def stored(request: dict[str, Any]) -> Any:
    return decoded(gzip.decompress((GOLDEN / request["file"]).read_bytes()))


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Board:
    return Board(SHARED / "traces" / "logdir", tmp_path_factory.mktemp("home"))


@pytest.mark.skipif(not REQUESTS, reason="the reference answers (../shared/traces) are not here")
@pytest.mark.parametrize("name", NAMES)
def test_answers_have_no_member_of_ours(name: str, sample: Board) -> None:
    requests = [one for one in REQUESTS if name == (one["params"]["tag"] if one["route"] == "data" else one["route"])]
    assert requests
    found = set()
    for request in requests:
        found |= set(additions(decoded(sample.get(request["route"], **request["params"]).data), stored(request)))
    assert found == ALLOWED.get(name, set())


@pytest.mark.parametrize(
    ("ours", "xprofs", "found"),
    [
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 3}}, [".a.c"]),
        ([{"a": 1}, {}], [{}], ["[1]", "[0].a"]),
        ({"cols": [{"id": "x", "help": "h"}], "rows": []}, {"cols": [{"id": "x"}], "rows": []}, [".cols.x.help"]),
        ({"cols": [{"id": "x"}, {"id": "y"}], "rows": []}, {"cols": [{"id": "x"}], "rows": []}, [".cols.y"]),
        ({"cols": [], "rows": [], "p": {"a": "1"}}, {"cols": [], "rows": []}, [".p", ".p.a"]),
        (
            {"cols": [], "rows": [{"c": [{"v": 1, "f": "1"}]}]},
            {"cols": [], "rows": [{"c": [{"v": 1}]}]},
            [".rows.c.f"],
        ),
        (
            {"traceEvents": [{"ph": "X", "name": "a", "args": {"b": 1}}, {}]},
            {"traceEvents": [{"ph": "X", "name": "c", "args": {}}]},
            [".traceEvents('X', 'args.b')"],
        ),
    ],
)
def test_additions_are_found_at_every_level(ours: Any, xprofs: Any, found: list[str]) -> None:
    assert list(additions(ours, xprofs)) == found
    assert not list(additions(xprofs, xprofs))
