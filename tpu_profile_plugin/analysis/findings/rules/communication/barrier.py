"""TensorCores wait at barriers for others.

Fires if TensorCores spend at least {BARRIER_PERCENT:.0f}% of the step at barriers, on average over complete steps and
cores: XProf's limit. Hosts that differ from the others are named.

Look for a host or core that arrives late: uneven batches, slow input on one host, a slow network link.
"""

from __future__ import annotations

from collections.abc import Sequence

from tpu_profile_plugin.analysis.communication.barriers import BarrierTime, barrier_time, barriers, may_have_barriers
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.findings.model import Evidence, Finding, Rule, Silence
from tpu_profile_plugin.analysis.findings.part_advice import PARTS
from tpu_profile_plugin.analysis.findings.places import TIMELINE, timeline
from tpu_profile_plugin.analysis.findings.run_view import RunView
from tpu_profile_plugin.units import PS_PER_MS

BARRIER_PERCENT = 10.0
"""Percent of the step at barriers, as in XProf's BarrierCoresRule."""

ADVICE = PARTS["barriers"]


def gather(host: HostView) -> BarrierTime | None:
    """The barriers of one host; None without any."""
    if host.pre is None or not may_have_barriers(host.space):
        return None
    return barrier_time(host.space, host.pre, host.name)


def judge(run: RunView, gathered: Sequence[BarrierTime | None]) -> Finding | Silence:
    """The verdict on the barriers of all hosts."""
    known = run.present(gathered)
    if not known:
        return Silence("No barriers of TensorCores recorded.")
    barrier = barriers([one for one, _ in known])
    if barrier.percent < BARRIER_PERCENT:
        return Silence(f"TensorCores wait at barriers {barrier.percent:.1f}% of the step.")
    longest, host = max(known, key=lambda one: one[0].longest[1] - one[0].longest[0])
    where = timeline(host, *longest.longest, "barrier-cores")
    length = (longest.longest[1] - longest.longest[0]) / PS_PER_MS
    evidence = [
        Evidence("At barriers, of the step", barrier.percent, "%"),
        Evidence("Longest wait at a barrier", length, "ms", TIMELINE, where),
    ]
    evidence += [Evidence(f"At barriers on {name}, of the step", one, "%") for name, one in barrier.outliers[:5]]
    late = f"; {barrier.outliers[0][0]} differs from the others" if barrier.outliers else ""
    lost = run.lost_in("device_compute", "collectives", ps=barrier.percent / 100 * run.budget.step_ps)
    return Finding(
        f"TensorCores wait at barriers {lost.share:.1%} of the {run.base}{late}",
        lost.ps,
        "time of barrier-cores events as a share of the step, over cores and complete steps, times the average step",
        "high" if barrier.outliers else "medium",
        tuple(evidence),
        ADVICE,
        segments=lost.segments,
    )


RULE = Rule("barrier", "Waiting at barriers", judge, gather)
