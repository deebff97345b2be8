"""Collectives that no computation hides take much of the step."""

from __future__ import annotations

from collections.abc import Sequence

from tpu_profile_plugin.analysis.budget.categories import EXPOSED_COMMUNICATION
from tpu_profile_plugin.analysis.findings.model import Advice, Evidence, Finding, Rule, Silence
from tpu_profile_plugin.analysis.findings.run_view import RunView
from tpu_profile_plugin.analysis.findings.thresholds import EXPOSED_SHARE
from tpu_profile_plugin.units import PS_PER_MS

ADVICE = Advice(
    "Overlap the collective with computation that does not need its result, or send less: fewer bytes per element, "
    "larger and fewer messages, another sharding. A collective that nothing hides costs its whole time."
)


def judge(run: RunView, _: Sequence[object]) -> Finding | Silence:
    """Speaks if exposed communication, without waits for other devices, takes `EXPOSED_SHARE` of the step."""
    lost = run.part_ps(EXPOSED_COMMUNICATION)
    share = run.share(lost)
    if not run.communication.sums:
        return Silence("The profile has no collective.", looked=bool(run.budget.devices))
    if share < EXPOSED_SHARE:
        return Silence(f"Exposed communication takes {share:.1%} of the {run.base}.")
    most = run.communication.sums[0]
    evidence = (
        Evidence(f"Exposed communication, of the {run.base}", 100 * share, "%", "time_budget"),
        Evidence("Exposed communication per step", lost / PS_PER_MS, "ms", "time_budget"),
        Evidence("Most of it in", most.key.name, "", "communication"),
    )
    return Finding(
        f"Communication that nothing hides takes {share:.1%} of the {run.base}, most of it in {most.key.name}",
        lost,
        "exposed communication per step and device, waits for other devices left out",
        "high",
        evidence,
        ADVICE,
    )


RULE = Rule("exposed_communication", "Exposed communication", judge)
