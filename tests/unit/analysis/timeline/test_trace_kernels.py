"""The native timeline against slow references, on random tracks."""

import gzip
import json
import zlib
from itertools import pairwise

import numpy as np
import pytest
from builders.checks.slow_trace import Event, select
from builders.rings import many
from builders.timeline import read_container
from hypothesis import given, settings
from hypothesis import strategies as st

from tpu_profile_plugin import _native
from tpu_profile_plugin.analysis.timeline.host import TraceTable
from tpu_profile_plugin.analysis.timeline.window import FEW_EVENTS, clip, resolution_ps

NAMES = [f"n{i}" for i in range(4)]


def u32(values):
    return np.array(values, np.uint32)


NO_SAMPLES = np.empty(0, np.int64), np.empty(0, np.int64), u32([]), u32([])


def native_of(events: list[Event], threads: int = 2) -> _native.Trace:
    """A trace of events; track t is process t + 1."""
    events = sorted(events, key=lambda e: e.track)
    flows = [(i, e.flow) for i, e in enumerate(events) if e.flow]
    table = TraceTable(
        begin_ps=np.array([e.begin for e in events], np.int64),
        duration_ps=np.array([e.duration for e in events], np.int64),
        metadata=u32([e.name for e in events]),
        names=np.arange(len(NAMES), dtype=np.uint32),
        removed=None,
        group_id=None,
        renamed_event=u32([]),
        renamed_name=u32([]),
        flow_event=u32([i for i, _ in flows]),
        flow_value=np.array([flow[0] << 2 | flow[1] for _, flow in flows], np.uint64),
        async_event=u32([]),
    )
    tracks = max((e.track for e in events), default=-1) + 1
    first = np.searchsorted([e.track for e in events], np.arange(tracks)).astype(np.int64)
    last = np.r_[first[1:], len(events)].astype(np.int64) if tracks else first
    pieces = np.zeros(tracks, np.uint32), first, last, np.arange(tracks, dtype=np.uint32)
    numbers = np.arange(1, tracks + 1, dtype=np.uint32), np.ones(tracks, np.uint32)
    return _native.build_trace([table], pieces, numbers, NAMES, [], NO_SAMPLES, threads)


def ordered(events: list[Event]) -> list[Event]:
    return sorted(events, key=lambda e: (e.begin, -e.duration, e.track, e.name))


def event_lists(times: int, lengths: int, size: int = 40):
    flow = st.none() | st.tuples(st.integers(1, 5), st.sampled_from([1, 2, 3]))
    one = st.builds(Event, st.integers(0, 3), st.integers(0, times), st.integers(0, lengths), st.integers(0, 3), flow)
    # Which of two equal events carries a flow is not part of the rules.
    return st.lists(one, max_size=size, unique_by=lambda e: (e.track, e.begin, e.duration, e.name))


def deflated(text: bytes) -> tuple[bytes, bytes]:
    packer = zlib.compressobj(wbits=-15)
    return text, packer.compress(text) + packer.flush(zlib.Z_SYNC_FLUSH)


def written(trace, selection, pid_offset=0, threads=2):
    """The events of a selection as the trace viewer gives them."""
    file = _native.trace_json([(trace, selection, pid_offset)], [deflated(b"[0")], deflated(b"]"), threads)
    return json.loads(gzip.decompress(file))[1:]


def test_many_events_are_written_by_several_threads():
    trace = native_of([Event(i % 3, 10 * i, 5, i % 4, None) for i in range(200_000)])
    selection = trace.select(400_000, 1_500_000, 0, False, 2)
    found = written(trace, selection)
    assert found == written(trace, selection, threads=1)
    assert sorted(round(e["ts"] * 1e6) for e in found) == list(range(400_000, 1_500_001, 10))


@settings(max_examples=many(75, 300), deadline=None)
@given(event_lists(3000, 700), st.integers(0, 3000), st.integers(0, 3000), st.sampled_from([0, 1, 5, 10, 64, 100, 900]))
def test_selection(events, begin, length, resolution):
    trace = native_of(events)
    selection = trace.select(begin, begin + length, resolution, False, 2)
    got = [(e["ts"], e["dur"], e["pid"] - 1, e["name"]) for e in written(trace, selection)]
    expected = [
        (e.begin / 1e6, max(e.duration, 1) / 1e6, e.track, NAMES[e.name])
        for e in sorted(select(ordered(events), begin, begin + length, resolution), key=lambda e: e.track)
    ]
    assert got == expected
    assert len(selection) == len(got)


@settings(max_examples=many(50, 200), deadline=None)
@given(event_lists(10**13, 10**13), st.sampled_from([10**9, 3 * 10**11, 10**12, 10**13]))
def test_selection_over_many_levels(events, resolution):
    trace = native_of(events)
    selection = trace.select(0, 2 * 10**13, resolution, False, 1)
    assert len(selection) == len(select(ordered(events), 0, 2 * 10**13, resolution))


@settings(max_examples=many(50, 200), deadline=None)
@given(event_lists(2000, 300, 120), st.integers(0, 2000), st.integers(1, 2000), st.integers(1, 50))
def test_boxes(events, begin, length, columns):
    trace = native_of(events)
    end = begin + length
    body = _native.trace_columns([trace], (begin, end), columns, 10**6, b"", ([], [], []), 1)
    header, arrays = read_container(body)
    rows = {}
    for track, (first, last) in enumerate(zip(arrays["track_start"][:-1], arrays["track_start"][1:], strict=True)):
        inside = sum(e.track == track and e.begin <= end and e.end >= begin for e in events)
        counts = arrays["count"][first:last]
        # What ends exactly at the window's begin may be hidden behind the event that begins there.
        touching = sum(e.track == track and e.end == begin and e.duration > 0 for e in events)
        assert inside - touching <= counts.sum() <= inside
        for i in range(first, last):
            rows.setdefault((track, arrays["row"][i]), []).append((arrays["begin_ps"][i], arrays["duration_ps"][i]))
            name = arrays["name"][i]
            facts = trace.event(track, int(arrays["event"][i]))
            assert facts is not None
            assert facts[1] == arrays["begin_ps"][i]
            if arrays["count"][i] == 1:
                assert (NAMES[facts[0]], facts[2]) == (header["strings"][name], arrays["duration_ps"][i])
            else:
                assert arrays["duration_ps"][i] < 2 * length / columns + 2
    for boxes in rows.values():
        assert boxes == sorted(boxes)
        assert all(a[0] + a[1] <= b[0] for a, b in pairwise(boxes))
        assert len(boxes) <= 2 * columns + 2


@settings(max_examples=many(25, 100), deadline=None)
@given(event_lists(500, 200))
def test_rows_put_children_below_what_encloses_them(events):
    trace = native_of(events)
    placed = []
    for track, size in enumerate(trace.track_sizes().tolist()):
        for index in range(size):
            _, begin, duration, _, _, row = trace.event(track, index)
            placed.append((track, begin, begin + duration, row))
            for other, other_row in trace.ancestors(track, index):
                facts = trace.event(track, other)
                assert other_row < row
                assert facts[1] <= begin
                assert begin + duration <= facts[1] + facts[2]
    for track, begin, end, row in placed:
        for other in placed:
            if other[0] == track and other[3] == row and other[1:3] != (begin, end):
                assert other[2] <= begin or end <= other[1]


@pytest.mark.parametrize(
    ("window", "units", "events", "expected"),
    [
        ((482_851_900_000, 1_963_010_574_340_000), 8000, FEW_EVENTS, 245_315_965_305),
        ((482_851_900_000, 1_963_010_574_340_000), 1000, FEW_EVENTS, 1_962_527_722_440),
        ((0, 15), 10, FEW_EVENTS, 2),
        ((0, 100), 10, FEW_EVENTS - 1, 0),
        ((0, 100), 0, FEW_EVENTS, 0),
        ((100, 0), 10, FEW_EVENTS, 0),
    ],
)
def test_resolution_of_a_window(window, units, events, expected):
    assert resolution_ps(window, units, events) == expected


def test_clipping():
    assert clip((0, 100), (10, 50)) == (10, 50)
    assert clip((60, 100), (10, 50)) == (60, 50)


def test_tables_must_fit():
    bad = TraceTable(
        np.zeros(2, np.int64),
        np.zeros(1, np.int64),
        u32([0, 0]),
        u32([0]),
        None,
        None,
        *(u32([]),) * 3,
        np.empty(0, np.uint64),
        u32([]),
    )
    empty = np.empty(0, np.int64)
    with pytest.raises(ValueError, match="columns of a table"):
        _native.build_trace([bad], (u32([]), empty, empty, u32([])), (u32([]), u32([])), [], [], NO_SAMPLES, 1)
