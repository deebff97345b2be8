"""TensorCores wait for a SparseCore for much of the step.

Fires if the wait takes at least {SPARSE_SHARE:.0%} of the steps on the core that the overview shows: XProf's limit for
a high share.

Overlap embedding lookups with dense computation, or make them smaller.
"""

from __future__ import annotations

from collections.abc import Sequence

from tpu_profile_plugin.analysis.environment.environment import Hardware
from tpu_profile_plugin.analysis.findings.model import Advice, Evidence, Finding, Rule, Silence
from tpu_profile_plugin.analysis.findings.run_view import RunView

SPARSE_SHARE = 0.10
"""Least share of the steps: XProf's limit."""
ADVICE = Advice(
    "Overlap embedding lookups with dense computation (pipelined embeddings), or make them smaller: fewer or narrower "
    "tables, fewer ids per step. The TensorCore does nothing until the SparseCore has finished."
)


def judge(run: RunView, _: Sequence[object]) -> Finding | Silence:
    """The verdict on the SparseCore part of the slowest steps."""
    if run.hardware is not Hardware.TPU:
        return Silence("Only TPUs have SparseCores.")
    if not len(run.slowest):
        return Silence("No steps recorded.", looked=False)
    percent = run.slowest.percent("sparse_compute")
    if percent < 100 * SPARSE_SHARE:
        return Silence(f"TensorCores wait {percent:.1f}% of the step for SparseCores.")
    lost = run.lost_in("compute", "idle_other", ps=run.budget.step_ps * percent / 100)
    return Finding(
        f"TensorCores wait {lost.share:.1%} of the {run.base} for SparseCores",
        lost.ps,
        "share of this wait in the steps of the slowest host, times the average step",
        "medium",
        (Evidence("Waiting for SparseCores, of the step on its slowest host", percent, "%"),),
        ADVICE,
        segments=lost.segments,
    )


RULE = Rule("sparse_core_wait", "Waiting for SparseCores", judge)
