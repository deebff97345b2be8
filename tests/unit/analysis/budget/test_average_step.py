"""The average step: devices that take part, time between steps, cut steps, hosts of which no device was recorded."""

from __future__ import annotations

import pytest
from builders.answers import run_of
from builders.computed import budget
from builders.planes import host

from tpu_profile_plugin.analysis.budget.categories import BETWEEN, CATEGORIES, GROUPS, LABELS, members
from tpu_profile_plugin.analysis.budget.run_budget import RunBudget, merge_budgets
from tpu_profile_plugin.run.figures.budget import run_budget, run_decomposition

US = 10**6


def averaged(steps: str, *devices: str) -> RunBudget:
    """Steps `BEGIN LENGTH` on the host, and per CPU device the runs `BEGIN LENGTH` of a program of one op, in us."""
    lines = ['plane 1 "/host:CPU"', "line 1 main"]
    for number, step in enumerate(steps.split(", ")):
        begin, length = step.split()
        lines.append(f"{begin}us +{length}us train {{_r=1, step_num={number}}}")
    for ordinal, runs in enumerate(devices):
        lines.append(f"line {ordinal + 2} worker")
        for run, one in enumerate(runs.split(", ")):
            begin, length = one.split()
            stats = f'hlo_op="dot.1", device_ordinal={ordinal}, program_id=3, run_id={run}'
            lines.append(f"{begin}us +{length}us dot.1 {{{stats}}}")
    return merge_budgets([budget("\n".join(lines))])


def test_devices_without_work_in_a_step_are_not_averaged_in():
    found = averaged("0 100, 100 100, 200 100", "0 60, 100 70, 200 80", "10 20")
    assert found.takes_part.tolist() == [[True, True], [True, False], [True, False]]
    assert (found.cells, found.step_ps, found.base) == (4, 100 * US, "step")
    # 60, 70 and 80 us of the first device and 20 of the second, by four; not by the six of steps times devices.
    assert found.part_ps("compute") == (60 + 70 + 80 + 20) / 4 * US
    assert found.share("device_compute") == 0.575
    assert found.of_steps_ps[1][:, 0].tolist() == [40 * US, 70 * US, 80 * US]
    assert found.of_devices_ps[1][:, 0].tolist() == [70 * US, 20 * US]


def test_a_step_without_any_work_counts_for_the_devices_that_work_in_others():
    found = averaged("0 100, 100 100, 200 100", "0 60, 200 80", "10 20")
    assert found.takes_part.tolist() == [[True, True], [True, True], [True, False]]


def test_time_between_steps_is_a_part_of_the_time_from_step_to_step():
    found = averaged("0 100, 150 100, 300 100", "0 100, 150 90, 300 80")
    assert found.base == "time from step to step"
    assert (found.step_ps, found.between_step_ps, found.base_ps) == (100 * US, 50 * US, 150 * US)
    assert found.share(BETWEEN) == pytest.approx(1 / 3)
    assert sum(found.share(group.id) for group in GROUPS) == pytest.approx(2 / 3)


@pytest.mark.parametrize(("gap_us", "base"), [(9, "step"), (11, "time from step to step")])
def test_time_between_steps_is_shown_from_one_percent(gap_us, base):
    steps = ", ".join(f"{(1000 + gap_us) * i} 1000" for i in range(3))
    assert averaged(steps, "0 1000").base == base


@pytest.mark.parametrize(("count", "names"), [(5, [0, 1, 2, 3, 4]), (7, [1, 2, 3, 4, 5])])
def test_the_first_and_last_of_more_than_five_marked_steps_may_be_cut(count, names):
    steps = ", ".join(f"{100 * i} 100" for i in range(count))
    runs = ", ".join(f"{100 * i} 60" for i in range(count))
    assert averaged(steps, runs).number.tolist() == names


def test_a_host_of_which_no_device_was_recorded_counts_as_if_a_device_waited_for_it():
    text = host('0 100 train {_r=1, step_num=0}\n10 50 IteratorGetNextOp::DoCompute\n60 40 "$train.py:3 load"')
    run = run_of(text)
    assert run_budget(run).devices == ()
    found = run_decomposition(run)
    assert [(one.name, one.kind) for one in found.devices] == [("Host", "host")]
    parts = {name: ps / US for name, ps in zip(CATEGORIES, found.parts_ps.tolist(), strict=True) if ps}
    assert parts == {"idle_input": 50, "idle_host": 40, "idle_other": 10}
    assert len(run_decomposition(run_of(host("0 5 anything")))) == 0


def test_every_event_of_a_host_without_devices_counts_for_its_own_time():
    run = run_of(host('0 100 train {_r=1, step_num=0}\n0 40 "$train.py:3 load"\n60 20 MatMul:MatMul'))
    found = run_decomposition(run)
    assert {one: found.part_ps(one) / US for one in ("idle_host", "idle_other")} == {"idle_host": 60, "idle_other": 40}
    assert run.findings().headline.title.endswith("No device recorded; 60.0% of the step is host code")


def test_every_part_belongs_to_one_category():
    assert sorted(part for group in GROUPS for part in group.parts) == sorted(CATEGORIES) == sorted(LABELS)
    assert [CATEGORIES[i] for i in members("input")] == ["idle_input", "input_copy"]
    assert [CATEGORIES[i] for i in members("idle_peer")] == ["idle_peer"]
