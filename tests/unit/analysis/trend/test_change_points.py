"""Shifts of a level: where they are, how sure, and how seldom there is one in noise."""

import numpy as np
import pytest

from tpu_profile_plugin.analysis.trend.change_points import (
    difference,
    discoveries,
    shifts,
    spread,
    two_sided,
    without_spikes,
)


def noise(seed: int, count: int, share: float = 0.01) -> np.ndarray:
    return 100 * (1 + share * np.random.default_rng(seed).standard_normal(count))


@pytest.mark.parametrize(
    ("t", "freedom", "chance"),
    [  # the tables of Student's distribution
        (12.706205, 1, 0.05), (4.302653, 2, 0.05), (2.228139, 10, 0.05), (2.845340, 20, 0.01), (3.390491, 100, 0.001),
        (0.0, 7, 1.0), (63.656741, 1, 0.01),
    ],
)  # fmt: skip
def test_students_distribution(t: float, freedom: float, chance: float):
    assert two_sided(t, freedom) == pytest.approx(chance, rel=1e-5)


def test_a_step_is_found_where_it_is():
    values = np.array([10.0, 10.1, 9.9, 10.0, 10.1, 9.9, 12.0, 12.1, 11.9, 12.0])
    [found] = shifts(values)
    assert (found.index, found.before, found.after) == (6, pytest.approx(10.0), pytest.approx(12.0))
    # Deviations 0.0894 of 6 and 0.0816 of 4: Welch's t with 7.0 degrees of freedom is 2.365.
    assert (found.low, found.high) == (pytest.approx(1.8706, abs=0.0005), pytest.approx(2.1294, abs=0.0005))
    assert found.chance < 1e-6


def test_values_without_noise():
    assert shifts(np.full(20, 5.0)) == []
    [found] = shifts(np.array([5.0] * 8 + [6.0] * 4))
    assert (found.index, found.delta, found.chance) == (8, 1.0, 0.0)


def test_six_runs_have_a_single_split():
    [found] = shifts(np.array([10.0, 10.1, 9.9, 12.0, 12.1, 11.9]))
    # Both variances are 0.01: t = 2 / (0.01 * 2/3)**0.5 = 24.49 with 4 degrees of freedom, of no other split.
    assert (found.index, found.chance) == (3, pytest.approx(1.648e-5, rel=1e-3))


@pytest.mark.parametrize("unit", [1, 1000, 1e-3])
def test_spreads_that_differ_are_not_pooled_whatever_the_unit(unit: float):
    quiet, wild = [10.0, 10.01, 9.99] * 4, [13.0, 15.0, 12.5, 14.5, 13.0, 15.2]
    [found] = shifts(unit * np.array(quiet + wild))
    # Pooled, the chance would be 1e-6.
    assert (found.index, found.chance) == (12, pytest.approx(0.00266, rel=0.01))


def test_too_few_runs_have_no_shift():
    assert shifts(np.array([1.0, 1.0, 9.0, 9.0, 9.0])) == []
    assert shifts(np.zeros(0)) == []


def test_a_run_or_two_of_a_busy_machine_are_no_shift():
    near = 0
    for seed in range(20):
        values = noise(seed, 40)
        values[20] *= 1.5
        values[30] *= 1.4
        near += any(min(abs(one.index - 20), abs(one.index - 30)) <= 1 for one in shifts(values))
        assert without_spikes(values)[20] < 105
    assert near == 0


def test_a_shift_up_and_one_down_are_both_found():
    values = noise(1, 60)
    values[20:32] *= 1.05
    assert [one.index for one in shifts(values)] == [20, 32]


def test_long_series_are_split_too():
    values = noise(2, 1500)
    values[900:] *= 1.02
    [found] = shifts(values)
    assert abs(found.index - 900) <= 4
    assert found.delta == pytest.approx(2.0, abs=0.3)


def test_nearly_all_shifts_of_three_deviations_are_found_within_three_runs():
    found = 0
    for seed in range(100):
        values = noise(seed, 53)
        values[50:] *= 1.03
        found += any(abs(one.index - 50) <= 2 for one in shifts(values))
    assert found >= 90


def test_noise_that_is_judged_run_by_run_seldom_has_a_shift():
    """At most one false alarm in 100 runs, which come one by one."""
    alarms, runs = 0, 0
    for seed in range(12):
        values, seen = noise(1000 + seed, 110), set()
        for count in range(10, len(values)):
            seen |= {one.index // 6 for one in shifts(values[:count])}
        alarms, runs = alarms + len(seen), runs + len(values) - 10
    assert alarms <= runs / 100


def test_how_far_values_vary_beside_a_shift():
    values = np.concatenate([noise(3, 200), 1.5 * noise(4, 200)])
    assert spread(values) == pytest.approx(1.25, rel=0.15)


def test_the_interval_of_a_difference():
    base, run = np.array([10.0, 11.0, 9.0]), np.array([12.0, 13.0, 11.0])
    # By Welch: deviation 1 on each side, 4 degrees of freedom, t = 2.776.
    assert difference(base, run) == (pytest.approx(2 - 2.776 * (2 / 3) ** 0.5, abs=0.01),
                                     pytest.approx(2 + 2.776 * (2 / 3) ** 0.5, abs=0.01))  # fmt: skip
    # One run against three: as far apart as these vary.
    low, high = difference(base, np.array([12.0]))
    assert (low, high) == (pytest.approx(2 - 4.303 * (4 / 3) ** 0.5, abs=0.01),
                           pytest.approx(2 + 4.303 * (4 / 3) ** 0.5, abs=0.01))  # fmt: skip
    with pytest.raises(ValueError, match="two values"):
        difference(np.array([1.0]), np.array([2.0]))


def test_of_many_tests_few_false_ones_count():
    chances = np.array([0.001, 0.04, 0.9, 0.019, 0.5])
    # 0.05 times 1/5, 2/5, 3/5, ...: 0.001 <= 0.01, 0.019 <= 0.02, 0.04 > 0.03.
    assert discoveries(chances).tolist() == [True, False, False, True, False]
    assert discoveries(np.zeros(0)).tolist() == []
    assert discoveries(np.array([0.02, 0.001]), 2).tolist() == [True, True]
    assert discoveries(np.array([0.02, 0.001]), 10).tolist() == [False, True], "eight others are not clear at all"
