"""Recording slows the program: what the steps show is partly the profiler.

Fires if recording takes at least {TRACING_SHARE:.0%} of the time from step to step. What an event costs is measured in
the profile: from how quickly events follow each other where the program does hardly anything else; only events count
that devices wait for. Python 3.11 also runs code without calls 1.5 times as long meanwhile, which no event shows.

Record again with less and compare the steps. Savings of other findings leave the cost out.
"""

from __future__ import annotations

from collections.abc import Sequence

from tpu_profile_plugin.analysis.findings.evidence.host.recording_cost import RecordingCost, recording_cost
from tpu_profile_plugin.analysis.findings.lost import Lost
from tpu_profile_plugin.analysis.findings.model import Evidence, Finding, Rule, Silence
from tpu_profile_plugin.analysis.findings.part_advice import PARTS
from tpu_profile_plugin.analysis.findings.places import TIMELINE, timeline
from tpu_profile_plugin.analysis.findings.run_view import RunView
from tpu_profile_plugin.units import PS_PER_MS, PS_PER_US

TRACING_SHARE = 0.10
"""Share of the step: less changes no order of causes, and the estimate is no better than that."""

FRAMES = PARTS["recorded functions"]
"""If calls of Python functions cost most."""
EVENTS = PARTS["recorded events"]
"""If ops and other events cost most."""


def judge(run: RunView, gathered: Sequence[RecordingCost | None]) -> Finding | Silence:
    """The verdict on all hosts; the program itself loses nothing, so that there is no saving."""
    known = run.present(gathered)
    if not known:
        return Silence(
            "Devices hardly wait for the host, or its events are too few or too far apart to tell what recording costs."
        )
    lost = run.located([one.by_part for one, _ in known])
    worst, host = max(known, key=lambda one: one[0].ps)
    if lost.share < TRACING_SHARE:
        return Silence(f"Recording takes about {lost.share:.1%} of the {run.base}.")
    events = f"{worst.frames:,.0f} calls of Python functions" if worst.of_frames else f"{worst.others:,.0f} events"
    return Finding(
        f"About {lost.share:.1%} of the {run.base} is the recording itself, of {events} per {run.per}",
        0,
        "no cost without the profiler",
        "medium",
        (*_evidence(run, lost, worst, host),),
        FRAMES if worst.of_frames else EVENTS,
        (host,),
    )


def _evidence(run: RunView, lost: Lost, worst: RecordingCost, host: str) -> list[Evidence]:
    interval = [min(factor * lost.share, 1.0) for factor in (worst.least, worst.most)]
    evidence = [
        Evidence(f"Recording, of the {run.base} (estimated)", 100 * lost.share, "%"),
        Evidence(f"The same, from least to most, of the {run.base}", "{:.0%} to {:.0%}".format(*interval)),
        Evidence(f"Recording per {run.per}", lost.ps / PS_PER_MS, "ms"),
    ]
    kinds = (
        ("Calls of Python functions", "call", worst.frames, worst.frame_ps),
        ("Other events of the main thread", "other event", worst.others, worst.other_ps),
    )
    for what, each, count, cost_ps in kinds:
        if count * cost_ps:
            where = timeline(host, *worst.window)
            evidence.append(Evidence(f"{what} per {run.per}", round(count), "", TIMELINE, where))
            evidence.append(Evidence(f"Cost of each {each}, as measured in this profile", cost_ps / PS_PER_US, "us"))
    return evidence


RULE = Rule("tracing_overhead", "The cost of recording", judge, recording_cost)
