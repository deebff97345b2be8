"""When the main thread waits for Python's lock (the GIL), which another thread holds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.analysis.budget.host_names import is_frame, is_user_frame
from tpu_profile_plugin.analysis.budget.host_time import MainThread
from tpu_profile_plugin.analysis.common.planes import spans_at
from tpu_profile_plugin.analysis.common.spans import Times, contains, times_of
from tpu_profile_plugin.analysis.findings.evidence.host.callers import main_thread_of
from tpu_profile_plugin.analysis.findings.evidence.host.edges import NEVER, Edges
from tpu_profile_plugin.analysis.findings.evidence.host.purpose import RUNTIME, Purpose, purposes
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.findings.limits import LEAST_SHARE
from tpu_profile_plugin.analysis.findings.lost import lost_to
from tpu_profile_plugin.columns import EventFilter, Plane
from tpu_profile_plugin.columns.arrays import I64, Bools
from tpu_profile_plugin.units import PS_PER_MS

STALL_PS = 4_500_000_000
"""Shorter pauses of the main thread are not looked at: Python passes its lock on after 5 ms (sys.getswitchinterval), if
the thread that has it does not wait for anything."""
LONGER = 5.0
"""A pause after the same event is usually shorter by this factor."""
SAME = 5
"""Pauses after the same event that tell how long one usually is."""
MOST_SAME = 1000
"""No more of them are looked at, evenly spread over all: so many tell a usual length well enough."""
FEWEST = 3
"""Pauses of this kind: with fewer another cause is as likely."""
EXPLAINED = 0.7
"""Least share of such pauses during which another thread runs Python: with fewer the pauses have another cause, such as
a busy machine."""
DENSE_PER_MS = 20
"""Calls of Python functions per ms by the other thread: one that waits for data or for the main thread makes fewer."""
_CAUSES = "idle_host", "idle_launch", "idle_other", "idle_transfer"


@dataclass(frozen=True, slots=True, eq=False)
class LockWaits:
    """Pauses of the main thread for Python's lock, while devices are idle.

    Attributes:
      lost_ps: summed over steps and devices; by_part: the same by part of the time budget, int64[c + 1].
      count: pauses in the steps; usual_ps: how long a pause after the same event usually is.
      window: the longest pause; after: the event of the main thread at which it begins.
      function: what the other thread runs most of the time; calls_per_ms: of Python functions, by that thread.
    """

    lost_ps: int
    by_part: I64
    count: int
    usual_ps: int
    window: tuple[int, int]
    after: str
    function: str
    calls_per_ms: float


def lock_waits(host: HostView) -> LockWaits | None:
    """The pauses of one host; None if there are none, if functions were not recorded, or if devices are hardly idle."""
    return host.once(_lock_waits)


def _lock_waits(host: HostView) -> LockWaits | None:
    if host.plane is None or host.shown.steps is None or lost_to(host.time, *_CAUSES).share < LEAST_SHARE:
        return None
    main = main_thread_of(host)
    if not main.traced:
        return None
    edges = Edges.of(main.levels)
    begin, end = _stalls(main, edges, host.marks)
    if len(begin) < FEWEST:
        return None
    threads = _Threads.of(host, host.plane)
    thread, calls = threads.busiest(begin, end)
    if (thread >= 0).sum() < FEWEST:
        return None
    pauses, rows = _pauses(edges, begin, end)
    thread, calls = thread[rows], calls[rows]
    busy = thread >= 0
    if busy.sum() < max(FEWEST, EXPLAINED * len(busy)):
        return None
    times = times_of(pauses.begin_ps, pauses.end_ps, busy)
    by_part = host.by_part([times] * max(len(host.devices), 1))
    most = int(np.argmax(np.where(busy, pauses.end_ps - pauses.begin_ps, 0)))
    window = int(pauses.begin_ps[most]), int(pauses.end_ps[most])
    return LockWaits(
        int(by_part.sum()),
        by_part,
        int(busy.sum()),
        int(pauses.usual_ps[most]),
        window,
        main.names[pauses.after[most]],
        threads.function(int(thread[most]), *window),
        float(calls[busy].sum() / ((times[1] - times[0]).sum() / PS_PER_MS)),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Pauses:
    """Pauses that are far longer than usual: begin, end, name of the event at which each begins, usual length."""

    begin_ps: I64
    end_ps: I64
    after: I64
    usual_ps: I64


def _stalls(main: MainThread, edges: Edges, steps: Times) -> Times:
    """Times in which no event of the main thread begins or ends, in a frame or between calls of the runtime."""
    begin, end = edges.pauses(STALL_PS)
    inner = main.levels.covering(begin, end)
    keep = contains((steps[0][:1], steps[1][-1:]), begin) & ((inner < 0) | ~_waits(main)[inner])
    return begin[keep], end[keep]


def _pauses(edges: Edges, begin: I64, end: I64) -> tuple[_Pauses, Bools]:
    """Those stalls that are far longer than usual, and which they are."""
    kind = edges.kind(begin)
    same = {one: _spread(edges.of_kind(one)) for one in np.unique(kind).tolist()}
    times = np.unique(np.concatenate(list(same.values())))
    until = edges.after(times)
    usual = np.full(len(begin), NEVER)
    for one, at in same.items():
        next_ = until[np.searchsorted(times, at)]
        length = (next_ - at)[next_ < NEVER]
        if len(length) >= SAME:
            usual[kind == one] = int(np.quantile(length, 0.25))
    long: Bools = end - begin >= LONGER * usual
    return _Pauses(begin[long], end[long], kind[long] // 2, usual[long]), long


def _spread(times: I64) -> I64:
    """At most `MOST_SAME` of them, evenly spread."""
    return times[:: max(-(-len(times) // MOST_SAME), 1)]


def _waits(main: MainThread) -> Bools:
    """Per name: a function written in C, which may work or wait without the lock, or a call with another purpose."""
    native = np.array([name.startswith("$") and not is_frame(name) for name in main.names], np.bool_)
    of_name = purposes(main.names)
    waits: Bools = native | ~np.isin(of_name, (Purpose.UNKNOWN, *RUNTIME)) | (of_name == Purpose.COMPILE)
    return waits


@dataclass(frozen=True, slots=True, eq=False)
class _Threads:
    """Python functions of the other threads: `rows` of events per thread, by begin."""

    plane: Plane
    rows: tuple[I64, ...]

    @classmethod
    def of(cls, host: HostView, plane: Plane) -> _Threads:
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
