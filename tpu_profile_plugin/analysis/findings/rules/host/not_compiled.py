"""A step consists of very many tiny programs or eager ops: it is not compiled as a whole.

Fires if dozens of tiny programs or eager ops of several kinds run per step and device, devices are mostly idle, and
idle time between them takes at least {LEAST_SHARE:.0%} of the time from step to step.

Compile the whole step as one program.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tpu_profile_plugin.analysis.budget.purpose import Purpose
from tpu_profile_plugin.analysis.common.reasons import NO_DEVICE
from tpu_profile_plugin.analysis.devices.launched import Launched
from tpu_profile_plugin.analysis.findings.evidence.host.calls import calls_of
from tpu_profile_plugin.analysis.findings.evidence.host.launched import (
    BETWEEN_PROGRAMS,
    BUSY,
    is_uncompiled,
    launched_by,
    starved,
)
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.findings.kinds import KINDS
from tpu_profile_plugin.analysis.findings.lost import LEAST_SHARE
from tpu_profile_plugin.analysis.findings.model import Evidence, Finding, Rule, Silence, lacks
from tpu_profile_plugin.analysis.findings.part_advice import PARTS, SUMMARIES
from tpu_profile_plugin.analysis.findings.places import TIMELINE, event, share_of, shown, timeline
from tpu_profile_plugin.analysis.findings.rules.host.slow_host_code import slow_code
from tpu_profile_plugin.analysis.findings.run_view import RunView
from tpu_profile_plugin.units import PS_PER_US

ADVICE = PARTS["not compiled"]

_ITERATOR = re.compile(r"MakeIterator|AnonymousIterator")
"""Ops of calls that make an iterator for a few batches, such as `predict` in each step."""
_OF_SUMMARY = 80
"""Eager ops of a summary: a scalar has few, a histogram 73."""


def gather(host: HostView) -> tuple[Launched, float, str] | None:
    """Launches of a host's steps, idle time between them per step and device, and what runs them, "" if unknown.

    Idle time is without what slow code of other functions takes. None if the budget alone tells that devices are not
    starved between programs.
    """
    if not starved(host) or host.steps is None:
        return None
    launches = launched_by(host, host.steps)
    if not is_uncompiled(launches):
        return launches, 0.0, ""
    slow = slow_code(host, launches)
    lost = max(launches.short_ps, launches.idle_ps - (slow.ps if slow is not None else 0))
    return launches, lost, calls_of(host).calling(launches.at_ps)


def judge(run: RunView, gathered: Sequence[tuple[Launched, float, str] | None]) -> Finding | Silence:
    """The verdict on the host with most launches per step."""
    if not run.has_devices:
        return lacks(NO_DEVICE)
    busy = run.share(sum(map(run.part_ps, BUSY)))
    known = run.present(gathered)
    if not known:
        return Silence(f"Devices work {busy:.1%} of the {run.base}; the rest is not due to many launches.")
    (launches, _, function), host = max(known, key=lambda one: one[0][0].per_step)
    what = "eager ops" if launches.eager else "programs"
    numbers = f"{launches.per_step:,.0f} {what} of {launches.distinct} kinds run per {run.per} and device"
    if not is_uncompiled(launches):
        return Silence(f"{numbers}; devices work {busy:.1%} of the {run.base}.")
    lost = run.lost_in(*BETWEEN_PROGRAMS, ps=sum(lost_ps for (_, lost_ps, _), _ in known) / run.cells)
    if lost.share < LEAST_SHARE:
        return Silence(f"{numbers}; between them devices are idle {lost.share:.1%} of the {run.base}.")
    by = f" by {shown(function)}" if function else ""
    named = f" ({', '.join(launches.ops)})" if launches.ops else ""
    count = Evidence(
        f"{what.capitalize()} per {run.per} and device", round(launches.per_step, 1), "", TIMELINE,
        timeline(host, *launches.window),
    )  # fmt: skip
    summaries = _OF_SUMMARY * launches.summaries >= launches.per_step > 0
    why = f"for {launches.summaries:,.0f} summaries" if summaries else "not compiled as a whole"
    iterators = any(map(_ITERATOR.match, launches.ops))
    return Finding(
        f"{launches.per_step:,.0f} {what}{named} per {run.per} are launched one by one{by}, {why}",
        lost.ps,
        "idle time between two runs, without waits for input and for slow code of other functions, per step and device",
        "high",
        (
            share_of(f"Devices idle between {what}", lost, run.base),
            count,
            *([event("Function that runs them", host, launches.window, function)] if function else []),
            Evidence(f"Kinds of {what}", launches.distinct),
            Evidence("Median duration of an op", launches.median_ps / PS_PER_US, "us"),
            share_of("Device compute", run.lost_in("device_compute"), run.base),
        ),
        SUMMARIES if summaries else KINDS[Purpose.ITERATOR].advice if iterators else ADVICE,
        (host,),
        lost.segments,
    )


RULE = Rule("not_compiled", "Operations outside compiled programs", judge, gather)
