"""The tree of calls of typed-in threads: what they are for, whose function they are in, and what most of a time is."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tpu_profile_plugin.analysis.blame.host_blame import HostBlame
from tpu_profile_plugin.analysis.blame.stacks import NOWHERE, Stacks, stacks_of
from tpu_profile_plugin.analysis.budget.host_names import is_user_frame
from tpu_profile_plugin.analysis.budget.host_time import MainThread, levels
from tpu_profile_plugin.analysis.budget.purpose import Purpose
from tpu_profile_plugin.analysis.findings.evidence.host.calls import (
    Calls,
    _tells_more,
    blame_of_calls,
    calls_of,
    main_thread_of,
    named_part,
    other_threads,
    tree_of,
)
from tpu_profile_plugin.columns.arrays import I64

MAIN, LOAD, RUN = "$train.py:1 main", "$data.py:2 load", "$run.py:3 run"
DUMP, PRINT, SLEEP, PUT = "$_pickle dump", "$builtins print", "$time sleep", "DevicePut"


def column(*values: int) -> I64:
    return np.array(values, np.int64)


def thread(*events: tuple[int, int, str], traced: bool = True) -> MainThread:
    """The main thread with these events: begin, end, name."""
    begin, end, names = zip(*events, strict=True)
    known = tuple(dict.fromkeys(names))
    which = column(*map(known.index, names))
    user = np.array([is_user_frame(name) for name in known], np.bool_)
    return MainThread(levels(column(*begin), column(*end), which), known, user, traced=traced)


def tree(*events: tuple[int, int, str], functions: tuple[str, ...] = ()) -> Calls:
    main = thread(*events)
    return tree_of(main, stacks_of(main), functions)


@pytest.fixture
def calls() -> Calls:
    return tree(
        (100, 200, MAIN), (110, 150, LOAD), (112, 140, DUMP), (115, 120, PRINT),
        (160, 190, RUN), (162, 178, "graph"), (165, 170, SLEEP), (300, 400, PUT), (310, 350, LOAD),
        functions=("graph",),
    )  # fmt: skip


def test_what_each_call_is_for_and_whose_function_it_is_in(calls):
    rows = {}
    for node in range(9):
        function, outermost = (calls.name(int(of[node])) for of in (calls.function, calls.outermost))
        tells = calls.name(int(calls.tells[node]))
        above = calls.name(int(calls.stacks.parent[node]))
        rows[calls.name(node), above] = (
            *(Purpose(calls.purpose[node]).name, tells, function, outermost, bool(calls.runtime[node])),
        )
    assert rows == {
        (MAIN, ""): ("UNKNOWN", "", MAIN, MAIN, True),
        (LOAD, MAIN): ("UNKNOWN", "", LOAD, MAIN, False),
        (DUMP, LOAD): ("CHECKPOINT", DUMP, LOAD, MAIN, False),
        (PRINT, DUMP): ("CHECKPOINT", DUMP, LOAD, MAIN, False),
        (RUN, MAIN): ("UNKNOWN", "", RUN, MAIN, True),
        ("graph", RUN): ("LAUNCH", "graph", RUN, MAIN, True),
        (SLEEP, "graph"): ("SLEEP", SLEEP, RUN, MAIN, False),
        (PUT, ""): ("UPLOAD", PUT, "", "", True),
        (LOAD, PUT): ("UPLOAD", PUT, LOAD, LOAD, False),
    }
    last = (int(of[-1]) for of in (calls.purpose, calls.tells, calls.function, calls.outermost, calls.runtime))
    assert tuple(last) == (0, NOWHERE, NOWHERE, NOWHERE, 0)


def test_functions_of_a_line_without_a_name_and_time_after_calls():
    main = thread((0, 9, MAIN), (1, 8, "$train.py:2 <listcomp>"), (12, 20, PUT), (30, 40, "graph"), traced=False)
    calls = tree_of(main, stacks_of(main), {"graph", "after graph"})
    names = [calls.name(node) for node in range(len(calls.stacks.parent))]
    assert names == [MAIN, "$train.py:2 <listcomp>", PUT, "graph", *(f"after {name}" for name in main.names)]
    assert [calls.name(int(node)) for node in calls.function[:2]] == [MAIN, MAIN]
    assert calls.runtime.tolist() == [False, False, True, True, *[False] * 5]
    told = [Purpose(one).name for one in calls.purpose]
    assert told[:4] == ["UNKNOWN", "UNKNOWN", "UPLOAD", "LAUNCH"]
    assert told[4:7] == ["UNKNOWN"] * 3


@pytest.mark.parametrize(
    ("outer", "inner"),
    [
        (Purpose.UNKNOWN, "CHECKPOINT COLLECTION EVALUATION INPUT LAUNCH"),
        (Purpose.CHECKPOINT, "COLLECTION"),
        (Purpose.COLLECTION, ""),
        (Purpose.EVALUATION, "CHECKPOINT COLLECTION"),
        (Purpose.INPUT, "COLLECTION"),
        (Purpose.LAUNCH, "CHECKPOINT COLLECTION EVALUATION INPUT"),
    ],
)
def test_purposes_within_others_that_tell_more(outer, inner):
    known = [Purpose.CHECKPOINT, Purpose.COLLECTION, Purpose.EVALUATION, Purpose.INPUT, Purpose.LAUNCH]
    columns = np.array(known, np.uint8), np.full(len(known), outer, np.uint8)
    more = _tells_more(*columns).tolist()
    assert " ".join(one.name for one, tells in zip(known, more, strict=True) if tells) == inner


def test_marks_and_sums_of_calls(calls):
    assert calls.marked(column(0, 3, NOWHERE)).tolist() == [True, False, False, True, *[False] * 6]
    inclusive = calls.inclusive(column(3, 1, 3, NOWHERE, 8), column(5, 7, 1, 11, 40))
    assert inclusive.tolist() == [13, 13, 6, 6, 0, 0, 0, 40, 40, 11]
    assert calls.parent(column(3, 0, NOWHERE, 8)).tolist() == [2, NOWHERE, NOWHERE, 7]
    assert calls.most(column(1, 8, 3, NOWHERE), column(4, 3, 6, 100)) == (LOAD, 7)
    assert calls.most(column(0, NOWHERE), column(4, 9)) == (MAIN, 4)
    assert calls.most(column(NOWHERE), column(100)) == ("", 0)
    assert calls.name(0) == MAIN
    assert calls.name(NOWHERE) == ""


def test_when_the_innermost_call_is_one_of_some(calls):
    begin, end = calls.times(calls.marked(column(1, 6, 8)))
    assert list(zip(begin.tolist(), end.tolist(), strict=True)) == [(110, 112), (140, 150), (165, 170), (310, 350)]
    nothing = replace(calls, stacks=replace(calls.stacks, begin_ps=column(), end_ps=column(), node=column()))
    assert [side.tolist() for side in nothing.times(calls.marked(column(1)))] == [[], []]


@pytest.mark.parametrize(
    ("name", "steps", "per_step"),
    [
        (LOAD, ((100, 210), (200, 320)), 1.0),
        (LOAD, ((110, 310), (200, 311)), 1.0),
        (LOAD, ((111, 200), (200, 310)), 0.0),
        (PRINT, ((100, 150, 200, 300), (150, 200, 300, 400)), 0.25),
        ("$train.py:9 other", ((100,), (400,)), 0.0),
        (LOAD, ((), ()), 0.0),
    ],
)
def test_how_often_a_function_begins_per_step(calls, name, steps, per_step):
    begin, end = steps
    assert calls.per_step(name, (column(*begin), column(*end))) == per_step


@pytest.mark.parametrize(
    ("points", "around"),
    [
        ((110, 120, 140), LOAD),
        ((170,), RUN),
        ((*range(110, 119), 100), LOAD),
        ((*range(110, 118), 100, 101), MAIN),
        ((110, 165), MAIN),
        ((110, 165, 310, 311), MAIN),
        ((110, 310, 311, 312), LOAD),
        ((110, 300, 301), ""),
        ((110, 300), MAIN),
        ((300, 250), ""),
        ((), ""),
    ],
)
def test_the_function_around_most_of_some_times(calls, points, around):
    """From nine of ten on the innermost one, else the outermost around half."""
    assert calls.calling(column(*points)) == around


# What most of some time is.


def host_of(calls: Calls, blame: HostBlame | None = None) -> Any:
    empty = HostBlame(stacks=calls.stacks, thread_ps=column(*[0] * len(calls.stacks.parent)))
    return SimpleNamespace(blame=blame or empty, derived={calls_of.__wrapped__: calls})


def test_the_blame_of_a_host_has_the_nodes_of_its_calls(calls):
    same = host_of(calls)
    assert blame_of_calls(same) is same.blame
    other = blame_of_calls(host_of(calls, HostBlame(ps=column(5), stacks=Stacks())))
    assert (other.stacks, other.ps.tolist(), other.thread_ps.tolist()) == (calls.stacks, [5], [0] * 9)


SAVES = (
    (0, 100, MAIN), (0, 90, LOAD), (10, 40, DUMP), (12, 30, "write"), (50, 60, SLEEP), (60, 70, PRINT),
    (92, 99, RUN), (93, 98, PRINT), (110, 120, "$a.py:1 f"), (111, 119, PRINT),
    (130, 140, "$b.py:1 g"), (131, 139, PRINT),
)  # fmt: skip
"""Nodes: 0 main, 1 load, 2 dump, 3 write, 4 sleep, 5 print, 6 run, 7 print, 8 f, 9 print, 10 g, 11 print."""


@pytest.mark.parametrize(
    ("ps", "silent", "least", "told"),
    [
        # More than half of the largest function's time has one purpose, or has not.
        ({1: 40, 2: 11, 3: 30}, (), 0.5, (Purpose.CHECKPOINT, DUMP, LOAD, "write", 41, 30)),
        ({1: 41, 2: 20, 3: 21}, (), 0.5, (Purpose.UNKNOWN, LOAD, "", LOAD, 82, 82)),
        ({1: 40, 2: 20, 3: 20}, (), 0.5, (Purpose.UNKNOWN, LOAD, "", LOAD, 80, 80)),
        ({1: 70, 2: 20, 3: 11}, (), 0.3, (Purpose.CHECKPOINT, DUMP, LOAD, DUMP, 31, 20)),
        ({1: 70, 2: 20, 3: 10}, (), 0.3, (Purpose.UNKNOWN, LOAD, "", LOAD, 100, 100)),
        ({1: 40, 2: 11, 3: 30}, (Purpose.CHECKPOINT,), 0.5, (Purpose.UNKNOWN, LOAD, "", DUMP, 81, 41)),
        ({0: 10, 2: 30}, (Purpose.CHECKPOINT,), 0.5, (Purpose.UNKNOWN, MAIN, "", DUMP, 40, 30)),
        # Or more has one in all functions together than the largest function takes.
        ({1: 30, 5: 10, 8: 16, 9: 20, 10: 15, 11: 11}, (), 0.5, (Purpose.LOGGING, PRINT, "$a.py:1 f", PRINT, 41, 41)),
        ({1: 30, 5: 10, 8: 16, 9: 20, 10: 15, 11: 11}, (), 0.25, (Purpose.LOGGING, PRINT, "$a.py:1 f", PRINT, 41, 41)),
        ({1: 30, 5: 10, 8: 16, 9: 20, 10: 15, 11: 10}, (), 0.5, (Purpose.UNKNOWN, LOAD, "", LOAD, 40, 40)),
        ({0: 5}, (), 0.5, (Purpose.UNKNOWN, MAIN, "", MAIN, 5, 5)),
        # More of it is in no call than in the largest function.
        ({1: 30, NOWHERE: 30}, (), 0.5, (Purpose.UNKNOWN, LOAD, "", LOAD, 30, 30)),
        ({1: 30, NOWHERE: 31}, (), 0.5, (Purpose.UNKNOWN, "", "", "", 31, 0)),
    ],
)
def test_what_most_of_some_time_is(ps, silent, least, told):
    found = named_part(host_of(tree(*SAVES)), column(*ps), column(*ps.values()), (Purpose.UNKNOWN, *silent), least)
    assert (found.purpose, found.name, found.place, found.inner, found.ps, found.inner_ps) == told


def test_other_threads_are_those_of_the_hosts_plane(monkeypatch):
    monkeypatch.setattr("tpu_profile_plugin.analysis.findings.evidence.host.calls.OtherThreads.of", lambda *of: of)
    reader = SimpleNamespace(time=SimpleNamespace(main=(3, "main")))
    host: Any = SimpleNamespace(space="space", plane="plane", reader=reader, derived={})
    assert other_threads(host) == ("space", "plane", (3, "main"))


def test_the_main_thread_is_read_from_the_first_step_to_the_last():
    steps = SimpleNamespace(
        begin_ps=np.array([[20, 10], [40, 60]]), end_ps=np.array([[30, 35], [90, 70]]), evidence="e"
    )
    host: Any = SimpleNamespace(shown=SimpleNamespace(steps=steps), reader=SimpleNamespace(main=lambda *of: of))
    assert main_thread_of(host) == (10, 90, "e")
