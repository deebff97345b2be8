"""Contents of a profile per line: counts, span and busy time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin import _native
from tpu_profile_plugin.analysis.common.planes import shown_names
from tpu_profile_plugin.columns import Plane, XSpace
from tpu_profile_plugin.columns.arrays import I64


@dataclass(frozen=True, slots=True)
class PlaneContents:
    """Statistics per line of one plane, in file order; times are picoseconds on the file's time axis.

    Attributes:
      name: name of the plane.
      line_names: display names of the lines.
      events, names, stats: per line, the number of events, of distinct event names, and of stats on its events.
      begin_ps, end_ps: first begin and last end per line; 0 where `events` is 0.
      busy_ps: time covered by at least one event.
    """

    name: str
    line_names: tuple[str, ...]
    events: I64
    names: I64
    stats: I64
    begin_ps: I64
    end_ps: I64
    busy_ps: I64


def contents(space: XSpace) -> tuple[PlaneContents, ...]:
    return tuple(plane_contents(plane) for plane in space.planes)


def plane_contents(plane: Plane) -> PlaneContents:
    start = np.asarray(plane.lines.event_start, dtype=np.int64)
    stat_start = np.asarray(plane.events.stats.start, dtype=np.int64)
    events = plane.events
    begin, end, busy, names = _native.line_contents(start, events.begin_ps, events.duration_ps, events.metadata)
    line_names = tuple(shown_names(plane.lines.name, plane.lines.display_name))
    return PlaneContents(plane.name, line_names, np.diff(start), names, np.diff(stat_start[start]), begin, end, busy)
