"""When the main thread waits for Python's lock (the GIL), which another thread holds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.analysis.blame.stacks import NOWHERE
from tpu_profile_plugin.analysis.budget.host_names import is_frame, is_user_frame
from tpu_profile_plugin.analysis.common.planes import spans_at
from tpu_profile_plugin.analysis.common.rows import row_codes
from tpu_profile_plugin.analysis.common.spans import Times, contains, covered_within, times_of, total, union
from tpu_profile_plugin.analysis.findings.evidence.host.calls import Calls, calls_of
from tpu_profile_plugin.analysis.findings.evidence.host.purpose import RUNTIME, Purpose
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
FEWEST = 3
"""Pauses of this kind: with fewer another cause is as likely."""
EXPLAINED = 0.7
"""Least share of such pauses during which another thread runs Python: with fewer the pauses have another cause, such as
a busy machine."""
DENSE_PER_MS = 20
"""Calls of Python functions per ms by the other thread: one that waits for data or for the main thread makes fewer."""
AT_ONCE_PS = PS_PER_MS
"""A thread that waits for a lock goes on so soon after it was released."""
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
    calls = calls_of(host)
    if not calls.main.traced:
        return None
    pauses = _pauses(calls, host.marks)
    if len(pauses.begin_ps) < FEWEST:
        return None
    threads = _Threads.of(host, host.plane)
    thread, count = threads.busiest(pauses.begin_ps, pauses.end_ps)
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
        calls.main.names[pauses.after[most]],
        threads.function(int(thread[most]), *window),
        float(count[busy].sum() / (total(times) / PS_PER_MS)),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Pauses:
    """Pauses that are far longer than usual: begin, end, name of the event at which each begins, usual length."""

    begin_ps: I64
    end_ps: I64
    after: I64
    usual_ps: I64


def _pauses(calls: Calls, steps: Times) -> _Pauses:
    """Times in which no event of the main thread begins or ends, in a frame or between calls of the runtime, that are
    far longer than usual after the same event.
    """
    stacks = calls.stacks
    # From each edge to the next one, the innermost call; -1 where there is none.
    begin = np.concatenate([stacks.begin_ps, stacks.end_ps[:-1]])
    end = np.concatenate([stacks.end_ps, stacks.begin_ps[1:]])
    node = np.concatenate([stacks.node, np.full(max(len(stacks.node) - 1, 0), NOWHERE)])
    order = np.lexsort((begin, end))
    order = order[end[order] > begin[order]]
    begin, end, node = begin[order], end[order], node[order]
    before = np.append(NOWHERE, node[:-1])
    begins = (node >= 0) & (calls.parent(node) == before)
    # An event that began is told by what runs, one that ended by what ran.
    event = np.append(stacks.name, NOWHERE)[np.where(begins, node, before)]
    code, first = row_codes(event, begins.astype(np.int64))
    inside = contains((steps[0][:1], steps[1][-1:]), begin) & ~_waits(calls)[node]
    stalls = np.flatnonzero((end - begin >= STALL_PS) & inside & (event >= 0))
    usual = np.full(len(first), np.iinfo(np.int64).max)
    for one in np.unique(code[stalls]).tolist():
        same = (end - begin)[code == one]
        if len(same) >= SAME:
            usual[one] = int(np.quantile(same, 0.25))
    usual = usual[code]
    long = stalls[(end - begin)[stalls] >= LONGER * usual[stalls]]
    return _Pauses(begin[long], end[long], event[long], usual[long])


def _waits(calls: Calls) -> Bools:
    """Per node: a function written in C, which may work or wait without the lock, or a call with another purpose."""
    names = calls.main.names
    native = np.array([name.startswith("$") and not is_frame(name) for name in names], np.bool_)
    own = np.append(native[calls.stacks.name], np.False_)
    waits: Bools = own | ~np.isin(calls.purpose, (Purpose.UNKNOWN, *RUNTIME)) | (calls.purpose == Purpose.COMPILE)
    return waits


def holding(host: HostView, waits: Times, least_ps: int) -> str:
    """The program's function of another thread that holds a lock: most of the main thread's long waits in `waits` end
    when it does, after it has run during most of them; "" without one, or if they are not most of `least_ps`.
    """
    long = waits[1] - waits[0] >= STALL_PS
    begin, end = waits[0][long], waits[1][long]
    if host.plane is None or len(begin) < FEWEST or 2 * int((end - begin).sum()) < least_ps:
        return ""
    threads, best = _Threads.of(host, host.plane), ("", np.iinfo(np.int64).max)
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
