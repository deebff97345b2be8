"""Time of host threads by call stack: events of a thread that enclose each other, added up by their names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from tpu_profile_plugin.analysis.common.planes import nested
from tpu_profile_plugin.analysis.common.rows import row_codes, sums_by
from tpu_profile_plugin.columns import Plane
from tpu_profile_plugin.columns.arrays import I64, Bools

MOST_STACKS = 50_000
"""Stacks kept, those with most time; the time of the others is that of their callers."""


@dataclass(frozen=True, slots=True, eq=False)
class Stacks:
    """Distinct stacks, callers before what they call.

    Attributes:
      names: of the frames.
      name, parent: int64[n], position in `names`, and of the caller; -1 for threads, the outermost frames.
      self_ps: int64[n], time without the frames called, over all runs.
    """

    names: tuple[str, ...] = ()
    name: I64 = field(default_factory=lambda: np.zeros(0, np.int64))
    parent: I64 = field(default_factory=lambda: np.zeros(0, np.int64))
    self_ps: I64 = field(default_factory=lambda: np.zeros(0, np.int64))

    def __len__(self) -> int:
        return len(self.name)

    def total_ps(self) -> I64:
        """Time of each stack with all that it calls."""
        total: I64 = np.array(self.self_ps, np.int64)
        for level in reversed(_levels(self.parent)):
            inner = level[self.parent[level] >= 0]
            np.add.at(total, self.parent[inner], total[inner])
        return total


def thread_stacks(plane: Plane, lines: Bools, thread_names: Sequence[str], most: int = MOST_STACKS) -> Stacks:
    """The stacks of some threads of a host; `lines`: bool[lines], `thread_names`: of all lines."""
    self_ps, depth = nested(plane)
    line = np.repeat(np.arange(len(plane.lines)), np.diff(plane.lines.event_start))
    events = np.flatnonzero(lines[line])
    # Those that enclose come before what they enclose.
    events = events[np.lexsort((depth[events], plane.events.begin_ps[events], line[events]))]
    codes, first = np.unique(plane.events.metadata[events], return_inverse=True)
    event_names = plane.event_metadata.names
    names = [
        *(thread_names[thread] for thread in np.flatnonzero(lines).tolist()),
        *(event_names[code] for code in codes.tolist()),
    ]
    threads = int(lines.sum())
    thread_of = (np.cumsum(lines) - 1)[line[events]]
    path, parent, name = _paths(depth[events].astype(np.int64), thread_of, first + threads, threads)
    return _folded(Stacks(tuple(names), name, parent, sums_by(path, self_ps[events], len(name))), most)


def _paths(depth: I64, thread: I64, name: I64, threads: int) -> tuple[I64, I64, I64]:
    """(stack of each event, parent of each stack, name of each stack); the first stacks are the threads."""
    path = np.zeros(len(depth), np.int64)
    parents, names = [np.full(threads, -1, np.int64)], [np.arange(threads)]
    count, above = threads, np.zeros(0, np.int64)
    for level in range(int(depth.max(initial=-1)) + 1):
        here = np.flatnonzero(depth == level)
        if not len(here):
            break
        # The event that encloses one is the last of the level above that comes before it.
        caller = thread[here] if level == 0 else path[above[np.searchsorted(above, here) - 1]]
        code, first = row_codes(caller, name[here])
        path[here] = count + code
        parents.append(caller[first])
        names.append(name[here][first])
        count, above = count + len(first), here
    return path, np.concatenate(parents), np.concatenate(names)


def _levels(parent: I64) -> list[I64]:
    """Stacks by depth; callers come before what they call."""
    levels, here = [], np.flatnonzero(parent < 0)
    while len(here):
        levels.append(here)
        mask = np.zeros(len(parent), np.bool_)
        mask[here] = True
        here = np.flatnonzero((parent >= 0) & mask[np.maximum(parent, 0)])
    return levels


def _folded(stacks: Stacks, most: int) -> Stacks:
    """The stacks with most time, in the same order; the time of the others is added to their callers."""
    if len(stacks) <= most:
        return stacks
    total = stacks.total_ps()
    kept = np.zeros(len(stacks), np.bool_)
    kept[np.argsort(-total, kind="stable")[:most]] = True  # callers have at least as much and come first
    sums = stacks.self_ps.copy()
    for level in reversed(_levels(stacks.parent)):
        lost = level[~kept[level] & (stacks.parent[level] >= 0)]
        np.add.at(sums, stacks.parent[lost], sums[lost])
    place = np.cumsum(kept) - 1
    parent = stacks.parent[kept]
    return Stacks(stacks.names, stacks.name[kept], np.where(parent >= 0, place[parent], -1), sums[kept])
