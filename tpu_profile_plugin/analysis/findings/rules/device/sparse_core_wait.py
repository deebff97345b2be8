"""TensorCores wait for a SparseCore for much of the step.

Fires if ops that wait for it take at least {SPARSE_SHARE:.0%} of the steps: XProf's limit for a high share.

Overlap embedding lookups with dense computation, or make them smaller.
"""

from __future__ import annotations

from collections.abc import Sequence

from tpu_profile_plugin.analysis.common.reasons import NO_STEPS
from tpu_profile_plugin.analysis.environment.environment import Hardware
from tpu_profile_plugin.analysis.findings.evidence.device.op_kinds import OpKind, run_kind
from tpu_profile_plugin.analysis.findings.evidence.device.op_work import work_of
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.findings.model import Evidence, Finding, Rule, Silence, lacks
from tpu_profile_plugin.analysis.findings.part_advice import PARTS
from tpu_profile_plugin.analysis.findings.places import costs
from tpu_profile_plugin.analysis.findings.run_view import RunView
from tpu_profile_plugin.analysis.steps.step_table import PART_OF_CATEGORY, TpuPart

SPARSE_SHARE = 0.10
"""Least share of the steps: XProf's limit."""
_OTHERS = Silence("Only TPUs have SparseCores.")
ADVICE = PARTS["waits for sparse cores"]


def gather(host: HostView) -> OpKind | Silence:
    """The waits of one host's TensorCores.

    Where the input of a SparseCore is recorded, the wait is what that takes longer than the output.
    """
    if host.summary.environment.hardware is not Hardware.TPU:
        return _OTHERS
    times = dict.fromkeys((TpuPart.SPARSE_INFEED, TpuPart.SPARSE_OUTFEED, TpuPart.SPARSE_WAIT), 0)
    for part in times:
        rows = [row for row, category in enumerate(host.ops.category) if PART_OF_CATEGORY.get(category) is part]
        times[part] = int(host.ops.self_ps[rows].sum())
    infeed, outfeed, wait = times.values()
    wait = infeed - min(infeed, outfeed) if infeed else wait
    whole = work_of(host).counted_ps + wait
    return OpKind(whole, wait, wait, wait / max(whole, 1))


def judge(run: RunView, parts: Sequence[OpKind | Silence]) -> Finding | Silence:
    """The verdict on the waits of all hosts."""
    found = run_kind(run, parts, moves=False)
    if isinstance(found, Silence):
        return found
    if run.whole_recording or not run.steps:
        return lacks(NO_STEPS, "No steps recorded.")
    lost = found.lost
    of_step = lost.ps / run.budget.step_ps if run.budget.step_ps else 0.0
    if of_step < SPARSE_SHARE:
        return Silence(f"TensorCores wait {of_step:.1%} of the step for SparseCores.")
    return Finding(
        f"TensorCores wait {lost.share:.1%} of the {run.base} for SparseCores",
        lost.ps,
        "device compute times the share of these waits in the ops' time",
        "medium",
        (
            *costs(run, "Waiting for SparseCores", lost),
            Evidence("Waiting for SparseCores, of the step", 100 * of_step, "%"),
        ),
        ADVICE,
        segments=lost.segments,
    )


RULE = Rule("sparse_core_wait", "Waiting for SparseCores", judge, gather)
