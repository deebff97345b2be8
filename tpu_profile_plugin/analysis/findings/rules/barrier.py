"""TensorCores wait at barriers for others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tpu_profile_plugin.analysis.findings.model import Advice, Evidence, Finding, Rule, Silence
from tpu_profile_plugin.analysis.findings.on_device.barriers import (
    BarrierTime,
    barrier_time,
    barriers,
    may_have_barriers,
)
from tpu_profile_plugin.analysis.findings.places import TIMELINE, timeline
from tpu_profile_plugin.analysis.findings.run_view import RunView
from tpu_profile_plugin.analysis.findings.thresholds import BARRIER_PERCENT

if TYPE_CHECKING:
    from tpu_profile_plugin.analysis.findings.host_view import HostView

ADVICE = Advice(
    "Look for a host or core that is late: the others wait at the barrier until it arrives. Uneven batches, an input "
    "pipeline that is slower on one host, and a slow network link are the usual reasons.",
)


def gather(host: HostView) -> BarrierTime | None:
    """The barriers of one host; None without any."""
    if host.pre is None or not may_have_barriers(host.space):
        return None
    return barrier_time(host.space, host.pre, host.name)


def judge(run: RunView, gathered: Sequence[BarrierTime | None]) -> Finding | Silence:
    """Speaks from `BARRIER_PERCENT` of the step on average over steps and cores."""
    found = [(one, host) for one, host in zip(gathered, run.hosts, strict=True) if one is not None]
    if not found:
        return Silence("The profile has no barriers of TensorCores.")
    barrier = barriers([one for one, _ in found])
    if barrier.percent < BARRIER_PERCENT:
        return Silence(f"TensorCores are at barriers for {barrier.percent:.1f}% of the step.")
    longest, host = max(found, key=lambda one: one[0].longest[1] - one[0].longest[0])
    where = timeline(host, *longest.longest, "barrier-cores")
    evidence = [Evidence("At barriers, of the step", barrier.percent, "%", TIMELINE, where)]
    evidence += [Evidence(f"At barriers on {name}, of the step", one, "%") for name, one in barrier.outliers[:5]]
    late = f"; {barrier.outliers[0][0]} differs from the others" if barrier.outliers else ""
    return Finding(
        f"TensorCores wait at barriers for {barrier.percent:.1f}% of the step{late}",
        round(barrier.percent / 100 * run.step_ps),
        "time of barrier-cores events as a share of the step, over cores and complete steps, times the average step",
        "high" if barrier.outliers else "medium",
        tuple(evidence),
        ADVICE,
    )


RULE = Rule("barrier", "Waiting at barriers", judge, gather)
