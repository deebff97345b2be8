"""Work that is divided unevenly over devices, done in turns, or done slower by one of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from builders.computed import communication, decoded
from builders.planes import host, xla_on_cpu
from builders.profiles.findings import evidence, told

from tpu_profile_plugin.analysis.communication.balance import Balance, UnevenOp, _medians, _slowness, host_balance
from tpu_profile_plugin.analysis.hlo.ops import HloOps

Stretch = Sequence[tuple[str, int]]
"""Ops and their microseconds between two collectives."""


def lockstep(*devices: Sequence[Stretch], collective: str = "collective-permute", steps: int = 2) -> str:
    """TensorCores that run their stretches and meet after each in a collective, in steps of 100 us."""
    lines = ["host h0"]
    for number, stretches in enumerate(devices):
        lines += [f'plane {number + 1} "/device:TPU:{number}" {{device_type_string="TPU v5p"}}', "line 1 Steps"]
        lines += [f"{100 * i}us +100us {i} {{_ct=9, _c={i}}}" for i in range(steps)]
        lines.append('line 2 "XLA Ops"')
        for step in range(steps):
            meet = 100 * step
            for which, stretch in enumerate(stretches):
                at = meet
                meet += max(sum(us for _, us in other[which]) for other in devices) + 2
                for name, us in stretch:
                    lines.append(f"{at}us +{us}us {name}")
                    at += us
                lines.append(f"{at}us +{meet - at}us {collective}.{which}")
        names = {name for stretch in stretches for name, _ in stretch}
        lines += [f'metadata "{name}" {{program_id=7, hlo_category="loop fusion"}}' for name in sorted(names)]
        lines += [
            f'metadata "{collective}.{which}" {{program_id=7, hlo_category="{collective}"}}'
            for which in range(len(stretches))
        ]
    return "\n".join(lines)


def rows(count: int) -> list[tuple[str, int]]:
    """As many runs of the same op of 10 us."""
    return [("fusion.1", 10)] * count


def test_uneven_work() -> None:
    # Three, four, five and six runs: waits of 30 + 20 + 10 us over four devices.
    found = told("uneven_work", lockstep([rows(3)], [rows(4)], [rows(5)], [rows(6)]))
    assert found["title"] == (
        "Devices wait 15.0% of the step for each other: work is uneven, TPU 3 has 1.33 times the mean"
    )
    assert (found["saving_ps_per_step"], found["share"], found["confidence"]) == (15_000_000, 0.15, "high")
    shown = evidence(found)
    assert shown["Work of TPU 3, times the mean of all devices"][0] == pytest.approx(60 / 45)
    assert shown["Run most unevenly"] == ("fusion.1", "", "")
    assert shown["Its runs on the device with the fewest"] == (6, "", "")
    assert shown["Its runs on the device with the most, TPU 3"] == (12, "", "")
    assert shown["They wait in"] == ("collective-permute.0", "", "communication")
    other = told("pipeline_bubbles", lockstep([rows(3)], [rows(4)], [rows(5)], [rows(6)]))
    assert other["reason"] == "Devices wait 15.0% of the step for others, which have more work."


def test_work_in_turns() -> None:
    # Four stages: each works once, while the other three wait.
    stages = [[rows(2) if turn == stage else [] for turn in range(4)] for stage in range(4)]
    found = told("pipeline_bubbles", lockstep(*stages))
    assert found["title"] == ("Devices wait 60.0% of the step for each other: they have equal work, but do it in turns")
    shown = evidence(found)
    assert shown["Work of all devices, of the stretches between collectives"] == (25.0, "%", "")
    assert shown["Work of the device with most, times the mean"] == (1.0, "", "")
    assert told("uneven_work", lockstep(*stages))["reason"] == (
        "Devices wait 60.0% of the step for others, which work in turns."
    )


@pytest.mark.parametrize(("more", "finds"), [(20, True), (19, False)])
def test_waits_from_a_tenth_of_the_step_on(more: int, finds: bool) -> None:
    found = told("uneven_work", lockstep([rows(5)], [[*rows(5), ("fusion.2", more)]]))
    assert ("share" in found) is finds
    if not finds:
        assert found["reason"] == "Devices wait 9.5% of the step for others."


def test_a_device_with_much_more_work_is_a_straggler() -> None:
    found = told("uneven_work", lockstep([rows(2)], [rows(2)], [rows(2)], [rows(6)]))
    assert found["reason"] == "It follows from another finding (straggler)."


@pytest.mark.parametrize(("slower", "finds"), [(13, True), (14, False)])
def test_half_of_the_waits_are_explained(slower: int, finds: bool) -> None:
    """One device runs 10 us more; its other op takes `slower` us longer, of which the ops know nothing."""
    usual = [[("fusion.1", 60), ("fusion.2", 5)]]
    late = [[("fusion.1", 60), ("fusion.2", 5 + slower), ("fusion.3", 10)]]
    found = told("uneven_work", lockstep(usual, usual, usual, usual, late))
    assert ("share" in found) is finds
    if not finds:
        assert "their ops explain waits of" in found["reason"]


def test_the_same_ops_that_take_longer_are_no_more_work() -> None:
    usual, late = [[("fusion.1", 20)]], [[("fusion.1", 60)]]
    found = told("uneven_work", lockstep(usual, usual, usual, late))
    assert found["reason"] == ("Devices wait 30.0% of the step for others; their ops explain waits of 0.0% of it.")


def chip(times: float, *, ops: int = 5, same: int = 0) -> list[Stretch]:
    """Ops of 10 us that take `times` as long, and one of `same` us that does not."""
    slower = [(f"fusion.{number}", round(10 * times)) for number in range(ops)]
    return [[*slower, ("same.1", same)][: ops + (same > 0)]]


def test_a_slow_chip() -> None:
    found = told("slow_device", lockstep(chip(1), chip(1), chip(1.3), chip(1)))
    assert found["title"] == "TPU 2 runs the same ops 1.30 times as long as the other devices"
    # 15 of 65 us: a quarter of them is its own, and each of the other three waits for them.
    assert (found["saving_ps_per_step"], found["confidence"]) == (15_000_000, "high")
    shown = evidence(found)
    assert shown["Durations of its ops, times the median of the devices"][0] == pytest.approx(1.3)
    assert shown["Ops that are slower by at least half as much, of the time"] == (100.0, "%", "")
    late = told("straggler", lockstep(chip(1), chip(1), chip(1.6), chip(1)))
    assert late["reason"] == "It follows from another finding (slow_device)."


@pytest.mark.parametrize(
    ("profile", "finds"),
    [
        ([chip(1), chip(1), chip(1.1), chip(1)], True),
        ([chip(1, ops=20), chip(1, ops=20), [[*chip(1.1, ops=9)[0], *chip(1, ops=20)[0][9:]]]], False),
        ([chip(1, same=12), chip(1, same=12), chip(1.1, same=12)], True),
        ([chip(1, same=13), chip(1, same=13), chip(1.1, same=13)], False),
        ([chip(1, ops=4), chip(1, ops=4), chip(1.3, ops=4)], False),
    ],
    ids=["a tenth slower", "less in half of the time", "four fifths of the time", "less of the time", "few ops"],
)
def test_limits_of_a_slow_chip(profile: list[list[Stretch]], finds: bool) -> None:
    assert ("share" in told("slow_device", lockstep(*profile))) is finds


# The balance itself.


def balance(text: str, most: int | None = None) -> Balance | None:
    """Of the profile's devices, or as many of them."""
    columns = decoded(text)
    found = communication(text)
    assert found is not None
    return host_balance(found, lambda: columns.devices[:most], HloOps(columns.space))


US = 10**6


def test_the_work_of_each_device_and_of_all_together() -> None:
    found = balance(lockstep([rows(3)], [rows(4)], [rows(5)], [rows(6)], steps=3))
    assert found is not None
    assert found.work_ps == (90 * US, 120 * US, 150 * US, 180 * US)
    assert (found.most_ps, found.mean_ps, found.lockstep_ps) == (180 * US, 135 * US, 180 * US)
    assert (found.unevenly, found.in_turns) == (0.25, 0.0)
    assert found.uneven == UnevenOp("fusion.1", "", 9, 18, "TPU 3")
    assert (found.slow, found.agree) == ((1.0,) * 4, (0.0,) * 4)
    turns = balance(lockstep(*[[rows(2) if turn == stage else [] for turn in range(4)] for stage in range(4)]))
    assert turns is not None
    assert (turns.work_ps, turns.lockstep_ps, turns.uneven) == ((40 * US,) * 4, 160 * US, None)
    assert (turns.unevenly, turns.in_turns) == (0.0, 0.75)


def test_devices_that_meet_unequally_often_are_compared_by_step() -> None:
    text = lockstep([rows(2), rows(1)], [rows(1), rows(2)])
    meeting = "\n10us +12us collective-permute.0\n"
    for profile, lockstep_us in ((text, 80), (text.replace(meeting, "\n"), 60)):
        found = balance(profile)
        assert found is not None
        assert found.lockstep_ps == lockstep_us * US


@pytest.mark.parametrize(
    ("stretches", "looks"),
    [
        (([20], [21]), True),  # a twentieth more
        (([41], [43]), False),
        (([19, 21], [21, 19]), True),  # waits of a twentieth
        (([20, 21], [21, 20]), False),
        (([20], [0]), False),  # works nothing
        (([20],), False),
    ],
)
def test_devices_that_differ_notably_are_looked_at(stretches: tuple[list[int], ...], looks: bool) -> None:
    text = lockstep(*[[[("fusion.1", us)] if us else [] for us in one] for one in stretches])
    assert (balance(text) is not None) is looks


def test_without_its_devices_a_host_has_no_balance() -> None:
    assert balance(lockstep([rows(3)], [rows(6)]), most=1) is None


def test_a_cpu_alone_is_looked_at() -> None:
    marks = "\n".join(f"{100 * i} 100 train {{step_num={i}, _r=1}}" for i in range(3))
    ops = xla_on_cpu("10 20 dot.1\n40 30 dot.2", steps=3, period=100)
    found = balance(host(marks, ops))
    assert found is not None
    assert (found.kind, found.work_ps, found.slow) == ("cpu", (150 * US,), (1.0,))


def test_the_median_duration_is_the_lower_one() -> None:
    assert _medians(np.array([0, 1, 0, 1, 0]), np.array([5.0, 4, 1, 2, 9]), 2).tolist() == [5, 2]


@pytest.mark.parametrize(
    ("runs", "spent", "slow", "agree"),
    [
        ([1] * 5, [13, 13, 13, 10, 10], 1.3, 0.6),
        ([1] * 5, [15, 15, 15, 12.5, 10], 1.5, 0.8),  # half as much slower
        ([2] * 5, [30, 30, 30, 24, 20], 1.5, 0.6),
        ([1, 1, 1, 1, 2], [10, 10, 13, 13, 26], 1.3, 0.6),
        ([1] * 4 + [0], [20, 20, 20, 20, 0], 1.0, 0.0),  # too few that all run
    ],
)
def test_how_much_slower_a_device_is(runs: list[int], spent: list[float], slow: float, agree: float) -> None:
    usual = np.array([[1] * 5] * 2), np.array([[10.0] * 5] * 2)
    found = _slowness(np.vstack([usual[0], runs]), np.vstack([usual[1], spent]))
    assert (found[0][2], found[1][2]) == (pytest.approx(slow), pytest.approx(agree))
    assert found[0][:2] == (1.0, 1.0)
    assert _slowness(np.vstack([usual[0][:1], runs]), np.vstack([usual[1][:1], spent])) == ((1.0, 1.0), (0.0, 0.0))


def test_ops_that_run_often_have_more_weight() -> None:
    runs, usual = [3, 1, 1, 1, 1], [30.0, 10, 10, 10, 10]
    slow, agree = _slowness(np.array([runs] * 3), np.array([usual, usual, [39.0, 13, 10, 10, 10]]))
    assert (slow[2], agree[2]) == (pytest.approx(1.3), pytest.approx(40 / 70))


def test_the_most_uneven_op_costs_most() -> None:
    found = balance(lockstep([[*[("a", 1)] * 4, ("b", 10)]], [[("a", 1), *[("b", 10)] * 2]]))
    assert found is not None
    assert found.uneven is not None
    assert (found.uneven.name, found.uneven.fewest, found.uneven.most) == ("b", 2, 4)


@pytest.mark.parametrize("step", [0, 1])
def test_only_ops_in_steps_count(step: int) -> None:
    """Ops of the other step begin before, or when the last step ends."""
    text = lockstep([rows(3)], [rows(6)]).replace(
        f"{100 * (1 - step)}us +100us {1 - step} {{_ct=9, _c={1 - step}}}", ""
    )
    found = balance(text)
    assert found is not None
    assert found.work_ps == (30 * US, 60 * US)


def test_ops_that_take_no_time_tell_nothing() -> None:
    assert _slowness(np.ones((3, 5), np.int64), np.zeros((3, 5))) == ((0.0,) * 3, (0.0,) * 3)


def test_of_two_devices_neither_is_slow() -> None:
    found = told("slow_device", lockstep(chip(1), chip(1.2)))
    assert (found["reason"], found["state"]) == ("No host with 3 TPUs or GPUs recorded.", "unknown")
    assert told("slow_device", lockstep(*[chip(1)] * 3))["reason"] == (
        "No 5 ops that all devices of a host run take clearly longer on one of them."
    )
