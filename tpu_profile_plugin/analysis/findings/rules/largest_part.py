"""A part of the step that takes much of it and has a name, whatever its cause: a function of the host, or ops.

Fires if waiting for one function of the host, or ops that most programs spend little on, take at least
{blamed.LEAST_PART:.0%} of the time from step to step ({blamed.LEAST_ON_CPUS:.0%} if CPUs wait for the host), a function
or range of PyTorch's ops beside the model, or an evaluation, {blamed.LEAST_BESIDE:.0%}, the ops of a function without
matrix products {blamed.LEAST_HELPER:.0%}, ops that only move data {blamed.LEAST_MOVEMENT:.0%}, small ops that run one
by one {blamed.LEAST_SMALL:.0%}, and no other finding explains half of that; and for any other ops from
{blamed.LEAST_ANY:.0%} on, or the largest of at least {blamed.LEAST_PART:.0%} if nothing else is known, as the place
where the time goes, without a cost. Of PyTorch and TensorFlow on the CPU also elementwise ops from {ELEMENTWISE:.0%}
on; of both repeated backward passes through the same ops {BACKWARD:.0%}; of PyTorch what activation checkpointing
computes again and ops outside of the graphs of a compiled function {BROKEN:.0%}, calls of compiled functions
{CALLS:.0%} and an optimizer {OPTIMIZER:.0%}; of TensorFlow eager ops {EAGER:.0%}. What takes longer from step to step,
at the end of the recording by {LEAST_RISE:.0%} of its median, says so and has a cost.

Ask whether every step needs it: work that is needed once belongs before the loop, work that no step waits for on
another thread or process, and a cheaper way may give the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tpu_profile_plugin.analysis.common.statistics import LEAST_RISE as LEAST_RISE
from tpu_profile_plugin.analysis.findings import blamed
from tpu_profile_plugin.analysis.findings.model import Finding, Rule, Silence
from tpu_profile_plugin.analysis.findings.run_view import RunView
from tpu_profile_plugin.analysis.ops.op_nature import Nature

_OF_COMPILED = Nature.BROKEN_GRAPH, Nature.COMPILED_CALL
_OTHERS = Nature.BACKWARD_AGAIN, Nature.EAGER, Nature.ELEMENTWISE, Nature.OPTIMIZER
BROKEN, CALLS = (blamed.LEAST_OF_NATURE[one] for one in _OF_COMPILED)
BACKWARD, EAGER, ELEMENTWISE, OPTIMIZER = (blamed.LEAST_OF_NATURE[one] for one in _OTHERS)


def judge(run: RunView, gathered: Sequence[Any]) -> Finding | Silence:
    """Its findings are made of the parts that no other rule explains, when these have spoken."""
    return Silence(f"No part of the {run.base} above {blamed.LEAST_PART:.0%} is left unexplained.")


RULE = Rule("largest_part", "Largest part of the step", judge)
