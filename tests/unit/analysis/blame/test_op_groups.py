"""Groups of ops of typed-in rows of blame: the kinds with most time, and where they come from."""

from __future__ import annotations

import numpy as np
import pytest
from builders.programs.hlo import metadata_plane, op, program
from builders.shown import profile

from tpu_profile_plugin.analysis.blame import op_groups as module
from tpu_profile_plugin.analysis.blame.host_blame import ANY_STEP, NO_OP, HostBlame
from tpu_profile_plugin.analysis.blame.op_groups import OpNamer, op_groups
from tpu_profile_plugin.analysis.blame.stacks import NOWHERE, Stacks
from tpu_profile_plugin.analysis.budget.categories import COMPUTE, IDLE_HOST
from tpu_profile_plugin.analysis.devices.model import Op, Work
from tpu_profile_plugin.analysis.hlo.ops import HloOps
from tpu_profile_plugin.analysis.ops.op_nature import Nature, by_name

NO_PROGRAMS = OpNamer(HloOps(profile('plane 1 "/host:CPU"')))
CALLS = Stacks(
    parent=np.array([NOWHERE, NOWHERE]), name=np.arange(2), names=("$train.py:3 f", "$train.py:9 g"),
    user=np.array([True, True]),
)  # fmt: skip


def blamed(*rows, idle=0, number=0):
    """Rows (op, node, ps) of distinct ops of a program."""
    names = list(dict.fromkeys(name for name, *_ in rows))
    lines = [(COMPUTE, names.index(name), node, ps) for name, node, ps in rows]
    columns = np.array([*lines, (IDLE_HOST, NO_OP, NOWHERE, idle)], np.int64).T
    ops = tuple(Op(name, number, Work.COMPUTE) for name in names)
    return HostBlame(*columns, ops, CALLS, step=np.full(len(rows) + 1, ANY_STEP))


def shown(groups):
    """Name, time and the ops of groups."""
    return [(group.name, group.ps, [(name, ps) for name, _, ps in group.ops]) for group in groups]


ROWS = ("sort.1", NOWHERE, 300), ("dot.1", NOWHERE, 100), ("dot.2", NOWHERE, 300), ("fft.1", NOWHERE, 200)


def test_kinds_and_their_ops_are_in_the_order_of_their_time():
    assert shown(op_groups(blamed(*ROWS), NO_PROGRAMS)) == [
        ("dot", 400, [("dot.2", 300), ("dot.1", 100)]),
        ("sort", 300, [("sort.1", 300)]),
        ("fft", 200, [("fft.1", 200)]),
    ]
    runs = np.array([1.0, 10.0, 100.0, 1000.0])
    assert [group.runs for group in op_groups(blamed(*ROWS), NO_PROGRAMS, runs, most=2)] == [110.0, 1.0]
    assert op_groups(blamed(idle=10), NO_PROGRAMS) == []


DOT = {"dot_dimension_numbers": {"lhs_contracting_dimensions": [1], "rhs_contracting_dimensions": [0]}}


@pytest.mark.parametrize(("first", "few"), [(51, 8), (50, 8), (49, 0)])
def test_products_of_few_rows_are_most_of_their_kind(first, few):
    entry = [
        op("a", "parameter", "f32[8,64]"), op("w", "parameter", "f32[64,64]"),
        op("dot.1", "dot", "f32[8,64]", "a", "w", **DOT), op("dot.2", "dot", "f32[64,64]", "w", "w", **DOT),
    ]  # fmt: skip
    names = OpNamer(HloOps(profile(metadata_plane(main=(7, program(entry))))))
    (group,) = op_groups(blamed(("dot.1", NOWHERE, first), ("dot.2", NOWHERE, 100 - first), number=7), names)
    assert (group.name, group.few) == ("dot", few)


def test_of_many_ops_the_largest_are_in_groups(monkeypatch):
    monkeypatch.setattr(module, "MOST_OPS", 2)
    assert [(group.name, group.ps) for group in op_groups(blamed(*ROWS), NO_PROGRAMS)] == [("sort", 300), ("dot", 300)]


@pytest.mark.parametrize(("ps", "count"), [(5, 2), (6, 3)])
def test_ops_with_a_two_thousandth_of_the_whole_are_in_no_group(ps, count):
    rows = ("sort.1", NOWHERE, 4000), ("dot.1", NOWHERE, 3000), ("fft.1", NOWHERE, ps)
    found = op_groups(blamed(*rows, idle=3000 - ps), NO_PROGRAMS)
    assert [group.ps for group in found] == [4000, 3000, 6][:count]


def test_kinds_within_a_group_are_in_the_order_of_their_time():
    (group,) = op_groups(blamed(("aten::mul", 0, 10), ("aten::add", 0, 60), ("aten::sub", 0, 30)), NO_PROGRAMS)
    assert (group.name, group.kinds) == ("elementwise ops", ("aten::add", "aten::sub", "aten::mul"))


@pytest.mark.parametrize(
    ("rows", "place"),
    [
        ([("aten::mul", 0, 60), ("aten::mul", 1, 40)], "train.py:3 f"),
        ([("aten::mul", 0, 50), ("aten::mul", 1, 50)], ""),
        # The backward pass is launched elsewhere; without the forward pass it is all there is.
        ([("aten::linear", 0, 10), ("AddmmBackward0", 1, 90)], "train.py:3 f"),
        ([("AddmmBackward0", 1, 90)], "train.py:9 g"),
    ],
)
def test_ops_are_of_the_function_that_launches_most_of_their_time(rows, place):
    (group,) = op_groups(blamed(*rows), NO_PROGRAMS)
    assert group.place == place


@pytest.mark.parametrize(
    ("times", "place", "places"),
    [
        ((51, 39, 10), "m.py:7", ()),
        ((50, 40, 10), "", (("m.py:7", 0.5), ("m.py:9", 0.4), ("m.py:12", 0.1))),
        ((50, 41, 9), "", (("m.py:7", 0.5), ("m.py:9", 0.41))),
    ],
)
def test_ops_are_of_the_line_with_most_of_their_time_else_of_those_with_a_tenth(times, place, places):
    of = "f32[64,64]{1,0}"
    dots = [op(f"dot.{line}", "dot", of, "x", "x", source_file="m.py", source_line=line) for line in (7, 9, 12)]
    names = OpNamer(HloOps(profile(metadata_plane(jit_f=(1, program([op("x", "parameter", of), *dots]))))))
    rows = [(f"dot.{line}", NOWHERE, ps) for line, ps in zip((7, 9, 12), times, strict=True)]
    (group,) = op_groups(blamed(*rows, number=1), names)
    assert (group.place, group.places) == (place, places)


@pytest.mark.parametrize(
    ("copied", "groups"),
    [
        (99, [("cholesky", 229, 2, "m.py:7"), ("solve", 20, 1, "m.py:9")]),  # copies at a line of calls are theirs
        (130, [("copy", 140, 2, "m.py:7"), ("cholesky", 130, 2, "m.py:7"), ("solve", 20, 1, "m.py:9")]),
    ],
)
def test_calls_of_libraries_are_of_what_they_do_with_what_is_around_them_at_their_line(copied, groups):
    of = "f32[64,64]{1,0}"
    calls = [("call.1", "cholesky", 7), ("call.2", "solve", 7), ("call.3", "solve", 9)]
    at = [
        op(name, "custom-call", of, "x", op_name=f"jit(f)/g/{does}:", source_file="m.py", source_line=line)
        for name, does, line in calls
    ]
    at += [op(f"copy.{line}", "copy", of, "x", source_file="m.py", source_line=line) for line in (7, 8)]
    names = OpNamer(HloOps(profile(metadata_plane(jit_f=(1, program([op("x", "parameter", of), *at]))))))
    rows = [("call.1", 110), ("call.2", 20), ("call.3", 20), ("copy.7", copied), ("copy.8", 10)]
    found = op_groups(blamed(*((name, NOWHERE, ps) for name, ps in rows), number=1), names, most=3)
    assert [(one.name, one.ps, one.count, one.place) for one in found if one.ps > 10] == groups


@pytest.mark.parametrize(
    ("name", "nature", "kind"),
    [
        ("aten::mul_", Nature.OTHER, "aten::mul"),
        ("aten::mm", Nature.MATRIX, "aten::linear"),
        ("aten::copy_", Nature.MOVEMENT, "aten::copy"),
        ("CopyBackwards", Nature.OTHER, "CopyBackwards"),
        ("CatBackward0", Nature.MOVEMENT, "aten::cat"),
    ],
)
def test_ops_of_pytorch_and_their_backward_pass_are_one_kind(name, nature, kind):
    assert by_name(name) == (nature, kind)
