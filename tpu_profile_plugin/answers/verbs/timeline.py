"""The verb `timeline`: what ran in a window of time, on devices and threads."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated

import numpy as np

from tpu_profile_plugin.analysis.common.reasons import SESSION
from tpu_profile_plugin.answers.answer import Answer, Link, Next, distinct_ids
from tpu_profile_plugin.answers.verb import Asked, verb
from tpu_profile_plugin.answers.verbs.ops import op_ids
from tpu_profile_plugin.errors import BadRequest, NoData
from tpu_profile_plugin.opening import OpenRun
from tpu_profile_plugin.run.catalogue.events import ANSWERED
from tpu_profile_plugin.run.figures.timeline import Timeline
from tpu_profile_plugin.tables.table import Table
from tpu_profile_plugin.units import PS_PER_MS

_BASE = "of the length of the window, averaged over the lines; above 100 where events of a line overlap (asynchronous)"
_CLOCKS = "The window is cut from each host's own clock, which may differ: ask for one host."
_FARTHEST_MS = 2.0**62 / PS_PER_MS
_MOST_IN_ID = 200
_MOST_OPS, _LOOKED_AT = 3, 50


def timeline(
    asked: Asked,
    *,
    from_: Annotated[float, "Begin of the window in ms, on the axis of the trace viewer."] = 0.0,
    to: Annotated[float, "End of the window in ms; 0 for the end of the recording."] = 0.0,
    find: Annotated[str, "Only events whose name has this text, in any case."] = "",
) -> Answer:
    """What ran in a window, by name, on devices and threads: in the slowest step if no window is given.

    Without steps, the window is the longest time in which a device is idle, else the whole recording.
    """
    run = asked.run
    begin, end, what = _window(run, from_, to)
    try:
        found = run.timeline(begin, end, find)
    except BadRequest as error:
        raise BadRequest(error.message, argument="from", choices=[]) from None
    facts: dict[str, str | int] = {
        "window": what,
        "from_ps": found.begin_ps,
        "to_ps": found.end_ps,
        "window_ps": found.end_ps - found.begin_ps,
        "names_found": len(found),
    }
    if len(run.hosts) > 1:
        facts["note"] = _CLOCKS
    link = {"window": f"{found.begin_ps},{found.end_ps}", **({"find": find} if find else {})}
    return Answer(Link("trace_viewer@", link), facts, _rows(found), _BASE, _further(run, found, find))


def _window(run: OpenRun, from_: float, to: float) -> tuple[int | None, int | None, str]:
    """Begin and end in ps, None for those of the recording, and what they are."""
    for name, value in (("from", from_), ("to", to)):
        if abs(value) > _FARTHEST_MS:
            raise BadRequest(f"{name} is beyond the longest possible profile.", argument=name, choices=[])
    if from_ or to:
        if to and to <= from_:
            raise BadRequest(f"to must be after from ({from_:g} ms), not {to:g}.", argument="to", choices=[])
        return round(from_ * PS_PER_MS) if from_ else None, round(to * PS_PER_MS) if to else None, "as asked"
    with suppress(NoData):
        steps = run.steps()
        at = int(np.argmax(steps.duration_ps))
        begin = int(steps.begin_ps[at])
        return begin, begin + round(float(steps.duration_ps[at])), f"step {steps.name[at]}, the slowest"
    with suppress(NoData):
        gaps = run.gaps()
        if len(gaps):
            begin = int(gaps.begin_ps[0])
            return begin, begin + int(gaps.duration_ps[0]), f"the longest gap, of {gaps.device[0]}"
    return None, None, "the whole recording"


def _rows(found: Timeline) -> Table:
    table = found.table
    ids = distinct_ids(f"{name[:_MOST_IN_ID]} @ {where}" for name, where in zip(found.name, found.where, strict=True))
    return Table(ANSWERED, [ids, *(table[column.id] for column in ANSWERED[1:])], name="events")


def _further(run: OpenRun, found: Timeline, find: str) -> tuple[Next, ...]:
    """The ops with most time, the whole window, idle times, and the average step."""
    ids = op_ids(run, found.name[:_LOOKED_AT])[:_MOST_OPS]
    further = [Next("op", {"name": id_}, "its times, shapes and source") for id_ in ids]
    if find:
        arguments = {"from": found.begin_ps / PS_PER_MS, "to": found.end_ps / PS_PER_MS}
        further.append(Next("timeline", arguments, "everything that ran in this window"))
    with suppress(NoData):
        if len(run.gaps()):
            further.append(Next("gaps", {}, "when devices are idle, and the host call under each gap"))
    further.append(Next("budget", {}, "what the average step consists of"))
    return tuple(further)


VERB = verb(timeline, needs=SESSION)
