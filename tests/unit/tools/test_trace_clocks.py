"""Hosts on a common clock in the trace viewer: only on request, everywhere alike, and never for malformed numbers."""

from __future__ import annotations

import numpy as np
import pytest
from builders.answers import answer
from builders.timeline import build_trace, canvas, streaming
from builders.xspace_text import build

from tpu_profile_plugin.columns import load
from tpu_profile_plugin.errors import BadRequest, OutOfRange, TooLarge
from tpu_profile_plugin.tools.time.trace_viewer import trace_events
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


DEVICE = """
plane 1 "/device:TPU:0" {device_type_string="TPU v4"}
line 1 Steps
0us +100us 0
100us +100us 1
line 2 "XLA Ops"
0us +50us a
80us +120us a
metadata a {program_id=u7, symbol_id=u1, hlo_category="loop fusion"}
"""


def test_gaps_of_several_hosts_are_at_the_processes_and_times_of_the_page():
    gaps = build_trace(DEVICE, DEVICE, format="gaps", clocks=f"h1:{5 * US}").value["gaps"]
    found = {(one["host"], one["begin_ps"], one["pid"]) for one in gaps}
    sections = {section["host"]: section["pid"] for section in canvas(DEVICE, DEVICE)[0]["sections"]}
    assert found == {("h0", 50 * US, sections["h0"]), ("h1", 55 * US, sections["h1"])}
    assert sections["h0"] != sections["h1"]
    (alone,) = build_trace(DEVICE, format="gaps").value["gaps"]
    assert (alone["begin_ps"], alone["pid"]) == (50 * US, canvas(DEVICE)[0]["sections"][0]["pid"])


@pytest.mark.parametrize(("most", "fits"), [(4, True), (3, False)])
def test_events_of_all_hosts_count_together(most, fits, monkeypatch):
    monkeypatch.setattr(trace_events, "MOST_WITH_ARGS", most)
    if fits:
        assert build_trace(HOST, HOST, format="events").body.count(b'"ph":"X"') == 4
    else:
        with pytest.raises(TooLarge):
            build_trace(HOST, HOST, format="events")


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
