"""The largest groups of typed-in profiles: the most specific name that holds most of the time."""

from __future__ import annotations

import numpy as np
import pytest
from builders.computed import US, blame
from builders.profiles.planted import cpu
from builders.shown import profile

from tpu_profile_plugin.analysis.blame.eager_ops import groups_of_rows
from tpu_profile_plugin.analysis.blame.host_groups import host_groups
from tpu_profile_plugin.analysis.blame.op_groups import OpNamer, op_groups
from tpu_profile_plugin.analysis.blame.stacks import NOWHERE, Stacks
from tpu_profile_plugin.analysis.devices.model import Op, Work
from tpu_profile_plugin.analysis.hlo.ops import HloOps
from tpu_profile_plugin.analysis.ops.op_nature import Nature, base_name


def shown(main: str, ops: str = "900 90 dot.1") -> list[tuple[str, str, float]]:
    """Name, inner call and time in us of the groups of one step."""
    found = host_groups(blame(cpu(f"{main}\n880 10 PjitFunction(f)", ops, steps=1)))
    return [(group.name, group.inner, group.ps / US) for group in found]


def test_a_callee_that_is_nearly_all_of_its_caller_stands_for_it():
    found = shown("0 800 $train.py:10 load\n10 780 $train.py:20 decode")
    assert found[0][:2] == ("$train.py:20 decode", "")


def test_a_function_stands_for_several_that_it_calls():
    found = shown("0 800 $train.py:10 load\n10 380 $train.py:20 decode\n400 380 $train.py:30 crop")
    assert found[0] == ("$train.py:10 load", "", 800)


def test_the_function_that_runs_the_step_is_no_cause_but_what_it_calls():
    found = shown("0 895 $train.py:5 step\n10 400 $train.py:10 load\n420 300 $train.py:40 log")
    assert [name for name, _, _ in found[:2]] == ["$train.py:10 load", "$train.py:40 log"]


def test_what_a_library_does_belongs_to_the_function_that_calls_it():
    found = shown("0 895 $train.py:5 step\n10 700 $time sleep\n720 100 $train.py:40 log")
    assert found[0][:2] == ("$train.py:5 step", "$time sleep")
    assert found[0][2] >= 700


def test_comprehensions_have_no_name():
    found = shown("0 800 $train.py:10 average\n10 400 $train.py:11 <listcomp>\n420 370 $train.py:12 <listcomp>")
    assert found[0] == ("$train.py:10 average", "", 800)


def test_without_functions_events_have_names():
    assert shown("0 800 MakeIterator")[0][0] == "MakeIterator"


def test_ops_of_one_kind_are_one():
    ops = "\n".join(f"{100 * i} {90} wrapped_sort.{i}" for i in range(3)) + "\n400 100 dot.1"
    text = cpu("0 5 PjitFunction(f)", ops, steps=1)
    found = op_groups(blame(text), OpNamer(HloOps(profile(text))))
    assert [(group.name, group.ps / US, group.count) for group in found] == [
        ("wrapped_sort", 270, 3),
        ("dot", 100, 1),
    ]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("Sequential_0/Linear_1/aten::linear", "aten::linear"),
        ("gradient_tape/sequential_1/dense_1_2/MatMul/MatMul", "MatMul"),
        ("MatMul_12", "MatMul"),
        ("dot.17", "dot"),
        ("a:b", "a"),
        ("Net_0/## Call CompiledFxGraph fd4u ##", "CompiledFxGraph"),
    ],
)
def test_kinds_of_ops_by_name(name, kind):
    assert base_name(name) == kind


@pytest.mark.parametrize(("inside", "name"), [(900, "filter"), (899, "augment")])
def test_a_range_with_nine_tenths_of_the_time_of_that_around_it_stands_for_it(inside: int, name: str):
    """A product of matrices outside of ranges, and 1000 ps of another op in `augment`, most of them in `filter`."""
    names, user = ("augment", "filter"), np.zeros(2, np.bool_)
    stacks = Stacks(parent=np.array([NOWHERE, 0]), name=np.arange(2), names=names, user=user)
    ops = [Op("aten::mm", 0, Work.COMPUTE), Op("aten::sort", 0, Work.COMPUTE)]
    kinds = [(Nature.MATRIX, "aten::mm"), (Nature.OTHER, "aten::sort")]
    node, ps = np.array([NOWHERE, 0, 1]), np.array([5000, 1000 - inside, inside])
    found = groups_of_rows(np.array([0, 1, 1]), node, ps, kinds, ops, stacks)
    ranges = [(group, rows.tolist()) for nature, group, rows in found if nature is Nature.RANGE]
    assert ranges[0] == (name, [False, name == "augment", True])
