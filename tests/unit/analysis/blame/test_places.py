"""Where devices wait, by place: programs with their ids, whatever these are."""

from __future__ import annotations

import numpy as np
import pytest
from builders.programs.hlo import metadata_plane, relu_program
from builders.shown import profile

from tpu_profile_plugin.analysis.blame.host_blame import HostBlame
from tpu_profile_plugin.analysis.blame.places import Place, host_places
from tpu_profile_plugin.analysis.budget.categories import MOVE_WAIT
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
