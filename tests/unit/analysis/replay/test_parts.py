"""The parts of the step after an edit, from typed-in parts and replays."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tpu_profile_plugin.analysis.budget.categories import (
    CATEGORIES,
    COMPUTE,
    EXPOSED_COMMUNICATION,
    IDLE_GAP,
    IDLE_HOST,
    IDLE_LAUNCH,
    IDLE_PEER,
)
from tpu_profile_plugin.analysis.devices.model import OpSpans
from tpu_profile_plugin.analysis.replay import parts
from tpu_profile_plugin.analysis.replay.edits import NOTHING, Rate, Sweep
from tpu_profile_plugin.analysis.replay.host_graph import MAIN

TALK = EXPOSED_COMMUNICATION


def ints(*values: Any) -> np.ndarray:
    return np.array(values, np.int64)


def replayed(lengths: list[int], waits: list[int]) -> Any:
    """A step of each device from its number on, and how long each waits for the last one: node 0 is the collective."""
    begins = np.arange(len(lengths))
    arrivals = 90 - ints(*waits)
    return SimpleNamespace(
        begins=begins[None], ends=(begins + lengths)[None],
        end=np.append(100, arrivals), duration=np.append(10, np.zeros(len(waits), np.int64)),
    )  # fmt: skip


def run_with(
    spent: list[dict[int, int]], before: list[int], *, even: bool = False, between: float = 0.0, means: tuple = ()
) -> Any:
    """A run of one step: the parts that each device spends it on, and its waits as recorded."""
    devices = len(spent)
    budget = SimpleNamespace(
        counted_ps=lambda part: ints([one.get(part, 0) for one in spent]), cells=devices, between_step_ps=between,
        takes_part=np.ones((1, devices), np.bool_),
    )  # fmt: skip
    met = SimpleNamespace(
        node=ints(0), instance=np.zeros(devices, np.int64), arrival=np.arange(devices) + 1, device=np.arange(devices)
    )
    left = iter(means)
    return SimpleNamespace(
        budget=budget, meetings=met, recorded=replayed([100] * devices, before), even=even,
        mean_ps=lambda found: next(left, 0.0),
    )  # fmt: skip


FIRST = {COMPUTE: 50, TALK: 10, IDLE_PEER: 20, IDLE_HOST: 20}


@pytest.mark.parametrize(
    ("spent", "before", "after", "expected"),
    [
        # Half of the computation stays. Parts, waits as recorded and now, length: what a longer step has more of.
        (FIRST, 20, (10, 70), {COMPUTE: 25, TALK: 10, IDLE_PEER: 10, IDLE_HOST: 23.75, IDLE_LAUNCH: 1.25}),
        (FIRST, 20, (10, 65), {COMPUTE: 25, TALK: 10, IDLE_PEER: 10, IDLE_HOST: 20}),
        (FIRST, 20, (30, 85), {COMPUTE: 25, TALK: 10, IDLE_PEER: 30, IDLE_HOST: 20}),
        # Where devices did not wait before, or the budget shows none of it, they wait for as much as there is more.
        ({COMPUTE: 80, IDLE_HOST: 10}, 0, (5, 60), {COMPUTE: 40, IDLE_PEER: 5, IDLE_HOST: 13.75, IDLE_LAUNCH: 1.25}),
        ({COMPUTE: 80, IDLE_HOST: 10}, 0, (15, 60), {COMPUTE: 40, IDLE_PEER: 10, IDLE_HOST: 10}),
        ({COMPUTE: 80, IDLE_HOST: 10}, 4, (6, 60), {COMPUTE: 40, IDLE_PEER: 2, IDLE_HOST: 16, IDLE_LAUNCH: 2}),
        ({COMPUTE: 80, IDLE_HOST: 10}, 6, (4, 54), {COMPUTE: 40, IDLE_HOST: 13, IDLE_LAUNCH: 1}),
        ({COMPUTE: 80, IDLE_PEER: 8}, 0, (3, 51), {COMPUTE: 40, IDLE_PEER: 11}),
        ({COMPUTE: 80, IDLE_PEER: 8}, 0, (3, 60), {COMPUTE: 40, IDLE_PEER: 11, IDLE_HOST: 6.75, IDLE_LAUNCH: 2.25}),
        ({COMPUTE: 80, IDLE_PEER: 8}, 1, (3, 64), {COMPUTE: 40, IDLE_PEER: 24}),
        # A shorter step has less of its waits, then of communication and of late devices, then of all.
        (FIRST, 20, (10, 50), {COMPUTE: 25, TALK: 10, IDLE_PEER: 10, IDLE_HOST: 5}),
        (FIRST, 20, (10, 45), {COMPUTE: 25, TALK: 10, IDLE_PEER: 10}),
        (FIRST, 20, (10, 40), {COMPUTE: 25, TALK: 7.5, IDLE_PEER: 7.5}),
        (FIRST, 20, (10, 20), {COMPUTE: 20}),
        ({COMPUTE: 80, TALK: 10}, 0, (0, 45), {COMPUTE: 40, TALK: 5}),
    ],
)
def test_parts_of_a_step_that_is_longer_or_shorter_than_what_stays(spent, before: int, after, expected) -> None:
    kept = np.ones((len(CATEGORIES), 2))
    kept[COMPUTE] = 0.5
    # Another device, from which nothing is taken, stands beside it.
    kept[:, 1] = 1
    waits, length = after
    run = run_with([spent, {COMPUTE: 100}], [before, 0])
    waits_by_kind = {"host code": 3.0, "launch": 1.0}
    found = parts.parts_after(run, kept, [replayed([length, 100], [waits, 0])], waits_by_kind)
    expected = {**expected, COMPUTE: expected[COMPUTE] + 100}
    assert {part: 2 * ps for part, ps in enumerate(found.tolist()) if ps} == pytest.approx(expected)
    # Of two replays the mean.
    both = [replayed([length - 3, 104], [waits - 1, 0]), replayed([length + 3, 96], [waits + 1, 0])]
    if min(waits, before):
        found = parts.parts_after(run, kept, both, waits_by_kind)
        assert {part: 2 * ps for part, ps in enumerate(found.tolist()) if ps} == pytest.approx(expected)


@pytest.mark.parametrize("waits", [{}, {"host code": 0.0}])
def test_without_more_on_the_path_the_rest_is_a_gap(waits: dict[str, float]) -> None:
    found = parts.parts_after(run_with([FIRST], [20]), np.ones((len(CATEGORIES), 1)), [replayed([107], [20])], waits)
    assert {part: ps for part, ps in enumerate(found.tolist()) if ps} == {**FIRST, IDLE_GAP: 7}


@pytest.mark.parametrize(
    ("facts", "between"),
    [
        ({"between": 1.0, "means": (115.0, 125.0)}, 20),
        ({"between": 1.0, "means": (80.0, 110.0)}, 0),
        ({"between": 0.0, "means": (115.0, 125.0)}, 0),
        ({"between": 1.0, "means": (115.0, 125.0), "even": True}, 0),
    ],
)
def test_time_until_the_next_step(facts: dict[str, Any], between: float) -> None:
    run, both = run_with([FIRST], [20], **facts), [replayed([100], [20])] * 2
    found = parts.parts_after(run, np.ones((len(CATEGORIES), 1)), both, {})
    assert (len(found), found[-1], found.sum()) == (len(CATEGORIES) + 1, between, 100 + between)


def test_lengths_of_steps() -> None:
    takes = np.array([[True, True, False], [True, False, False], [True, True, False]])
    found = SimpleNamespace(
        begins=ints((1, 2, 3), (11, 12, 13), (31, 32, 33)), ends=ints((4, 6, 9), (13, 17, 20), (38, 40, 50))
    )
    run = SimpleNamespace(even=False, budget=SimpleNamespace(takes_part=takes))
    assert parts._lengths(run, found).tolist() == [12, 12, 0]
    run.even = True
    assert parts._lengths(run, found).tolist() == [37, 38, 0]


def content(device: int, *runs: tuple[int, int]) -> Any:
    begin, end = (ints(*column) for column in zip(*runs, strict=True))
    return SimpleNamespace(device=device, spans=OpSpans(begin, end))


MAIN_RATE = Rate(ints(0, 10), np.array([0.5, 0.0]))
"""Half of what the main thread does until 10."""


@pytest.mark.parametrize(
    ("contents", "shared", "expected"),
    [
        # Chain, what runs there and its share; what is taken from 0-4, 4-8 and 8-12.
        ([], False, [[0, 0, 0]]),
        ([(1, content(1, (0, 9)), [0.0])], False, [[0, 0, 0]]),
        ([(1, content(0, (0, 9)), [1.0])], False, [[0, 0, 0]]),
        ([(MAIN, content(0, (0, 9)), [1.0])], False, [[2, 2, 1]]),
        ([(1, content(0, (0, 6)), [0.25])], False, [[3, 1.5, 0]]),
        ([(1, content(0, (0, 6)), [0.25]), (2, content(1, (0, 9)), [0.5])], False, [[3, 1.5, 0]]),
        ([(1, content(0, (0, 6)), [0.25]), (2, content(0, (6, 9)), [1.0])], False, [[3, 1.5, 0]]),
        ([(1, content(0, (0, 6)), [1.0]), (2, content(0, (6, 9)), [0.0])], False, [[0, 2, 1]]),
        # Where the main thread runs the ops, of what it leaves.
        ([(MAIN, content(0, (0, 6)), [0.5])], False, [[3, 2.5, 1]]),
        # On cores of their own, and on shared ones.
        ([(1, content(0, (0, 6), (2, 8)), [0.5, 1.0])], True, [[1, 0, 0], [1.5, 0.5, 0]]),
        ([(MAIN, content(0, (0, 6), (0, 6)), [0.0, 1.0])], True, [[2, 2, 1], [3, 2.5, 1]]),
    ],
)
def test_what_is_taken_from_the_ops_of_a_device(contents, shared: bool, expected) -> None:
    graph = SimpleNamespace(contents=[(on, one) for on, one, _ in contents])
    places = SimpleNamespace(graph=graph, shared=Sweep.of(ints(0), ints(1)) if shared else None)
    found = parts._rates(places, 0, [np.array(share) for _, _, share in contents], MAIN_RATE)
    begin, end = ints(0, 4, 8), ints(4, 8, 12)
    assert [rate.within(begin, end).tolist() for rate in found] == [pytest.approx(one) for one in expected]


def test_what_an_edit_takes_from_parts() -> None:
    """Two hosts: the second has two devices, of which one shares cores."""

    def spent(*times: tuple[int, int, int], between: tuple[int, int]) -> Any:
        return SimpleNamespace(
            spent=[(part, (ints(begin), ints(end))) for part, begin, end in times],
            between=(ints(between[0]), ints(between[1])),
        )

    one = content(0, (10, 20))
    two = [content(0, (10, 20), (10, 20)), content(1, (12, 16))]
    places = [
        SimpleNamespace(graph=SimpleNamespace(contents=[(1, one)]), shared=None),
        SimpleNamespace(graph=SimpleNamespace(contents=[(1, two[0]), (2, two[1])]), shared=Sweep.of(ints(0), ints(1))),
    ]
    times = [
        [spent((COMPUTE, 10, 20), (IDLE_HOST, 0, 10), between=(18, 24))],
        [
            spent((COMPUTE, 10, 20), (IDLE_HOST, 20, 24), between=(22, 30)),
            spent((COMPUTE, 12, 16), (IDLE_HOST, 0, 10), between=(30, 30)),
        ],
    ]
    change = SimpleNamespace(
        threads=[{MAIN: MAIN_RATE, 1: NOTHING}, {}],
        runs=[[np.array([0.25])], [np.array([0.0, 1.0]), np.array([0.5])]],
    )
    found = parts.shortened(places, [SimpleNamespace(devices=of_host) for of_host in times], change)
    kinds = [COMPUTE, IDLE_HOST, len(CATEGORIES)]
    assert found.whole_ps[kinds].tolist() == [[8, 10, 4], [10, 2, 10], [2, 2, 0]]
    # On cores of its own a run that stays hides the one that is gone; on shared ones half of the time is gone.
    assert found.gone_ps[kinds].tolist() == [[6, 2.5, 2], [5, 0, 0], [1.5, 0, 0]]
    assert found.kept.shape == (len(CATEGORIES), 3)
    assert found.kept[kinds[:2]].tolist() == [[0.25, 0.75, 0.5], [0.5, 1, 1]]
    more = parts.Shortened(ints([5, 4], [4, 4], [1, 1]), np.array([[6.0, -2.0], [4.0, 1.0], [0, 0]]))
    assert more.kept.tolist() == [[0, 1.5], [0, 0.75]]
