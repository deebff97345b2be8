"""The interval of a difference of means against values of a table of Student's t, and a worked example."""

from __future__ import annotations

import pytest

from tpu_profile_plugin.analysis.compare.noise import Sample, student, welch


@pytest.mark.parametrize(
    ("freedom", "quantile"), [(1, 12.706), (2, 4.303), (3, 3.182), (5, 2.571), (10, 2.228), (30, 2.042), (1000, 1.962)]
)
def test_the_quantile_is_that_of_the_tables(freedom, quantile):
    assert student(0.95, freedom) == pytest.approx(quantile, rel=0.002)


def test_the_interval_is_that_of_welch():
    # Means 20 and 24, variances 4 and 16, 5 steps each: standard error 2, 5.88 degrees of freedom, t = 2.459.
    low, high = welch(Sample(20, 4, 5), Sample(24, 16, 5))
    assert (low, high) == pytest.approx((4 - 2 * 2.4588, 4 + 2 * 2.4588), rel=0.002)


def test_equal_steps_leave_no_doubt_and_one_step_says_nothing():
    assert welch(Sample(20, 0, 5), Sample(24, 0, 5)) == (4, 4)
    assert welch(Sample(20, 0, 1), Sample(24, 0, 5)) is None
