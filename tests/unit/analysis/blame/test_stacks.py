"""Names that stand for what a call does."""

from __future__ import annotations

import numpy as np

from tpu_profile_plugin.analysis.blame.stacks import (
    NOWHERE,
    Stacks,
    callers,
    depths,
    inclusive,
    launched_at,
    stacks_of,
    with_callees,
    with_callers,
)
from tpu_profile_plugin.analysis.budget.host_time import MainThread, levels


def test_functions_without_a_name_give_way_to_those_around_them() -> None:
    names = "$train.py:1 step", "$train.py:2 <lambda>", "$train.py:9 <listcomp>"
    stacks = Stacks(parent=np.array([NOWHERE, 0, NOWHERE]), name=np.arange(3), names=names, user=np.ones(3, np.bool_))
    assert [launched_at(stacks, node) for node in (1, 2, NOWHERE)] == ["train.py:1 step", "train.py:9 <listcomp>", ""]


def test_the_calls_around_a_call_go_up_to_the_first_one_of_all() -> None:
    parent = np.array([NOWHERE, 0, 1, NOWHERE])
    assert [callers(parent, node) for node in range(4)] == [[], [0], [1, 0], []]


def column(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


CALLS = Stacks(
    column(100, 200, 300), column(150, 250, 350), column(1, 0, 1), column(NOWHERE, 0, NOWHERE), column(0, 1, 2),
    ("a", "b", "after b"), np.zeros(3, np.bool_), column(0, NOWHERE, 2),
)  # fmt: skip
"""Innermost calls `b` and `a` in turn; after the first time is that of `a`, after the last that of a third."""


def test_the_innermost_call_at_a_time() -> None:
    points = column(99, 100, 149, 150, 200, 249, 250, 300, 350)
    assert CALLS.at(points).tolist() == [-1, 1, 1, -1, 0, 0, -1, 1, -1]


def test_how_long_each_call_is_the_innermost() -> None:
    """Until 400 the last call has ended for 50."""
    assert CALLS.innermost_ps(160, 400).tolist() == [40 + 50, 50, 50]
    assert CALLS.innermost_ps(120, 320).tolist() == [50 + 50, 30 + 20, 0]
    assert CALLS.innermost_ps(500, 600).tolist() == [0, 0, 100]
    assert Stacks().innermost_ps(0, 10).tolist() == []


def test_calls_in_a_set_of_time_by_group() -> None:
    times = column(100, 240), column(220, 260)

    def found(*columns: np.ndarray) -> list[tuple[int, ...]]:
        return sorted(zip(*(one.tolist() for one in columns), strict=True))

    assert found(*CALLS.within(times, column(5, 7))) == [(-1, 7, 10), (0, 5, 70), (0, 7, 10), (1, 5, 50)]
    assert found(*CALLS.within(times)) == [(-1, 0, 10), (0, 0, 80), (1, 0, 50)]


def told_after(*events: tuple[int, int, str], traced: bool = False) -> list[str]:
    """What stands for the time after each span of innermost calls, from (begin, end, name) of events."""
    names = tuple(dict.fromkeys(name for *_, name in events))
    begin, end = (np.array([event[i] for event in events], np.int64) for i in (0, 1))
    nested = levels(begin, end, np.array([names.index(name) for *_, name in events]))
    found = stacks_of(MainThread(nested, names, np.zeros(len(names), np.bool_), traced=traced))
    assert (found.parent[found.after[found.after >= 0]] == NOWHERE).all()
    assert len(found.user) == len(found.names)
    return [found.names[found.name[node]] if node >= 0 else "" for node in found.after.tolist()]


def test_without_functions_time_is_after_the_last_call_that_tells_where_the_program_is() -> None:
    """Neither those that clean up, nor what a call calls."""
    assert told_after(
        (0, 5, "DeleteBuffer"), (10, 20, "fetch"), (22, 24, "ReleaseBuffer"), (30, 60, "decode"), (40, 50, "copy"),
    ) == ["", "after fetch", "after fetch", "after decode", "after decode", "after decode"]  # fmt: skip
    assert told_after((0, 9, "fetch"), (10, 19, "save")) == ["after fetch", "after save"]
    assert told_after((0, 9, "fetch"), (10, 19, "save"), traced=True) == ["", ""]


def test_ops_tell_where_the_program_is_by_their_names() -> None:
    ops = "EagerLocalExecute: Identity", "EagerLocalExecute: Mul", "EagerLocalExecute: Add"
    events = [(10 * i, 10 * i + 9, name) for i, name in enumerate((*ops, "fetch"))]
    assert told_after(*events) == ["", f"after {ops[1]}", f"after {ops[2]}", f"after {ops[2]}"]


def test_callers_and_callees_of_calls() -> None:
    parent = column(NOWHERE, 0, 1, 0, NOWHERE, 4)
    assert depths(parent).tolist() == [0, 1, 2, 1, 0, 1]
    assert inclusive(parent, column(1, 2, 4, 8, 16, 32)).tolist() == [15, 6, 4, 8, 48, 32]
    assert with_callers(parent, np.arange(6) == 2).tolist() == [True, True, True, False, False, False]
    assert with_callees(parent, column(1, 4)).tolist() == [False, True, True, False, True, True]
    assert with_callees(parent, column(0)).tolist() == [True, True, True, True, False, False]
