"""Other threads that hold a lock: Python's, or one of the program."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.analysis.budget.host_names import is_user_frame
from tpu_profile_plugin.analysis.common.planes import spans_at
from tpu_profile_plugin.analysis.common.spans import Times, covered_within, total, union
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.columns import EventFilter, Plane
from tpu_profile_plugin.columns.arrays import I64
from tpu_profile_plugin.units import PS_PER_MS

STALL_PS = 4_500_000_000
"""Shorter pauses of the main thread are not looked at: Python passes its lock on after 5 ms (sys.getswitchinterval), if
the thread that has it does not wait for anything."""
FEWEST = 3
"""Pauses of this kind: with fewer another cause is as likely."""
DENSE_PER_MS = 20
"""Calls of Python functions per ms by the other thread: one that waits for data or for the main thread makes fewer."""
AT_ONCE_PS = PS_PER_MS
"""A thread that waits for a lock goes on so soon after it was released."""


def holding(host: HostView, waits: Times, least_ps: int) -> str:
    """The program's function of another thread that holds a lock: most of the main thread's long waits in `waits` end
    when it does, after it has run during most of them; "" without one, or if they are not most of `least_ps`.
    """
    long = waits[1] - waits[0] >= STALL_PS
    begin, end = waits[0][long], waits[1][long]
    if host.plane is None or len(begin) < FEWEST or 2 * int((end - begin).sum()) < least_ps:
        return ""
    threads, best = Threads.of(host, host.plane), ("", np.iinfo(np.int64).max)
    names = threads.plane.event_metadata.names
    for rows in threads.rows:
        metadata = threads.plane.events.metadata[rows]
        for one in np.unique(metadata).tolist():
            if is_user_frame(names[one]):
                since, until = spans_at(threads.plane, rows[metadata == one])
                spent, ends = covered_within(*union(since, until), begin, end).sum(), np.sort(until)
                together = np.searchsorted(ends, end + AT_ONCE_PS) > np.searchsorted(ends, end - AT_ONCE_PS)
                # One that ends all the time ends then by chance.
                seldom = (np.searchsorted(ends, end) - np.searchsorted(ends, begin)).sum() <= 2 * len(end)
                holds = seldom and 2 * int(together.sum()) > len(end) and 2 * spent > (end - begin).sum()
                best = min(best, (names[one], total((since, until))), key=lambda it: it[1]) if holds else best
    return best[0]


@dataclass(frozen=True, slots=True, eq=False)
class Threads:
    """Python functions of the other threads: `rows` of events per thread, by begin."""

    plane: Plane
    rows: tuple[I64, ...]

    @classmethod
    def of(cls, host: HostView, plane: Plane) -> Threads:
        """The threads of a host."""
        if not plane.decoded:
            (plane,) = host.space.filtered(EventFilter(plane, event=lambda name: name.startswith("$")))
        names = plane.event_metadata.names
        python = np.array([name.startswith("$") for name in names], np.bool_)
        main, rows = host.reader.time.main, []
        for line, name in enumerate(plane.lines.name):
            if (int(plane.lines.id[line]), name) != main:
                events = plane.lines.events_of(line)
                rows.append(events.start + np.flatnonzero(python[plane.events.metadata[events]]))
        return cls(plane, tuple(one for one in rows if len(one)))

    def busiest(self, begin: I64, end: I64) -> tuple[I64, I64]:
        """Per pause the thread that calls most functions, -1 if none calls many; and how many."""
        thread, calls = np.full(len(begin), -1, np.int64), np.zeros(len(begin), np.int64)
        least = DENSE_PER_MS * (end - begin) / PS_PER_MS
        for number, rows in enumerate(self.rows):
            at = np.sort(self.plane.events.begin_ps[rows])
            count = np.searchsorted(at, end) - np.searchsorted(at, begin)
            better = (count >= least) & (count > calls)
            thread[better], calls[better] = number, count[better]
        return thread, calls

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
