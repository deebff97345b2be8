"""A part of the step that takes much of it and has a name, whatever its cause: a function of the host, or ops.

Fires if waiting for one function of the host, or ops that most programs spend little on, take at least
{LEAST_PART:.0%} of the time from step to step, a function of PyTorch's ops beside the model {LEAST_BESIDE:.0%}, ops
that only move data {LEAST_MOVEMENT:.0%}, and no other finding explains half of that; and for any other ops from
{LEAST_ANY:.0%} on, as the place where the time goes, without a cost.

Ask whether every step needs it: work that is needed once belongs before the loop, work that no step waits for on
another thread or process, and a cheaper way may give the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tpu_profile_plugin.analysis.findings.blamed import LEAST_ANY as LEAST_ANY
from tpu_profile_plugin.analysis.findings.blamed import LEAST_BESIDE as LEAST_BESIDE
from tpu_profile_plugin.analysis.findings.blamed import LEAST_MOVEMENT as LEAST_MOVEMENT
from tpu_profile_plugin.analysis.findings.blamed import LEAST_PART
from tpu_profile_plugin.analysis.findings.model import Finding, Rule, Silence
from tpu_profile_plugin.analysis.findings.run_view import RunView


def judge(run: RunView, gathered: Sequence[Any]) -> Finding | Silence:
    """Its findings are made of the parts that no other rule explains, when these have spoken."""
    return Silence(f"No part of the {run.base} above {LEAST_PART:.0%} is left unexplained.")


RULE = Rule("largest_part", "Largest part of the step", judge)
