"""Sums per name over the events of a rectangle of the timeline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.analysis.timeline.host import HostTrace
from tpu_profile_plugin.analysis.timeline.window import Window


@dataclass(frozen=True, slots=True)
class Area:
    """Rows `first` to `last` (inclusive) of a track, which is an index into the tracks of its trace."""

    track: int
    first: int
    last: int


@dataclass(slots=True)
class NameSum:
    """Events of one name: their number, summed durations, the same without direct children, shortest and longest (ps).

    Children of an event are the events of the row below that lie within it.
    """

    name: str
    count: int
    wall_ps: int
    self_ps: int
    min_ps: int
    max_ps: int


def sums(parts: Sequence[tuple[HostTrace, Sequence[Area]]], window: Window) -> list[NameSum]:
    """Sums over the events that touch the window in these areas, each event whole; longest first, then by name."""
    by_name: dict[str, NameSum] = {}
    for trace, areas in parts:
        columns = [np.array([getattr(area, key) for area in areas], np.uint32) for key in ("track", "first", "last")]
        ids, *numbers = trace.native.sums((columns[0], columns[1], columns[2]), *window)
        for name_id, *values in zip(ids.tolist(), *(column.tolist() for column in numbers), strict=True):
            entry = NameSum(trace.names[name_id], *values)
            known = by_name.setdefault(entry.name, entry)
            if known is not entry:
                _add(known, entry)
    return sorted(by_name.values(), key=lambda entry: (-entry.wall_ps, entry.name))


def _add(to: NameSum, entry: NameSum) -> None:
    to.count += entry.count
    to.wall_ps += entry.wall_ps
    to.self_ps += entry.self_ps
    to.min_ps, to.max_ps = min(to.min_ps, entry.min_ps), max(to.max_ps, entry.max_ps)
