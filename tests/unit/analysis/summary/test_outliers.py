"""Steps far above the median: which, how often, and what they cost."""

from __future__ import annotations

import numpy as np
import pytest

from tpu_profile_plugin.analysis.summary.outliers import outliers_of


def found(*lengths):
    return outliers_of(np.array(lengths, np.float64), np.arange(100, 100 + len(lengths)))


def every(period, count, *, usual=20.0, slow=130.0):
    return [slow if at % period == period - 1 else usual for at in range(count)]


def test_every_tenth_step():
    steps = found(*every(10, 40))
    assert (steps.median_ps, steps.mean_ps, steps.limit_ps) == (20.0, 31.0, 30.0)
    assert steps.numbers == (109, 119, 129, 139)
    assert steps.rows.tolist() == [9, 19, 29, 39]
    assert steps.period == 10
    assert steps.excess_ps_per_step == 4 * 110 / 40
    assert steps.slowest == 9


def test_time_in_which_devices_work_is_not_lost():
    lengths = np.array(every(10, 40))
    steps = outliers_of(lengths, np.arange(40), np.where(lengths > 30, 12.0, 2.0))
    assert (steps.excess_ps_per_step, steps.idle_ps_per_step) == (11.0, 1.0)
    assert found(*lengths).idle_ps_per_step == 11.0


@pytest.mark.parametrize(("length", "count"), [(30.0, 0), (30.1, 1)])
def test_the_floor_is_half_the_median(length, count):
    assert len(found(*[20.0] * 9, length)) == count


@pytest.mark.parametrize(("length", "count"), [(49.6, 0), (49.7, 1)])
def test_where_steps_vary_the_limit_is_five_deviations(length, count):
    """The median absolute deviation of these is 4, five standard deviations 29.652."""
    assert len(found(*[16.0, 16.0, 16.0, 20.0, 20.0, 24.0, 24.0, 24.0], length)) == count


@pytest.mark.parametrize(("lengths", "count"), [((20, 20, 20, 90), 0), ((20, 20, 20, 20, 90), 1), ((), 0)])
def test_few_steps_have_no_typical_one(lengths, count):
    assert len(found(*lengths)) == count


@pytest.mark.parametrize(("slow", "count"), [(3, 3), (4, 0)])
def test_more_than_a_third_are_no_exceptions(slow, count):
    assert len(found(*[20.0] * (9 - slow), *[90.0] * slow)) == count


@pytest.mark.parametrize(
    ("rows", "period"),
    [
        ((9, 19), None),
        ((9, 19, 29), 10),
        ((6, 14, 21, 29), 8),
        ((5, 14, 29, 33), None),
        ((2, 5, 8, 11), 3),
        ((2, 5, 9, 11), None),
        ((7, 8, 9), None),
    ],
)
def test_the_period(rows, period):
    lengths = np.full(40, 20.0)
    lengths[list(rows)] = 90.0
    assert found(*lengths).period == period
