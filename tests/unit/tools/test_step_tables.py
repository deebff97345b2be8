"""The analysis and the table of steps: of which kind of device, and what waiting for input is."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from builders.answers import summary

from tpu_profile_plugin.analysis.environment.environment import Hardware
from tpu_profile_plugin.analysis.steps.step_table import StepTable
from tpu_profile_plugin.analysis.summary.host_summary import RunSummary, reduce_summaries
from tpu_profile_plugin.compat.xprof.steps import tpu_table
from tpu_profile_plugin.run.figures.steps import analyse

TPU = """
plane 99 "/host:CPU"
line 1 main
0us +1us x
plane 0 "/device:TPU:0"
metadata f {hlo_category="loop fusion", program_id=7, symbol_id=1}
metadata i {hlo_category="infeed", program_id=7, symbol_id=2}
line 1 Steps
0us +1000us 0
line 3 "XLA Ops"
0us +600us f
600us +100us i
"""
CPU = 'plane 0 "/host:CPU"\nline 1 main\n0us +9us train {_r=1, step_num=0}\n1us +5us "x:Op"'


def run(text: str, hardware: Hardware, *, steps: bool) -> RunSummary:
    found = reduce_summaries([summary(text)])
    assert len(found.steps) == 1
    environment = dataclasses.replace(found.environment, hardware=hardware)
    return dataclasses.replace(found, environment=environment, steps=found.steps if steps else StepTable())


@pytest.mark.parametrize(
    ("text", "hardware", "steps", "on_tpu"),
    [
        (TPU, Hardware.TPU, True, True),
        (CPU, Hardware.CPU_ONLY, True, False),
        # Steps tell their kind themselves; without any the machine does.
        (TPU, Hardware.GPU, True, True),
        (CPU, Hardware.TPU, True, False),
        (CPU, Hardware.TPU, False, True),
        (TPU, Hardware.GPU, False, False),
    ],
)
def test_the_kind_of_steps_decides_and_without_any_the_machine(
    text: str, hardware: Hardware, steps: bool, on_tpu: bool
) -> None:
    found = analyse(run(text, hardware, steps=steps))
    assert (found.tpu is not None, found.generic is not None) == (on_tpu, not on_tpu)


def test_waiting_for_input_of_a_sparse_core_is_waiting_for_input() -> None:
    analysis = analyse(run(TPU, Hardware.TPU, steps=True))
    assert analysis.tpu is not None
    steps = dataclasses.replace(analysis.tpu, scv0_infeed=np.array([0.25]))
    table = tpu_table(analysis, steps)
    tooltips = [value for column in table.data for value in column if isinstance(value, str) and "waiting" in value]
    assert tooltips == ["step 0:\nTime waiting for input data = 0.350 ms, Step time = 1.250 ms"]
