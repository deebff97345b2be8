"""Requests that name a second run as `base`: looked up like `run`, and answers that depend on the files of both."""

from __future__ import annotations

import os

import pytest
from builders.logdirs import write
from builders.profiles.compared import core
from builders.servers.board import Board

from tpu_profile_plugin.tools import registry

COMPARING = [tool.id for tool in registry.TOOLS if tool.compares]


@pytest.fixture
def pair(tmp_path):
    files = {
        "plugins/profile/old/h.xplane.pb": core(100, 100, 100),
        "plugins/profile/new/h.xplane.pb": core(300, 300, 300),
    }
    return write(tmp_path / "logs", files)


@pytest.fixture
def two(pair, tmp_path):
    return Board(pair, tmp_path / "home")


def compute(answer):
    """Time of computation per step in base and run, in us."""
    part = answer["parts"]["compute"]
    return part["base"] // 10**6, part["run"] // 10**6


def test_both_runs_are_read(two):
    assert COMPARING == ["compare"]
    assert compute(two.json("data", tag="compare", run="new", base="old")) == (100, 300)
    assert compute(two.json("data", tag="compare", run="old", base="new")) == (300, 100)
    assert compute(two.json("data", tag="compare", run="old", base="old")) == (100, 100)


@pytest.mark.parametrize("query", [{}, {"base": ""}])
@pytest.mark.parametrize("route", ["data", "data_csv", "progress"])
def test_a_missing_base_is_a_bad_request(two, route, query):
    status, code, _, details = two.refused(route, tag="compare", run="new", **query)
    assert (status, code, details["parameter"]) == (400, "bad_request", "base")


@pytest.mark.parametrize(
    "name",
    ["nope", "../logs/plugins/profile/old", "/etc", "plugins/profile/old", "old/..", "./old", "old\0", "%6fld", "OLD"],
)  # fmt: skip
def test_a_base_is_a_name_of_a_listing_and_never_a_path(two, tmp_path, name):
    status, code, message, details = two.refused("data", tag="compare", run="new", base=name)
    assert (status, code) == (404, "run_not_found")
    assert str(tmp_path) not in message + str(details)


def test_the_full_path_of_a_run_is_no_name(two, pair):
    path = str(pair / "plugins/profile/old")
    assert two.refused("data", tag="compare", run="new", base=path)[:2] == (404, "run_not_found")


def test_base_has_no_effect_on_tools_that_do_not_compare(two):
    ask = {"tag": "profile_contents", "run": "new"}
    assert two.get("data", **ask, base="nope").data == two.get("data", **ask).data
    assert two.get("data", **ask, base="nope").headers["ETag"] == two.get("data", **ask).headers["ETag"]


def test_a_base_beside_an_allowed_directory_comes_from_the_logdir(pair, tmp_path):
    outside = write(tmp_path / "out", {"one/h.xplane.pb": core(500, 500)})
    board = Board(pair, tmp_path / "home", "--profile_allowed_roots", str(outside))
    ask = {"tag": "compare", "session_path": str(outside / "one")}
    assert compute(board.json("data", **ask, base="old")) == (100, 500)
    assert board.refused("data", **ask, base="one")[:2] == (404, "run_not_found")
    write(tmp_path / "out", {"two/h.xplane.pb": core(700, 700)})
    below = {"tag": "compare", "run_path": str(outside), "run": "one"}
    assert compute(board.json("data", **below, base="two")) == (700, 500)
    assert board.refused("data", **below, base="old")[:2] == (404, "run_not_found")


def test_validators_tell_bases_apart(two):
    ask = {"tag": "compare", "run": "new"}
    tags = {two.get("data", **ask, base=base).headers["ETag"] for base in ("old", "new")}
    tags.add(two.get("data", tag="compare", run="old", base="new").headers["ETag"])
    assert len(tags) == 3
    etag = two.get("data", **ask, base="old").headers["ETag"]
    assert two.get("data", headers={"If-None-Match": etag}, **ask, base="old").status_code == 304
    assert two.get("data", headers={"If-None-Match": etag}, **ask, base="new").status_code == 200


@pytest.mark.parametrize("changed", ["old", "new"])
def test_replacing_the_file_of_either_run_changes_the_answer(two, pair, changed):
    ask = {"tag": "compare", "run": "new", "base": "old"}
    first = two.get("data", **ask)
    write(pair, {f"plugins/profile/{changed}/h.xplane.pb": core(400, 400)}, age_s=1800)
    after = two.get("data", headers={"If-None-Match": first.headers["ETag"]}, **ask)
    assert after.status_code == 200
    assert compute(after.json) == ((400, 300) if changed == "old" else (100, 400))


def test_a_base_without_a_profile_or_with_a_damaged_one_is_said(two, pair):
    write(pair, {"plugins/profile/bare": None, "plugins/profile/torn/h.xplane.pb": b"\xff" * 100})
    assert two.refused("data", tag="compare", run="new", base="bare")[:2] == (404, "no_data")
    status, code, _, details = two.refused("data", tag="compare", run="new", base="torn")
    assert (status, code, details["file"]) == (422, "corrupt_profile", "h.xplane.pb")


def test_hosts_of_the_base_that_cannot_be_read_are_named(two, pair):
    write(
        pair, {"plugins/profile/half/h.xplane.pb": core(200, 200), "plugins/profile/half/torn.xplane.pb": b"\xff" * 99}
    )
    answer = two.get("data", tag="compare", run="new", base="half")
    assert compute(answer.json) == (200, 300)
    assert '"host": "torn (base)"' in answer.headers["X-Profile-Left-Out"]
    assert any("torn" in note for note in answer.json["notes"])


def test_a_base_that_changes_while_it_is_read_is_not_kept(two, pair, monkeypatch):
    from tpu_profile_plugin.tools.summary import compare

    tool = registry.find("compare")
    built = []

    def build(run, query):
        built.append(query.base.name)
        if len(built) == 1:
            os.utime(pair / "plugins/profile/old/h.xplane.pb", (10**9, 10**9))
        return compare.TOOL.build(run, query)

    monkeypatch.setitem(registry._BY_ID, "compare", type(tool)(**{**vars(tool), "build": build}))
    ask = {"tag": "compare", "run": "new", "base": "old"}
    for _ in range(3):
        assert compute(two.json("data", **ask)) == (100, 300)
    assert len(built) == 2, "the first answer must not be kept, the second must"
