"""The profile has no markers of steps: steps are inferred or missing.

Fires if steps are inferred from an event without step numbers, if the whole recording counts as one step, or if there
are no steps.

Mark each step of the training loop.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.findings.model import Evidence, Finding, Rule, Silence
from tpu_profile_plugin.analysis.findings.part_advice import PARTS
from tpu_profile_plugin.analysis.findings.run_view import RunView
from tpu_profile_plugin.analysis.memory.allocations import has_only_allocations
from tpu_profile_plugin.columns import EventFilter
from tpu_profile_plugin.columns import stats as read
from tpu_profile_plugin.units import PS_PER_MS

ADVICE = PARTS["steps not marked"]


def gather(host: HostView) -> bool | None:
    """Whether the event that steps were inferred from has step numbers: groups may leave such marks out.

    None if nothing but allocations was recorded, as by a memory snapshot.
    """
    steps, plane = host.steps, host.plane
    if plane is not None and has_only_allocations(plane.declared):
        return None
    if steps is None or steps.evidence is None or plane is None or plane.declared.stat_metadata.row("step_num") is None:
        return False
    name = steps.evidence.event
    if not plane.decoded:
        (plane,) = host.space.filtered(EventFilter(plane, event=name.__eq__))
    _, known = read.ints(host.space, plane, plane.events.stats, "step_num")
    named = np.array([one == name for one in plane.event_metadata.names], np.bool_)
    return bool(named[plane.events.metadata[known]].any())


def judge(run: RunView, gathered: Sequence[bool | None]) -> Finding | Silence:
    """The verdict on where the steps come from."""
    sources, evidence = run.budget.sources, run.budget.evidence
    marked = len(run.summary.merged_steps) or any(one is not None for one in run.summary.recordings)
    if not run.has_devices and gathered and all(one is None for one in gathered):
        return Silence("Nothing but allocations was recorded.")
    if not run.has_devices and evidence is None:
        return Silence("Steps are marked.") if marked else _found("The profile has no steps", ())
    if evidence is not None:
        if any(gathered) or not run.inferred:
            return Silence(f"{evidence.event} marks {run.steps + run.budget.left_out} steps.")
        proofs = (
            Evidence("Event that steps are inferred from", evidence.event, "", "time_budget"),
            Evidence("Occurrences of this event", evidence.occurrences, "", "overview_page"),
        )
        return _found(f"Steps are not marked; they are inferred from {evidence.event}", proofs)
    if "recording" in sources:
        length = Evidence("Length of the recording", run.budget.step_ps / PS_PER_MS, "ms", "time_budget")
        return _found("Steps are not marked; the whole recording counts as one step", (length,))
    return Silence(f"{run.steps + run.budget.left_out} steps are marked.")


def _found(title: str, evidence: tuple[Evidence, ...]) -> Finding:
    return Finding(title, 0, "no direct cost", "high", evidence, ADVICE)


RULE = Rule("steps_not_marked", "Missing step markers", judge, gather, general=True)
