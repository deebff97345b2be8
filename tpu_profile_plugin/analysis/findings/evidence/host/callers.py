"""The program's own function that runs something on the main thread: the outermost frame of its code."""

from __future__ import annotations

import numpy as np

from tpu_profile_plugin.analysis.budget.host_time import COVERING, MainThread
from tpu_profile_plugin.analysis.common.spans import Times
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.columns.arrays import I64


def main_thread_of(host: HostView) -> MainThread:
    """The main thread of a host with steps, of its devices or its own."""
    steps = host.shown.steps
    assert steps is not None
    return host.reader.main(int(steps.begin_ps.min()), int(steps.end_ps.max()), steps.evidence)


def calling_function(host: HostView, times: I64) -> str:
    """The outermost frame of the program's own code within the steps that encloses most of the points in time.

    "" if Python functions were not recorded, or if none encloses half of them.
    """
    steps = host.steps
    if steps is None or not len(times) or not any(name.startswith("$") for name in _names(host)):
        return ""
    since, until = int(steps.begin_ps.min()), int(steps.end_ps.max())
    main = host.reader.main(since, until, steps.evidence)
    name = _outermost(main, times)
    names, count = np.unique(name[name >= 0], return_counts=True)
    if not len(names) or 2 * int(count.max()) < len(times):
        return ""
    return main.names[int(names[count.argmax()])]


def frames_around(main: MainThread, spans: Times, call: I64) -> I64:
    """Per span the name of the program's innermost frame around the outermost call of that name, -1 without one.

    Args:
      main: the main thread.
      spans: what calls cover most of.
      call: int64[n], the name of the call that covers each span, an index into `main.names`.
    """
    begin, end = spans
    place, reached = np.full(len(call), -1, np.int64), np.zeros(len(call), np.bool_)
    for since, until, name in zip(main.levels.begin_ps, main.levels.end_ps, main.levels.name, strict=True):
        row = np.searchsorted(since, begin + (end - begin) // 2, side="right") - 1
        inside = np.maximum(row, 0)
        covered = np.minimum(end, until[inside]) - np.maximum(begin, since[inside])
        covers = (row >= 0) & (covered >= COVERING * (end - begin))
        reached |= covers & (name[inside] == call)
        own = covers & ~reached & main.user[name[inside]]
        place[own] = name[inside[own]]
    return place


def _names(host: HostView) -> tuple[str, ...]:
    return tuple(host.plane.declared.event_metadata.names) if host.plane is not None else ()


def _outermost(main: MainThread, times: I64) -> I64:
    """Per point in time the name of the outermost frame of the program, -1 without one."""
    names = np.full(len(times), -1, np.int64)
    columns = main.levels.begin_ps, main.levels.end_ps, main.levels.name
    for begin, end, name in zip(*columns, strict=True):
        user = main.user[name]
        begin, end, name = begin[user], end[user], name[user]
        open_ = np.flatnonzero(names < 0)
        if not len(open_):
            break
        row = np.searchsorted(begin, times[open_], side="right") - 1
        inside = row >= 0
        inside[inside] = times[open_[inside]] < end[row[inside]]
        names[open_[inside]] = name[row[inside]]
    return names
