"""The verb `timeline`: what ran in a window of time, on which device or thread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import numpy as np

from tpu_profile_plugin.answers.answer import Answer, Link, Next
from tpu_profile_plugin.answers.verb import Asked, verb
from tpu_profile_plugin.errors import BadRequest, NoData
from tpu_profile_plugin.opening import OpenRun
from tpu_profile_plugin.run.figures.timeline import Timeline
from tpu_profile_plugin.tables.table import Table, texts
from tpu_profile_plugin.units import PS_PER_MS

_ID = texts("id", "Id", "Name of the events and their line.")
_COLUMNS = ("count", "self_ps", "percent", "total_ps", "longest_ps")
_BASE = "of the length of the window, per line; events of asynchronous lines overlap, so theirs may be above 100"
_FARTHEST_MS = 2.0**62 / PS_PER_MS
_MOST_IN_ID = 200
_MOST_OPS = 3


def timeline(
    asked: Asked,
    *,
    from_: Annotated[float, "Begin of the window in ms, on the axis of the trace viewer."] = 0.0,
    to: Annotated[float, "End of the window in ms; 0 for the end of the recording."] = 0.0,
    find: Annotated[str, "Only events whose name has this text, in any case."] = "",
) -> Answer:
    """What ran in a window, by device or thread and name: the slowest step if no window is given.

    Without steps, the window is the longest time in which a device is idle, else the whole recording.
    """
    begin, end, what = _window(asked.run, from_, to)
    try:
        found = asked.run.timeline(begin, end, find)
    except BadRequest as error:
        raise BadRequest(error.message, argument="from", choices=[]) from None
    facts = {
        "window": what,
        "from_ps": found.begin_ps,
        "to_ps": found.end_ps,
        "window_ps": found.end_ps - found.begin_ps,
        "main_threads": [_place(found, host, line) for host, line in list(found.main.items())[:8]],
        "names_found": len(found),
    }
    link = {"window": f"{found.begin_ps},{found.end_ps}", **({"find": find} if find else {})}
    return Answer(Link("trace_viewer@", link), facts, _table(found), _BASE, _further(found, find))


def _window(run: OpenRun, from_: float, to: float) -> tuple[int | None, int | None, str]:
    """Begin and end in ps, None for those of the recording, and what they are."""
    for name, value in (("from", from_), ("to", to)):
        if abs(value) > _FARTHEST_MS:
            raise BadRequest(f"{name} is beyond the longest possible profile.", argument=name, choices=[])
    if from_ or to:
        if to and to <= from_:
            raise BadRequest(f"to must be after from ({from_:g} ms), not {to:g}.", argument="to", choices=[])
        begin = round(from_ * PS_PER_MS) if from_ else None
        return begin, round(to * PS_PER_MS) if to else None, "as asked"
    try:
        steps = run.steps()
        at = int(np.argmax(steps.duration_ps))
        begin = int(steps.begin_ps[at])
        return begin, begin + round(float(steps.duration_ps[at])), f"step {steps.name[at]}, the slowest"
    except NoData:
        pass
    try:
        gaps = run.gaps()
        if len(gaps):
            begin = int(gaps.begin_ps[0])
            return begin, begin + int(gaps.duration_ps[0]), f"the longest gap, of {gaps.device[0]}"
    except NoData:
        pass
    return None, None, "the whole recording"


def _place(found: Timeline, host: str, line: str) -> str:
    return f"{host} {line}" if len(set(found.host)) > 1 else line


def _table(found: Timeline) -> Table:
    table = found.table
    several = len(set(found.host)) > 1
    names: dict[str, int] = {}
    ids = []
    for host, line, name in zip(found.host, found.line, found.name, strict=True):
        id_ = f"{name[:_MOST_IN_ID]} @ {f'{host} {line}' if several else line}"
        names[id_] = number = names.get(id_, 0) + 1
        ids.append(id_ if number == 1 else f"{id_} ({number})")
    columns = [column for column in table.columns if column.id in _COLUMNS]
    return Table((_ID, *columns), [ids, *(table[column.id] for column in columns)], name="lines")


def _further(found: Timeline, find: str) -> tuple[Next, ...]:
    """The ops with most time, the half of the window with most to tell, and idle times."""
    mains = set(found.main.items())
    ops = [
        found.name[row]
        for row in np.flatnonzero(found.busy).tolist()
        if (found.host[row], found.line[row]) not in mains and "/XLA Ops" in found.line[row]
    ]
    further = [Next("op", {"name": name}, "its times, shapes and source") for name in _first(ops)]
    if find:
        arguments = {"from": found.begin_ps / PS_PER_MS, "to": found.end_ps / PS_PER_MS}
        further.append(Next("timeline", arguments, "everything that ran in this window"))
    if len(found.main):
        further.append(Next("gaps", {}, "times in which devices are idle, and the host call under each"))
    further.append(Next("budget", {}, "what the average step consists of"))
    return tuple(further[:6])


def _first(names: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(names))[:_MOST_OPS]


VERB = verb(timeline, needs="Record with a profiler session that is open while the program runs, for a few steps.")
