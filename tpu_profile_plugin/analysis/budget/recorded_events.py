"""The events recorded on a thread, and how closely they follow each other: what recording them takes at most."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tpu_profile_plugin.columns.arrays import I64, Bools

CLOSE = 0.10
"""Quantile of the times between neighbouring begins and ends at which hardly anything but recording happens."""
LEAST_GAPS = 30
"""With fewer times of a kind, their quantile is chance."""
CHUNKS, CHUNK = 16, 8192
"""Runs of successive events that are looked at, evenly spread, and how many events each has."""


@dataclass(frozen=True, slots=True, eq=False)
class Recorded:
    """Events of a kind on one thread.

    Attributes:
      begin_ps: int64, ascending.
      close_ps: the time that an event takes and until the next one, without events in it, where they are close.
      typical_ps: the same in the median; both are 0 if too few follow each other.
    """

    begin_ps: I64 = field(default_factory=lambda: np.zeros(0, np.int64))
    close_ps: float = 0.0
    typical_ps: float = 0.0

    def within(self, begin: I64, end: I64) -> I64:
        """Per span, in any order, how many begin in it."""
        count: I64 = np.searchsorted(self.begin_ps, end) - np.searchsorted(self.begin_ps, begin)
        return count


@dataclass(frozen=True, slots=True, eq=False)
class RecordedEvents:
    """The events of one thread: calls of Python functions, and others."""

    frames: Recorded = field(default_factory=Recorded)
    others: Recorded = field(default_factory=Recorded)


def recorded_events(begin: I64, end: I64, frame: Bools) -> RecordedEvents:
    """The events of a thread by begin and end, in any order; `frame` marks calls of Python functions.

    Events without length cost little and are left out.
    """
    lasting = end > begin
    begin, end, frame = begin[lasting], end[lasting], frame[lasting]
    if (np.diff(begin) < 0).any():
        order = np.argsort(begin, kind="stable")
        begin, end, frame = begin[order], end[order], frame[order]
    times, bounds = _gaps(begin, end, frame)
    return RecordedEvents(
        Recorded(begin[frame], *_spacing(times, bounds, 1)), Recorded(begin[~frame], *_spacing(times, bounds, 0))
    )


def _gaps(begin: I64, end: I64, frame: Bools) -> tuple[I64, I64]:
    """Times between neighbouring begins and ends of a sample of events, and what bounds them.

    That is `4 * before + after`, with 0 and 1 for begin and end of an event that is no call, 2 and 3 of a call.
    """
    times, bounds = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    chunks = 1 if len(begin) <= CHUNKS * CHUNK else CHUNKS
    for part in range(chunks):
        first = len(begin) // chunks * part
        rows = slice(first, first + CHUNK if chunks > 1 else len(begin))
        at = np.concatenate([begin[rows], end[rows]])
        side = 2 * np.tile(frame[rows].astype(np.int64), 2)
        side[len(side) // 2 :] += 1
        order = np.lexsort((1 - side % 2, at))
        times.append(np.diff(at[order]))
        bounds.append(4 * side[order][:-1] + side[order][1:])
    return np.concatenate(times), np.concatenate(bounds)


def _spacing(times: I64, bounds: I64, kind: int) -> tuple[float, float]:
    """`close_ps` and `typical_ps` of a kind.

    What recording a begin and an end takes lies before and after both: between two begins and between two ends where
    events are nested, within the event and until the next one begins where they are not.
    """
    begins, ends = 2 * kind, 2 * kind + 1
    sums, weight = np.zeros(2), 0
    for first, second in ((4 * begins + begins, 4 * ends + ends), (4 * begins + ends, 4 * ends + begins)):
        both = times[bounds == first], times[bounds == second]
        count = min(map(len, both))
        if count >= LEAST_GAPS:
            sums += count * sum(np.quantile(gaps, (CLOSE, 0.5)) for gaps in both)
            weight += count
    close, typical = (sums / max(weight, 1)).tolist()
    return close, typical
