"""Processes and threads of a timeline: planes and lines that it shows, hidden events, steps, broken rows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tpu_profile_plugin.analysis.common.planes import (
    ABSENT,
    ASYNC_OPS,
    CUSTOM_PREFIXES,
    FRAMEWORK_OPS,
    GPU_PREFIX,
    HOST_THREADS,
    MODULES,
    NAME_SCOPE,
    OP_LINES,
    OPS,
    SOURCE,
    STEPS,
    TPU_PREFIX,
    ExtraLine,
    PlaneExtras,
    Preprocessed,
    events_of_lines,
    is_counter_line,
    is_device,
    is_host,
    is_step_line,
    is_tensor_core,
    lines_named,
    recorded_lines,
    rows_of_lines,
    shown_names,
    spans_at,
)
from tpu_profile_plugin.analysis.common.rows import members
from tpu_profile_plugin.analysis.common.spans import Times, times_of
from tpu_profile_plugin.analysis.environment.environment import task_times
from tpu_profile_plugin.columns import Plane, XSpace
from tpu_profile_plugin.columns.arrays import I64
from tpu_profile_plugin.units import PS_PER_US

HIDDEN_EVENTS = frozenset((
    "MemoryAllocation", "MemoryDeallocation", "PrefetchProduce", "PrefetchConsume", "ParallelInterleaveProduce",
    "ParallelInterleaveConsume", "ParallelInterleaveInitializeInput", "ParallelMapProduce", "ParallelMapConsume",
    "MapAndBatchProduce", "MapAndBatchConsume", "ParseExampleProduce", "ParseExampleConsume", "ParallelBatchProduce",
    "ParallelBatchConsume",
))  # fmt: skip
"""Names of hidden events."""

CONTEXT_ARGS = frozenset({"_pt", "_p", "_ct", "_c", "_r"})
"""Stats by which events are grouped and linked."""

HIDDEN_ARGS = CONTEXT_ARGS | {"flops", "program_id", "symbol_id"}
"""Stats hidden from an event's arguments."""

FOLDED_ARGS = frozenset({"_a", "flow", "group_id"})
"""Stats that the streaming viewer shows as properties of the event, not among its arguments."""

ASYNC = "_a"
LONG_NAME = "long_name"
GROUP_ID = "group_id"
FLOW = "flow"
STEP_NAME = "step_name"
IS_EAGER = "is_eager"
RUN_ID = "run_id"


HOST_PID = 701
FIRST_DEVICE_PID = 1
LAST_DEVICE_PID = 500
FIRST_CUSTOM_PID = 501
HOST_STRIDE = 1000
"""Offset of process ids per host, for traces of several hosts."""


@dataclass(frozen=True, slots=True)
class Section:
    """One plane as a process; `plane` is its index in the profile.

    `has_lines` counts empty lines too, except on GPUs and TensorCores, where profilers leave them behind.
    """

    pid: int
    name: str
    plane: int
    has_lines: bool

    @property
    def is_tpu(self) -> bool:
        """True for planes of TPUs."""
        return self.name.startswith(TPU_PREFIX)


@dataclass(frozen=True, slots=True)
class LineTrack:
    """Track of one line of the file (`table` 0) or derived line (`table` 1 + index), and its events `first`..`last`."""

    pid: int
    tid: int
    name: str
    section: int
    table: int
    first: int
    last: int


def sections(space: XSpace, *, older: bool = False) -> tuple[Section, ...]:
    """The planes that a timeline shows, ascending by process id; TPU planes are ignored if there are GPU planes.

    In the older form only the first plane of the host's own name is shown; custom planes are numbered as devices, and
    ignored if there are others; and the ids of devices have no upper limit.
    """
    planes = [(plane.name, index, plane) for index, plane in enumerate(space.planes)]
    visible: list[Section] = []
    hosts = sorted((entry for entry in planes if entry[0].startswith(HOST_THREADS)), key=lambda entry: entry[0])
    if older:
        hosts = [entry for entry in hosts if entry[0] == HOST_THREADS][:1]
    visible += [_section(HOST_PID + i, index, plane) for i, (_, index, plane) in enumerate(hosts)]
    devices = [entry for entry in planes if entry[0].startswith(GPU_PREFIX)]
    devices = devices or [entry for entry in planes if entry[0].startswith(TPU_PREFIX)]
    custom = [entry for entry in planes if entry[0].startswith(CUSTOM_PREFIXES[0])]
    if older:
        devices, custom = devices or custom, []
    for _, index, plane in devices:
        pid = (FIRST_DEVICE_PID + plane.id) & 0xFFFFFFFF
        visible.append(_section(pid if older or pid <= LAST_DEVICE_PID else FIRST_DEVICE_PID, index, plane))
    for _, index, plane in custom:
        visible.append(_section((FIRST_CUSTOM_PID + plane.id) & 0xFFFFFFFF, index, plane))
    return tuple(sorted(visible, key=lambda section: section.pid))


def _section(pid: int, index: int, plane: Plane) -> Section:
    return Section(pid, plane.name, index, len(plane.events if _drops_empty_lines(plane) else plane.lines) > 0)


def _drops_empty_lines(plane: Plane) -> bool:
    return is_tensor_core(plane) or plane.name.startswith(GPU_PREFIX)


def transfers(plane: Plane) -> I64:
    """The events on lines of asynchronous transfers, ascending."""
    titles = shown_names(plane.lines.name, plane.lines.display_name)
    return events_of_lines(plane, [line for line, title in enumerate(titles) if title == ASYNC_OPS])


def line_tracks(
    index: int, section: Section, plane: Plane, extras: PlaneExtras, *, older: bool = False
) -> list[LineTrack]:
    """Tracks of a section's lines that have events, without counters, in file order, derived lines last.

    In the older form counters are events like others, and some empty lines have tracks.
    """
    tracks = []
    lines = plane.lines
    given = extras.line_display_id
    display = lines.display_id if given is None else np.where(given != 0, given, lines.display_id)
    for line in range(len(lines)):
        events = lines.events_of(line)
        if events.start == events.stop and (not older or _drops_empty_lines(plane)):
            continue
        if not older and is_counter_line(lines.name[line]):
            continue
        tid = int(display[line] or lines.id[line]) & 0xFFFFFFFF
        name = lines.display_name[line] or lines.name[line]
        tracks.append(LineTrack(section.pid, tid, name, index, 0, events.start, events.stop))
    for number, extra in enumerate(extras.lines):
        if len(extra.begin_ps):
            tid = _extra_tid(extra.id, extra.display_id, lines.id, display)
            tracks.append(LineTrack(section.pid, tid, extra.name, index, 1 + number, 0, len(extra.begin_ps)))
    return tracks


def _extra_tid(line: int, display: int, ids: I64, displays: I64) -> int:
    """Thread id of a derived line; that of the file's line if both have the same line id."""
    same = np.flatnonzero((ids & 0xFFFFFFFF) == (line & 0xFFFFFFFF))
    of_file = int(displays[same[0]]) if len(same) else 0
    return (display or of_file or line) & 0xFFFFFFFF


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
            line_names = shown_names(line.names, line.display_names)
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
    return task_times(space)[0] or None


LONGEST_BRIDGE_PS = 10 * PS_PER_US
"""Rows are drawn through shorter idle times: what launching a kernel takes. Longer ones show."""

MOST_PARTS = 2_000_000
"""A line that would have more parts stays whole."""

_BROKEN = (FRAMEWORK_OPS, NAME_SCOPE, SOURCE, MODULES, OPS)


def broken(space: XSpace, extras: Preprocessed) -> Preprocessed:
    """`extras` with derived events of ops divided at idle times of their device; itself if none is.

    Steps stay whole, and so do host offloads, which last from the start of a copy to its end.
    """
    pairs = zip(space.planes, extras.planes, strict=True)
    planes = tuple(_broken_plane(plane, extra) if is_device(plane.name) else extra for plane, extra in pairs)
    same = all(new is old for new, old in zip(planes, extras.planes, strict=True))
    return extras if same else replace(extras, planes=planes)


def _broken_plane(plane: Plane, extra: PlaneExtras) -> PlaneExtras:
    if not any(_breaks(line) for line in extra.lines):
        return extra
    # Busy while ops ran: the events on lines of ops, else (on GPUs, whose lines are streams) all recorded events.
    op_lines = [line for name in OP_LINES for line in lines_named(plane, name)]
    rows = rows_of_lines(plane, op_lines or np.flatnonzero(recorded_lines(plane)).tolist())
    busy = times_of(*spans_at(plane, rows))
    if len(busy[0]):
        long = busy[0][1:] - busy[1][:-1] > LONGEST_BRIDGE_PS
        busy = busy[0][np.r_[True, long]], busy[1][np.r_[long, True]]
    lines = tuple(_divided(line, busy) if _breaks(line) else line for line in extra.lines)
    same = all(new is old for new, old in zip(lines, extra.lines, strict=True))
    return extra if same else replace(extra, lines=lines)


def _breaks(line: ExtraLine) -> bool:
    return line.name.startswith(_BROKEN)


def _divided(line: ExtraLine, busy: Times) -> ExtraLine:
    """Each event as its parts in `busy`; one without any stays whole."""
    begin, end = line.begin_ps, line.begin_ps + line.duration_ps
    first = np.searchsorted(busy[1], begin, side="right")
    parts = np.maximum(np.searchsorted(busy[0], end, side="left") - first, 0)
    if not (parts > 1).any() or parts.sum() > MOST_PARTS:
        return line
    count = np.maximum(parts, 1)
    row, span = members(first, count)
    cut = parts[row] > 0
    span = np.where(cut, span, 0)
    since = np.where(cut, np.maximum(begin[row], busy[0][span]), begin[row])
    until = np.where(cut, np.minimum(end[row], busy[1][span]), end[row])
    return replace(
        line,
        begin_ps=since,
        duration_ps=until - since,
        metadata=line.metadata[row],
        event_source=None if line.event_source is None else line.event_source[row],
        group_id=None if line.group_id is None else line.group_id[row],
        step_code=None if line.step_code is None else line.step_code[row],
        extra_args={
            name: (arg[0][row], arg[1]) if isinstance(arg, tuple) else arg[row] for name, arg in line.extra_args.items()
        },
    )
