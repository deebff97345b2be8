"""When events of a thread begin and end, and how long nothing does, without sorting the events of all depths."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.analysis.budget.host_time import Levels
from tpu_profile_plugin.columns.arrays import I64

NEVER = np.iinfo(np.int64).max
"""When the next event begins or ends after the last one."""


@dataclass(frozen=True, slots=True, eq=False)
class Edges:
    """Begins and ends of the events of a thread, both called edges.

    An edge's kind is twice the name of its event, one more if the event ends there.

    Attributes:
      at: the begins of each depth, then the ends of each; each int64[n], ascending; name: of their events, as in
        `Levels`.
    """

    at: tuple[I64, ...]
    name: tuple[I64, ...]

    @classmethod
    def of(cls, levels: Levels) -> Edges:
        """The edges of a thread."""
        ends = [_ascending(*level) for level in zip(levels.end_ps, levels.name, strict=True)]
        return cls((*levels.begin_ps, *(end for end, _ in ends)), (*levels.name, *(name for _, name in ends)))

    def after(self, times: I64) -> I64:
        """Per time when the next event begins or ends; `NEVER` after the last edge."""
        found = np.full(len(times), NEVER)
        for at in self.at:
            np.minimum(found, _next(at, times), out=found)
        return found

    def pauses(self, least_ps: int) -> tuple[I64, I64]:
        """Begin and end of all times of that length or more, from an edge to the next one."""
        # An edge before a pause has no edge of its own depth within it. The depths with most events rule out most.
        begin = np.unique(np.concatenate([_before(at, least_ps) for at in self.at] or [np.zeros(0, np.int64)]))
        end = np.full(len(begin), NEVER)
        for at in sorted(self.at, key=len, reverse=True):
            end = np.minimum(end, _next(at, begin))
            long = end - begin >= least_ps
            begin, end = begin[long], end[long]
        last = end == NEVER
        return begin[~last], end[~last]

    def kind(self, times: I64) -> I64:
        """Per time the kind of the edge there, of several an end, and the innermost; -1 without one."""
        kind = np.full(len(times), -1)
        for number, (at, name) in enumerate(zip(self.at, self.name, strict=True)):
            row = np.searchsorted(at, times, side="right") - 1
            here = (row >= 0) & (at[np.maximum(row, 0)] == times)
            kind[here] = 2 * name[row[here]] + (2 * number >= len(self.at))
        return kind

    def of_kind(self, kind: int) -> I64:
        """All edges of a kind, depth after depth."""
        half = len(self.at) // 2
        depths = slice(half, None) if kind % 2 else slice(half)
        edges = [at[name == kind // 2] for at, name in zip(self.at[depths], self.name[depths], strict=True)]
        return np.concatenate(edges) if edges else np.zeros(0, np.int64)


def _ascending(end: I64, name: I64) -> tuple[I64, I64]:
    """The ends of one depth in order, which those of events that do not nest may not be."""
    if not (end[1:] < end[:-1]).any():
        return end, name
    order = np.argsort(end, kind="stable")
    return end[order], name[order]


def _before(at: I64, least_ps: int) -> I64:
    """The times after which the next is at least that far away, or there is none."""
    before: I64 = at[np.append(at[1:] - at[:-1] >= least_ps, np.ones(min(len(at), 1), np.bool_))]
    return before


def _next(at: I64, times: I64) -> I64:
    """Per time the next later one of `at`."""
    row = np.searchsorted(at, times, side="right")
    if not len(at):
        return np.full(len(times), NEVER)
    return np.where(row < len(at), at[np.minimum(row, len(at) - 1)], NEVER)
