"""Shifts of a level: where they are, how sure, and how seldom there is one in noise."""

import numpy as np
import pytest

from tpu_profile_plugin.analysis.trend.change_points import (
    _alike,
    _best_split,
    _chance,
    _clearest_split,
    _incomplete_beta,
    _least_t,
    _of_best,
    _split,
    _unequal,
    _windows,
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


@pytest.mark.parametrize(
    ("a", "b", "x", "expected"),
    [  # x**a, the binomial sum, the arcsine, symmetry, ends; others by SciPy 1.17
        (3, 1, 0.5, 0.125), (3, 1, 0.9, 0.729), (2, 3, 0.4, 0.5248), (2, 3, 0.8, 0.9728), (0.5, 0.5, 0.25, 1 / 3),
        (1, 1, 0.5, 0.5), (2, 2, 0.0, 0.0), (2, 2, 1.0, 1.0), (5, 2, 0.99, 0.998539552395),
        (2.5, 3.5, 0.1, 0.0285756680423554), (40, 30, 0.6, 0.681856197409436),
    ],
)  # fmt: skip
def test_the_incomplete_beta_function(a: float, b: float, x: float, expected: float):
    assert _incomplete_beta(a, b, x) == pytest.approx(expected, rel=1e-12)


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


def test_the_split_with_the_largest_energy_distance_need_not_have_the_clearest_t():
    table = [
        ([10, 3, 3, 2, 7, 3, 11, 3, 0], 5, 3),
        ([6, 9, 11, 0, 1, 9, 11, 2], 3, 3),
        ([3, 7, 1, 9, 3, 4, 11, 6, 10, 2], 6, 6),
        ([1, 1, 4, 5, 4, 5, 10, 5, 5, 7], 3, 3),
        ([2, 0, 7, 1, 7, 1, 4, 6, 7, 16, 5, 29, 28, 17, 10, 9], 9, 11),
    ]
    found = [(_best_split(np.array(row, float)), _clearest_split(np.array(row, float))) for row, *_ in table]
    assert found == [(best, clearest) for _, best, clearest in table]


def test_a_segment_is_split_by_energy_if_that_is_clear_and_it_is_not_long():
    values = np.array([2, 0, 7, 1, 7, 1, 4, 6, 7, 16, 5, 29, 28, 17, 10, 9], float)
    by_energy, by_t = _chance(values[:9], values[9:]), _chance(values[:11], values[11:])
    assert (by_energy, by_t) == (pytest.approx(0.02168411, rel=1e-6), pytest.approx(0.01632545, rel=1e-6))

    def first(values: np.ndarray, alarm: float) -> list[int]:
        found: dict[int, float] = {}
        _split(values, 0, len(values), alarm, found)
        return list(found)

    assert [first(values, alarm) for alarm in (0.03, by_energy, by_t)] == [[9], [11], []]
    for count, at in ((512, 298), (513, 283)):
        long = np.round(np.random.default_rng(2).standard_t(2, count), 1)
        long[300:] += 0.7
        assert first(long, 0.05) == [at]


def test_a_chance_of_the_alarm_itself_is_no_shift():
    one = np.array([10.0, 10.1, 9.9, 10.0, 10.1, 9.9, 10.6, 10.4, 10.3, 10.0])
    [shift] = shifts(one, 0.5)
    assert (shift.index, shift.chance) == (6, pytest.approx(0.0872427, rel=1e-5))
    assert shifts(one, shift.chance) == []
    two = np.array([100.6, 99.6, 102.6, 100.2, 100.9, 97, 102.6, 102.5, 103.1, 101.3, 102.1, 104, 99, 99.1, 99.1, 99.5,
                    100.2, 100.2])  # fmt: skip
    found = shifts(two)
    assert [(one.index, one.chance) for one in found] == [
        *((12, pytest.approx(0.0496941028, rel=1e-6)), (15, pytest.approx(0.0188044544, rel=1e-6))),
    ]
    assert [one.index for one in shifts(two, found[0].chance)] == [12]


def test_shifts_are_where_they_are_clearest_between_their_neighbours():
    table = [
        (
            [98.6, 100.9, 100.7, 108.8, 108.9, 108.6, 105.9, 107, 107.4, 108.9, 106.9, 107.3, 107.6, 109.3, 106.6,
             106.6, 108.6, 105.9, 108.3, 107.5, 111.4, 112.6, 112, 113.2, 113.4, 114.5, 113],
            [(3, 100.066667, 107.652941, 4.83272185, 10.3398272, 3.42097633e-08),
             (20, 107.652941, 112.871429, 4.21242333, 6.22455146, 8.8572198e-06)],
        ),
        (
            [99.1, 99.9, 99, 97.1, 98.5, 97.9, 100, 98.9, 99.8, 99.9, 101.1, 99.6, 99.6, 100.5, 101.6, 99.9, 100.3,
             101.8, 101.3, 100.4, 101.9, 101.7, 101.7, 104, 101.6, 102.3, 101.6, 103.2, 101.7, 103.9, 101.7, 102.8, 103,
             101.8],
            [(3, 99.3333333, 97.8333333, -2.93987806, -0.060121937, 0.0388938423),
             (6, 97.8333333, 100.335714, 1.11537678, 3.88938512, 0.0310312035),
             (20, 100.335714, 102.35, 1.3499826, 2.67858883, 3.11303279e-05)],
        ),
        (
            [100.6, 99.4, 98.2, 101.1, 99.4, 99.5, 102.8, 102.1, 101, 99.5, 100.6, 97.7, 100.1, 99.2, 98.7, 98.4, 98.5,
             98.1, 98.2, 98.8, 97.2, 96.8, 96.2, 97.7, 98.8, 97.9, 98.6, 96.8, 97.5, 97.2, 96.8, 99.9, 98.9, 97.2, 97.2,
             97.9, 96.6],
            [(11, 100.381818, 97.9576923, -3.38445734, -1.46379441, 2.09899066e-05)],
        ),
    ]  # fmt: skip
    for values, expected in table:
        found = [(one.index, one.before, one.after, one.low, one.high, one.chance) for one in shifts(np.array(values))]
        assert found == [tuple(pytest.approx(number, rel=1e-6) for number in row) for row in expected]


def test_windows_that_may_have_a_shift():
    table = [
        ([98.8, 100.6, 99.2, 99.2, 99.8, 100.5, 97.6, 98.9, 100.2, 104.6, 104.1, 104.5, 106.4, 104.5, 105.7, 105.8,
          102.5, 103.4, 102.5, 102.4, 101.9, 101.9, 100.6, 100.4, 99.9, 102.8], [0, 16]),
        ([100.9, 99.9, 99.2, 99.9, 99.1, 100.2, 101.1, 99.2, 101.4, 99.3, 100.2, 99.2, 99.8, 100, 99.6, 99.3, 99.3,
          99.2, 98.4, 99.7, 100.4, 100.9, 100.6, 110.5, 108.3, 107.5, 109.9, 107, 109, 107, 108.4, 106, 108.9, 107.8,
          107, 109.7, 108.8, 108, 107.3, 108, 107.8, 108.7, 108.8, 107.3, 107.5, 107.5, 106.7, 107.4], [16]),
    ]  # fmt: skip
    for values, begins in table:
        assert _windows(np.array(values), 16, 0.05) == begins
    assert _least_t(18, 0.04) == pytest.approx(3.48222366, rel=1e-8)


@pytest.mark.parametrize(
    ("before", "after", "chance"),
    [
        ([10.1, 10, 10.2, 10, 10.1, 10, 9.9, 10.2], [11.3, 12.1, 10.6, 11.6, 10.8], 0.0824682792),
        ([10, 10.1, 10.2, 10.3, 10.2, 10.1, 10, 9.9, 9.8, 9.7], [11, 11.1, 11.2, 11.3, 11.2, 11.1, 11, 10.9],
         5.42192600e-07),
        ([10, 10.1, 9.9, 10.2, 10.1, 10, 9.9, 9.8, 10, 10], [12, 12, 12, 12, 16, 16, 16, 16], 0.0546717961),
        ([12, 12, 12, 12, 16, 16, 16, 16], [10, 10.1, 9.9, 10.2, 10.1, 10, 9.9, 9.8, 10, 10], 0.0546717961),
        ([10.2, 10.1, 10.1, 10], [13.9, 13.9, 14, 13.9], 7.76282543e-10),
        ([25.2, 0.9, 22.9, 1.4, 8.4, 13.6, 30.5, 19], [10.6, 12.3, 10.8, 10.2, 11.4, 11.1], 1.0),
        ([10.4, 1, 1.8, 12], [19.3, 18.8, 16.8, 15.8, 15.6, 18.3, 17.9], 0.00385584642),
        ([5, 5, 5, 5, 4.999999], [6, 6, 6, 6, 6], 4.79999616e-26),
        # Differences of a part in 10**12 are those of rounding.
        ([1e12 - 1, 1e12 + 1] * 2, [2e12 - 1, 2e12 + 1] * 2, 0.0),
        ([1e12 - 2, 1e12 + 2] * 2, [2e12 - 2, 2e12 + 2] * 2, 3.84e-69),
    ],
)  # fmt: skip
def test_the_chance_of_a_split(before: list[float], after: list[float], chance: float):
    assert _chance(np.array(before), np.array(after)) == pytest.approx(chance, rel=1e-7, abs=1e-80)


def test_the_clearest_of_many_splits_is_less_sure_than_one():
    table = [(0.3, 6, 0.3), (0.3, 7, 0.6), (0.0272213843, 13, 0.210315663), (0.01, 200, 0.287190201),
             (1e-9, 5000, 2.78384369e-07), (0.5, 20, 1.0), (0.0, 10, 0.0)]  # fmt: skip
    for single, count, expected in table:
        assert _of_best(single, count) == pytest.approx(expected, rel=1e-7)


def test_how_much_successive_values_are_alike():
    table = [([-2, -1, -2, -3, -3, -2], 0.134883175), ([5] * 100, 0.8255), ([5] * 1000, 0.9), ([1, -1] * 5, 0.0),
             ([0, 0, 0], 0.0)]  # fmt: skip
    for residuals, expected in table:
        assert _alike(np.array(residuals, float)) == pytest.approx(expected, rel=1e-7)


def test_variances_differ_if_the_one_of_few_values_is_clearly_larger():
    # By the F distribution: 0.0027, 0.0023, 2e-6.
    table = [(4, 9, 12, 1, False), (3, 40, 5, 1, False), (6, 25, 20, 1.5, True), (4, 23, 9, 2, False),
             (8, 18, 18, 3, True)]  # fmt: skip
    assert [_unequal(*row[:4]) for row in table] == [row[4] for row in table]


def test_which_values_are_alone_far_from_both_neighbours():
    table = [
        ([9, 12, 9, 8, 10, 8, 10, 8, 10, 51, 9, 50], [9, 12, 9, 8, 10, 8, 10, 8, 10, 10, 50, 50]),
        ([9, 23, 8, 12, 11, 10, 8, 8, 10, 10, 10, 12, 11, 20], [9, 9, 8, 12, 11, 10, 8, 8, 10, 10, 10, 12, 11, 20]),
        ([9, 23, 8, 12, 11, 10, 8, 8, 10, 10, 10], [9, 23, 8, 12, 11, 10, 8, 8, 10, 10, 10]),
    ]
    for values, expected in table:
        assert without_spikes(np.array(values, float)).tolist() == expected
    assert spread(np.array([1.0, 3.0, 2.0])) == pytest.approx(1.57253477)
    assert (spread(np.array([7.0])), spread(np.zeros(0))) == (0.0, 0.0)


def test_the_interval_of_a_difference():
    base, run = np.array([10.0, 11.0, 9.0]), np.array([12.0, 13.0, 11.0])
    # By Welch: deviation 1 on each side, 4 degrees of freedom, t = 2.776.
    assert difference(base, run) == (pytest.approx(2 - 2.776 * (2 / 3) ** 0.5, abs=0.01),
                                     pytest.approx(2 + 2.776 * (2 / 3) ** 0.5, abs=0.01))  # fmt: skip
    # One run against three: as far apart as these vary.
    low, high = difference(base, np.array([12.0]))
    assert (low, high) == (pytest.approx(2 - 4.303 * (4 / 3) ** 0.5, abs=0.01),
                           pytest.approx(2 + 4.303 * (4 / 3) ** 0.5, abs=0.01))  # fmt: skip
    table = [
        ([12, 8, 1, 0], [15, 13, 7], -3.20480993, 16.0381433),
        ([9, 3], [10, 12, 19], -6.84000356, 22.1733369),
        ([14, 19], [2], -69.5194804, 40.5194804),
        ([9], [10, 11], -9.50389609, 12.5038961),
        ([1, 1], [2, 2, 2], 1.0, 1.0),
    ]
    for before, after, low, high in table:
        found = difference(np.array(before, float), np.array(after, float))
        assert found == (pytest.approx(low, rel=1e-7), pytest.approx(high, rel=1e-7))
    for before, after in (([1], [2]), ([], [1, 2, 3]), ([1, 2, 3], [])):
        with pytest.raises(ValueError, match="two values"):
            difference(np.array(before, float), np.array(after, float))


def test_of_many_tests_few_false_ones_count():
    chances = np.array([0.001, 0.04, 0.9, 0.019, 0.5])
    # 0.05 times 1/5, 2/5, 3/5, ...: 0.001 <= 0.01, 0.019 <= 0.02, 0.04 > 0.03.
    assert discoveries(chances).tolist() == [True, False, False, True, False]
    assert discoveries(np.zeros(0)).tolist() == []
    assert discoveries(np.array([0.05]), 1).tolist() == [True]
    assert discoveries(np.array([0.02, 0.001]), 2).tolist() == [True, True]
    assert discoveries(np.array([0.02, 0.001]), 10).tolist() == [False, True], "eight others are not clear at all"
