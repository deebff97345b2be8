"""The work of TPU ops in each step: shares of the work of all runs, with and without infeed and outfeed."""

from __future__ import annotations

import numpy as np
from builders.answers import summary
from builders.shown import profile

from tpu_profile_plugin.analysis.derived.preprocess import preprocess
from tpu_profile_plugin.analysis.ops.op_tables import HBM, READ
from tpu_profile_plugin.analysis.steps.step_ops import StepWork, merged_step_work, step_ops

CORE = """
plane 1 "/device:TPU:0"
metadata f {program_id=7, symbol_id=1, hlo_category="c", flops=100, model_flops=90, bytes_accessed=8, TRAFFIC}
metadata i {program_id=7, symbol_id=2, hlo_category="infeed", flops=4, model_flops=3, bytes_accessed=6, TRAFFIC}
metadata w {program_id=7, symbol_id=3, hlo_category="while", flops=1000, bytes_accessed=1000, TRAFFIC}
line 1 Steps
0us +100us "0"
200us +100us "1"
line 5 "XLA Ops"
0us +60us w
0us +10us f
20us +10us f
70us +5us i
200us +10us f
400us +10us f
""".replace("TRAFFIC", "memory_access_breakdown=0x0a070801100118e807")  # reads 1000 bytes of HBM


def works(*texts: str) -> tuple[list[float], list[StepWork]]:
    """Step times in us, and the work of the common steps: of all ops, and without infeed and outfeed."""
    spaces = [profile(text) for text in texts]
    tables = [
        step_ops(space, preprocess(space), summary(text).steps) for space, text in zip(spaces, texts, strict=True)
    ]
    _, *both = merged_step_work(tables, [True] * len(texts))
    return (both[0].time_ps / 1e6).tolist(), both


def test_every_step_has_its_share_of_the_work_of_an_op() -> None:
    times, (whole, rest) = works(CORE)
    assert times == [100, 100]
    # Of the loop only what is in it counts.
    assert (whole.flops.tolist(), rest.flops.tolist()) == ([204, 100], [200, 100])
    assert (whole.model_flops.tolist(), rest.model_flops.tolist()) == ([183, 90], [180, 90])
    assert (whole.bytes.tolist(), rest.bytes.tolist()) == ([22, 8], [16, 8])
    assert whole.traffic[:, HBM, READ].tolist() == [3000, 1000]
    assert rest.traffic[:, HBM, READ].tolist() == [2000, 1000]
    assert (rest.time_ps / 1e6).tolist() == [95, 100]


def test_an_op_that_ran_in_part_of_its_steps_is_an_op_in_each() -> None:
    """A quarter or a half of an op with recorded traffic is one; the infeed is another."""
    _, (whole, rest) = works(CORE)
    assert (whole.accesses.tolist(), rest.accesses.tolist()) == ([2, 1], [1, 1])


def test_work_of_hosts_adds_up_and_the_mean_is_that_of_a_step() -> None:
    _, (whole, rest) = works(CORE, CORE)
    assert (whole.flops.tolist(), rest.flops.tolist()) == ([408, 200], [400, 200])
    assert (whole.mean.flops.tolist(), rest.mean.accesses.tolist()) == ([304], [2])
    assert StepWork.of(np.zeros(0), np.zeros((0, len(works(CORE)[1][0].traffic[0].ravel()) + 4))).mean.flops == [0]
