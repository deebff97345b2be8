"""The program's own function that runs something on the main thread: the outermost frame of its code."""

from __future__ import annotations

import numpy as np

from tpu_profile_plugin.analysis.budget.host_time import MainThread
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.columns.arrays import I64


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
