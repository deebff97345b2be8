"""Markers of steps enclose only the dispatch of work, which continues after them.

Fires if work continues long after the last marker has ended. Its time is then divided evenly among the steps.

Nothing needs to change for speed. For exact step times, wait for the result inside the marker.
"""

from __future__ import annotations

from collections.abc import Sequence

from tpu_profile_plugin.analysis.common.reasons import NO_DEVICE
from tpu_profile_plugin.analysis.findings.model import Evidence, Finding, Rule, Silence, lacks
from tpu_profile_plugin.analysis.findings.part_advice import PARTS
from tpu_profile_plugin.analysis.findings.run_view import RunView
from tpu_profile_plugin.units import PS_PER_MS

ADVICE = PARTS["dispatch-only steps"]


def judge(run: RunView, _: Sequence[object]) -> Finding | Silence:
    """The verdict on markers and the end of the work."""
    known = [(one.dispatch, name) for one, name in zip(run.summary.recordings, run.hosts, strict=False)
             if one is not None and one.dispatch is not None]  # fmt: skip
    if "dispatch" not in run.budget.sources:
        return lacks(NO_DEVICE, "Work ends with the markers of the steps.", unless=run.steps > 0)
    evidence = [Evidence("Average step, from the devices' work", run.budget.step_ps / PS_PER_MS, "ms", "time_budget")]
    if known:
        dispatch, host = max(known, key=lambda one: one[0].work_ps)
        page = {"host": host}
        evidence += [
            Evidence("From the first marker to the end of the last", dispatch.steps_ps / PS_PER_MS, "ms",
                     "overview_page", page),
            Evidence("From the first marker to the end of the work", dispatch.work_ps / PS_PER_MS, "ms",
                     "overview_page", page),
        ]  # fmt: skip
    return Finding(
        "Step markers enclose only the dispatch of work; the time until its end is divided evenly among the steps",
        0,
        "no direct cost",
        "high",
        tuple(evidence),
        ADVICE,
    )


RULE = Rule("dispatch_only_steps", "Steps that are only dispatch", judge)
