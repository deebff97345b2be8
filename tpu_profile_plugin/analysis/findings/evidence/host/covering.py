"""Events of the main thread as a flat table, and which of them covers a span."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.analysis.budget.host_time import COVERING, Levels
from tpu_profile_plugin.columns.arrays import I64, Bools


@dataclass(frozen=True, slots=True, eq=False)
class Events:
    """Events of one thread by begin, enclosing ones first.

    Attributes:
      begin_ps, end_ps: int64[n]; name: int64[n], index into the names of the thread's plane.
    """

    begin_ps: I64
    end_ps: I64
    name: I64

    def __len__(self) -> int:
        return len(self.begin_ps)

    def where(self, keep: Bools) -> Events:
        """The selected events."""
        return Events(self.begin_ps[keep], self.end_ps[keep], self.name[keep])


def events_of(levels: Levels) -> Events:
    """All events of a thread, level after level; `covering_event` refers to them before `by_begin` sorts them."""
    if not levels.begin_ps:
        none = np.zeros(0, np.int64)
        return Events(none, none, none)
    return Events(*(np.concatenate(part) for part in (levels.begin_ps, levels.end_ps, levels.name)))


def by_begin(events: Events) -> Events:
    """The events sorted by begin, enclosing events first."""
    order = np.lexsort((-events.end_ps, events.begin_ps))
    return Events(events.begin_ps[order], events.end_ps[order], events.name[order])


def covering_event(levels: Levels, begin: I64, end: I64, keep: Bools | None = None) -> I64:
    """Per span the deepest event (a row of `events_of`) that covers at least `COVERING` of it, -1 without one.

    `keep` says which names count; all by default.
    """
    event = np.full(len(begin), -1, np.int64)
    middle = begin + (end - begin) // 2
    first = np.append(0, np.cumsum([len(level) for level in levels.begin_ps])).astype(np.int64)
    for level in range(len(levels.begin_ps) - 1, -1, -1):
        open_ = np.flatnonzero(event < 0)
        if not len(open_):
            break
        since, until = levels.begin_ps[level], levels.end_ps[level]
        position = np.searchsorted(since, middle[open_], side="right") - 1
        inside = np.maximum(position, 0)
        covered = np.minimum(end[open_], until[inside]) - np.maximum(begin[open_], since[inside])
        hit = (position >= 0) & (covered >= COVERING * (end - begin)[open_])
        if keep is not None:
            hit &= keep[levels.name[level][inside]]
        event[open_[hit]] = first[level] + inside[hit]
    return event
