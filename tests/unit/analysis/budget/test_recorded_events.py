"""How closely events of a thread follow each other."""

from __future__ import annotations

import numpy as np
import pytest

from tpu_profile_plugin.analysis.budget import recorded_events as module
from tpu_profile_plugin.analysis.budget.recorded_events import CHUNK, CHUNKS, recorded_events


def columns(spans, kind):
    """Begins, ends and which events are calls, from (begin, end) pairs and the mark of each."""
    begin, end = np.array(spans, np.int64).reshape(-1, 2).T
    return begin, end, np.array(kind, np.bool_)


def row_of(count, length=50, period=200, start=0):
    """Events of one length, one after the other."""
    return [(start + number * period, start + number * period + length) for number in range(count)]


@pytest.mark.parametrize(("count", "close"), [(30, 0.0), (31, 200.0)])
def test_events_in_a_row(count, close):
    """Each takes 50 and is 150 from the next; 30 such pairs are needed."""
    of_calls = recorded_events(*columns(row_of(count), [True] * count)).frames
    assert (of_calls.close_ps, of_calls.typical_ps, len(of_calls.begin_ps)) == (close, close, count)


@pytest.mark.parametrize("calls", [False, True])
def test_events_within_each_other(calls):
    """An event of 100 holds one of 60: 30 between the begins, 10 between the ends; 900 to the next one."""
    outer = row_of(100, 100, 1000)
    inner = [(begin + 30, end - 10) for begin, end in outer]
    found = recorded_events(*columns(outer + inner, [calls] * 200))
    close = (100 * (30 + 10) + 99 * (60 + 900)) / 199
    assert (found.frames.close_ps, found.others.close_ps) == ((close, 0.0) if calls else (0.0, close))


def test_an_event_ends_before_another_begins_at_the_same_moment():
    """31 follow each other without a gap; of 30 others each is met by a call at its end."""
    assert recorded_events(*columns(row_of(31, 50, 50), [True] * 31)).frames.close_ps == 50.0
    spans, calls = [], []
    for at in range(0, 30_000, 1000):
        spans += [(at, at + 100), (at + 40, at + 50), (at + 130, at + 170), (at + 170, at + 180)]
        calls += [False, True, False, True]
    assert recorded_events(*columns(spans, calls)).others.close_ps == 30 + 40


def test_work_between_events_does_not_count():
    """Of a hundred calls 20 follow at once, the others do other things first: close is not typical."""
    spans, at = [], 0
    for number in range(100):
        spans.append((at, at + 50))
        at += 200 if number % 5 == 0 else 5000
    found = recorded_events(*columns(spans, [True] * 100)).frames
    assert (found.close_ps, found.typical_ps) == (200.0, 5000.0)


def test_calls_and_other_events_are_told_apart():
    calls, ops = row_of(40), row_of(40, 70, 300, 100_000)
    found = recorded_events(*columns(calls + ops, [True] * 40 + [False] * 40))
    assert (found.frames.close_ps, found.others.close_ps) == (200.0, 300.0)
    assert found.others.within(np.array([100_000, 0, 100_300]), np.array([100_600, 100_000, 100_301])).tolist() == [
        2,
        0,
        1,
    ]


def test_events_in_any_order_and_without_length():
    """Those without length, such as allocations, do not count."""
    spans = [*row_of(40)[::-1], *((at, at) for at in range(100, 4000, 100))]
    found = recorded_events(*columns(spans, [True] * len(spans))).frames
    assert (found.close_ps, found.begin_ps.tolist()) == (200.0, list(range(0, 8000, 200)))


@pytest.mark.parametrize(
    ("chunks", "chunk", "count", "close"),
    [
        (4, 8, 32, 200.0),  # all of them, which are 31 pairs
        (4, 8, 33, 0.0),  # four times 7 pairs
        (4, 9, 37, 200.0),  # four times 8
        (4, 10, 80, 200.0),
    ],
)
def test_a_sample_has_pairs_within_its_chunks_only(monkeypatch, chunks, chunk, count, close):
    monkeypatch.setattr(module, "CHUNKS", chunks)
    monkeypatch.setattr(module, "CHUNK", chunk)
    found = recorded_events(*columns(row_of(count), [True] * count)).frames
    assert (found.close_ps, len(found.begin_ps)) == (close, count)


def test_of_many_events_a_sample_is_looked_at():
    count = CHUNKS * CHUNK + 1000
    spans = np.array(row_of(count), np.int64)
    found = recorded_events(spans[:, 0], spans[:, 1], np.ones(count, np.bool_)).frames
    assert (found.close_ps, len(found.begin_ps)) == (200.0, count)


def test_no_events():
    found = recorded_events(*columns([], []))
    assert (found.frames.close_ps, found.others.close_ps) == (0.0, 0.0)
