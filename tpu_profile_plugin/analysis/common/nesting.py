"""Which events of a line enclose which: self times and depths."""

from __future__ import annotations

from tpu_profile_plugin import _native
from tpu_profile_plugin.columns import Plane
from tpu_profile_plugin.columns.arrays import I32, I64


def nested(plane: Plane) -> tuple[I64, I32]:
    """Self time in ps of each event, its duration without the events that it encloses directly, and its depth.

    The depth is the number of events of the line that enclose it, 0 for the outermost.
    """
    return _native.nested_times(plane.lines.event_start, plane.events.begin_ps, plane.events.duration_ps)
