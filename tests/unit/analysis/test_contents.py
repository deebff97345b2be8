"""Busy time and distinct names, against the obvious slow way."""

import numpy as np
import pytest

from tpu_profile_plugin.analysis.contents import covered_ps, distinct


@pytest.mark.parametrize(
    ("intervals", "wanted"),
    [
        ([], 0),
        ([(0, 5)], 5),
        ([(0, 5), (5, 7)], 7),
        ([(0, 5), (6, 7)], 6),
        ([(0, 10), (2, 3), (4, 12)], 12),
        ([(4, 12), (0, 10), (2, 3)], 12),
        ([(3, 3)], 0),
        ([(0, 2), (0, 1), (1, 4)], 4),
        ([(-5, -1), (-2, 3)], 8),
    ],
)
def test_covered(intervals, wanted):
    begins, ends = (np.array([i[k] for i in intervals], np.int64) for k in (0, 1))
    assert covered_ps(begins, ends) == wanted


def test_covered_by_random_intervals_equals_counting_units():
    rng = np.random.default_rng(1)
    for _ in range(50):
        begins = rng.integers(0, 200, 30)
        ends = begins + rng.integers(0, 20, 30)
        slow = len({t for b, e in zip(begins, ends, strict=True) for t in range(b, e)})
        assert covered_ps(begins, ends) == slow


@pytest.mark.parametrize("values", [[0], [3, 3, 3], [5, 1, 5, 2], [100_000, 7, 7]])
def test_distinct(values):
    assert distinct(np.array(values, np.uint32)) == len(set(values))
