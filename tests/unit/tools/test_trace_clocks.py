"""Hosts on a common clock in the trace viewer: only on request, everywhere alike, and never for malformed numbers."""

from __future__ import annotations

import numpy as np
import pytest
from builders.answers import answer
from builders.timeline import streaming
from builders.xspace_text import build

from tpu_profile_plugin.columns import load
from tpu_profile_plugin.errors import BadRequest, OutOfRange
from tpu_profile_plugin.tools.time.trace_viewer.tool import TOOL, as_recorded, clock_shifts, ps

US = 10**6
HOST = 'plane 1 "/host:CPU"\nline 1 python @100us\n0us +10us f\n50us +5us g {x=1}'


def begins(**params):
    """Begin of each event in us, by process."""
    events = [one for one in streaming(HOST, HOST, **params)["traceEvents"] if one.get("ph") == "X"]
    pids = sorted({one["pid"] for one in events})
    return [sorted(one["ts"] for one in events if one["pid"] == pid) for pid in pids]


def test_times_are_as_recorded_unless_asked_otherwise():
    assert begins() == [[100, 150], [100, 150]]
    assert begins(clocks="h1:-40000000") == [[100, 150], [60, 110]]
    assert begins(clocks="h0:5000000,h1:-40000000,gone:7") == [[105, 155], [60, 110]]


def test_the_details_of_an_event_are_on_the_same_clock():
    events = streaming(HOST, clocks="h0:7000000")["traceEvents"]
    pid, tid = next((one["pid"], one["tid"]) for one in events if one.get("ph") == "X")
    found = answer(TOOL, HOST, clocks="h0:7000000", format="event", pid=str(pid), tid=str(tid), event="1")
    assert (found["name"], found["begin_ps"], found["duration_ps"]) == ("g", 157 * US, 5 * US)
    assert [entry["key"] for entry in found["args"]] == ["x"]


@pytest.mark.parametrize("clocks", ["h0", "h0:", "h0:x", "h0:1.5", "h0:--1", "h0:999999999999999999", "h0:\u0661"])
def test_malformed_clocks_are_refused(clocks):
    with pytest.raises(BadRequest, match="clocks"):
        answer(TOOL, HOST, clocks=clocks)


def test_clocks_move_by_a_day_at_most():
    def shifts(clocks):
        return clock_shifts(TOOL.query({"clocks": clocks}))

    assert shifts(f"h0:{10**17},recorded,a:b:-{10**17},") == {"h0": 10**17, "a:b": -(10**17)}
    for number in (10**17 + 1, -(10**17) - 1, 10**18):
        with pytest.raises(BadRequest, match="clocks"):
            shifts(f"h0:{number}")
    assert [as_recorded(TOOL.query({"clocks": text})) for text in ("h0:5", "h0:5,recorded", "")] == [False, True, False]


def test_windows_are_within_the_longest_profile():
    limit = 2.0**62 / 10**9
    for number in (limit, -limit, 0.0):
        assert ps(TOOL.query({"start_time_ms": repr(number)}), "start_time_ms") == round(number * 10**9)
    with pytest.raises(OutOfRange):
        ps(TOOL.query({"start_time_ms": repr(limit * 1.001)}), "start_time_ms")
    assert ps(TOOL.query({}), "start_time_ms") == 0


def test_a_shifted_profile_leaves_the_original_alone():
    space = load(np.frombuffer(build(HOST), np.uint8))
    moved = space.shifted(-US)
    assert moved.planes[0].events.begin_ps.tolist() == [99 * US, 149 * US]
    assert space.planes[0].events.begin_ps.tolist() == [100 * US, 150 * US]
    assert moved.planes[0].events.duration_ps is space.planes[0].events.duration_ps
    assert not moved.planes[0].events.begin_ps.flags.writeable
