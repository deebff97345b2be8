"""Where devices wait, by place: programs with their ids, whatever these are."""

from __future__ import annotations

import numpy as np
import pytest
from builders.programs.hlo import metadata_plane, relu_program
from builders.shown import profile

from tpu_profile_plugin.analysis.blame.host_blame import ANY_STEP, BETWEEN, NO_OP, HostBlame
from tpu_profile_plugin.analysis.blame.places import Place, host_places
from tpu_profile_plugin.analysis.blame.stacks import NOWHERE, Stacks
from tpu_profile_plugin.analysis.budget.categories import COMPUTE, IDLE_GAP, IDLE_HOST, INPUT_COPY, MOVE_WAIT
from tpu_profile_plugin.analysis.devices.model import Op, Work
from tpu_profile_plugin.analysis.hlo.ops import HloOps


@pytest.mark.parametrize(("number", "module"), [(0, "jit_f(0)"), (7, "jit_f(7)")])
def test_an_op_names_its_program(number: int, module: str) -> None:
    def one(value: int) -> np.ndarray:
        return np.array([value])

    ops = (Op("copy-done.1", number, Work.MOVE_WAIT),)
    blame = HostBlame(one(MOVE_WAIT), one(0), one(-1), one(1000), ops, step=one(0))
    found = host_places(blame, HloOps(profile(metadata_plane(jit_f=(number, relu_program())))), 1)
    assert found.places == (Place(MOVE_WAIT, "copy-done", module=module),)
    assert found.by_step.tolist() == [[1000.0]]


def test_an_op_without_a_program_names_none() -> None:
    ops = (Op("copy-done.1", 0, Work.MOVE_WAIT),)
    blame = HostBlame(*(np.array([value]) for value in (MOVE_WAIT, 0, -1, 1000)), ops, step=np.array([0]))
    found = host_places(blame, HloOps(profile(metadata_plane(jit_f=(7, relu_program())))), 1)
    assert [place.module for place in found.places] == [""]


NO_PROGRAMS = HloOps(profile('plane 1 "/host:CPU"'))


def rows_of(*rows: tuple[int, int, int, int, int], ops: tuple[Op, ...], stacks: Stacks) -> HostBlame:
    """Rows (part, op, node, ps, step)."""
    part, op, node, ps, step = np.array(rows, np.int64).T
    return HostBlame(part, op, node, ps, ops, stacks, step=step)


CALLS = Stacks(
    parent=np.array([NOWHERE, 0, NOWHERE, 2]),
    name=np.arange(4),
    names=("$lib.py:1 run", "$train.py:3 load", "fetch", "wait"),
    user=np.array([False, True, False, False]),
)
"""A library that calls a function of the program, and an event within another."""


def test_waits_are_of_the_closest_function_else_of_the_outermost_call() -> None:
    rows = [
        (IDLE_HOST, NO_OP, 0, 100, 0), (IDLE_HOST, NO_OP, 1, 200, 0), (IDLE_HOST, NO_OP, 3, 300, 1),
        (IDLE_HOST, NO_OP, 2, 50, 2), (IDLE_HOST, NO_OP, NOWHERE, 40, 1), (IDLE_GAP, NO_OP, 1, 30, 0),
        (IDLE_HOST + BETWEEN, NO_OP, 1, 20, ANY_STEP), (COMPUTE, 0, NOWHERE, 5000, 0),
    ]  # fmt: skip
    found = host_places(rows_of(*rows, ops=(Op("dot.1", 0, Work.COMPUTE),), stacks=CALLS), NO_PROGRAMS, 3)
    assert dict(zip(found.places, zip(found.ps.tolist(), found.by_step.tolist(), strict=True), strict=True)) == {
        Place(IDLE_HOST, "$lib.py:1 run"): (100, [100, 0, 0]),
        Place(IDLE_HOST, "$train.py:3 load", function=True): (200, [200, 0, 0]),
        Place(IDLE_HOST, "fetch"): (350, [0, 300, 50]),
        Place(IDLE_HOST): (40, [0, 40, 0]),
        Place(IDLE_GAP): (30, [30, 0, 0]),
        Place(IDLE_HOST + BETWEEN, "$train.py:3 load", function=True): (20, [0, 0, 0]),
    }


@pytest.mark.parametrize(("ps", "named"), [(5, True), (4, False)])
def test_places_have_a_two_thousandth_of_the_whole(ps: int, named: bool) -> None:
    ops = (Op("copy.1", 0, Work.UPLOAD), Op("dot.1", 0, Work.COMPUTE))
    rows = [(IDLE_HOST, NO_OP, 1, ps, 0), (INPUT_COPY, 0, 1, ps, 0), (COMPUTE, 1, NOWHERE, 10_000 - 2 * ps, 0)]
    found = host_places(rows_of(*rows, ops=ops, stacks=CALLS), NO_PROGRAMS, 1)
    copy, load = found.places
    assert copy == (Place(INPUT_COPY, "copy", line="train.py:3 load") if named else Place(INPUT_COPY))
    assert load == (Place(IDLE_HOST, "$train.py:3 load", function=True) if named else Place(IDLE_HOST))
    assert found.op == ("copy.1" if named else "", "")


def test_programs_between_steps_are_one_place_each() -> None:
    ops = (Op("dot.1", 7, Work.COMPUTE), Op("add.1", 7, Work.COMPUTE), Op("copy.1", 7, Work.UPLOAD))
    rows = [
        (COMPUTE + BETWEEN, 0, NOWHERE, 10, ANY_STEP), (COMPUTE + BETWEEN, 1, NOWHERE, 30, ANY_STEP),
        (INPUT_COPY + BETWEEN, 2, NOWHERE, 5, ANY_STEP),
    ]  # fmt: skip
    hlo = HloOps(profile(metadata_plane(jit_f=(7, relu_program()))))
    found = host_places(rows_of(*rows, ops=ops, stacks=CALLS), hlo, 1)
    assert found.places == (
        Place(COMPUTE + BETWEEN, module="jit_f(7)"), Place(INPUT_COPY + BETWEEN, "copy", module="jit_f(7)"),
    )  # fmt: skip
    assert (found.ps.tolist(), found.op) == ([40, 5], ("add.1", "copy.1"))
