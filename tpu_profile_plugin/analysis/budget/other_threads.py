"""Python functions on the threads beside a host's main thread."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.analysis.budget.host_names import is_user_frame
from tpu_profile_plugin.analysis.budget.purpose import Purpose, purpose
from tpu_profile_plugin.analysis.common.planes import spans_at
from tpu_profile_plugin.analysis.common.spans import covered_within, times_of
from tpu_profile_plugin.columns import EventFilter, Plane, XSpace
from tpu_profile_plugin.columns.arrays import I64
from tpu_profile_plugin.units import PS_PER_MS

_PYTHON = "$", "<built-in "
_WAITS = {
    *(Purpose.LOCK, Purpose.QUEUE, Purpose.SLEEP, Purpose.BATCHING, Purpose.NETWORK, Purpose.PROCESS, Purpose.FILE),
    *(Purpose.INPUT, Purpose.TRANSFER, Purpose.COLLECTIVE),
}
"""Purposes of calls that take hardly any time of a processor, however long they last."""


@dataclass(frozen=True, slots=True, eq=False)
class OtherThreads:
    """Python functions of the other threads, and those written in C: `rows` of events per thread, by begin."""

    plane: Plane
    rows: tuple[I64, ...]

    @classmethod
    def of(cls, space: XSpace, plane: Plane, main: tuple[int, str] | None) -> OtherThreads:
        """The threads of a host's plane; `main`: id and name of its main thread."""
        if not plane.decoded:
            (plane,) = space.filtered(EventFilter(plane, event=lambda name: name.startswith(_PYTHON)))
        names = plane.event_metadata.names
        python = np.array([name.startswith(_PYTHON) for name in names], np.bool_)
        rows = []
        for line, name in enumerate(plane.lines.name):
            if (int(plane.lines.id[line]), name) != main:
                events = plane.lines.events_of(line)
                rows.append(events.start + np.flatnonzero(python[plane.events.metadata[events]]))
        return cls(plane, tuple(one for one in rows if len(one)))

    def busiest(self, begin: I64, end: I64, per_ms: float) -> tuple[I64, I64]:
        """Per span the thread that calls most functions, -1 if none calls `per_ms`; and how many."""
        thread, calls = np.full(len(begin), -1, np.int64), np.zeros(len(begin), np.int64)
        least = per_ms * (end - begin) / PS_PER_MS
        events = self.plane.events
        frames = np.array([name.startswith("$") for name in self.plane.event_metadata.names], np.bool_)
        for number, rows in enumerate(self.rows):
            at = np.sort(events.begin_ps[rows[frames[events.metadata[rows]]]])
            count = np.searchsorted(at, end) - np.searchsorted(at, begin)
            better = (count >= least) & (count > calls)
            thread[better], calls[better] = number, count[better]
        return thread, calls

    def working_ps(self, begin: I64, end: I64) -> I64:
        """Per thread how long it runs functions in disjoint spans without waiting."""
        return self.inside_ps(set(Purpose), begin, end) - self.inside_ps(_WAITS, begin, end)

    def inside_ps(self, purposes: Collection[Purpose], begin: I64, end: I64) -> I64:
        """Per thread how long it is in calls for some purposes in disjoint spans."""
        chosen = np.array([purpose(name) in purposes for name in self.plane.event_metadata.names], np.bool_)
        found = np.zeros(len(self.rows), np.int64)
        for number, rows in enumerate(self.rows):
            times = times_of(*spans_at(self.plane, rows), chosen[self.plane.events.metadata[rows]])
            found[number] = covered_within(*times, begin, end).sum()
        return found

    def function(self, thread: int, begin: int, end: int) -> str:
        """What a thread runs most of a time: of the program's own functions, if there are any."""
        rows = self.rows[thread]
        since, until = spans_at(self.plane, rows)
        inside = (since < end) & (until > begin)
        names, metadata = self.plane.event_metadata.names, self.plane.events.metadata[rows[inside]]
        length = np.minimum(until[inside], end) - np.maximum(since[inside], begin)
        sums = np.bincount(metadata, weights=length.astype(np.float64), minlength=len(names))
        own = np.array([is_user_frame(name) for name in names], np.bool_)
        sums = np.where(own, sums, 0) if sums[own].any() else sums
        return names[int(sums.argmax())]
