"""The matrix units, or the bandwidth of the device's memory, are what limits the program.

Fires as `compute_bound` if matrix units run above {BUSY_PERCENT:.0f}% of their peak and HBM below {FREE_PERCENT:.0f}%,
as `memory_bound` the other way round: XProf's limits. Counters are used where recorded, else costs of ops.

Arithmetic: use fewer bits or less of it. Bandwidth: move fewer bytes per computed value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tpu_profile_plugin.analysis.common.reasons import NO_PEAKS
from tpu_profile_plugin.analysis.findings.model import Advice, Evidence, Finding, Rule, Silence, lacks
from tpu_profile_plugin.analysis.findings.part_advice import PARTS
from tpu_profile_plugin.analysis.findings.run_view import RunView

BUSY_PERCENT, FREE_PERCENT = 70.0, 50.0
"""Percent of a peak above which a resource limits a program, and below which the other one is free: XProf's limits."""
ARITHMETIC = PARTS["compute bound"]
BANDWIDTH = PARTS["memory bound"]


@dataclass(frozen=True, slots=True)
class _Limit:
    """What limits a program, and the resource that is then busy, in titles and labels."""

    limit: str
    resource: str
    label: str
    advice: Advice


_MATRIX = _Limit("arithmetic", "matrix units at {:.1f}% of their peak", "Matrix units", ARITHMETIC)
_HBM = _Limit("memory bandwidth", "HBM at {:.1f}% of its peak", "HBM bandwidth", BANDWIDTH)
_MEMORY = replace(_HBM, resource="{:.1f}% of its peak", label="Memory bandwidth")
"""By the costs of ops, which count the traffic of all memories."""


def judge_compute(run: RunView, _: Sequence[object]) -> Finding | Silence:
    """Whether the matrix units limit the program."""
    return _judge(run, _MATRIX, _memory(run))


def judge_memory(run: RunView, _: Sequence[object]) -> Finding | Silence:
    """Whether the bandwidth of the device's memory limits the program."""
    return _judge(run, _memory(run), _MATRIX)


def _memory(run: RunView) -> _Limit:
    return _MEMORY if run.use is not None and not run.use.recorded else _HBM


def _judge(run: RunView, busy: _Limit, free: _Limit) -> Finding | Silence:
    """Fires if the one resource is busy and the other is not."""
    use = run.use
    if use is None:
        return lacks(NO_PEAKS, "The use of matrix units and memory bandwidth is unknown.")
    used = {_MATRIX.limit: use.matrix, _HBM.limit: use.hbm}
    if used[busy.limit] <= BUSY_PERCENT or used[free.limit] >= FREE_PERCENT:
        return Silence(f"The {use.sentence}.")
    how = "" if use.recorded else ", estimated from the costs of ops"
    return Finding(
        f"Limited by {busy.limit}: {busy.resource.format(used[busy.limit])}",
        0,
        "no direct cost: what limits the program",
        "high" if use.recorded else "medium",
        (
            *(Evidence(f"{it.label}, of the peak{how}", used[it.limit], "%", "overview_page") for it in (busy, free)),
            Evidence("Ops by the resource that bounds them", "roofline", "", "roofline_model"),
        ),
        busy.advice,
    )


COMPUTE_BOUND = Rule("compute_bound", "Limited by arithmetic", judge_compute)
MEMORY_BOUND = Rule("memory_bound", "Limited by memory bandwidth", judge_memory)
