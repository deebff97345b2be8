"""The words of the time budget: names of its parts, and notes on how to read an answer."""

from __future__ import annotations

from tpu_profile_plugin.analysis.budget.run import RunBudget

_NO_FRAMES = (
    "No Python functions were recorded, so that idle time cannot be traced to host code. Record with "
    "python_tracer_level=1."
)
_DISPATCH = (
    "Work goes on after the last step ended: the markers enclose its dispatch only. The time from the first step to "
    "the end of the work is divided evenly among the steps."
)
_RECORDING = "The profile has no steps; all of the recording counts as one. Mark steps with StepTraceAnnotation."
_INFERRED = "The profile has no step markers. Steps are inferred from {event}, which repeats {count} times."
_SHARED = (
    "The devices of the CPU backend share the host's cores. The time that a device waits for a core while others are "
    "at work counts as unexplained."
)
_UNEXPLAINED = 0.1
"""Share of the steps from which on unexplained time is worth a note."""


def notes(budget: RunBudget) -> list[str]:
    """Sentences on how to read the answer."""
    found = []
    if "dispatch" in budget.sources:
        found.append(_DISPATCH)
    if "recording" in budget.sources:
        found.append(_RECORDING)
    if budget.evidence is not None and "inferred" in budget.sources:
        found.append(_INFERRED.format(event=budget.evidence.event, count=budget.evidence.occurrences))
    length = int(budget.duration_ps.sum())
    unexplained = int(budget.time_ps[:, :, -1].sum())
    if length and unexplained >= _UNEXPLAINED * length:
        on_cpu = [device.host for device in budget.devices if device.kind == "cpu"]
        found += [_SHARED] if len(on_cpu) > len(set(on_cpu)) else []
        found += [_NO_FRAMES] if False in budget.traced else []
    return found
