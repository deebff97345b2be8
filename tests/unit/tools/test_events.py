"""Events one by one and in groups: which are chosen, in which order, and what is added up."""

from __future__ import annotations

import pytest
from builders.answers import answer, rows

from tpu_profile_plugin.errors import BadRequest, OutOfRange
from tpu_profile_plugin.tools.data.events import TOOL, _ps

US, NS = 10**6, 10**3

PROFILE = """
plane 2 "/device:TPU:0"
  line 1 "XLA Ops" @1000ns "ops shown"
    0us +10us while
    2us +3us dot.1 {n=3}
    6us +1us dot.1 {n=4, raw=0x0102}
    20us +4us dot.1
  line 2 "_counters_"
    1us +2ns MXU {"% util"=12.5d}
  metadata while {hlo_category="loop"} display="while.7"
plane 0 "/host:CPU"
  line 1 main
    3us +5us call
    3us +0us instant
"""


def events(*columns, **params):
    return rows(answer(TOOL, PROFILE, **params), *columns)


def test_events_of_all_lines_by_begin():
    assert events("plane", "line", "name", "begin", "duration", "self") == [
        ["/device:TPU:0", "ops shown", "while.7", 1 * US, 10 * US, 6 * US],
        ["/device:TPU:0", "_counters_", "MXU", 1 * US, 2 * NS, 2 * NS],
        ["/device:TPU:0", "ops shown", "dot.1", 3 * US, 3 * US, 3 * US],
        ["/host:CPU", "main", "call", 3 * US, 5 * US, 5 * US],
        ["/host:CPU", "main", "instant", 3 * US, 0, 0],
        ["/device:TPU:0", "ops shown", "dot.1", 7 * US, 1 * US, 1 * US],
        ["/device:TPU:0", "ops shown", "dot.1", 21 * US, 4 * US, 4 * US],
    ]


@pytest.mark.parametrize(
    ("params", "names"),
    [
        ({"plane": "host"}, ["call", "instant"]),
        ({"plane": "^host"}, []),
        ({"line": "shown", "name": "dot"}, ["dot.1"] * 3),
        ({"line": "XLA Ops", "name": r"\.7$"}, ["while.7"]),
        ({"name": "^while$"}, ["while.7"]),
        ({"min_us": "5"}, ["while.7", "call"]),
        ({"max_us": "0.002"}, ["MXU", "instant"]),
        # Windows are closed, and events may reach beyond them.
        ({"start_time_ms": "0.008", "end_time_ms": "0.021"}, ["while.7", "call", "dot.1", "dot.1"]),
        ({"start_time_ms": "0.007", "end_time_ms": "0.021", "inside": "true"}, ["dot.1"]),
        ({"order": "duration", "limit": "3"}, ["while.7", "call", "dot.1"]),
        ({"order": "self", "limit": "2"}, ["while.7", "call"]),
        ({"limit": "2", "offset": "1"}, ["MXU", "dot.1"]),
        ({"offset": "7"}, []),
    ],
)
def test_which_events(params, names):
    assert [name for (name,) in events("name", **params)] == names


def test_the_number_of_all_is_told():
    assert answer(TOOL, PROFILE, limit="2")["p"] == {"total": "7"}
    assert answer(TOOL, PROFILE, by="name", limit="2")["p"] == {"total": "5"}


def test_stats_with_those_of_the_metadata():
    assert events("stats", name="while", stats="true") == [["long_name=while; hlo_category=loop"]]
    assert events("stats", name="dot", stats="true") == [["n=3"], ["n=4; raw=2 bytes"], [""]]
    assert events("stats", name="dot") == [[""]] * 3


def test_groups_by_name():
    found = events(by="name", name="dot|while")
    assert found == [
        ["h0", "while.7", 1, *(10 * US, 6 * US, 10 * US), *[10 * US] * 5, 0],
        ["h0", "dot.1", 3, *(8 * US, 8 * US), 8 * US / 3, 1 * US, 3 * US, 3.8 * US, 3.98 * US, 4 * US, DEVIATION],
    ]


DEVIATION = pytest.approx((((1 - 8 / 3) ** 2 + (3 - 8 / 3) ** 2 + (4 - 8 / 3) ** 2) / 2) ** 0.5 * US)


def test_groups_by_line_and_plane():
    assert events("plane", "line", "count", "total", by="line,plane") == [
        ["/device:TPU:0", "ops shown", 4, 18 * US],
        ["/host:CPU", "main", 2, 5 * US],
        ["/device:TPU:0", "_counters_", 1, 2 * NS],
    ]
    assert events("plane", "count", by="plane") == [["/device:TPU:0", 5], ["/host:CPU", 2]]
    assert events("count", by="name", name="nothing") == []


def test_hosts_are_kept_apart():
    found = rows(answer(TOOL, PROFILE, PROFILE, name="call"), "host", "name")
    assert found == [["h0", "call"], ["h1", "call"]]
    assert rows(answer(TOOL, PROFILE, PROFILE, name="call", limit="1"), "host") == [["h0"]]
    assert rows(answer(TOOL, PROFILE, PROFILE, name="call", by="name"), "host", "count") == [["h0", 1], ["h1", 1]]


def test_what_is_no_question():
    with pytest.raises(BadRequest, match="'name'"):
        events(name="(")
    with pytest.raises(BadRequest, match="not by 'step'"):
        events(by="name,step")
    with pytest.raises(OutOfRange):
        events(min_us="1e300")


def test_a_profile_without_events():
    assert answer(TOOL, "")["rows"] == []
    assert answer(TOOL, 'plane 0 "/host:CPU"\nline 1 empty', by="name")["rows"] == []


@pytest.mark.parametrize(("name", "unit"), [("min_us", 10**6), ("start_time_ms", 10**9)])
def test_times_reach_as_far_as_profiles(name, unit):
    limit = 2.0**62 / unit
    assert _ps(TOOL.query({name: repr(limit)}), name, unit) == round(limit * unit)
    with pytest.raises(OutOfRange):
        _ps(TOOL.query({name: repr(limit * 1.001)}), name, unit)
