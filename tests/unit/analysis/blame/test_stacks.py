"""Names that stand for what a call does."""

from __future__ import annotations

import numpy as np

from tpu_profile_plugin.analysis.blame.stacks import NOWHERE, Stacks, callers, launched_at


def test_functions_without_a_name_give_way_to_those_around_them() -> None:
    names = "$train.py:1 step", "$train.py:2 <lambda>", "$train.py:9 <listcomp>"
    stacks = Stacks(parent=np.array([NOWHERE, 0, NOWHERE]), name=np.arange(3), names=names, user=np.ones(3, np.bool_))
    assert [launched_at(stacks, node) for node in (1, 2, NOWHERE)] == ["train.py:1 step", "train.py:9 <listcomp>", ""]


def test_the_calls_around_a_call_go_up_to_the_first_one_of_all() -> None:
    parent = np.array([NOWHERE, 0, 1, NOWHERE])
    assert [callers(parent, node) for node in range(4)] == [[], [0], [1, 0], []]
