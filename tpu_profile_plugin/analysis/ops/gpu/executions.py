"""The op of each event of a GPU plane, and the costs recorded with the events."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.columns import Plane, XSpace
from tpu_profile_plugin.columns import stats as read
from tpu_profile_plugin.columns.arrays import I64, Bools


@dataclass(frozen=True, slots=True)
class Executions:
    """Events of ops in the order of the plane.

    Attributes:
      event: the events, int64[n].
      op: the op of each event, int64[n].
      flops, bytes: costs recorded with the events, int64[n].
    """

    event: I64
    op: I64
    flops: I64
    bytes: I64


def executions(space: XSpace, plane: Plane, op: I64, name: I64, group: I64) -> Executions:
    """Assigns events to ops.

    Consecutive events of a line with the same op name in the same group count as one run of the first event's op, even
    if they name another program; the last costs recorded with its events are the costs of a run.

    Args:
      space: the profile.
      plane: a GPU plane.
      op: per event, the index of the op it names, or -1.
      name: per op, a code of its name, or -1 for ops that do not form runs.
      group: per event, its group, or -1.
    """
    events = np.flatnonzero(op >= 0)
    line = np.searchsorted(plane.lines.event_start, events, side="right")
    starts = np.ones(len(events), np.bool_)
    if len(events):
        code, event_group = name[op[events]], group[events]
        same = (code[1:] == code[:-1]) & (code[1:] >= 0) & (line[1:] == line[:-1])
        # XProf takes a missing group for 0 when it compares the next event's group with it.
        starts[1:] = ~(same & (event_group[1:] >= 0) & (event_group[1:] == np.maximum(event_group[:-1], 0)))
    run = np.cumsum(starts) - 1
    return Executions(
        event=events,
        op=op[events[starts]][run],
        flops=_recorded(space, plane, "flops", events, run, starts),
        bytes=_recorded(space, plane, "bytes_accessed", events, run, starts),
    )


def _recorded(space: XSpace, plane: Plane, stat: str, events: I64, run: I64, starts: Bools) -> I64:
    """The last value of a stat in the run of each event, 0 without any."""
    if not len(events):
        return events
    value, present = read.ints(space, plane, plane.events.stats, stat)
    marked = np.where(present[events], np.arange(len(events)), -1)
    last = np.maximum.reduceat(marked, np.flatnonzero(starts))[run]
    return np.where(last >= 0, value[events[last]], 0)
