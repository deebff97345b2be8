"""Marks of steps that no group begins with: events of the host that carry a step's number, such as those of Keras 3."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.analysis.common.planes import host_plane, line_of, recorded_lines, spans_at
from tpu_profile_plugin.columns import Plane, XSpace
from tpu_profile_plugin.columns import stats as read
from tpu_profile_plugin.columns.arrays import I64

KERAS = "Profiled batch"
"""Keras encloses each batch of a profile in this event; with JAX the batch's number is a part of the name."""
LEAST = 3
"""Fewer numbers in a row may be anything."""
_KERAS_NUMBER = re.compile(rf"{KERAS} (\d+)\Z")
_NUMBER = "step_num"


@dataclass(frozen=True, slots=True, eq=False)
class NumberedSteps:
    """Steps of one name on one thread in time order: int64[s] each; times in ps on the axis of the file."""

    name: str
    line: str
    number: I64
    begin_ps: I64
    end_ps: I64


def numbered_steps(space: XSpace) -> NumberedSteps | None:
    """The events with step numbers that ascend in time, of the name and thread with most of them; None without any."""
    plane = host_plane(space)
    if plane is None:
        return None
    declared = plane.declared
    if declared.stat_metadata.row(_NUMBER) is None and not any(map(_KERAS_NUMBER.match, declared.event_metadata.names)):
        return None
    rows, name, number = _numbers(plane, space)
    line = line_of(plane, rows)
    keep = recorded_lines(plane)[line] & (plane.events.duration_ps[rows] > 0)
    rows, name, number, line = rows[keep], name[keep], number[keep], line[keep]
    best: NumberedSteps | None = None
    for thread, kind in np.unique(np.column_stack([line, name]), axis=0).tolist():
        same = np.flatnonzero((line == thread) & (name == kind))
        same = same[np.argsort(plane.events.begin_ps[rows[same]], kind="stable")]
        begin, end = spans_at(plane, rows[same])
        apart = bool((np.diff(number[same]) > 0).all() and (begin[1:] >= end[:-1]).all())
        if apart and len(same) >= LEAST and (best is None or len(same) > len(best.number)):
            text = KERAS if kind < 0 else plane.event_metadata.names[kind]
            best = NumberedSteps(text, plane.lines.name[thread], number[same], begin, end)
    return best


def _numbers(plane: Plane, space: XSpace) -> tuple[I64, I64, I64]:
    """The events with a step's number, their names' rows (-1 where Keras has the number in the name), and numbers."""
    number, known = read.ints(space, plane, plane.events.stats, _NUMBER)
    in_name = np.full(len(plane.event_metadata), -1, np.int64)
    for row, name in enumerate(plane.event_metadata.names):
        if match := _KERAS_NUMBER.match(name):
            in_name[row] = int(match[1])
    named = in_name[plane.events.metadata]
    rows = np.flatnonzero(known | (named >= 0))
    own, names = known[rows], plane.events.metadata[rows].astype(np.int64)
    return rows, np.where(own, names, -1), np.where(own, number[rows], named[rows])
