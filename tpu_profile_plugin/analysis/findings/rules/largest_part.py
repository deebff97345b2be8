"""A part of the step that takes much of it and has a name, whatever its cause: a function of the host, or ops.

Fires if waiting for one function of the host, or ops that most programs spend little on, take at least
{LEAST_PART:.0%} of the time from step to step ({LEAST_ON_CPUS:.0%} if CPUs wait for the host), a function or range of
PyTorch's ops beside the model {LEAST_BESIDE:.0%}, the ops of a function without matrix products {LEAST_HELPER:.0%}, ops
that only move data {LEAST_MOVEMENT:.0%}, small ops that run one by one {LEAST_SMALL:.0%}, and
no other finding explains half of that; and for any other ops from {LEAST_ANY:.0%} on, as the place where the time goes,
without a cost. Of PyTorch on the CPU also ops outside of the graphs of a compiled function from {BROKEN:.0%} on, calls
of compiled functions {CALLS:.0%}, elementwise ops {ELEMENTWISE:.0%} and an optimizer {OPTIMIZER:.0%}; of TensorFlow
eager ops {EAGER:.0%}.

Ask whether every step needs it: work that is needed once belongs before the loop, work that no step waits for on
another thread or process, and a cheaper way may give the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tpu_profile_plugin.analysis.blame.op_nature import Nature
from tpu_profile_plugin.analysis.findings.blamed import LEAST_BESIDE as LEAST_BESIDE
from tpu_profile_plugin.analysis.findings.blamed import LEAST_HELPER as LEAST_HELPER
from tpu_profile_plugin.analysis.findings.blamed import LEAST_MOVEMENT as LEAST_MOVEMENT
from tpu_profile_plugin.analysis.findings.blamed import LEAST_OF_NATURE, LEAST_PART
from tpu_profile_plugin.analysis.findings.blamed import LEAST_ON_CPUS as LEAST_ON_CPUS
from tpu_profile_plugin.analysis.findings.blamed import LEAST_SMALL as LEAST_SMALL
from tpu_profile_plugin.analysis.findings.lost import LEAST_ANY as LEAST_ANY
from tpu_profile_plugin.analysis.findings.model import Finding, Rule, Silence
from tpu_profile_plugin.analysis.findings.run_view import RunView

BROKEN, CALLS = LEAST_OF_NATURE[Nature.BROKEN_GRAPH], LEAST_OF_NATURE[Nature.COMPILED_CALL]
EAGER = LEAST_OF_NATURE[Nature.EAGER]
ELEMENTWISE, OPTIMIZER = LEAST_OF_NATURE[Nature.ELEMENTWISE], LEAST_OF_NATURE[Nature.OPTIMIZER]


def judge(run: RunView, gathered: Sequence[Any]) -> Finding | Silence:
    """Its findings are made of the parts that no other rule explains, when these have spoken."""
    return Silence(f"No part of the {run.base} above {LEAST_PART:.0%} is left unexplained.")


RULE = Rule("largest_part", "Largest part of the step", judge)
