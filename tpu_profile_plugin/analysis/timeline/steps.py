"""The step ruler of a timeline."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.analysis.common.planes import ABSENT, STEPS, Preprocessed, is_host, is_step_line, lines_named
from tpu_profile_plugin.analysis.timeline.sections import HOST_PID, Section
from tpu_profile_plugin.columns import XSpace
from tpu_profile_plugin.columns.arrays import I64

_START_STAT = "profile_start_time"
_ENVIRONMENT = "Task Environment"
_NONE: I64 = np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True)
class Ruler:
    """Disjoint steps, ascending; `names` has one text per step."""

    begin_ps: I64
    duration_ps: I64
    names: tuple[str, ...]

    def within(self, begin: int, end: int) -> Ruler:
        """The steps that overlap a window."""
        first = int(np.searchsorted(self.begin_ps + self.duration_ps, begin))
        last = max(int(np.searchsorted(self.begin_ps, end, side="right")), first)
        return Ruler(self.begin_ps[first:last], self.duration_ps[first:last], self.names[first:last])


def ruler(space: XSpace, extras: Preprocessed, sections: tuple[Section, ...]) -> Ruler:
    """The steps of the first device that has any, else the host's step markers."""
    devices = [section for section in sections if section.pid < HOST_PID]
    for section in devices:
        line = extras.planes[section.plane].line(STEPS)
        if line is not None and len(line.begin_ps):
            table = extras.planes[section.plane].step_names
            codes = np.full(len(line.begin_ps), -1) if line.step_code is None else line.step_code
            line_names = [display or name for name, display in zip(line.names, line.display_names, strict=True)]
            names = [
                table[code] if code >= 0 else line_names[row] for code, row in zip(codes, line.metadata, strict=True)
            ]
            return _disjoint(line.begin_ps, line.duration_ps, names)
        file_steps = _file_steps(space, section)
        if file_steps is not None:
            return file_steps
    for section in sections:
        extra = extras.planes[section.plane]
        if section.pid >= HOST_PID and len(extra.step_event):
            events = space.planes[section.plane].events
            names = [extra.step_names[code] for code in extra.step_code.tolist()]
            return _disjoint(events.begin_ps[extra.step_event], events.duration_ps[extra.step_event], names)
    return _disjoint(np.empty(0, np.int64), np.empty(0, np.int64), [])


def step_groups(space: XSpace, extras: Preprocessed) -> I64:
    """The groups that are steps, ascending: those on devices' step lines, else those that begin with a step marker."""
    on_devices, on_hosts = [_NONE], [_NONE]
    for plane, extra in zip(space.planes, extras.planes, strict=True):
        if extra.group_id is None:
            continue
        if is_host(plane.name):
            on_hosts.append(extra.group_id[extra.step_event])
            continue
        on_devices += [line.group_id for line in extra.lines if is_step_line(line.name) and line.group_id is not None]
        on_devices += [extra.group_id[plane.lines.events_of(line)] for line in lines_named(plane, STEPS)]
    groups = np.unique(np.concatenate(on_devices))
    groups = groups if bool((groups != ABSENT).any()) else np.unique(np.concatenate(on_hosts))
    steps: I64 = groups[groups != ABSENT]
    return steps


def _file_steps(space: XSpace, section: Section) -> Ruler | None:
    plane = space.planes[section.plane]
    for line, name in enumerate(plane.lines.name):
        events = plane.lines.events_of(line)
        if name == STEPS and events.stop > events.start:
            texts = plane.event_metadata.names
            names = [texts[row] for row in plane.events.metadata[events].tolist()]
            return _disjoint(plane.events.begin_ps[events], plane.events.duration_ps[events], names)
    return None


def _disjoint(begin: I64, duration: I64, names: list[str]) -> Ruler:
    """Sorts the steps and truncates each at the begin of the next (steps may overlap due to pipelining)."""
    order = np.lexsort((-duration, begin))
    begin, duration = begin[order], duration[order]
    keep = np.r_[True, begin[1:] > begin[:-1]] if len(begin) else np.empty(0, np.bool_)
    begin, duration = begin[keep], duration[keep]
    duration[:-1] = np.minimum(duration[:-1], np.diff(begin))
    return Ruler(begin, duration, tuple(names[i] for i in order[keep].tolist()))


def time_origin_ns(space: XSpace) -> int | None:
    """Unix time of ps 0 in ns; None if it is not recorded."""
    for plane in space.planes:
        if plane.name == _ENVIRONMENT:
            row = plane.stat_metadata.row(_START_STAT)
            _, index = plane.stats.where(row)
            if len(index):
                return int(plane.stats.value[index[0]]) or None
    return None
