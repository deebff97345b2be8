"""Steps far above the median: which, how often, and what they cost."""

from __future__ import annotations

import numpy as np
import pytest
from builders.answers import run_of

from tpu_profile_plugin.analysis.summary.outliers import outliers_of, period_of, step_outliers
from tpu_profile_plugin.run.figures.budget import run_decomposition

US = 10**6


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


@pytest.mark.parametrize(
    ("rows", "period"),
    [
        ((0, 3, 6, 9, 12, 16), 3),  # four of five distances
        ((0, 3, 6, 9, 13), None),
        ((0, 4, 8, 13, 18), 4),  # short ones may differ by a step
        ((0, 4, 8, 12, 18, 24), None),
        ((0, 40, 80, 124, 164), 40),  # long ones by a tenth
        ((0, 40, 80, 125, 165), None),
        ((5, 6, 7, 8), None),
        ((5, 7, 9), 2),
        ((), None),
    ],
)
def test_regular_distances(rows, period):
    assert period_of(rows) == period


def test_shares_and_judgement():
    steps = found(*every(10, 40))
    assert (steps.share, steps.judged) == (11 / 31, True)
    assert [found(*[20.0] * count).judged for count in (4, 5, 6)] == [False, True, True]
    assert (found().share, found().judged, found().slowest) == (0.0, False, None)


def core(number, steps, work):
    """A TensorCore; steps and work in us of begin and length."""
    lines = [f'plane {number} "/device:TPU:{number}" {{device_type_string="TPU v4"}}', "line 1 Steps"]
    lines += [f"{begin}us +{length}us {i} {{_ct=9, _c={i}}}" for i, (begin, length) in enumerate(steps)]
    lines += ['line 2 "XLA Ops"', *(f"{begin}us +{length}us fusion.1" for begin, length in work)]
    lines.append('metadata fusion.1 {program_id=u7, symbol_id=u1, hlo_category="loop fusion"}')
    return "\n".join(lines) + "\n"


def test_time_until_the_next_step_counts_to_the_step_before():
    usual = (50, 150, 250, 650, 750, 850)
    steps = sorted([*((begin, 60) for begin in usual), (350, 90)])
    # After the long step both devices work for half of the time.
    work = sorted([*((begin, 40) for begin in usual), (350, 20), (450, 105)])
    both = "".join(core(number, steps, work) for number in (0, 1))
    found = step_outliers(run_decomposition(run_of(both)))
    assert (found.length_ps / US).tolist() == [100, 100, 100, 300, 100, 100, 60]
    assert (found.numbers, found.median_ps) == ((3,), 100 * US)
    assert found.excess_ps_per_step == pytest.approx(200 * US / 7)
    # Between steps devices are idle for 305 of 410 us: 70 us + 210 us less the usual 20 us + 40 us, at that share.
    assert found.idle_ps_per_step == pytest.approx((50 + 170 * 305 / 410) * US / 7)
    found = step_outliers(run_decomposition(run_of('plane 0 "/host:CPU"\nline 1 a\n0us +1us x')))
    assert found.length_ps.tolist() == []
