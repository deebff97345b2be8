"""The binary form of the trace viewer: a message in a frame, with the events, samples and names of the JSON form."""

from __future__ import annotations

import itertools

import pytest
from builders.timeline import build_trace

from tpu_profile_plugin.compat.xprof import trace_viewer
from tpu_profile_plugin.protos import message


def unframed(frame: bytes) -> bytes:
    """The bytes in a frame of raw blocks, by RFC 8878."""
    assert frame[:4] == b"\x28\xb5\x2f\xfd"
    descriptor, window, size = frame[4], frame[5], int.from_bytes(frame[6:14], "little")
    assert (descriptor >> 6, descriptor & 0x3F) == (3, 0)  # eight bytes of size, no checksum, no dictionary
    largest = 1 << (10 + window // 8)
    at, last, out = 14, False, b""
    while not last:
        head = int.from_bytes(frame[at : at + 3], "little")
        last, kind, length = bool(head & 1), head // 2 % 4, head // 8
        assert kind == 0
        assert length <= largest
        out += frame[at + 3 : at + 3 + length]
        at += 3 + length
    assert (len(out), at) == (size, len(frame))
    return out


@pytest.mark.parametrize("size", [0, 1, 1 << 17, (1 << 17) + 1, 300_000])
def test_frames_hold_any_number_of_bytes(size):
    data = bytes(itertools.islice(itertools.cycle(range(251)), size))
    assert unframed(trace_viewer._framed(data)) == data


def asked(*texts, tool=trace_viewer.TOOL, **params):
    raw = build_trace(*texts, tool=tool, format="pb", **params)
    assert raw.content_type == "application/octet-stream"
    return message("xprof.TraceDataResponse").FromString(unframed(raw.body))


def series(answer, kind):
    """Per series its place and its events: begin in ps, duration, name, facts."""
    text = answer.interned_strings
    found = []
    for one in getattr(answer, kind):
        place = one.metadata.process_id, one.metadata.thread_id, text[one.metadata.name_ref]
        times = list(itertools.accumulate(one.deltas))
        names = [text[number] for number in one.name_refs]
        found.append((place, times, list(one.durations), names, [str(e).split("\n")[:-1] for e in one.event_metadata]))
    return found


PROFILE = """
plane 2 "/device:TPU:0"
  line 7 "XLA Ops" "shown ops"
    1us +2us b {group_id=3}
    2us +0us a {flow=u3458764513820541238}
    9us +5us b
  line 8 "Async XLA Ops"
    4us +1us copy {flow=31, _a=1}
  line 9 "_counters_"
    2us +0us MXU {"% util"=0d}
    3us +0us MXU {"% util"=2.5d}
    3us +0us reads {count=u7}
plane 0 "/host:CPU"
  line 1 main
    2us +1us call
"""


def test_events_by_thread():
    assert series(asked(PROFILE), "complete_events") == [
        ((1003, 7, ""), [10**6, 2 * 10**6, 9 * 10**6], [2 * 10**6, 0, 5 * 10**6], ["b", "a", "b"], FACTS),
        ((1701, 1, ""), [2 * 10**6], [10**6], ["call"], [[]]),
    ]


FACTS = [["group_id: 3"], ["flow_id: 77", "flow_category: 7", "serial: 1"], []]


def test_the_flow_is_named_and_cut_to_32_bits():
    answer = asked(PROFILE)
    (flow,) = (e for one in answer.complete_events for e in one.event_metadata if e.flow_id)
    assert answer.interned_strings[flow.flow_category] == "tpu_launch"


def test_samples_by_counter():
    answer = asked(PROFILE)
    found = series(answer, "counter_events")
    assert [(place, times) for place, times, *_ in found] == [
        ((1003, 0, "MXU"), [2 * 10**6, 3 * 10**6]),
        ((1003, 0, "reads"), [3 * 10**6]),
    ]
    assert [facts for *_, facts in found] == [
        [["counter_value_double: 0"], ["counter_value_double: 2.5"]],
        [["counter_value_uint64: 7"]],
    ]
    names = [answer.interned_strings[one.metadata.event_stats_ref] for one in answer.counter_events]
    assert names == ["% util", "count"]


def test_asynchronous_events_only_when_asked():
    assert series(asked(PROFILE), "async_events") == []
    (found,) = series(asked(PROFILE, full_dma="true"), "async_events")
    assert found == ((1003, 0, "copy"), [4 * 10**6], [10**6], [], [["flow_id: 7"]])


def test_names_of_processes_options_and_extent():
    answer = asked(PROFILE)
    named = [(p.name, p.id, p.sort_index, [(t.name, t.id) for t in p.threads]) for p in answer.metadata.processes]
    assert named == [
        ("h0 /device:TPU:0", 1003, 1003, [("shown ops", 7), ("Async XLA Ops", 8)]),
        ("h0 /host:CPU", 1701, 1701, [("main", 1)]),
    ]
    assert [(one.name, one.value) for one in answer.details] == [("mpmd_pipeline_view", False), ("full_dma", False)]
    assert (answer.full_timespan_start_ps, answer.full_timespan_end_ps) == (10**6, 14 * 10**6)
    assert not asked("").HasField("full_timespan_start_ps")


def test_windows_and_searches_and_hosts():
    found = asked(PROFILE, PROFILE, search_prefix="b")
    assert [(place[0], names) for place, _, _, names, _ in series(found, "complete_events")] == [
        (1003, ["b", "b"]),
        (2003, ["b", "b"]),
    ]
    assert not found.counter_events
    window = asked(PROFILE, start_time_ms=0.0025, end_time_ms=0.004)
    assert [names for _, _, _, names, _ in series(window, "complete_events")] == [["b"], ["call"]]
    assert [times for _, times, *_ in series(window, "counter_events")] == [[3 * 10**6], [3 * 10**6]]


def test_details_of_one_event_stay_json():
    raw = build_trace(PROFILE, format="pb", event_name="call", start_time_ms=0.002, duration_ms=0.001)
    assert raw.content_type == "application/json"


def test_the_older_tool_has_its_process_ids():
    answer = asked(PROFILE, tool=trace_viewer.LEGACY)
    assert [(p.name, p.id) for p in answer.metadata.processes] == [("h0 /device:TPU:0", 3), ("h0 /host:CPU", 701)]
    assert [one.metadata.process_id for one in answer.complete_events] == [3, 701]
    assert not answer.details
