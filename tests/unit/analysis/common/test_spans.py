"""Sets of time, and times by part of a step."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tpu_profile_plugin.analysis.common.spans import (
    PartTimes,
    contains,
    covered_after,
    covered_within,
    cut,
    exact_sum,
    intersect,
    join,
    no_time,
    side_by_side,
    subtract,
    times_of,
    times_of_all,
    total,
    union,
)


def spans(*pairs):
    begin, end = np.array(pairs, np.int64).reshape(-1, 2).T
    return begin, end


def test_spans_that_overlap_or_touch_are_one():
    begin, end = union(*spans((20, 30), (0, 10), (10, 12), (2, 5), (25, 28)))
    assert (begin.tolist(), end.tolist()) == ([0, 20], [12, 30])
    assert [len(column) for column in union(*spans())] == [0, 0]


def test_what_windows_cover():
    since, until = spans((0, 40), (5, 22), (12, 20), (30, 90), (-5, 1))
    assert covered_within(*spans((0, 12), (20, 30)), since, until).tolist() == [22, 9, 0, 0, 1]
    assert covered_within(*spans(), since, until).tolist() == [0] * 5


def as_pairs(times):
    return list(zip(*(column.tolist() for column in times), strict=True))


SET, OTHER = ((0, 10), (20, 30), (40, 50)), ((5, 25), (30, 40), (45, 46))


def test_sets_of_time():
    a, b = spans(*SET), spans(*OTHER)
    assert as_pairs(intersect(a, b)) == [(5, 10), (20, 25), (45, 46)]
    assert as_pairs(subtract(a, b)) == [(0, 5), (25, 30), (40, 45), (46, 50)]
    assert as_pairs(join(a, b)) == [(0, 50)]
    assert total(a) == 30
    assert contains(a, np.array([-1, 0, 9, 10, 20, 50])).tolist() == [False, True, True, False, True, False]


def test_sets_of_time_with_nothing_in_them():
    a, nothing = spans(*SET), no_time()
    assert as_pairs(intersect(a, nothing)) == as_pairs(intersect(nothing, a)) == as_pairs(subtract(nothing, a)) == []
    assert as_pairs(subtract(a, nothing)) == as_pairs(join(a, nothing)) == list(SET)
    assert as_pairs(join()) == []
    assert contains(nothing, np.array([3])).tolist() == [False]


def test_sets_that_leave_out_others_are_returned_as_they_are():
    a, nothing = spans(*SET), no_time()
    assert join(nothing, a, nothing) is a
    assert subtract(a, nothing) is a
    assert subtract(nothing, a) is nothing


def test_spans_are_cut_inside_of_them_only():
    a = spans(*SET)
    assert as_pairs(cut(a, np.array([45, 25, 0, 10, 15, 40, 49, 25, 60, -3]))) == [
        *((0, 10), (20, 25), (25, 30), (40, 45), (45, 49), (49, 50))
    ]
    assert as_pairs(cut(a, np.array([5]))) == [(0, 5), (5, 10), (20, 30), (40, 50)]
    assert cut(a, np.array([0, 20, 30])) is a
    assert cut(a, np.zeros(0, np.int64)) is a
    assert as_pairs(cut(no_time(), np.array([5]))) == []


def test_spans_without_length_cover_nothing():
    assert as_pairs(times_of(*spans((5, 5), (1, 3), (9, 8), (3, 4)))) == [(1, 4)]


def test_only_marked_spans_of_several_kinds_count():
    begin, end = spans((0, 5), (3, 9), (20, 30))
    marked = np.array([True, False, True])
    assert as_pairs(times_of(begin, end, marked)) == [(0, 5), (20, 30)]
    assert as_pairs(times_of(begin, end, ~marked | ~marked)) == [(3, 9)]
    assert as_pairs(times_of_all((begin, end, marked), (*spans((25, 40), (5, 6)), None))) == [(0, 6), (20, 40)]
    assert as_pairs(times_of_all((begin, end, np.zeros(3, np.bool_)))) == []


def test_time_after_a_point_of_spans_of_several_kinds():
    runs, control = (*spans((0, 10), (5, 20), (30, 40)), None), (*spans((8, 33)), None)
    assert covered_after(30, runs, control) == (40, 10)
    assert covered_after(90, runs) == (30, 0)


SPANS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=12)


def moments(pairs):
    return {time for begin, end in pairs for time in range(begin, end)}


@given(SPANS, SPANS)
def test_sets_of_time_are_sets_of_moments(one, other):
    a, b = times_of(*spans(*one)), times_of(*spans(*other))
    sets = {
        join: moments(one) | moments(other),
        intersect: moments(one) & moments(other),
        subtract: moments(one) - moments(other),
    }
    for operation, expected in sets.items():
        found = as_pairs(operation(a, b))
        assert moments(found) == expected
        assert all(first[1] < second[0] for first, second in pairwise(found))
    since, until = spans(*[(begin, end) for begin, end in other if begin <= end])
    inside = [len(moments(one) & set(range(begin, end))) for begin, end in zip(since, until, strict=True)]
    assert covered_within(*a, since, until).tolist() == inside


@pytest.mark.parametrize("times", [[], [3, -5, 7], [2**62] * 4, [2**63 - 1] * 3, [-(2**63), -1]])
def test_sums_that_do_not_wrap_around(times):
    assert exact_sum(np.array(times, np.int64)) == sum(times)
    assert exact_sum(np.array([times, times], np.int64)) == 2 * sum(times)


TIMES = np.array([[[1, 2], [3, 4], [5, 6]], [[0, 0], [0, 0], [0, 0]], [[0, 7], [0, 0], [0, 0]]], np.int64)
"""Parts A, B and C of three steps on two devices; nothing is spent on B."""
A, B, C = 10, 20, 30


@pytest.fixture
def times() -> PartTimes:
    return PartTimes.of((A, B, C), TIMES)


def test_parts_without_time_are_left_out(times):
    assert (times.shape, sorted(times.arrays)) == ((3, 2), [A, C])
    assert times[A].tolist() == [[1, 2], [3, 4], [5, 6]]
    assert times[B].tolist() == [[0, 0]] * 3
    assert times.stacked((C, B, A))[0].tolist() == [[0, 0, 1], [7, 0, 2]]


def test_sums(times):
    assert times.sum().tolist() == [[1, 9], [3, 4], [5, 6]]
    assert times.sum((B, C)).tolist() == [[0, 7], [0, 0], [0, 0]]
    assert times.sum((B,)).tolist() == [[0, 0]] * 3
    assert PartTimes((1, 2)).sum().tolist() == [[0, 0]]


def test_a_choice_of_steps_and_devices(times):
    some = times.where(np.array([True, False, True]), [1])
    assert (some.shape, some[A].tolist(), some[C].tolist()) == ((2, 1), [[2], [6]], [[7], [0]])
    assert times.where(slice(1, 2))[A].tolist() == [[3, 4]]
    assert PartTimes((3, 2)).where(slice(2)).shape == (2, 2)


def test_time_is_moved_without_changing_the_original(times):
    moved = times.moved(np.array([2, 1]), A, B, (np.array([0, 2]), np.array([1, 0])))
    assert moved[A].tolist() == [[1, 0], [3, 4], [4, 6]]
    assert moved[B].tolist() == [[0, 2], [0, 0], [1, 0]]
    assert (times[A].tolist(), B in times.arrays) == ([[1, 2], [3, 4], [5, 6]], False)
    assert times.moved(times[A], A, C)[C].tolist() == [[1, 9], [3, 4], [5, 6]]


def test_devices_side_by_side(times):
    other = PartTimes((3, 1), {B: np.array([[8], [9], [10]])})
    both = side_by_side([times, other])
    assert both.shape == (3, 3)
    assert both[A].tolist() == [[1, 2, 0], [3, 4, 0], [5, 6, 0]]
    assert both[B].tolist() == [[0, 0, 8], [0, 0, 9], [0, 0, 10]]
