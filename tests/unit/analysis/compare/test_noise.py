"""The interval of a difference of means against values of a table of Student's t, and a worked example."""

from __future__ import annotations

import numpy as np
import pytest

from tpu_profile_plugin.analysis.compare.run_work import Sample, shift, student, welch


@pytest.mark.parametrize(
    ("freedom", "quantile"), [(1, 12.706), (2, 4.303), (3, 3.182), (5, 2.571), (10, 2.228), (30, 2.042), (1000, 1.962)]
)
def test_the_quantile_is_that_of_the_tables(freedom, quantile):
    assert student(0.95, freedom) == pytest.approx(quantile, rel=0.002)


@pytest.mark.parametrize(
    ("confidence", "freedom", "quantile"),
    [
        (0.95, 1, 12.7062047), (0.5, 1, 1.0), (0.95, 2, 4.3026527), (0.5, 2, 0.8164966),
        (0.95, 5, 2.5703082),  # one in 10,000 below that of the tables
        (0.95, 10, 2.2281389), (0.5, 10, 0.6998121), (0.95, 30, 2.0422725), (0.5, 30, 0.6827557),
    ],
)  # fmt: skip
def test_the_expansion_is_exact_in_its_digits(confidence, freedom, quantile):
    assert student(confidence, freedom) == pytest.approx(quantile, rel=4e-6)


def test_the_interval_of_two_steps_on_each_side():
    # Standard error 3, 2 degrees of freedom.
    low, high = welch(Sample(20, 9, 2), Sample(24, 9, 2))
    assert (low, high) == pytest.approx((4 - 3 * 4.3026527, 4 + 3 * 4.3026527), rel=1e-6)
    assert welch(Sample(20, 9, 2), Sample(24, 9, 1)) is None


def test_parts_of_a_step_and_of_steps():
    one, other = Sample(20.0, 16.0, 5, 3.0, 1), Sample(7.0, 9.0, 5, 2.0, 1)
    assert one.ordinary == 17.0
    assert one.plus(other) == Sample(27.0, 49.0, 5, 5.0, 1)
    assert one.divided(4) == Sample(5.0, 1.0, 5, 0.75, 1)


def test_the_interval_is_that_of_welch():
    # Means 20 and 24, variances 4 and 16, 5 steps each: standard error 2, 5.88 degrees of freedom, t = 2.459.
    low, high = welch(Sample(20, 4, 5), Sample(24, 16, 5))
    assert (low, high) == pytest.approx((4 - 2 * 2.4588, 4 + 2 * 2.4588), rel=0.002)


def test_equal_steps_leave_no_doubt_and_one_step_says_nothing():
    assert welch(Sample(20, 0, 5), Sample(24, 0, 5)) == (4, 4)
    assert welch(Sample(20, 0, 1), Sample(24, 0, 5)) is None


def test_long_steps_move_the_interval_by_what_they_add():
    base, run = Sample(20, 4, 5), Sample(24, 16, 5)
    low, high = welch(base, run)
    assert welch(base, Sample(34, 16, 5, excess=10, single=2)) == pytest.approx((low + 10, high + 10))
    # One of them may be an accident.
    assert welch(base, Sample(34, 16, 5, excess=10, single=1)) == pytest.approx((low, high + 10))
    assert welch(Sample(34, 4, 5, excess=14, single=1), run) == pytest.approx((low - 14, high))


@pytest.mark.parametrize(
    ("base", "run", "expected"),
    [
        ([1, 2, 3], [4, 5, 6], 0),  # too few
        ([1, 2, 3, 4], [5, 6, 7, 8], 1),
        ([1, 2, 3, 5], [4, 6, 7, 8], 0),
        ([1, 2, 3, 4], [5, 6, 7, 800], 1),  # a long step has the same rank
        ([5, 6, 7, 8], [1, 2, 3, 4], -1),
        ([2, 2, 2, 2], [2, 2, 2, 2], 0),
        ([1, 2, 3, 4, 5], [6, 7, 8, 9, 10], 1),
        ([1, 1, 1, 2], [2, 2, 3, 3], 1),  # ties make less difference likely
        ([1, 1, 2, 2], [2, 2, 3, 3], 0),
    ],
)
def test_ranks(base, run, expected):
    assert shift(np.array(base, float), np.array(run, float)) == expected
