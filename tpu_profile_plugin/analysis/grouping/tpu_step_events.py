"""Post-processing of TPU cores: merges step events of one group and propagates groups to overlapping events."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin import _native
from tpu_profile_plugin.analysis.common.planes import ABSENT, is_counter_line, is_step_line, spans_at
from tpu_profile_plugin.analysis.common.stat_columns import StatColumns
from tpu_profile_plugin.columns import Plane, XSpace
from tpu_profile_plugin.columns.arrays import I64, Bools

_NONE = 2**32 - 1
_STATS = ("step_idle_time_ps", "device_offset_ps", "device_duration_ps")


@dataclass(frozen=True, slots=True, eq=False)
class Steps:
    """The steps of a core after merging.

    Attributes:
      line: the step line.
      source: first event of each step.
      begin_ps, duration_ps, group_id: of the merged step.
      idle_ps: sum of the idle times of the merged events.
      device_offset_ps, device_duration_ps: on the device's clock, ABSENT where the first merged event has none.
    """

    line: int
    source: I64
    begin_ps: I64
    duration_ps: I64
    group_id: I64
    idle_ps: I64
    device_offset_ps: I64
    device_duration_ps: I64


def merge_step_events(space: XSpace, plane: Plane, line: int, group: I64) -> Steps | None:
    """Merges adjacent step events of one group and drops ungrouped ones; None if `line` has no grouped steps.

    A merged step ends where its last event ends.
    """
    if not is_step_line(plane.lines.name[line]):
        return None
    start = plane.lines.event_start
    event = np.arange(start[line], start[line + 1], dtype=np.int64)
    event_group = group[event]
    if not bool((event_group >= 0).any()):
        return None
    begin, end = spans_at(plane, event)
    stat_columns = StatColumns(space, plane, plane.events.stats, _STATS, plane.lines.events_of(line))
    idle, _ = stat_columns.ints("step_idle_time_ps").at(event)
    offset, has_offset = stat_columns.ints("device_offset_ps").at(event)
    length, has_length = stat_columns.ints("device_duration_ps").at(event)
    timed = has_offset & has_length
    first = (event_group >= 0) & np.append(True, event_group[1:] != event_group[:-1])
    grouped = np.flatnonzero(event_group >= 0)
    first_row = np.searchsorted(grouped, np.flatnonzero(first))
    source, last = grouped[first_row], grouped[np.append(first_row[1:], len(grouped)) - 1]
    device_end = np.where(timed, offset + length, np.iinfo(np.int64).min)
    device_begin = np.where(timed, offset, np.iinfo(np.int64).max)
    low, high = (
        np.minimum.reduceat(device_begin[grouped], first_row),
        np.maximum.reduceat(device_end[grouped], first_row),
    )
    has_device_time = timed[source]
    return Steps(
        line,
        event[source],
        begin[source],
        end[last] - begin[source],
        event_group[source],
        np.add.reduceat(idle[grouped], first_row),
        np.where(has_device_time, low, ABSENT),
        np.where(has_device_time, high - low, ABSENT),
    )


def group_lines(plane: Plane, line: int, group: I64, steps: Steps | None, *, keep: bool) -> None:
    """Assigns to every event the group of the first step (or module run) it overlaps; modifies `group` in place.

    `keep`: events with a group in the file keep it. XProf gives them a second group; its tables read the
    first, its trace viewer the second.
    Samples of counters get none. Steps keep their own group. Module runs do not: a run that begins where another ends
    takes that run's group, but its own group, if any, is still the one assigned to events that overlap it.
    """
    start, events = plane.lines.event_start, plane.events
    steps_range = slice(int(start[line]), int(start[line + 1]))
    if steps is not None:
        begin, duration, step_group = steps.begin_ps, steps.duration_ps, steps.group_id
    else:
        begin, duration, step_group = (
            events.begin_ps[steps_range],
            events.duration_ps[steps_range],
            group[steps_range].copy(),
        )
    begin, duration = np.ascontiguousarray(begin), np.ascontiguousarray(duration)
    for other in range(len(start) - 1):
        rows = slice(int(start[other]), int(start[other + 1]))
        is_left_out = (steps is not None and other == line) or is_counter_line(plane.lines.name[other])
        if is_left_out or rows.start == rows.stop:
            continue
        index = _native.overlapping(begin, duration, events.begin_ps[rows], events.duration_ps[rows])
        if other == line:
            alone = index == _NONE  # a run that ends before it begins does not even overlap itself
            step_group = _inherited(step_group, np.where(alone, np.arange(len(step_group)), index.astype(np.int64)))
        with_absent = np.append(step_group, ABSENT)
        overlapped = with_absent[np.where(index == _NONE, len(step_group), index)]
        np.copyto(group[rows], overlapped, where=(overlapped >= 0) & ((group[rows] < 0) | (other == line) | (not keep)))


def _inherited(group: I64, joined: I64) -> I64:
    """Group of each run; one without a group inherits that of the run it joins (`joined`, no later one), and so on."""
    source = np.where(group >= 0, np.arange(len(group)), joined)
    while True:
        further = source[source]
        if np.array_equal(further, source):
            return group[source]
        source = further


def removed_steps(plane: Plane, steps: Steps) -> Bools:
    """Marks the file's own events of the step line."""
    removed = np.zeros(len(plane.events.begin_ps), dtype=np.bool_)
    start = plane.lines.event_start
    removed[start[steps.line] : start[steps.line + 1]] = True
    return removed
