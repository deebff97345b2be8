"""The device is busy, but neither its matrix units nor the bandwidth of its memory are used well.

Fires if devices compute at least {BUSY_SHARE:.0%} of the time from step to step, use matrix units below
{LOW_MATRIX:.0f}% and HBM below {LOW_HBM:.0f}% of their peaks meanwhile, and reaching these limits would save at least
{LEAST_SHARE:.0%}. Costs of ops must be known for {KNOWN_SHARE:.0%} of their time, unless counters were recorded. It
names the op that is farthest from the limits.

Give each op more to do: a larger batch, fewer and larger ops, products of larger matrices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tpu_profile_plugin.analysis.common.reasons import NO_PEAKS
from tpu_profile_plugin.analysis.environment.environment import Peaks
from tpu_profile_plugin.analysis.findings.evidence.device.op_kinds import OpKind, op_kind, run_kind
from tpu_profile_plugin.analysis.findings.evidence.device.op_work import OpWork, work_of
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.findings.lost import LEAST_SHARE
from tpu_profile_plugin.analysis.findings.model import Evidence, Finding, Rule, Silence, lacks
from tpu_profile_plugin.analysis.findings.part_advice import PARTS
from tpu_profile_plugin.analysis.findings.run_view import RunView
from tpu_profile_plugin.analysis.ops.op_nature import Nature
from tpu_profile_plugin.analysis.summary.use import KNOWN_SHARE, LOW_HBM, LOW_MATRIX
from tpu_profile_plugin.columns.arrays import F64
from tpu_profile_plugin.units import PS_PER_US

BUSY_SHARE = 0.5
"""Least share of device compute: a device that is idle for longer has other causes to remove first."""
TINY_US = 5.0
"""An op's begin and end take one to two microseconds on TPUs and GPUs: in shorter ops they are much of the time."""
_VECTOR = 50.0
"""Times that the matrix units are faster than the units for other arithmetic: 16 (GPUs) to 50 (TPUs). The larger one
never blames arithmetic that only these can do."""
_MATRIX, _OTHER, _TINY = "small products", "slow ops", "tiny ops"
_UNKNOWN = lacks(NO_PEAKS, "The peak rates of the devices, or the costs of their ops, are unknown.")


def gather(host: HostView) -> OpKind | Silence:
    """How far the ops of a host are from the limits; the op that is farthest."""
    peaks, work = host.summary.peaks, work_of(host)
    rows = np.array([op.index for op in work.read], np.int64)
    if not host.summary.has_device or not peaks.tera_flops or not peaks.hbm or not len(rows):
        return _UNKNOWN
    known, at_limit = _at_limits(work, peaks)
    spent, runs = work.table.self_ps[rows].astype(np.float64), np.maximum(work.table.occurrences[rows], 1)
    recorded = host.summary.mxu_percent > 0 and host.summary.hbm_percent > 0
    if not recorded and spent[known].sum() < KNOWN_SHARE * work.counted_ps:
        return _UNKNOWN
    slack = np.where(known, spent - at_limit, 0.0)
    matrix = np.array([op.nature is Nature.MATRIX for op in work.read], np.bool_)
    tiny = spent / runs < TINY_US * PS_PER_US
    parts = {_TINY: tiny, _MATRIX: matrix & ~tiny, _OTHER: ~matrix & ~tiny}
    most = max(parts, key=lambda kind: float(np.maximum(slack, 0.0)[parts[kind]].sum()))
    farthest = [work.read[int(slack.argmax())]] if slack.max() > 0 else []
    kind = op_kind(host, farthest, LEAST_SHARE, float(slack.sum()))
    mean = Evidence("Mean length of an op", float(spent.sum() / runs.sum()) / PS_PER_US, "us")
    return replace(kind, evidence=(mean,), advice=PARTS[most])


def _at_limits(work: OpWork, peaks: Peaks) -> tuple[F64, F64]:
    """Whether the cost of each op that was read is known, and the ps that its work takes at the limits of both peaks.

    Custom calls without FLOPs have costs that are unknown. Arithmetic outside of the matrix units is as much slower.
    """
    rows = np.array([op.index for op in work.read], np.int64)
    flops, accessed = work.table.flops[rows], work.table.bytes[rows]
    custom = np.array([op.does == "custom-call" for op in work.read], np.bool_)
    matrix = np.array([op.nature is Nature.MATRIX for op in work.read], np.bool_)
    compute = np.where(matrix, 1.0, _VECTOR) * flops / (peaks.tera_flops * LOW_MATRIX / 100)
    memory = 1e3 * accessed / (peaks.hbm * LOW_HBM / 100)
    known = np.where(custom | matrix, flops > 0, flops + accessed > 0)
    return known, np.maximum(compute, memory)


def judge(run: RunView, parts: Sequence[OpKind | Silence]) -> Finding | Silence:
    """The verdict on all hosts."""
    use, found = run.use_while_busy, run_kind(run, parts, moves=False)
    if use is None or isinstance(found, Silence):
        return _UNKNOWN
    numbers, label = use.sentence, f"{use.memory[0].upper()}{use.memory[1:]}"
    compute_ps = run.part_ps("compute")
    lost, busy, how = found.lost, run.share(compute_ps), ", estimated from the costs of ops"
    if use.recorded:
        lost, how = run.lost_in("compute", ps=compute_ps * (1 - max(use.matrix / LOW_MATRIX, use.hbm / LOW_HBM))), ""
    if busy < BUSY_SHARE or lost.share < LEAST_SHARE:
        return Silence(f"Devices compute {busy:.1%} of the {run.base}; meanwhile {numbers}.")
    return Finding(
        f"Devices compute far below their speed, which costs up to {lost.share:.1%} of the {run.base}: {numbers}",
        lost.ps,
        f"time of computation, less what its work takes at {LOW_MATRIX:.0f}% of the matrix units' peak and "
        f"{LOW_HBM:.0f}% of the bandwidth",
        "medium",
        (
            Evidence(f"Matrix units while computing, of the peak{how}", use.matrix, "%"),
            Evidence(f"{label} while computing, of the peak{how}", use.hbm, "%"),
            Evidence("Ops by the resource that bounds them", "roofline", "", "roofline_model"),
            *found.kind.evidence,
            *found.kind.of_op,
        ),
        found.kind.advice,
        found.hosts,
        lost.segments,
    )


RULE = Rule(
    "low_utilization",
    "A busy device far below its peaks",
    judge,
    gather,
    implied_by=("data_movement", "buffer_copies", "conversions", "recomputation", "low_precision_unused", "padding"),
    general=True,
)
