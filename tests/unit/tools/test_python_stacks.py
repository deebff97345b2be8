"""Python on hosts: stacks of threads, their sums, and their bound."""

from __future__ import annotations

from typing import Any

import numpy as np
from builders.answers import answer, run_of
from builders.shown import profile as columns

from tpu_profile_plugin.analysis.timeline.stacks import Stacks, _folded, thread_stacks
from tpu_profile_plugin.tools.time.python_stacks import TOOL

TEXT = """
plane 1 "/host:CPU"
  line 1 "main" @0ns
    0us +100us "$train.py:9 main"
    10us +40us "$train.py:5 step"
    20us +10us "ExecuteSharded"
    60us +30us "$train.py:5 step"
    65us +5us "ExecuteSharded"
  line 2 "worker" @0ns
    0us +50us "$data.py:3 load"
  line 3 "tf_Compute" @0ns
    0us +500us "ThreadpoolListener"
"""
US = 1_000_000


def paths(found: Any) -> dict[str, float]:
    """Self time in us by path, from the thread on."""
    full: list[str] = []
    for name, parent in zip(found["name"], found["parent"], strict=True):
        assert parent < len(full)  # callers come before what they call
        full.append((f"{full[parent]} > " if parent >= 0 else "") + found["names"][name])
    return {path: ps / US for path, ps in zip(full, found["self_ps"], strict=True) if ps}


def test_stacks_of_the_threads_with_python_frames() -> None:
    (found,) = answer(TOOL, TEXT)["hosts"]
    assert paths(found) == {
        "main > $train.py:9 main": 30,
        "main > $train.py:9 main > $train.py:5 step": 55,
        "main > $train.py:9 main > $train.py:5 step > ExecuteSharded": 15,
        "worker > $data.py:3 load": 50,
    }


def test_time_adds_up_to_the_outermost_calls() -> None:
    (_, stacks), *_ = run_of(TEXT).python_stacks().hosts
    assert stacks.self_ps.sum() == 150 * US
    total = stacks.total_ps()
    threads = {stacks.names[stacks.name[i]]: int(total[i]) for i in np.flatnonzero(stacks.parent < 0)}
    assert threads == {"main": 100 * US, "worker": 50 * US}


def test_every_host_has_its_own() -> None:
    found = answer(TOOL, TEXT, TEXT)["hosts"]
    assert [one["host"] for one in found] == ["h0", "h1"]
    assert paths(found[0]) == paths(found[1])


def test_without_python_the_answer_says_why() -> None:
    found = answer(TOOL, 'plane 1 "/host:CPU"\n  line 1 "main" @0ns\n    0us +1us "Execute"')
    assert (found["hosts"], "Python tracer" in found["reason"]) == ([], True)


def test_the_smallest_stacks_become_part_of_their_callers() -> None:
    stacks = Stacks(
        ("t", "f", "g", "h"), np.array([0, 1, 2, 3, 3]), np.array([-1, 0, 1, 1, 2]), np.array([0, 5, 40, 3, 2])
    )
    few = _folded(stacks, 3)
    assert (few.name.tolist(), few.parent.tolist(), few.self_ps.tolist()) == ([0, 1, 2], [-1, 0, 1], [0, 8, 42])
    assert _folded(stacks, 5) is stacks


def test_events_of_one_name_at_one_time_nest() -> None:
    space = columns('plane 1 "/host:CPU"\n  line 1 "t" @0ns\n    0us +10us "$a.py:1 f"\n    0us +10us "$a.py:2 g"')
    (plane,) = space.planes
    found = thread_stacks(plane, np.array([True]), ["t"])
    assert (found.parent.tolist(), found.self_ps.sum()) == ([-1, 0, 1], 10 * US)


def test_what_begins_together_nests_by_length() -> None:
    """Longer spans are around shorter ones, in whatever order they are recorded."""
    lines = '0us +4us "$a.py:2 g"\n    0us +10us "$a.py:1 f"\n    0us +1us "$a.py:3 h"'
    (plane,) = columns(f'plane 1 "/host:CPU"\n  line 1 "t" @0ns\n    {lines}').planes
    found = thread_stacks(plane, np.array([True]), ["t"])
    names = [found.names[one] for one in found.name]
    assert names == ["t", "$a.py:1 f", "$a.py:2 g", "$a.py:3 h"]
    assert (found.parent.tolist(), (found.self_ps // US).tolist()) == ([-1, 0, 1, 2], [0, 6, 3, 1])
