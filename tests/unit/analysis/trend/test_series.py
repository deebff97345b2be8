"""Series of runs: what belongs together, what all ops share, and which places shift."""

from dataclasses import replace

import numpy as np
import pytest
from builders.histories import STEP_PS, TPU, simulated, summary

from tpu_profile_plugin.analysis.trend.series import common_factor, series_of
from tpu_profile_plugin.analysis.trend.summary import PlaceTime


def test_what_most_places_take_longer_is_the_machine():
    """One of six places has changed, all are 10 % slower in the last run."""
    usual = np.array([10.0, 20.0, 10.0, 20.0, 20.0, 20.0])
    times = np.tile(usual, (7, 1))
    times[6] *= 1.1
    times[5:, 1] *= 2
    assert common_factor(times, times.sum(axis=1)).tolist() == [1, 1, 1, 1, 1, 1, pytest.approx(1.1)]


def test_few_places_tell_nothing_of_the_machine():
    times = np.tile([30.0, 40.0, 20.0, 10.0], (8, 1))
    times[7] *= 2
    assert common_factor(times, times.sum(axis=1)).tolist() == [1.0] * 8


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
    assert series_of([broken]) == []


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
