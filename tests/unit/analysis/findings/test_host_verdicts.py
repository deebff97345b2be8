"""Verdicts on the host's launches, locks and eager ops, on typed-in times."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from tpu_profile_plugin.analysis.budget.categories import CATEGORIES, IDLE_LAUNCH
from tpu_profile_plugin.analysis.budget.other_threads import OtherThreads
from tpu_profile_plugin.analysis.budget.purpose import Purpose
from tpu_profile_plugin.analysis.devices.rare_programs import RarePrograms
from tpu_profile_plugin.analysis.findings.evidence.host.periodic import Kind, PeriodicWork
from tpu_profile_plugin.analysis.findings.lost import Lost
from tpu_profile_plugin.analysis.findings.model import Finding
from tpu_profile_plugin.analysis.findings.rules.host import (
    eager_execution,
    launch_bound,
    not_compiled,
    outside_compilation,
    periodic_work,
    python_lock,
)
from tpu_profile_plugin.analysis.ops.op_tables import OpTable
from tpu_profile_plugin.analysis.summary.outliers import outliers_of

US, MS = 10**6, 10**9
STEP = 1000 * US


@pytest.mark.parametrize(
    ("number", "told"),
    [
        *((1, "1st"), (2, "2nd"), (3, "3rd"), (4, "4th"), (10, "10th"), (11, "11th"), (12, "12th"), (13, "13th")),
        *((19, "19th"), (20, "20th"), (21, "21st"), (101, "101st"), (111, "111th"), (112, "112th"), (121, "121st")),
    ],
)
def test_numbers_in_words(number, told):
    assert periodic_work._ordinal(number) == told


def test_counts_in_words():
    assert list(map(periodic_work._count, range(3))) == ["No steps", "One step", "2 steps"]


def run_of(**more):
    """A run of two steps of 1000 us on one device, half of which it computes."""

    def lost_in(*segments, ps=500 * US):
        return Lost(ps, ps / STEP, segments)

    given = {
        "has_devices": True, "base": "step", "per": "step", "cells": 2, "lost_in": lost_in,
        "share": lambda ps: ps / STEP, "part_ps": lambda name: 250.0 * US, "frameworks": ("TensorFlow",),
        "present": lambda parts: [(one, f"h{i}") for i, one in enumerate(parts) if one is not None], **more,
    }  # fmt: skip
    return SimpleNamespace(**given)


@pytest.mark.parametrize(
    ("rule", "limits"),
    [(launch_bound.RULE, ["15%", "0.3 ms", "1000 parts"]), (python_lock.RULE, ["4.5 ms", "5 times", "70%"])],
)
def test_when_rules_fire_has_their_limits(rule, limits):
    assert [limit for limit in limits if limit not in rule.documentation[1]] == []


# Launches.


def launched(per_step, *, eager=False, ops=("add", "mul"), summaries=0.0):
    return SimpleNamespace(
        summaries=summaries,
        per_step=per_step,
        eager=eager,
        distinct=5,
        ops=ops,
        median_ps=7 * US,
        window=(0, 9 * US),
        at_ps=np.zeros(0),
    )


@pytest.mark.parametrize(("lost", "finds"), [((60, 40), True), ((60, 39), False)])
def test_programs_that_are_launched_one_by_one(monkeypatch, lost, finds):
    """On two hosts, from a twentieth of the step on; the one with most launches is told."""
    monkeypatch.setattr(not_compiled, "is_uncompiled", lambda launches: launches.per_step >= 100)
    parts = [(launched(100), lost[0] * US, ""), (launched(1200, eager=True), lost[1] * US, "$train.py:3 step")]
    found = not_compiled.judge(run_of(), parts)
    assert isinstance(found, Finding) == finds
    if finds:
        assert found.title == (
            "1,200 eager ops (add, mul) per step are launched one by one by train.py:3 step, not compiled as a whole"
        )
        assert (found.saving_ps, found.hosts) == (50 * US, ("h1",))
        labels = {one.label: one.value for one in found.evidence}
        assert (labels["Eager ops per step and device"], labels["Median duration of an op"]) == (1200, 7.0)
    else:
        assert found.reason == (
            "1,200 eager ops of 5 kinds run per step and device; between them devices are idle 5.0% of the step."
        )
    few = not_compiled.judge(run_of(), [(launched(99), 0, "")])
    assert few.reason.startswith("99 programs of 5 kinds run per step and device; devices work ")


@pytest.mark.parametrize(("summaries", "why"), [(15.0, "for 15 summaries"), (14.9, "not compiled as a whole")])
def test_summaries_have_at_most_eighty_eager_ops_each(monkeypatch, summaries, why):
    monkeypatch.setattr(not_compiled, "is_uncompiled", lambda launches: True)
    found = not_compiled.judge(run_of(), [(launched(1200, eager=True, summaries=summaries), 100 * US, "")])
    assert isinstance(found, Finding)
    assert found.title.endswith(f"one by one, {why}")


@pytest.mark.parametrize(
    ("waits", "launches", "long"),
    [
        ([0, 750, 2000], 1, True),  # three times the median is a quarter of the 9 ms of the steps,
        ([0, 749, 2000], 1, False),
        ([900, 1000, 1100], 3, True),  # and a millisecond for each launch
        ([900, 999, 1100], 3, False),
        ([900, 1000, 1100], 4, False),
    ],
)
def test_calls_of_launches_that_last(waits, launches, long):
    """Another launch is after the steps."""
    begin = np.array([0, 10, 20]) * MS
    at = np.append(np.linspace(0, 2 * MS, launches).astype(np.int64), 50 * MS)
    reader = SimpleNamespace(time=SimpleNamespace(launch=(at, at + US)))
    host = SimpleNamespace(marks=(begin, begin + 3 * MS), reader=reader)
    assert launch_bound._long(host, np.array(waits) * US) == long


def test_kernels_of_the_optimizer_with_most():
    names = (
        "Optimizer.step#Adam.step/aten::mul",
        "x/Optimizer.zero#SGD/aten::zero",
        "aten::mm",
        "Optimizer.step#SGD/y",
    )
    table = OpTable(name=names, occurrences=np.array([30, 20, 40, 20]))
    assert launch_bound._optimizer_launches(table) == ("SGD", 40 / 110)
    assert launch_bound._optimizer_launches(OpTable(name=("aten::mm",), occurrences=np.array([4]))) == ("", 0.0)


def test_what_gpus_record_of_launches():
    summary = SimpleNamespace(step_ps=400 * US, starved_ps=100 * US, per_step=12.5, tiny=3, launches=8, call_ps=7 * US)
    assert [one.value for one in launch_bound._kernels(summary, "h")] == [25.0, 12.5, 37.5, 7.0]
    assert launch_bound._kernels(None, "h") == []
    assert launch_bound._kernels(SimpleNamespace(step_ps=0), "h") == []


@pytest.mark.parametrize(
    ("us", "inner", "name", "told"),
    [
        (51, "PjitFunction(f)", "$train.py:3 step", "PjitFunction(f)"),
        (50, "PjitFunction(f)", "$train.py:3 step", ""),  # half of the waits, not more
        (51, "", "PjitFunction(f)", "PjitFunction(f)"),
        (51, "EagerExecute", "$train.py:3 step", ""),  # a call that does not tell what it launches
        (None, "", "", ""),
    ],
)
def test_the_program_that_most_waits_are_for(monkeypatch, us, inner, name, told):
    """Waits of 100 us for launches, and ops that take longer."""
    group = None if us is None else SimpleNamespace(ps=us * US, inner=inner, name=name)
    monkeypatch.setattr(launch_bound, "largest_group", lambda blame, parts: group)
    op, ps = np.array([-1, 0, 1]), np.array([100, 300, 400]) * US

    def by_part(rows):
        found = np.zeros(len(CATEGORIES) + 1, np.int64)
        found[IDLE_LAUNCH] = ps[rows].sum()
        return found

    assert launch_bound._launched(SimpleNamespace(blame=SimpleNamespace(op=op, by_part=by_part))) == told


def parts(**us):
    """Time by part of the time budget, `idle_launch=60`."""
    found = np.zeros(len(CATEGORIES) + 1, np.int64)
    for name, each in us.items():
        found[CATEGORIES.index(name)] = each * US
    return found


def waits_for_launches(
    monkeypatch, us, *, code=None, synced=False, calls=0, scheduled=0, uncompiled=None, program="", by="",
    optimizer=("", 0.0), kernels=None, ops=(), per="step",
):  # fmt: skip
    """What a host with two steps of 1000 us on two devices, from 500 and from 2000 us on, loses to launches.

    Args:
      us: waits per step and device.
      code: us of slow code in launches, and of short code between two of them.
      synced: results are waited for; calls: of TensorFlow; scheduled: parts of its graphs per step.
      uncompiled: launches one by one; program: the one that most waits are for; by: the function that launches.
      optimizer: the one with most kernels, and its share; kernels: how many, and how many of them are tiny.
      ops: names of those of a device.
    """
    begin = np.array([[500, 500], [2000, 2000]]) * US
    time = type("Times", (), {"shape": (2, 2), "__getitem__": lambda self, part: np.array(us) * US})()
    spans = None
    if code is not None:
        slow, launching = (SimpleNamespace(by_part=lambda host, found=found: found) for found in code)
        spans = SimpleNamespace(slow=slow, launching=launching, fetched=3)
    told = {
        "code_of": spans, "launched_by": uncompiled, "is_uncompiled": uncompiled is not None, "synced": synced,
        "calls_of": SimpleNamespace(calling=lambda points: by), "_calls": calls, "_scheduled": scheduled,
        "_long": False, "_launched": program, "_kernels": [], "_optimizer_launches": optimizer,
    }  # fmt: skip
    for name, answer in told.items():
        monkeypatch.setattr(launch_bound, name, lambda *_, answer=answer: answer)
    known = () if kernels is None else (None, SimpleNamespace(launches=kernels[0], tiny=kernels[1]))
    device = SimpleNamespace(ops=[SimpleNamespace(name=name) for name in ops])
    host = SimpleNamespace(
        name="h0", per=per, steps=SimpleNamespace(begin_ps=begin, end_ps=begin + STEP), devices=(device, device),
        budget=SimpleNamespace(time_ps=time), communication=SimpleNamespace(launches=known),
        time=SimpleNamespace(takes_part=np.array([[True, True], [True, False]]), cells=4, base_ps=STEP),
        summary=SimpleNamespace(device=None),
    )  # fmt: skip
    return launch_bound.gather(host)


def test_launches_of_hosts_without_steps_or_devices():
    time = SimpleNamespace(shape=(4, 2))
    assert launch_bound.gather(SimpleNamespace(steps=None, budget=SimpleNamespace(time_ps=time))) is None
    for shape in ((0, 2), (4, 0)):
        host = SimpleNamespace(steps=(), budget=SimpleNamespace(time_ps=SimpleNamespace(shape=shape)))
        assert launch_bound.gather(host) is None


@pytest.mark.parametrize(
    ("us", "code", "told"),
    [
        # The last device takes no part in the second step; 600 us are 15% of four times 1000.
        ([[100, 200], [300, 900]], None, (600, 0, True)),
        ([[100, 200], [299, 900]], None, (599, 0, False)),
        # Slow code in launches is no launch, short code between two of them is.
        ([[300, 300], [100, 0]], ({"idle_launch": 100, "idle_host": 70}, {}), (600, 0, True)),
        ([[300, 300], [100, 0]], ({"idle_launch": 101}, {}), (599, 0, False)),
        ([[300, 200], [0, 0]], ({"idle_launch": 40}, {"idle_launch": 30, "idle_host": 110}), (490, 110, True)),
    ],
)
def test_the_least_time_that_is_lost_to_launches(monkeypatch, us, code, told):
    code = code and tuple(parts(**one) for one in code)
    loss = waits_for_launches(monkeypatch, us, code=code, program="PjitFunction(f)")
    launches, glue, late = told
    assert loss.by_part.tolist() == parts(idle_launch=launches, idle_host=glue).tolist()
    assert loss.what == (", most of it in PjitFunction(f)" if late else "")
    assert loss.evidence[0].label == ("Most of it in" if late else "Length of the step that loses most")
    synced = waits_for_launches(monkeypatch, us, code=code or (parts(), parts()), synced=True)
    assert bool(synced.harmless) == late


@pytest.mark.parametrize(
    ("us", "window"), [([[0, 300], [299, 900]], "0,2500000000"), ([[0, 300], [301, 900]], "1000000000,4000000000")]
)
def test_the_step_that_loses_most_to_launches(monkeypatch, us, window):
    """Of the device that loses most; the last one takes no part in the second step."""
    longest = waits_for_launches(monkeypatch, us).evidence[-1]
    assert (longest.label, longest.value) == ("Length of the step that loses most", 1.0)
    assert longest.query["window"] == window
    assert waits_for_launches(monkeypatch, us, per="recording").evidence[-1].label == "Length of the recording"


@pytest.mark.parametrize(
    ("given", "what", "confidence"),
    [
        ({"kernels": (8, 4)}, "; most kernels are shorter than 10 us", "high"),
        ({"kernels": (9, 4)}, "", "medium"),
        ({"optimizer": ("Adam", 0.5)}, "; 50% of the kernels are of the optimizer Adam", "medium"),
        ({"optimizer": ("Adam", 0.49)}, "", "medium"),
        ({"scheduled": 1200, "calls": 9}, "; TensorFlow schedules 1,200 small ops per step one by one", "medium"),
        (
            {"scheduled": 1200, "calls": 9, "ops": ("MatMul", "gradient_tape/rnn/while/body/Add", "while/x")},
            "; TensorFlow schedules 1,200 small ops per step one by one, in the loop rnn/while",
            "medium",
        ),
        ({"uncompiled": launched(50)}, ": 50 programs per step, one by one", "medium"),
        ({"uncompiled": launched(50, eager=True), "by": "$t.py:3 f"}, ": 50 eager ops per step, one by one by t.py:3 f",
         "medium"),
        ({"program": "f(x)", "kernels": (8, 4)}, ", most of it in f(x); most kernels are shorter than 10 us", "high"),
    ],
)  # fmt: skip
def test_why_launches_take_long(monkeypatch, given, what, confidence):
    """The kernels are those of the device with most of the waits."""
    loss = waits_for_launches(monkeypatch, [[0, 600], [0, 0]], **given)
    assert (loss.what, loss.confidence) == (what, confidence)
    if what and "optimizer" in given:
        kernels = next(one for one in loss.evidence if one.label.startswith("Kernels of Adam"))
        assert (kernels.value, kernels.unit, kernels.query) == (50.0, "%", {"filter": "Adam"})


@pytest.mark.parametrize(
    ("calls", "scheduled", "harmless"), [(0, 0, False), (2, 0, False), (1, 0, True), (1, 1000, False)]
)
def test_calls_of_tensorflow_on_cpus(monkeypatch, calls, scheduled, harmless):
    """600 us, which are 300 in each of two calls."""
    loss = waits_for_launches(monkeypatch, [[0, 600], [0, 0]], calls=calls, scheduled=scheduled)
    assert bool(loss.harmless) == harmless
    if harmless:
        assert "0.6 ms in each" in loss.harmless


@pytest.mark.parametrize(
    ("inside", "found"),
    [(1998, 0), (2000, 1000), (2002, 1001)],  # of two steps
)
def test_parts_of_graphs_that_tensorflow_schedules(inside, found):
    begin = np.concatenate([np.linspace(100, 199, inside - 500), np.linspace(300, 399, 500), [99, 200, 400]])
    metadata = np.append(np.ones(len(begin), np.int64), 0)
    plane = SimpleNamespace(
        events=SimpleNamespace(begin_ps=np.append(begin, 150).astype(np.int64), metadata=metadata),
        event_metadata=SimpleNamespace(names=("ExecutorState::Schedule", "ExecutorState::Process")),
    )
    since = np.array([[100], [300]])
    steps = type("Steps", (), {"begin_ps": since, "end_ps": since + 100, "__len__": lambda self: 2})()
    assert launch_bound._scheduled(SimpleNamespace(plane=plane, steps=steps)) == found
    assert launch_bound._scheduled(SimpleNamespace(plane=None, steps=steps)) == 0
    assert launch_bound._scheduled(SimpleNamespace(plane=plane, steps=None)) == 0


@pytest.mark.parametrize(
    ("kind", "starts", "launches", "calls"),
    [
        ("cpu", 0, [100, 150, 199, 300, 250, 99, 400], 4),
        ("cpu", 0, [99, 200], 1),
        ("cpu", 3, [100], 0),  # its runs tell when work begins
        ("gpu", 0, [100], 0),
    ],
)
def test_calls_of_devices_that_do_not_record_when_work_begins(kind, starts, launches, calls):
    since = np.array([[7, 100], [7, 300]])
    device = SimpleNamespace(kind=kind, starts=np.zeros(starts))
    time = SimpleNamespace(launch=(np.array(launches), None))
    host = SimpleNamespace(
        steps=SimpleNamespace(begin_ps=since, end_ps=since + 100), devices=(None, device),
        reader=SimpleNamespace(time=time),
    )  # fmt: skip
    assert launch_bound._calls(host, 1) == calls
    host.steps = None
    assert launch_bound._calls(host, 1) == 0


@pytest.mark.parametrize(("devices", "hosts", "looked"), [(True, 1, True), (True, 0, False), (False, 1, False)])
def test_launches_of_runs_without_devices(monkeypatch, devices, hosts, looked):
    loss = waits_for_launches(monkeypatch, [[0, 0], [0, 0]])
    run = run_of(has_devices=devices, located=lambda by_part: Lost(0.0, 0.0, ()))
    assert launch_bound.judge(run, [loss if hosts else None]).looked == looked


@pytest.mark.parametrize(
    ("uncompiled", "slow_us", "found"),
    [
        (True, None, (900, "$train.py:3 step")),
        (True, 300, (600, "$train.py:3 step")),  # without what slow code takes
        (True, 850, (100, "$train.py:3 step")),  # but short gaps are lost in any case
        (False, 300, (0, "")),
    ],
)
def test_idle_time_between_programs(monkeypatch, uncompiled, slow_us, found):
    launches = launched(100)
    launches.short_ps, launches.idle_ps = 100 * US, 900 * US
    slow = None if slow_us is None else SimpleNamespace(ps=slow_us * US)
    told = {
        "starved": True, "launched_by": launches, "is_uncompiled": uncompiled, "slow_code": slow,
        "calls_of": SimpleNamespace(calling=lambda points: "$train.py:3 step"),
    }  # fmt: skip
    for name, answer in told.items():
        monkeypatch.setattr(not_compiled, name, lambda *_, answer=answer: answer)
    us, function = found
    assert not_compiled.gather(SimpleNamespace(steps=())) == (launches, us * US, function)
    assert not_compiled.gather(SimpleNamespace(steps=None)) is None
    monkeypatch.setattr(not_compiled, "starved", lambda host: False)
    assert not_compiled.gather(SimpleNamespace(steps=())) is None


# Work of some steps only.


def exceptions(monkeypatch, *kinds, lengths=(1, 1, 9, 1, 1, 1, 1, 1), others=None, single=0, traced=True):
    """The work of some steps of a host, the lengths of which are in ms; their numbers begin at 100."""
    begin = np.append(0, np.cumsum(lengths))[:-1] * MS
    steps = outliers_of(np.array(lengths, np.float64) * MS, np.arange(len(lengths)))
    none = np.zeros(0, np.int64)
    work = PeriodicWork(steps, kinds, np.zeros(len(CATEGORIES) + 1, np.int64), others or {}, single, (none, none))
    monkeypatch.setattr(periodic_work, "periodic_work", lambda host: work)
    calls = SimpleNamespace(main=SimpleNamespace(traced=traced))
    monkeypatch.setattr(periodic_work, "calls_of", lambda host: calls)
    host = SimpleNamespace(
        name="h0", time=SimpleNamespace(number=100 + np.arange(len(lengths))),
        windows=(begin, begin + np.array(lengths) * MS), summary=SimpleNamespace(frameworks=("JAX",)),
    )  # fmt: skip
    return periodic_work.gather(host)


def kind(*rows, purpose=Purpose.UNKNOWN, function="$train.py:40 save", **more):
    none = np.zeros(0, np.int64)
    return Kind(purpose, function, more.pop("call", ""), (none, none), RarePrograms(), rows, **more)


@pytest.mark.parametrize(
    ("count", "listed"),
    [
        (1, "100"),
        (10, "100, 103, 106, 109, 112, 115, 118, 121, 124, 127"),
        (11, "100, 103, 106, 109, 112, 115, 118, 121, 124, 127, ..."),
    ],
)
def test_numbers_of_steps_that_are_listed(monkeypatch, count, listed):
    loss = exceptions(monkeypatch, kind(*range(0, 3 * count, 3)), lengths=[9, 1, 1] * count)
    shown = {one.label: one.value for one in loss.evidence}
    assert (shown["Their numbers"], shown[f"Steps with this work, of {3 * count}"]) == (listed, count)
    assert shown["Longest of these steps: 100"] == 9.0


@pytest.mark.parametrize(
    ("purpose", "only", "confidence"),
    [
        (Purpose.UNKNOWN, True, "high"),
        (Purpose.UNKNOWN, False, "medium"),
        (Purpose.QUEUE, False, "medium"),
        (Purpose.QUEUE, True, "high"),
        (Purpose.CHECKPOINT, False, "high"),
        (Purpose.CHECKPOINT, True, "high"),
    ],
)
def test_how_sure_the_work_is(monkeypatch, purpose, only, confidence):
    assert exceptions(monkeypatch, kind(2, purpose=purpose, only=only)).confidence == confidence


def test_the_share_of_other_work(monkeypatch):
    loss = exceptions(
        monkeypatch, kind(2, 5, lost_ps=60.0), kind(3, purpose=Purpose.CHECKPOINT, lost_ps=30.0, function=""),
        kind(4, purpose=Purpose.LOGGING, lost_ps=10.0, function="", program="jit_f"), lengths=[1, 1, 8, 2, 3, 9, 1, 1],
    )  # fmt: skip
    assert {one.label: one.value for one in loss.evidence if one.label.startswith(("In other", "Longest"))} == {
        "Longest of these steps: 105": 9.0,
        "In other steps, of that time: checkpoints": 30.0,
        "In other steps, of that time: logging (jit_f)": 10.0,
    }
    window = loss.evidence[0].query["window"]
    assert window == f"{6 * MS},{33 * MS}"  # the step from 15 to 24 ms, with as much around it


@pytest.mark.parametrize(
    ("lengths", "others", "single", "traced", "why", "lacks"),
    [
        ([9, 9, 1, 1, 1, 1, 1, 1], {"garbage": 1}, 1, True, "because of garbage", False),  # half of two
        ([9, 9, 9, 1, 1, 1, 1, 1, 1], {"garbage": 1}, 1, True, "does not recur", False),
        ([9, 9, 9, 1, 1, 1, 1, 1, 1], {"waits": 1, "garbage": 2}, 1, True, "because of garbage", False),
        ([9, 1, 1, 1, 1, 1], {}, 0, False, "were not recorded", True),
        ([9, 1, 1, 1, 1, 1], {}, 0, True, "nothing runs in them", False),
    ],
)
def test_why_slow_steps_are_no_finding(monkeypatch, lengths, others, single, traced, why, lacks):
    loss = exceptions(monkeypatch, lengths=lengths, others=others, single=single, traced=traced)
    assert why in loss.harmless
    assert (loss.lacking is not None) == lacks


# Parts of programs on the host, and eager ops.


def ops(*given):
    """(name, provenance, category, us, eager) of each op."""
    name, provenance, category, us, eager = zip(*given, strict=True)
    time = np.array(us, np.int64) * US
    return OpTable(
        module=(7,) * len(given), name=name, provenance=provenance, category=category, self_ps=time, time_ps=time,
        eager=np.array(eager, np.bool_), total_ps=int(time.sum()), occurrences=np.ones(len(given), np.int64),
    )  # fmt: skip


def test_values_that_go_to_the_host_and_back():
    send, other = ("send-done.1", "", "host send-done", 60, False), ("fusion.2", "", "fusion", 100, False)
    more = ("send-done.3", "", "host send-done", 40, False)
    found = outside_compilation.judge(run_of(summary=SimpleNamespace(device=ops(more, send, other))), [])
    assert isinstance(found, Finding)
    assert found.title.startswith("50.0% of the op time on devices exchanges values")
    assert (found.saving_ps, found.evidence[0].value, found.evidence[1].value) == (50 * US, 50.0, "send-done.1")
    few = outside_compilation.judge(run_of(summary=SimpleNamespace(device=ops(other))), [])
    assert few.reason.startswith("0.0% of the op time")


def test_eager_ops_of_the_side_with_most():
    host = SimpleNamespace(
        ops=ops(("Mul", "", "Mul", 30, True), ("Add", "", "Add", 50, True), ("g", "", "g", 20, False))
    )
    device = ops(("a", "", "a", 10, True), ("b", "", "b", 90, False))
    run = run_of(summary=SimpleNamespace(host=host, device=device))
    found = eager_execution.judge(run, [])
    assert isinstance(found, Finding)
    assert found.title == "Eager execution takes 80.0% of the op time on the host"
    assert [one.value for one in found.evidence] == [80.0, 10.0, "Add"]
    run.frameworks = ("JAX",)
    assert (eager_execution.judge(run, []).reason, eager_execution.judge(run, []).looked) == (
        "No TensorFlow ops recorded.", True,
    )  # fmt: skip
    empty = run_of(summary=SimpleNamespace(host=SimpleNamespace(ops=OpTable()), device=OpTable()))
    assert not eager_execution.judge(empty, []).looked


# Locks.


def holding(monkeypatch, waits, *others, least=0):
    """What holds the lock: waits in ms, and calls of other threads as (thread, name, begin, end)."""
    names = tuple(dict.fromkeys(name for _, name, *_ in others))
    begin, end = (np.array([one[i] for one in others], np.float64) * MS for i in (2, 3))
    metadata = np.array([names.index(one[1]) for one in others])
    events = SimpleNamespace(
        metadata=metadata, begin_ps=begin.astype(np.int64), end_ps=end.astype(np.int64),
        duration_ps=(end - begin).astype(np.int64),
    )  # fmt: skip
    plane = SimpleNamespace(events=events, event_metadata=SimpleNamespace(names=names))
    rows = tuple(np.array([i for i, one in enumerate(others) if one[0] == thread], np.int64) for thread in (0, 1))
    monkeypatch.setattr(python_lock, "other_threads", lambda host: OtherThreads(plane, rows))
    times = tuple(np.array([one[i] * MS for one in waits]).astype(np.int64) for i in (0, 1))
    return python_lock.holding(SimpleNamespace(plane=plane), times, round(least * MS))


WAITS = [(0, 5), (20, 25), (40, 45)]
REFRESH = "$serve.py:20 refresh"


@pytest.mark.parametrize(
    ("waits", "least", "told"),
    [
        (WAITS, 0, True),
        (WAITS, 30, True),  # they are half of it
        (WAITS, 30.1, False),
        (WAITS[:2], 0, False),
        ([*WAITS[:2], (40.5, 44.9)], 0, False),  # 4.4 ms is no long wait
        ([*WAITS[:2], (40.5, 45)], 0, True),
    ],
)
def test_waits_for_a_lock_that_are_long_and_many(monkeypatch, waits, least, told):
    calls = [(0, REFRESH, begin, end) for begin, end in WAITS]
    assert holding(monkeypatch, waits, *calls, least=least) == (REFRESH if told else "")


@pytest.mark.parametrize(
    ("name", "calls", "told"),
    [
        (REFRESH, [(0, 5), (20, 25), (41, 43)], True),  # two of three waits end with it
        (REFRESH, [(0, 5), (20, 23), (41, 43)], False),
        (REFRESH, [(2.4, 5), (22.4, 25), (42.4, 45)], True),  # more than half of the waits
        (REFRESH, [(2.5, 5), (22.5, 25), (42.5, 45)], False),
        (REFRESH, [(0, 5.9), (20, 25.9), (40, 45.9)], True),  # 0.9 ms later
        (REFRESH, [(0, 6.1), (20, 26.1), (40, 46.1)], False),
        ("$_thread acquire", [(0, 5), (20, 25), (40, 45)], False),
        ("$zlib compress", [(0, 5), (20, 25), (40, 45)], True),
        ("$queue.py:154 get", [(0, 5), (20, 25), (40, 45)], False),  # of a library
    ],
)
def test_what_holds_a_lock_ends_when_the_wait_does(monkeypatch, name, calls, told):
    found = holding(monkeypatch, WAITS, *((0, name, *one) for one in calls))
    assert found == (name if told else "")


@pytest.mark.parametrize(("late", "told"), [(2, False), (3, True), (4, True)])
def test_more_than_half_of_the_waits_end_with_it(monkeypatch, late, told):
    waits = [*WAITS, (60, 65)]
    calls = [(0, REFRESH, begin, end - (0 if i < late else 1.1)) for i, (begin, end) in enumerate(waits)]
    assert holding(monkeypatch, waits, *calls) == (REFRESH if told else "")


@pytest.mark.parametrize(("before", "told"), [(1.9, True), (2.0, True), (2.1, False)])
def test_a_tenth_of_a_long_wait_is_soon_enough(monkeypatch, before, told):
    waits = [(begin, begin + 20) for begin in (10, 40, 70)]
    calls = [(0, REFRESH, begin, end - before) for begin, end in waits]
    assert holding(monkeypatch, waits, *calls) == (REFRESH if told else "")


@pytest.mark.parametrize(("more", "told"), [(6, True), (7, False)])
def test_what_ends_all_the_time_ends_with_a_wait_by_chance(monkeypatch, more, told):
    """Two ends for each wait, of one thread, beside that of the wait itself."""
    calls = [(0, REFRESH, begin + 2, end) for begin, end in WAITS]
    short = [(0, REFRESH, begin + at, begin + at + 0.1) for begin, _ in WAITS for at in (0.5, 1, 1.5)]
    assert holding(monkeypatch, WAITS, *calls, *short[:more]) == (REFRESH if told else "")


def test_the_function_that_is_told_of_several(monkeypatch):
    """The one with least time beside: of the program rather than of C, if that has no more than twice as much."""
    outer = [(0, "$serve.py:9 handle", begin, end + 0.5) for begin, end in WAITS]
    inner = [(0, REFRESH, begin, end) for begin, end in WAITS]
    native = [(1, "$zlib compress", begin + 1, end) for begin, end in WAITS]
    assert holding(monkeypatch, WAITS, *outer, *inner) == REFRESH
    assert holding(monkeypatch, WAITS, *native, *inner) == REFRESH
