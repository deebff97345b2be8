"""Times by part: only parts with time take memory; what is missing reads as none."""

import numpy as np
import pytest

from tpu_profile_plugin.analysis.common.part_times import PartTimes, side_by_side

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
