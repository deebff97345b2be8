"""What a profile holds, line by line: counts, span and busy time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from tpu_profile_plugin.columns import Plane, XSpace

Ints = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True, slots=True)
class PlaneContents:
    """Figures per line of one plane, in file order; times are picoseconds on the file's own axis.

    Attributes:
      name: the plane.
      line_names: the lines, by the name that is shown.
      events, names, stats: per line, the number of events, of distinct event names, and of stats on its events.
      begin_ps, end_ps: first begin and last end per line; 0 where `events` is 0.
      busy_ps: time covered by at least one event.
    """

    name: str
    line_names: tuple[str, ...]
    events: Ints
    names: Ints
    stats: Ints
    begin_ps: Ints
    end_ps: Ints
    busy_ps: Ints


def contents(space: XSpace) -> tuple[PlaneContents, ...]:
    """The contents of every plane, in file order."""
    return tuple(plane_contents(plane) for plane in space.planes)


def plane_contents(plane: Plane) -> PlaneContents:
    """The contents of one plane."""
    start = np.asarray(plane.lines.event_start, dtype=np.int64)
    count = len(start) - 1
    stat_start = np.asarray(plane.events.stats.start, dtype=np.int64)
    begin, end, busy, names = (np.zeros(count, dtype=np.int64) for _ in range(4))
    for line in range(count):
        first, last = int(start[line]), int(start[line + 1])
        if first == last:
            continue
        begins = plane.events.begin_ps[first:last]
        ends = begins + plane.events.duration_ps[first:last]
        begin[line] = begins.min()
        end[line] = ends.max()
        busy[line] = covered_ps(begins, ends)
        names[line] = distinct(plane.events.metadata[first:last])
    shown = tuple(d or n for d, n in zip(plane.lines.display_name, plane.lines.name, strict=True))
    return PlaneContents(plane.name, shown, np.diff(start), names, np.diff(stat_start[start]), begin, end, busy)


def covered_ps(begins: Ints, ends: Ints) -> int:
    """Length of the union of the intervals [begin, end), in any order, in ps."""
    if len(begins) == 0:
        return 0
    if not bool(np.all(begins[:-1] <= begins[1:])):
        order = np.argsort(begins, kind="stable")
        begins, ends = begins[order], ends[order]
    reach = np.maximum.accumulate(ends)
    # What an interval adds is its part beyond everything that began before it.
    added = ends[1:] - np.maximum(begins[1:], reach[:-1])
    return int(ends[0] - begins[0]) + int(np.maximum(added, 0).sum())


def distinct(values: np.ndarray[Any, Any]) -> int:
    """How many different small non-negative numbers there are."""
    top = int(values.max()) + 1
    if top > 8 * len(values):
        return len(np.unique(values))
    return int(np.count_nonzero(np.bincount(values, minlength=top)))
