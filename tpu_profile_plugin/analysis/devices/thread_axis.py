"""The threads of a plane one after the other on one axis: one pass finds what encloses events on their thread."""

from __future__ import annotations

import numpy as np

from tpu_profile_plugin.analysis.common.planes import line_of
from tpu_profile_plugin.analysis.common.spans import contains, times_of
from tpu_profile_plugin.columns import Plane
from tpu_profile_plugin.columns.arrays import I64, Bools

_LARGEST = 2**62


def fits_one_axis(plane: Plane) -> bool:
    """Whether the axis fits into int64, without which no `ThreadAxis` may be made; False without events.

    Times of a damaged profile may be years apart.
    """
    events = plane.events
    if not len(events):
        return False
    last = int(events.begin_ps.max()) + int(events.duration_ps.max())
    return (last - int(events.begin_ps.min()) + 1) * (len(plane.lines.name) + 1) < _LARGEST


class ThreadAxis:
    """The axis of a plane for which `fits_one_axis` holds: each thread has a stretch as long as the plane."""

    def __init__(self, plane: Plane) -> None:
        self.plane = plane
        begin = plane.events.begin_ps
        self._first = int(begin.min()) if len(begin) else 0
        self._length = int((begin + plane.events.duration_ps).max(initial=self._first)) - self._first + 1

    def begin(self, events: I64) -> I64:
        """Where the events begin on the axis."""
        return self.plane.events.begin_ps[events] - self._first + line_of(self.plane, events) * self._length

    def inside(self, events: I64, around: I64) -> Bools:
        """Per event of `events`, whether it begins within one of `around` on the same thread."""
        begin = self.begin(around)
        return contains(times_of(begin, begin + self.plane.events.duration_ps[around]), self.begin(events))

    def outermost(self, events: I64) -> Bools:
        """Which events no other of `events` encloses: they begin after all that began before on their thread ended."""
        begin, duration = self.begin(events), self.plane.events.duration_ps[events]
        order = np.lexsort((-duration, begin))
        reached = np.maximum.accumulate((begin + duration)[order])
        outermost = np.zeros(len(begin), np.bool_)
        outermost[order] = np.append(True, begin[order][1:] >= reached[:-1])[: len(order)]
        return outermost
