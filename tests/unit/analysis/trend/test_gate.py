"""The gate: what passes, fails or cannot be told, and how many runs would tell."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from builders.histories import TPU, simulated, summary

from tpu_profile_plugin.analysis.trend.gate import Limit, judge, limit_of, verdict_of
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
    limits = [limit_of("memory_peak > 4 GiB"), limit_of("step_time > 5 ms")]
    assert verdict_of(judge(limits, [], runs(10.0, 10.0, 10.0))) == "fail"


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
