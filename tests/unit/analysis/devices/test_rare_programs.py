"""Programs of a device that run in some steps and hardly in the others."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tpu_profile_plugin.analysis.devices.model import Device, Op, OpSpans, Work
from tpu_profile_plugin.analysis.devices.rare_programs import RarePrograms, rare_programs

OPS = (("a", 7), ("b", 7), ("c", 8), ("d", 0), ("e", 0), ("f", 9))
"""Names and programs; the host tells no names of program 9."""
PROGRAMS: Any = SimpleNamespace(modules={7: SimpleNamespace(name="jit_f(7)"), 8: SimpleNamespace(name="jit_g(8)")})


def rare(*runs: tuple[str, int, int]) -> RarePrograms:
    """What runs in the step from 1000 to 2000, and in those beside it."""
    names = [name for name, _ in OPS]
    op, begin, end = (np.array(side) for side in zip(*((names.index(run[0]), *run[1:]) for run in runs), strict=True))
    spans = OpSpans(begin, end, op.astype(np.int32), np.zeros(len(op), np.uint8), np.arange(len(op)))
    device = Device("GPU 0", "gpu", 0, 0, tuple(Op(name, program, Work.COMPUTE) for name, program in OPS), spans)
    others = np.array([0, 2000]), np.array([1000, 3000])
    return rare_programs(device, PROGRAMS, (np.array([1000]), np.array([2000])), others)


@pytest.mark.parametrize(
    ("runs", "name", "times"),
    [
        # All ops of a program are one; one without program is by itself.
        ([("a", 1000, 1100), ("b", 1100, 1150), ("c", 0, 1000)], "jit_f", [(1000, 1150)]),
        ([("a", 1000, 1100), ("b", 100, 400), ("c", 400, 1000)], "", []),
        ([("d", 1000, 1100), ("e", 0, 1000)], "", [(1000, 1100)]),
        ([("f", 1000, 1100), ("c", 0, 1000)], "", [(1000, 1100)]),
        # A twentieth of the time of the others, or less, and less than in the step.
        ([("a", 1000, 1100), ("a", 950, 1000), ("c", 0, 950)], "jit_f", [(950, 1100)]),
        ([("a", 1000, 1100), ("a", 949, 1000), ("c", 0, 949)], "", []),
        ([("a", 1000, 1050), ("a", 950, 1000), ("c", 0, 950)], "", []),
        ([("a", 1000, 1051), ("a", 950, 1000), ("c", 0, 950)], "jit_f", [(950, 1051)]),
        # The one with most time gives the name.
        (
            [("a", 1000, 1100), ("c", 1200, 1301), ("d", 1400, 1450)],
            "jit_g",
            [(1000, 1100), (1200, 1301), (1400, 1450)],
        ),
    ],
)
def test_programs_that_run_only_there(runs, name, times):
    found = rare(*runs)
    assert found.name == name
    assert list(zip(found.times[0].tolist(), found.times[1].tolist(), strict=True)) == times


def test_a_device_without_runs():
    device = Device("GPU 0", "gpu", 0, 0, (), OpSpans())
    span = np.array([0]), np.array([9])
    found = rare_programs(device, PROGRAMS, span, span)
    assert (found.name, len(found.times[0])) == ("", 0)
