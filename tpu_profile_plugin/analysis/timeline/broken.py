"""Derived rows of devices, broken where the device is idle: XProf draws them through."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from tpu_profile_plugin.analysis.common.planes import (
    FRAMEWORK_OPS,
    MODULES,
    NAME_SCOPE,
    OP_LINES,
    OPS,
    SOURCE,
    Arg,
    ExtraLine,
    PlaneExtras,
    Preprocessed,
    is_device,
    lines_named,
    recorded_lines,
    rows_of_lines,
)
from tpu_profile_plugin.analysis.common.spans import Times, times_of
from tpu_profile_plugin.columns import Plane, XSpace
from tpu_profile_plugin.columns.arrays import I64
from tpu_profile_plugin.units import PS_PER_US

LONGEST_BRIDGE_PS = 10 * PS_PER_US
"""Rows are drawn through shorter idle times: what launching a kernel takes. Longer ones show."""

MOST_PARTS = 2_000_000
"""A line that would have more parts stays whole."""

_BROKEN = (FRAMEWORK_OPS, NAME_SCOPE, SOURCE, MODULES, OPS)


def broken(space: XSpace, extras: Preprocessed) -> Preprocessed:
    """The same results, with derived events of ops divided at idle times of their device; `extras` if none is.

    Steps stay whole, and so do host offloads, which last from the start of a copy to its end.
    """
    pairs = zip(space.planes, extras.planes, strict=True)
    planes = tuple(_broken_plane(plane, extra) if is_device(plane.name) else extra for plane, extra in pairs)
    same = all(new is old for new, old in zip(planes, extras.planes, strict=True))
    return extras if same else replace(extras, planes=planes)


def _broken_plane(plane: Plane, extra: PlaneExtras) -> PlaneExtras:
    if not any(_breaks(line) for line in extra.lines):
        return extra
    busy = _bridged(_busy(plane))
    lines = tuple(_divided(line, busy) if _breaks(line) else line for line in extra.lines)
    same = all(new is old for new, old in zip(lines, extra.lines, strict=True))
    return extra if same else replace(extra, lines=lines)


def _breaks(line: ExtraLine) -> bool:
    return line.name.startswith(_BROKEN) and len(line.begin_ps) > 0


def _busy(plane: Plane) -> Times:
    """When ops ran: the events on lines of ops, else (on GPUs, whose lines are streams) all recorded events."""
    lines: Iterable[int] = [line for name in OP_LINES for line in lines_named(plane, name)]
    rows = rows_of_lines(plane, list(lines) or np.flatnonzero(recorded_lines(plane)).tolist())
    begin = plane.events.begin_ps[rows]
    return times_of(begin, begin + plane.events.duration_ps[rows])


def _bridged(busy: Times) -> Times:
    """The set with short gaps filled."""
    if not len(busy[0]):
        return busy
    long = busy[0][1:] - busy[1][:-1] > LONGEST_BRIDGE_PS
    return busy[0][np.r_[True, long]], busy[1][np.r_[long, True]]


def _divided(line: ExtraLine, busy: Times) -> ExtraLine:
    """Each event as its parts in `busy`; one without any stays whole."""
    begin, end = line.begin_ps, line.begin_ps + line.duration_ps
    first = np.searchsorted(busy[1], begin, side="right")
    parts = np.maximum(np.searchsorted(busy[0], end, side="left") - first, 0)
    if not (parts > 1).any() or parts.sum() > MOST_PARTS:
        return line
    count = np.maximum(parts, 1)
    row = np.repeat(np.arange(len(begin)), count)
    span = np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count) + first[row]
    cut = parts[row] > 0
    span = np.where(cut, span, 0)
    since = np.where(cut, np.maximum(begin[row], busy[0][span]), begin[row])
    until = np.where(cut, np.minimum(end[row], busy[1][span]), end[row])
    return replace(
        line,
        begin_ps=since,
        duration_ps=until - since,
        metadata=line.metadata[row],
        event_source=None if line.event_source is None else line.event_source[row],
        group_id=None if line.group_id is None else line.group_id[row],
        step_code=None if line.step_code is None else line.step_code[row],
        extra_args={name: _taken(arg, row) for name, arg in line.extra_args.items()},
    )


def _taken(arg: Arg, row: I64) -> Arg:
    return (arg[0][row], arg[1]) if isinstance(arg, tuple) else arg[row]
