"""Verdicts on the host's launches, locks and eager ops, on typed-in times."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from tpu_profile_plugin.analysis.budget.categories import CATEGORIES, IDLE_LAUNCH
from tpu_profile_plugin.analysis.budget.other_threads import OtherThreads
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


# Launches.


def launched(per_step, *, eager=False, ops=("add", "mul")):
    return SimpleNamespace(
        per_step=per_step, eager=eager, distinct=5, ops=ops, median_ps=7 * US, window=(0, 9 * US), at_ps=np.zeros(0)
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
