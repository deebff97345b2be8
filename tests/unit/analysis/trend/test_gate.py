"""The gate: what passes, fails or cannot be told, and how many runs would tell."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from builders.histories import TPU, simulated, summary

from tpu_profile_plugin.analysis.compare.run_work import student
from tpu_profile_plugin.analysis.trend.gate import CONFIDENCE, Limit, _more, decided, judge, limit_of, verdict_of
from tpu_profile_plugin.analysis.trend.summary import RunSummary


def runs(*steps_ms: float, **more: object) -> list[RunSummary]:
    return [summary(f"r{row}", row + 1, {"a": ms * 1e9}, **more) for row, ms in enumerate(steps_ms)]


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("step_time > +3%", ("step_time", True, True, 0.03)),
        ("step_time>12.5ms", ("step_time", True, False, 12.5e9)),
        ("memory_peak > 2 GiB", ("memory_peak", True, False, 2.0**31)),
        ("communication_exposed >= 10%", ("communication_exposed", True, False, 0.1)),
        ("compute < 50%", ("compute", False, False, 0.5)),
        ("step_time < -1%", ("step_time", False, True, -0.01)),
        ("idle > +2%", ("idle", True, True, 0.02)),
        ("memory_peak < -5%", ("memory_peak", False, True, -0.05)),
        ("memory_peak > +7 KiB", ("memory_peak", True, True, 7168.0)),
    ],
)
def test_conditions(text: str, limit: tuple[str, bool, bool, float]):
    found = limit_of(text)
    assert (found.metric, found.above, found.relative, found.value) == (*limit[:3], pytest.approx(limit[3]))


@pytest.mark.parametrize(
    "text", ["", "step_time", "step_time > 3%", "speed > +3%", "step_time > +3GiB", "memory_peak > 5", "idle > 3 ms",
             "step_time > +3% or so", "step_time > +" + "9" * 1000],
)  # fmt: skip
def test_what_is_no_condition(text: str):
    with pytest.raises(ValueError, match=r"needs|no condition|no figure"):
        limit_of(text)


def test_what_is_no_condition_tells_the_units_of_the_figure():
    for text, units in (("memory_peak > 7%", "B, KiB, MiB, GiB"), ("step_time > 3%", "ps, ns, us, ms, s"),
                        ("idle > 3 ms", "share of the step")):  # fmt: skip
        with pytest.raises(ValueError, match=units):
            limit_of(text)


def judged(text: str, base: list[RunSummary], run: list[RunSummary]) -> tuple[str, float, float, float, int | None]:
    [one] = judge([limit_of(text)], base, run)
    return one.verdict, one.delta, one.low, one.high, one.more


def test_a_clear_change_fails_and_no_change_passes():
    base = runs(10.0, 10.1, 9.9, 10.0, 10.0)
    verdict, delta, low, high, more = judged("step_time > +3%", base, runs(10.5, 10.6, 10.4, 10.5, 10.5))
    assert (verdict, more) == ("fail", None)
    assert (delta, low, high) == (pytest.approx(0.05), pytest.approx(0.037, abs=0.001), pytest.approx(0.063, abs=0.001))
    assert judged("step_time > +3%", base, runs(10.0, 10.1, 10.0, 9.9, 10.0))[0] == "pass"
    assert judged("step_time > +3%", base, runs(9.0, 9.1, 9.0, 9.0, 9.0))[0] == "pass"


def test_what_cannot_be_told_says_how_many_runs_would_tell():
    base = runs(10.0, 10.4, 9.6, 10.2, 9.8)
    [one] = judge([limit_of("step_time > +3%")], base, runs(10.1, 10.5, 9.7, 10.3, 9.9))
    assert one.verdict == "inconclusive"
    assert one.more == 24
    assert one.reason == (
        "Runs vary too much to tell: the interval reaches from -4.8% to +6.8%; 24 more runs a side would decide."
    )


def test_one_run_against_one_is_as_sure_as_captures_of_a_device_repeat():
    """On an accelerator, two captures of one program differ by 1 %."""
    assert judged("step_time > +5%", runs(10.0), runs(10.1))[0] == "pass"
    assert judged("step_time > +3%", runs(10.0), runs(10.8))[0] == "fail"
    assert judged("step_time > +3%", runs(10.0), runs(10.1))[0] == "inconclusive"
    on_cpu = {"conditions": replace(TPU, device="CPU")}
    assert judged("step_time > +3%", runs(10.0, **on_cpu), runs(10.8, **on_cpu))[0] == "inconclusive"


def test_few_runs_do_not_tell_a_slower_machine_from_a_slower_program():
    def of(factor: float, **more: float) -> RunSummary:
        ops = {f"op{row}": 1e9 * factor for row in range(8)}
        return summary("r", 1, {**ops, **more})

    limit = [limit_of("step_time > +5%")]
    [one] = judge(limit, [of(1.0)], [of(1.08)])
    assert (one.verdict, one.more) == ("inconclusive", 2)
    assert one.reason == (
        "All ops are 8.0% slower alike, by the machine or by the program: 2 more runs a side would tell."
    )
    [two] = judge(limit, [of(1.0), of(1.001)], [of(1.08), of(1.081)])
    assert (two.verdict, two.more) == ("inconclusive", 1)
    assert two.reason.endswith(": 1 more run a side would tell.")
    steady = [of(1.0), of(1.001), of(0.999)]
    assert judge(limit, steady, [of(1.08), of(1.081), of(1.079)])[0].verdict == "fail"
    # One op that takes longer is the program's, and so is what all share beyond a machine that is a little slower.
    assert judge(limit, [of(1.0)], [of(1.0, op3=1.64e9)])[0].verdict == "fail"
    assert judge(limit, [of(1.0)], [of(1.01, op3=1.8e9)])[0].verdict == "fail"
    assert judge([limit_of("step_time < -5%")], [of(1.08)], [of(1.0)])[0].verdict == "inconclusive"


def test_absolute_limits():
    many = runs(10.0, 10.0, 10.1, memory={"jit_step": 3 << 30}, parts={"exposed_communication": 2e9})
    assert judged("memory_peak > 2 GiB", [], many)[0] == "fail"
    assert judged("memory_peak > 4 GiB", [], many)[0] == "pass"
    assert judged("communication_exposed > 10%", [], many)[0] == "fail"
    assert judged("step_time > 11 ms", [], many)[0] == "pass"
    assert judged("step_time < 9 ms", [], many)[0] == "pass"


def test_it_never_passes_what_it_could_not_see():
    [one] = judge([limit_of("memory_peak > 4 GiB")], [], runs(10.0))
    assert (one.verdict, one.reason) == ("inconclusive", "No run tells memory peak.")
    broken = [RunSummary("x", problem="x.pb is damaged.")]
    [one] = judge([limit_of("step_time > +3%")], runs(10.0), broken)
    assert (one.verdict, one.reason) == ("inconclusive", "X.pb is damaged.")
    other = runs(10.0, conditions=replace(TPU, devices=8))
    [one] = judge([limit_of("step_time > +3%")], runs(10.0), other)
    assert (one.verdict, one.reason) == ("inconclusive", "The runs differ in their devices: 4 and 8.")
    assert verdict_of([]) == "inconclusive"


def test_a_failure_stands_whatever_else_is_not_known():
    limits = [limit_of("memory_peak > 4 GiB"), limit_of("step_time > 5 ms"), limit_of("step_time > 15 ms")]
    unknown, fails, passes = judge(limits, [], runs(10.0, 10.0, 10.0))
    table = [[unknown, fails, passes], [unknown, passes], [passes, passes], []]
    assert [verdict_of(row) for row in table] == ["fail", "inconclusive", "pass", "inconclusive"]


def of_figures(steps_ms: list[float], device: str, inputs_ms: list[float]) -> list[RunSummary]:
    found = runs(*steps_ms, conditions=replace(TPU, device=device))
    return [
        replace(one, parts={"idle_input": ms * 1e9, "compute": 1e9}, memory={"jit_step": int(ms * 100)})
        for one, ms in zip(found, inputs_ms, strict=True)
    ]


def test_figures_of_both_sides():
    table = [
        ("step_time < -2%", [9.9, 9.8, 10.2], [10.2], "TPU v5", [], [],
         ("inconclusive", 9966666670, 10200000000, 0.0234113712, -0.144555628, 0.191378371, 4)),
        ("step_time > 11 ms", [10], [11.1, 10.9], "TPU v5", [], [],
         ("inconclusive", 1e10, 1.1e10, 1.1e10, 10819052300, 11180947700, None)),
        ("step_time > +0%", [10.1], [10.9], "TPU v5", [], [],
         ("fail", 1.01e10, 1.09e10, 0.0792079208, 0.0463083409, 0.112107501, None)),
        ("step_time > -3%", [10, 10], [10], "CPU", [], [], ("inconclusive", 1e10, 1e10, 0, 0, 0, 1)),
        ("step_time > -3%", [10], [10.1, 10.1], "TPU v5", [], [], ("fail", 1e10, 1.01e10, 0.01, 0.01, 0.01, None)),
        ("step_time > 11 ms", [], [11.7, 11.4, 11.1], "", [], [],
         ("inconclusive", None, 1.14e10, 1.14e10, 10193703400, 12606296600, 1)),
        ("step_time < +1%", [10.1, 10], [9.9, 10, 10.2, 10.2, 10.2], "TPU v5", [], [],
         ("inconclusive", 1.005e10, 1.01e10, 0.00497512438, -0.0245712241, 0.0345214728, 45)),
        ("step_time < -2%", [10, 10], [9.5, 9.5, 9.5], "TPU v5", [], [],
         ("fail", 1e10, 9.5e9, -0.05, -0.05, -0.05, None)),
        ("memory_peak > 300 B", [9.7, 10.2], [11, 10.9], "CPU", [2, 2], [3, 3],
         ("pass", 200, 300, 300, 300, 300, None)),
        ("idle < -10%", [10], [10.1], "", [2.2], [2],
         ("inconclusive", 0.22, 0.198019802, -0.099909991, -0.26440789, 0.0645879084, None)),
    ]  # fmt: skip
    for text, base, run, device, base_inputs, run_inputs, expected in table:
        sides = [
            of_figures(steps, device, inputs or [0.0] * len(steps))
            for steps, inputs in ((base, base_inputs), (run, run_inputs))
        ]
        [one] = judge([limit_of(text)], *sides)
        assert one.verdict == expected[0]
        assert (one.base, one.run, one.more) == (pytest.approx(expected[1]), pytest.approx(expected[2]), expected[6])
        assert (one.delta, one.low, one.high) == pytest.approx(expected[3:6], rel=1e-7, abs=1e-12)


def test_limits_are_failed_beyond_them_and_noise_and_passed_surely_within():
    table = [  # above, relative, limit, value, interval
        (False, False, 0.2, -0.3, 0.0, 0.2, "inconclusive"), (True, False, -0.1, 0.0, 0.0, 0.1, "fail"),
        (True, True, 0.0, 0.1, 0.0, 0.0, "pass"), (False, False, 0.2, 0.2, -0.3, 0.0, "inconclusive"),
        (False, True, -0.1, -0.2, -0.3, 0.3, "inconclusive"), (True, False, 0.1, 0.1, 0.1, 0.1, "pass"),
    ]  # fmt: skip
    found = [
        decided(Limit("", "step_time", above, relative, limit), *interval)
        for above, relative, limit, *interval, _ in table
    ]
    assert found == [row[-1] for row in table]


def test_at_most_a_hundred_more_runs_are_asked_for():
    table = [(0.2, 0.1, 1, 4), (0.3268, 1.0, 3, 100), (0.3234, 1.0, 3, None), (student(CONFIDENCE, 2), 1.0, 1, 1)]
    assert [_more(*row[:3]) for row in table] == [row[3] for row in table]


def test_what_is_taken_away_as_the_machines_passes_nothing():
    history = simulated(np.random.default_rng(0), 11, machine=0.02, own=0.0003, places=9)
    base, run = history[:6], history[6:]
    recorded = float(np.mean([one.step_ps for one in run])) / float(np.mean([one.step_ps for one in base])) - 1
    for value, verdict in ((recorded, "pass"), (recorded - 1e-9, "inconclusive")):
        [one] = judge([Limit("", "step_time", True, True, value)], base, run)
        assert (one.verdict, one.removed) == (verdict, pytest.approx(0.999994857))
        assert (recorded, one.delta, one.high) == pytest.approx((0.0112585907, -1.71397574e-05, 9.05983299e-05))


def test_only_from_changes_of_the_step_is_the_machine_taken_away():
    history = simulated(np.random.default_rng(0), 11, machine=0.02, own=0.0003, places=9)
    history = [replace(one, parts={"idle_input": 1e9 + 1e8 * (row % 3)}) for row, one in enumerate(history)]
    limits = [limit_of(text) for text in ("step_time > +3%", "step_time > 11 ms", "input > +20%", "input > 20%")]
    assert [one.removed > 0 for one in judge(limits, history[:6], history[6:])] == [True, False, False, False]


def test_shares_and_changes_tell_their_interval():
    base, run = (of_figures([10.0, 10.0], "CPU", inputs) for inputs in ([2.0, 2.4], [2.0, 2.5]))
    limits = [limit_of(text) for text in ("step_time > 10.01 ms", "input > 22.6%", "input > +4%", "memory_peak > +4%")]
    assert [("interval" in one.reason, one.verdict) for one in judge(limits, base, run)] == [
        *((False, "inconclusive"), (False, "pass"), (True, "inconclusive"), (True, "inconclusive")),
    ]


def test_what_all_ops_share():
    def both(seed: int, base: int, run: int, own: float, factor: float = 1.0, machine: float = 0.0) -> list[object]:
        history = simulated(np.random.default_rng(seed), base + run, machine=machine, own=own, places=9)
        slower = [
            replace(one, step_ps=one.step_ps * factor, places=tuple(p._replace(ps=p.ps * factor) for p in one.places))
            for one in history[base:]
        ]
        limits = [limit_of(f"step_time {limit}") for limit in ("> +3%", "< -3%", "> +0.5%")]
        found = judge(limits, history[:base], slower)
        assert {(one.base, one.run, one.delta, one.removed) for one in found[1:]} == {
            (found[0].base, found[0].run, found[0].delta, found[0].removed)
        }
        return [
            *((one.verdict, one.more) for one in found),
            *(found[0].delta, found[0].low, found[0].removed, found[0].base),
        ]

    def near(*numbers: float) -> list[object]:
        return [pytest.approx(number, rel=1e-6, abs=1e-12) for number in numbers]

    alike = both(0, 6, 3, 0.03)
    assert alike[:3] == [("pass", None), ("pass", None), ("inconclusive", 17)]
    assert alike[3:] == near(-0.00195807396, -0.0207134325, 0.596329409, 10044480805.6)
    few = both(4, 2, 3, 0.03, 1.05, 0.002)
    assert few[:3] == [("inconclusive", 1), ("pass", None), ("inconclusive", 1)]
    assert few[3:] == near(0.0553819619, 2.42698201e-06, 0.0, 9997873250.4)
    clear = both(14, 2, 4, 0.0003, 1.05, 0.03)
    assert clear[:3] == [("fail", None), ("pass", None), ("fail", None)]
    assert clear[3:] == near(0.0996481983, 0.0562038764, 0.0, 9804819223.74)
    twice = [summary("r", 1, {f"op{row}": 1e9 * factor for row in range(8)}) for factor in (1.0, 2.0)]
    [one] = judge([limit_of("step_time > +0%")], twice[:1], twice[1:])
    assert (one.verdict, one.more, one.delta) == ("inconclusive", 2, 1.0)


def gate(base: int, run: int, planted: float, seeds: int) -> Counter[str]:
    limit = Limit("", "step_time", True, True, 0.03)
    found: Counter[str] = Counter()
    for seed in range(seeds):
        history = simulated(
            np.random.default_rng(seed), base + run, since=base, planted=planted, machine=0.01, own=0.003
        )
        found[verdict_of(judge([limit], history[:base], history[base:]))] += 1
    return found


def test_equal_runs_fail_in_at_most_one_of_a_hundred():
    assert gate(5, 5, 0.0, 200)["fail"] <= 2


def test_five_percent_fail_in_nine_of_ten():
    assert gate(5, 5, 0.05, 100)["fail"] >= 90


def test_a_program_that_is_slower_all_over_is_not_taken_for_a_machine():
    history = simulated(np.random.default_rng(1), 10, machine=0.005)
    slower = [
        replace(one, step_ps=1.08 * one.step_ps, places=tuple(p._replace(ps=1.08 * p.ps) for p in one.places))
        for one in history[5:]
    ]
    [one] = judge([limit_of("step_time > +3%")], history[:5], slower)
    assert (one.verdict, one.removed) == ("fail", 0.0)


def test_no_change_is_a_share_of_nothing():
    none, some = runs(10.0, 10.0, 10.0), runs(10.0, 10.0, 10.0, parts={"idle_input": 1e9})
    [one] = judge([limit_of("input > +5%")], none, some)
    assert (one.verdict, one.reason) == (
        *("inconclusive", "The baseline has none, so that no change is a share of it: limit input itself."),
    )
    assert judged("input > +5%", none, none)[0] == "pass"
    assert judged("input > 5%", none, some)[0] == "fail"
