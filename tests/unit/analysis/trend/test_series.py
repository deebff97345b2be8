"""Series of runs: what belongs together, what all ops share, and which places shift."""

from dataclasses import replace

import numpy as np
import pytest
from builders.histories import STEP_PS, TPU, simulated, summary

from tpu_profile_plugin.analysis.trend.change_points import Shift
from tpu_profile_plugin.analysis.trend.series import (
    Part,
    PlaceSeries,
    _changed,
    _events,
    _gone,
    _is_confirmed,
    _is_told,
    _kind,
    _level,
    _parts,
    _shifted,
    _slope,
    _surely_shared,
    common_factor,
    series_of,
    without_factor,
)
from tpu_profile_plugin.analysis.trend.summary import PlaceTime, RunSummary


def place(name: str, part: str = "op") -> PlaceTime:
    return PlaceTime(part, "jit_step", name, "", "", 1.0)


def level_shift(index: int, before: float, after: float, chance: float = 0.0) -> Shift:
    return Shift(index, before, after, 0.0, 0.0, chance)


def test_what_most_places_take_longer_is_the_machine():
    """One of six places has changed, all are 10 % slower in the last run."""
    usual = np.array([10.0, 20.0, 10.0, 20.0, 20.0, 20.0])
    times = np.tile(usual, (7, 1))
    times[6] *= 1.1
    times[5:, 1] *= 2
    assert common_factor(times, times.sum(axis=1)).tolist() == [1, 1, 1, 1, 1, 1, pytest.approx(1.1)]
    assert common_factor(times[2:], times[2:].sum(axis=1)).tolist() == [1] * 5, "five runs are few"
    assert common_factor(times[1:], times[1:].sum(axis=1)).tolist() == [1] * 5 + [pytest.approx(1.1)]


def test_few_places_tell_nothing_of_the_machine():
    times = np.tile([30.0, 40.0, 20.0, 10.0], (8, 1))
    times[7] *= 2
    assert common_factor(times, times.sum(axis=1)).tolist() == [1.0] * 8


@pytest.mark.parametrize(
    ("times", "steps", "least_runs", "leave", "factor"),
    [
        (
            [[1, 286, 165, 66, 88, 355], [1, 297, 165, 103, 110, 319], [1, 234, 135, 54, 72, 291],
             [1, 264, 150, 60, 80, 290], [1, 286, 165, 96, 88, 319], [1, 260, 167, 60, 80, 290],
             [1, 0, 164, 0, 80, 327]], 1, 6, [4, 5],
            [1.05558442, 1.04735729, 0.863659976, 0.936327943, 1.02367865, 0.959622196, 1.00195215],
        ),
        (
            [[270, 113, 10, 230, 290], [297, 146, 11, 253, 335], [270, 100, 19, 230, 290], [243, 90, 9, 224, 0],
             [243, 90, 11, 234, 0], [324, 110, 11, 253, 319]], 5, 6, [0], [1] * 6,
        ),
        (
            [[198, 126, 135, 252, 90, 45, 144], [198, 132, 0, 252, 90, 45, 0], [220, 140, 150, 280, 100, 50, 160],
             [264, 168, 180, 336, 126, 60, 192], [264, 168, 180, 0, 120, 60, 192]], 1, 2, [1, 4],
            [0.872259071, 0.909914321, 0.969176746, 1.1630121, 1.1210447],
        ),
        (
            [[160, 90, 230, 209, 200], [144, 54, 207, 172, 180], [176, 105, 253, 198, 229], [192, 66, 253, 198, 220],
             [160, 60, 230, 180, 200], [207, 0, 311, 216, 240]], 5, 6, [4],
            [0.955648404, 0.857142857, 1.0489763, 1.04611099, 0.951009993, 1.1875],
        ),
    ],
)  # fmt: skip
def test_the_middle_third_of_the_weight_tells_the_factor(
    times: list[list[int]], steps: float, least_runs: int, leave: list[int], factor: list[float]
):
    of = np.array(times, float)
    assert common_factor(of, steps * of.sum(axis=1), leave, least_runs) == pytest.approx(np.array(factor), rel=1e-7)


def test_places_from_a_share_of_the_step_on_tell_of_the_machine():
    for ps, last in ((20.0, 2.0), (19.0, 1.0)):
        times = np.full((7, 5), ps)
        times[6] *= 2
        assert common_factor(times, np.full(7, 10_000.0)).tolist() == [1.0] * 6 + [last]


def test_values_without_what_the_factor_explains():
    table = [
        ([101, 109, 103, 110, 100, 96, 97, 81, 106, 109, 89, 130, 113],
         [1.03, 1.06, 1.02, 1.03, 1, 0.98, 1.01, 0.9, 1.03, 1.04, 0.94, 1.16, 1.07], [1] * 6 + [1.2] * 7,
         [95.6415695, 97.8941839, 99.3062557, 104.164086, 100, 99.6442605, 111.083265, 114.740943, 117.078636,
          118.26595, 116.357573, 115.322765, 116.34152]),
        ([130, 83, 206, 161, 115, 92, 133, 51, 116, 113, 103, 129],
         [0.94, 0.94, 1.26, 1.04, 1.05, 0.96, 1.09, 0.79, 1.07, 1.03, 1.01, 1.09], [1] * 6 + [1.2] * 6,
         [147.125396, 93.9339067, 129.755606, 148.85355, 104.30839, 99.8263889, 134.332127, 98.0612081, 121.582671,
          127.816005, 121.164592, 130.292063]),
        ([108, 105, 96, 99, 107, 90], [1.05, 1.12, 0.91, 1.02, 1.07, 0.86], [1] * 6,
         [102.857143, 93.75, 105.494505, 97.0588235, 100, 104.651163]),
        # As they are: one is 0, there are few, or what is left would vary as much.
        ([64, 118, 0, 109, 75, 113, 93], [0.81, 1.1, 0.98, 1.03, 0.85, 1.05, 0.97], [1, 1, 1, 1, 1.2, 1.2, 1.2],
         [64, 118, 0, 109, 75, 113, 93]),
        ([102, 99, 97, 98, 146], [0.92, 1.04, 1.06, 1.04, 1.1], [1, 1, 1.2, 1.2, 1.2], [102, 99, 97, 98, 146]),
        ([1, 2] * 3, [1, 4] * 3, [1] * 6, [1, 2] * 3),
        ([100, 210] * 3, [1, 4] * 3, [1] * 6, [100, 52.5] * 3),
    ]  # fmt: skip
    for values, factor, level, left in table:
        found = without_factor(np.array(values, float), np.array(factor, float), np.array(level, float))
        assert found == pytest.approx(np.array(left, float), rel=1e-7)


def test_how_strongly_values_rise_with_the_factor():
    table = [
        ([1, -1, -5, -7, -7, 5], [-2, -2, -2, -4, 2, 3], 1.43243243),
        ([1, -1, -5, -7, -7, 5, 3], [-2, -2, -2, -4, 2, 3, 0], 0.951219512),
        ([1, 2], [0, 0], 0.0), ([1, 2], [1, -1], 0.0), ([9, 9], [1, 1], 2.0),
    ]  # fmt: skip
    for rises, of_factor, slope in table:
        assert _slope(np.array(rises, float), np.array(of_factor, float)) == pytest.approx(slope, rel=1e-7)


def test_the_level_of_a_factor_is_that_between_its_large_shifts():
    """A twentieth more is large, a little less is not."""
    assert _level(np.array([20.0] * 6 + [21.0] * 6)) == pytest.approx(np.array([20.0] * 6 + [21.0] * 6))
    assert _level(np.array([20.0] * 6 + [20.9] * 6)).tolist() == [1.0] * 12


def test_places_by_their_time_without_what_they_share():
    times = [
        [220, 323, 103, 201, 300, 302, 8], [266, 384, 123, 242, 363, 362, 12], [265, 387, 120, 240, 361, 362, 11],
        [245, 355, 111, 221, 332, 332, 10], [266, 387, 122, 241, 361, 361, 10], [242, 355, 111, 221, 332, 332, 12],
        [333, 323, 102, 201, 301, 303, 10], [396, 0, 123, 240, 360, 362, 11], [332, 320, 100, 203, 303, 303, 10],
        [330, 321, 102, 203, 301, 302, 9], [333, 322, 102, 200, 303, 303, 11], [365, 353, 111, 221, 330, 332, 9],
    ]  # fmt: skip
    of = np.array(times, float)
    places, sure = _shifted([place(str(number)) for number in range(7)], of, of.sum(axis=1))
    assert [(one.place.name, [each.index for each in one.shifts]) for one in places] == [
        *(("5", []), ("4", []), ("1", []), ("0", [6]), ("3", []), ("2", []), ("6", [])),
    ]
    assert sure == pytest.approx(2.23836214e-18, rel=1e-6)
    assert places[2].adjusted == pytest.approx(
        [355.511017, 351.019406, 356.027268, 355, 355.192608, 355, 353.988824, 0, 349.273301, 350.487683, 351.898463,
         353], rel=1e-7,
    )  # fmt: skip
    assert places[3].adjusted == pytest.approx(
        [241.842963, 243.108974, 243.021928, 244.799091, 243.780453, 241.773854, 365.208147, 363.666733, 363.65493,
         362.702599, 364.902192, 365], rel=1e-7,
    )  # fmt: skip
    assert places[3].shifts[0].delta == pytest.approx(121.134556)
    assert places[6].adjusted[:3] == pytest.approx([8.58468239, 11.2420982, 10.3277044], rel=1e-7)


def test_shifts_of_a_place_from_a_share_of_the_step_on():
    for ps, deltas in ((105.0, [[-5.0], [5.0]]), (104.0, [[], []])):
        times = np.array([[100.0, 9900.0]] * 6 + [[ps, 10_000 - ps]] * 6)
        places, _ = _shifted([place("a"), place("b")], times, times.sum(axis=1))
        assert [[each.delta for each in one.shifts] for one in places] == deltas


def test_a_place_that_takes_much_does_not_tell_its_own_factor():
    """A 32nd of the step is much."""
    times = [
        [300, 1850, 1870, 1860, 1840, 1880], [300, 1860, 1860, 1860, 1860, 1860], [300, 1870, 1850, 1850, 1860, 1870],
        [450, 2046, 2040, 2050, 2044, 2048], [300, 1860, 1860, 1855, 1865, 1860], [300, 1855, 1865, 1860, 1860, 1860],
        [300, 1860, 1860, 1860, 1860, 1860],
    ]  # fmt: skip
    of = np.array(times, float)
    places, _ = _shifted([place(str(number)) for number in range(6)], of, of.sum(axis=1))
    assert (places[-1].place.name, places[-1].adjusted) == ("0", pytest.approx([300] * 3 + [409.090909] + [300] * 3))


def test_by_how_much_what_all_share_surely_differs():
    table = [([4, 1, 7, 2], [16, 6], 0.20274024), ([1], [4], 3.0), ([1, 5], [2, 4], 0.0)]
    for old, new, surely in table:
        assert _surely_shared(np.array(old, float), np.array(new, float)) == pytest.approx(surely, rel=1e-7)


def test_a_step_is_back_where_it_comes_within_a_quarter_of_its_shift():
    shift = level_shift(14, 10.0, 29.0)
    later = [level_shift(14, 19.0, 13.0), level_shift(16, 12.0, 16.0), level_shift(17, 16.0, 8.0)]
    assert _gone(later, shift) == 17
    small = level_shift(12, 10.0, 14.0)
    assert _gone([level_shift(8, 9.0, 10.0), level_shift(19, 11.0, 9.0)], small) is None
    assert _gone([level_shift(13, 14.0, 10.5), level_shift(19, 11.0, 10.0)], small) == 13
    assert _gone([shift], None) is None


def test_places_that_shift_with_the_step():
    """By their own test, or by more than noise and a fiftieth of the step's shift; the largest difference first."""
    first = [
        ([23, 22, 21, 22, 21, 21, 24, 26, 24, 26, 26, 26], []), ([20, 21, 20, 22, 21, 23, 19, 16, 19, 18, 16, 19], [2]),
        ([22, 20, 20, 20, 23, 20, 22, 24, 22, 24, 24, 22], [3]),
    ]  # fmt: skip
    second = [
        ([21, 21, 23, 23, 23, 23, 21, 22, 23, 24, 24, 24], []), ([22, 22, 22, 21, 22, 22, 24, 24, 24, 23, 23, 24], [7]),
        ([23, 23, 21, 22, 21, 21, 17, 18, 19, 18, 16, 18], [2]),
    ]  # fmt: skip
    third = [
        ([22, 20, 20, 21, 22, 21, 23, 25, 24, 25, 25, 25], []), ([21, 20, 23, 22, 21, 23, 30, 30, 30, 31, 29, 30], []),
        ([21, 22, 22, 22, 22, 23, 22, 22, 23, 25, 24, 25], [8]),
    ]  # fmt: skip
    table = [
        (first, (0, 5, 12, level_shift(6, 100.0, -50.0)), [("0", 22, 26), ("2", 20, 22)]),
        (second, (0, 6, 9, level_shift(6, 100.0, 150.0)), [("2", 21.5, 18), ("1", 22, 24), ("0", 23, 22)]),
        (third, (1, 5, 9, level_shift(6, 100.0, 350.0)), [("1", 21.5, 30)]),
        (third, (1, 5, 9, None), []),
    ]
    for columns, where, expected in table:
        places = [
            PlaceSeries(
                place(str(row)), np.array(ps, float), np.array(ps, float), tuple(level_shift(i, 1, 2) for i in at)
            )
            for row, (ps, at) in enumerate(columns)
        ]
        assert [(one.place.name, one.before, one.after) for one in _parts(places, *where)] == expected


def test_places_make_up_for_each_other_up_to_a_quarter_of_their_differences():
    table = [([(10, 15), (10, 7)], "moved"), ([(10, 15), (10, 8)], "places"), ([(1, 7), (11, 0), (4, 11)], "moved"),
             ([(1, 7), (11, 0), (4, 3)], "places")]  # fmt: skip
    assert [_kind(None, [Part(place("a"), *row) for row in rows]) for rows, _ in table] == [kind for _, kind in table]


def test_places_are_told_alone_if_they_shift_by_more_than_steps_vary_and_the_machine_takes():
    quiet = [1000.0] * 8
    table = [
        ([(3, 8)], [124, 100, 106, 124, 124, 118, 112, 112], 0.0, False),
        ([(3, 2)], [1000, 1000, 1012, 1012, 1024, 1012, 1006, 1012], 0.5, False),
        ([(10, 10.5)], quiet, 0.0, True), ([(10, 10.25)], quiet, 0.0, False),
        ([(10, 12.5)], quiet, 0.2, True), ([(12, 10)], quiet, 0.2, False), ([(10, 10), (10, 9)], quiet, 0.0, True),
    ]  # fmt: skip
    for rows, steps, machine, told in table:
        assert _is_told([Part(place("a"), *row) for row in rows], np.array(steps, float), machine) is told


def test_a_place_confirms_a_shift_of_the_step_by_half_of_it_within_two_runs():
    for index, after, confirmed in ((8, 15.0, True), (12, 15.0, True), (8, 14.9, False), (7, 15.0, False)):
        one = PlaceSeries(place("a"), np.ones(1), np.ones(1), (level_shift(index, 10.0, after),))
        assert _is_confirmed(level_shift(10, 100.0, 110.0), [one]) is confirmed


def test_events_are_shifts_of_the_step_and_of_places_that_are_sure():
    quiet = [101, 101, 100, 101, 101, 101, 100, 101, 100, 100, 101, 100]
    table = [
        (
            [(8, 100, 105)],
            [("op", [21, 21, 20, 24, 24, 23, 23, 23, 23, 23, 24, 23], []),
             ("op", [21, 20, 21, 20, 25, 25, 26, 25, 25, 25, 26, 25], [(4, 20, 25, 0.003)]),
             ("op", [20, 21, 20, 26, 26, 26, 25, 25, 25, 26, 26, 25], [(3, 20, 25, 0.002)])],
            quiet, [-0.01, -0.01, 0.01, 0.01, 0, 0.01, -0.01, 0, 0, -0.02, 0.01, -0.01],
            [(3, "places", None, [("2", 20, 26), ("1", 21, 25)], None), (8, "step", 8, [], None)],
        ),
        (
            [],
            [("op", [21, 21, 20, 16, 16, 17, 16, 17, 16, 17, 17, 16], [(3, 20, 25, 0.002)]),
             ("op", [20, 21, 20, 21, 20, 21, 23, 24, 23, 23, 24, 24], [(6, 20, 25, 0.001)]),
             ("op", [21, 21, 21, 20, 21, 20, 20, 20, 16, 17, 16, 17], [(8, 20, 25, 0.002)])],
            [900 + ps for ps in quiet], [0, -0.01, -0.01, 0.02, 0, 0, 0.09, 0.11, 0.1, 0.09, 0.09, 0.11],
            [(3, "places", None, [("0", 21, 16)], None), (6, "moved", None, [("2", 20, 17), ("1", 21, 23.5)], None)],
        ),
        (
            [(3, 100, 90), (6, 100, 90)],
            [("op", [20, 20, 21, 24, 24, 24, 24, 24, 23, 23, 24, 24], []),
             ("idle_gap", [20, 20, 21, 20, 20, 25, 25, 26, 26, 25, 25, 25], [(5, 20, 25, 0.003)]),
             ("op", [21, 20, 21, 21, 21, 20, 20, 21, 23, 24, 24, 23], [(8, 20, 25, 0.001)])],
            quiet, [0, 0, 0, 0.02, -0.01, 0, 0.3, 0.28, 0.28, 0.32, 0.28, 0.31],
            [(3, "step", 3, [("0", 20, 24), ("1", 20, 20)], None),
             (6, "step", 6, [("1", 20, 25), ("2", 21, 23)], None)],
        ),
        (
            [(6, 100, 105), (8, 100, 120)],
            [("op", [21, 20, 21, 20, 21, 23, 24, 24, 24, 23, 23, 24], []),
             ("op", [21, 20, 20, 20, 21, 20, 21, 21, 21, 21, 21, 20], [(5, 20, 25, 0.001)]),
             ("op", [20, 20, 21, 21, 24, 24, 24, 24, 24, 23, 23, 23], [(4, 20, 25, 0.003)])],
            [900 + ps for ps in quiet], [0.01, -0.02, 0, -0.01, 0.01, 0, 0.29, 0.31, 0.31, 0.31, 0.31, 0.31],
            [(8, "step", 8, [("2", 24, 23)], None)],
        ),
    ]  # fmt: skip
    for of_step, columns, adjusted, log_factor, expected in table:
        places = [
            PlaceSeries(
                *(place(str(row), part), np.array(ps, float), np.array(ps, float)),
                tuple(level_shift(*each) for each in own),
            )
            for row, (part, ps, own) in enumerate(columns)
        ]
        steps = [level_shift(*each) for each in of_step]
        events = _events(steps, places, 0.002, np.array(adjusted, float), np.array(log_factor, float))
        found = [
            (
                *(one.index, one.kind, one.step and one.step.index),
                *([(part.place.name, part.before, part.after) for part in one.parts], one.gone),
            )
            for one in events
        ]
        assert found == expected


def test_what_makes_runs_hardly_comparable():
    def run(sizes: tuple[str, ...] = ("8", "8"), ps: tuple[float, ...] = (1.0, 1.0), **more: object) -> RunSummary:
        of = summary("r", 1, {"a": ps[0], "b": ps[1]})
        places = tuple(one._replace(sizes=size) for one, size in zip(of.places, sizes, strict=True))
        return replace(of, places=places, conditions=replace(TPU, **more))  # type: ignore[arg-type]

    table = [
        (run(device=""), "The type of device changed from TPU v5 to none."),
        (run(devices=8), "The number of devices changed from 4 to 8."),
        (run(hosts=2), "The number of hosts changed from 1 to 2."),
        (run(unit="recording"), "The unit of a step changed from step to recording."),
        (run(("8", "9")), ""),  # half of the time is alike
        (run(("8", "9"), (1.0, 1.5)), "The shapes of most ops changed."),
        (run(("8", "9"), (1.5, 1.0)), ""),
        (run(("9", ""), (1.0, 9.0)), "The shapes of most ops changed."),  # without those that are not known
        (run(("", "")), ""),
    ]
    assert [_changed(run(), after) for after, _ in table] == [reason for _, reason in table]
    assert _changed(run(("", "")), run()) == ""


def later(runs: list[RunSummary], own: float, every: float) -> list[RunSummary]:
    """From the middle on, one place takes longer by a factor, and all by another."""
    found = []
    for row, one in enumerate(runs):
        of, all_of = (own, every) if row >= len(runs) // 2 else (1.0, 1.0)
        places = tuple(
            place._replace(ps=place.ps * all_of * (of if place.name == "op1" else 1)) for place in one.places
        )
        found.append(replace(one, places=places, step_ps=sum(place.ps for place in places)))
    return found


def test_figures_of_simulated_histories():
    table = [
        (later(simulated(np.random.default_rng(22), 18, machine=0.005, own=0.0005, places=9), 1.3, 1.1),
         0.999950289, (0.00658775342, 4.64475935e-05), (0.946757636, 10492625900), {7: [9]}, [9], []),
        (simulated(np.random.default_rng(0), 11, planted=0.1, machine=0.0, own=0.01),
         0.834787902, (0.00464786101, 0.00188918312), (1.00477479, 9996817910), {}, [], []),
        (later(simulated(np.random.default_rng(1), 24, since=7, planted=0.002, machine=0.0, own=0.01), 1.3, 1),
         0.0732223883, (0.00132031505, 0.00127105792), (1.0002599, 9996650710), {2: [12], 13: [7]}, [],
         [(7, "places", ["planted"], None), (12, "step", ["op1"], None)]),
        (later(simulated(np.random.default_rng(7), 25, since=8, planted=0.01, machine=0.005, own=0.003, places=4), 1.3,
               1.1),
         0.0, (0.00658362921, 0.00658362921), (1.0, 9967725930), {0: [12], 1: [8, 12], 2: [12], 3: [12]}, [],
         [(7, "step", ["planted"], None), (12, "step", ["op1", "planted", "op3", "op2"], None)]),
        (later(simulated(np.random.default_rng(10), 17, machine=0.0, own=0.0005, places=9), 1.3, 1),
         0.947262355, (0.000216619237, 4.97459109e-05), (1.00013776, 9998809380), {5: [8]}, [],
         [(8, "step", ["op1"], None)]),
    ]  # fmt: skip
    for runs, explained, variation, first, of_places, machine, events in table:
        [series] = series_of(runs)
        assert (series.explained, *series.variation) == pytest.approx((explained, *variation), rel=1e-6)
        assert (series.factor[0], series.adjusted[0]) == pytest.approx(first, rel=1e-7)
        found = {row: [one.index for one in each.shifts] for row, each in enumerate(series.places) if each.shifts}
        assert found == of_places
        assert [one.index for one in series.machine] == machine
        told = [(one.index, one.kind, [part.place.name for part in one.parts], one.gone) for one in series.events]
        assert told == events


def test_a_small_shift_under_a_busy_machine_has_its_place():
    runs = simulated(np.random.default_rng(7), 40, since=37, planted=0.03)
    [series] = series_of(runs)
    [event] = [one for one in series.events if one.kind == "step"]
    assert event.index == 37
    assert event.step.delta / event.step.before == pytest.approx(0.03, abs=0.006)
    assert event.parts[0].place.name == "planted"
    assert event.parts[0].delta == pytest.approx(0.03 * STEP_PS, rel=0.2)
    assert series.explained > 0.9
    assert series.variation[0] > 0.012 > 0.005 > series.variation[1]


def test_a_machine_that_stays_slower_is_no_change_of_the_program():
    runs = simulated(np.random.default_rng(3), 30, machine=0.005)
    slower = [
        one if row < 20 else replace(
            one, step_ps=1.1 * one.step_ps, places=tuple(place._replace(ps=1.1 * place.ps) for place in one.places)
        )
        for row, one in enumerate(runs)
    ]  # fmt: skip
    [series] = series_of(slower)
    assert [one for one in series.events if one.kind == "step"] == []
    [shift] = series.machine
    assert (shift.index, shift.after / shift.before) == (20, pytest.approx(1.1, abs=0.01))


def test_time_that_moves_from_one_place_to_another():
    rng = np.random.default_rng(5)
    runs = []
    for row in range(24):
        moved = 2e8 if row >= 12 else 0.0
        times = {f"op{i}": 1e9 * (1 + 0.002 * rng.standard_normal()) for i in range(8)}
        times["op1"] -= moved
        times["op2"] += moved
        runs.append(summary(f"r{row:02}", row + 1, times))
    [series] = series_of(runs)
    [event] = series.events
    assert (event.kind, event.index, event.step) == ("moved", 12, None)
    assert {(part.place.name, round(part.delta / 1e7)) for part in event.parts} == {("op1", -20), ("op2", 20)}


@pytest.mark.parametrize(("part", "told"), [("op", 1), ("idle_host", 1), ("idle_transfer", 0), ("idle_gap", 0)])
def test_waits_that_follow_from_others_are_no_change_by_themselves(part: str, told: int):
    """A step that varies by 1 % hides 0.4 % more of one place."""
    rng = np.random.default_rng(5)
    runs = []
    for row in range(24):
        times = {f"op{i}": 1e9 * (1 + 0.002 * rng.standard_normal()) for i in range(8)}
        times["busy"] = 1e9 * (1 + 0.08 * rng.standard_normal())
        times["other"] = 3e8 * (1 + 0.002 * rng.standard_normal()) + (4e7 if row >= 12 else 0.0)
        run = summary(f"r{row:02}", row + 1, times)
        places = tuple(one._replace(part=part) if one.name == "other" else one for one in run.places)
        runs.append(replace(run, places=places))
    [series] = series_of(runs)
    assert [(one.kind, one.index) for one in series.events] == [("places", 12)] * told


def test_a_shift_that_goes_away():
    runs = [
        summary(f"r{row:02}", row + 1, {"a": 9e9 + (1e9 if 10 <= row < 20 else 0) + 1e7 * (row % 3), "b": 1e9})
        for row in range(30)
    ]
    [series] = series_of(runs)
    assert [(one.index, one.gone) for one in series.events] == [(10, 20), (20, None)]


def test_series_are_of_one_program_and_split_where_conditions_change():
    def run(row: int, program: str = "jit_step", devices: int = 4, sizes: str = "8,8") -> object:
        of = summary(f"r{row}", row, {"a": 1e9, "b": 1e9})
        places = tuple(place._replace(sizes=sizes) for place in of.places)
        return replace(of, conditions=replace(TPU, program=program, devices=devices), places=places)

    runs = [run(1), run(2, "jit_eval"), run(3), run(4, devices=8), run(5, devices=8), run(6, devices=8, sizes="16,8")]
    found = [(one.conditions.program, [each.run for each in one.runs], one.reason) for one in series_of(runs)]
    assert found == [
        ("jit_step", ["r1", "r3"], ""),
        ("jit_step", ["r4", "r5"], "The number of devices changed from 4 to 8."),
        ("jit_step", ["r6"], "The shapes of most ops changed."),
        ("jit_eval", ["r2"], ""),
    ]


def test_runs_without_figures_are_in_no_series():
    broken = replace(summary("x", 1, {"a": 1e9}), conditions=None, problem="It has no profile.")
    assert series_of([broken, replace(broken, step_ps=1e9), summary("y", 1, {"a": 0.0})]) == []


def test_an_op_that_is_new_is_what_a_shift_comes_from():
    runs = []
    for row in range(16):
        times = {f"op{i}": 1e9 * (1 + 0.001 * ((row * 7 + i * 3) % 5)) for i in range(6)}
        if row >= 10:
            times["new"] = 3e8
        runs.append(summary(f"r{row:02}", row + 1, times))
    [series] = series_of(runs)
    [event] = series.events
    assert (event.index, event.parts[0].place) == (10, PlaceTime("op", "jit_step", "new", "", "8,8", 3e8, 1.0))
    assert (event.parts[0].before, event.parts[0].after) == (0.0, pytest.approx(3e8, rel=0.01))


def test_many_places_that_only_vary_are_seldom_told():
    """Ten histories of 100 runs with 15 places: at most one false event in 100 runs."""
    events = [
        event
        for seed in range(10)
        for event in series_of(simulated(np.random.default_rng(seed), 100, own=0.03))[0].events
    ]
    assert len(events) <= 10


def test_what_lasts_of_a_busier_machine_is_taken_away_as_it_is():
    """All but two ops take three times as long from run 10 on, one 2.6 times and one 3.3 times: no change is told."""
    rng, runs = np.random.default_rng(4), []
    for row in range(20):
        machine = (3.0 if row >= 10 else 1.0) * np.exp(0.02 * rng.standard_normal())
        times = {f"op{i}": 1e9 * machine * np.exp(0.004 * rng.standard_normal()) for i in range(10)}
        times["op1"] *= 0.87 if row >= 10 else 1.0
        times["op2"] *= 1.1 if row >= 10 else 1.0
        runs.append(summary(f"r{row:02}", row + 1, times))
    [series] = series_of(runs)
    assert [one for one in series.events if one.kind == "step" or abs(one.index - 10) <= 2] == []
    assert [one.index for one in series.machine] == [10]


def test_ten_thousand_runs():
    runs = [summary(f"r{row:05}", row + 1, {"a": 9e9 + 1e7 * (row * 7 % 11), "b": 1e9}) for row in range(10_000)]
    slower = [one if row < 7000 else replace(one, step_ps=1.02 * one.step_ps) for row, one in enumerate(runs)]
    [series] = series_of(slower)
    assert len(series.runs) == 10_000
    assert [one.index for one in series.events] == [7000]
