"""Preprocesses one host: groups, steps, flows and derived lines from the columns of a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tpu_profile_plugin import _native
from tpu_profile_plugin.analysis.common.mapper import Mapper
from tpu_profile_plugin.analysis.common.planes import (
    ABSENT,
    GPU_PREFIX,
    HOST_THREADS,
    LAUNCH_STATS,
    LAUNCH_STATS_ID,
    ExtraLine,
    PlaneExtras,
    Preprocessed,
    is_counter_line,
    is_device,
    is_host,
    is_step_line,
    rows_named,
    spans_at,
    tensor_core,
)
from tpu_profile_plugin.analysis.common.stat_columns import SparseColumn, StatColumns, override
from tpu_profile_plugin.analysis.derived.lines import derive_steps, derive_streams, derive_tpu, fill_groups
from tpu_profile_plugin.analysis.grouping.groups import Grouped, group
from tpu_profile_plugin.analysis.grouping.lookup import REGION, PlaneLookup, flows, look_up_plane
from tpu_profile_plugin.analysis.hlo.programs import HloPrograms, hlo_programs
from tpu_profile_plugin.columns import Plane, XSpace
from tpu_profile_plugin.columns.arrays import I32, I64
from tpu_profile_plugin.units import PS_PER_US

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
        begin, duration = events.begin_ps[steps_range], events.duration_ps[steps_range]
        step_group = group[steps_range].copy()
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


# Launch Stats line: per GPU and group, the number of kernels the host launched and the launch durations.

_DRIVER_CALLS = "cu"


def launch_stats(host: PlaneLookup, group: I64 | None, device: int, names: Mapping[int, str]) -> ExtraLine | None:
    """Launches from one host plane on GPU number `device`; None without any.

    CUDA driver calls (`cu...`) are excluded, and so are groups without a name, which only the file assigned.
    Launch times are formatted texts in microseconds.
    """
    if group is None:
        return None
    plane = host.plane
    devices = host.stat_columns.ints("device_id")
    events = devices.event[devices.value == device]
    _, launched = host.stat_columns.ints("correlation_id").at(events)
    events = events[launched]
    is_driver = rows_named(plane, lambda name: name.startswith(_DRIVER_CALLS))
    events = events[~is_driver[plane.events.metadata[events]]]
    named = [number for number in np.unique(group[events]).tolist() if number in names]
    events = events[np.isin(group[events], named)]
    if len(events) == 0:
        return None
    groups, inverse = np.unique(group[events], return_inverse=True)
    order = np.argsort(inverse.reshape(-1), kind="stable")
    events, first = events[order], np.searchsorted(inverse.reshape(-1)[order], np.arange(len(groups)))
    begin, duration = plane.events.begin_ps[events], plane.events.duration_ps[events]
    count = np.diff(np.append(first, len(events)))
    start = np.minimum.reduceat(begin, first)
    return ExtraLine(
        id=LAUNCH_STATS_ID,
        name=LAUNCH_STATS,
        begin_ps=start,
        duration_ps=np.maximum.reduceat(begin + duration, first) - start,
        metadata=np.arange(len(groups), dtype=np.uint32),
        names=tuple(f"Launch Stats for {names[number]}" for number in groups.tolist()),
        display_names=("",) * len(groups),
        group_id=groups,
        extra_args={
            "num_launches": count,
            "max_launch_time_us": _microseconds(np.maximum.reduceat(duration, first)),
            "avg_launch_time_us": _microseconds(np.add.reduceat(duration, first) / count),
        },
    )


def _microseconds(time_ps: np.ndarray[Any, Any]) -> tuple[I32, tuple[str, ...]]:
    """Times as a text column in microseconds with six significant digits; one text per row."""
    return np.arange(len(time_ps), dtype=np.int32), tuple(f"{time / PS_PER_US:g}" for time in time_ps.tolist())


@dataclass(frozen=True, slots=True, eq=False)
class HostContext:
    """Inputs shared by the planes of a host; unless `derive`, no flows and only step and region lines are built."""

    space: XSpace
    planes: Sequence[PlaneLookup]
    grouped: Grouped
    programs: HloPrograms
    derive: bool


class StepNames:
    """Codes of step names: those in the file, then those of groups."""

    def __init__(self, texts: Sequence[str], groups: Mapping[int, str]) -> None:
        self.texts = list(texts)
        self._groups = groups

    def of(self, group: I64) -> I32:
        """The code of each group's name, -1 for groups without one."""
        distinct, inverse = np.unique(group, return_inverse=True)
        codes: list[int] = []
        for number in distinct.tolist():
            name = self._groups.get(number)
            codes.append(-1 if name is None else len(self.texts))
            if name is not None:
                self.texts.append(name)
        return np.array(codes, dtype=np.int32)[inverse.reshape(-1)] if codes else np.zeros(0, dtype=np.int32)


def plane_extras(host: HostContext, index: int) -> PlaneExtras:
    """Preprocessing results of the plane with the given index."""
    lookup, grouped = host.planes[index], host.grouped
    named_event, name_code, texts = lookup.stat_columns.texts("step_name")
    names = StepNames(texts, grouped.names)
    plane, group_id = lookup.plane, grouped.group[index]
    lines: list[ExtraLine] = []
    removed = line_display_id = None
    if lookup.grouping_line is not None and group_id is not None:
        core_steps = merge_step_events(host.space, plane, lookup.grouping_line, group_id)
        group_lines(plane, lookup.grouping_line, group_id, core_steps, keep=not host.derive)
        if core_steps is not None:
            lines.append(_step_line(lookup, core_steps, names))
            removed = np.zeros(len(plane.events), dtype=np.bool_)
            removed[plane.lines.events_of(core_steps.line)] = True
    if lookup.regions is not None:
        lines += _region_lines(lookup, grouped.region_group[index])
    if host.derive and tensor_core(plane.name) is not None:
        lines += derive_tpu(host.space, plane, lookup.stat_columns, group_id)
    if plane.name.startswith(GPU_PREFIX):
        group_id = fill_groups(plane, group_id)
        if group_id is not None and (gpu_steps := derive_steps(plane, group_id, names.of)):
            lines.append(gpu_steps)
        if host.derive:
            streams, line_display_id = derive_streams(host.space, plane, group_id, host.programs)
            lines += streams + _launch_lines(host, plane)
    roots = grouped.step_roots[index]
    root_codes = names.of(group_id[roots] if group_id is not None else np.zeros(0, dtype=np.int64))
    steps = override(
        SparseColumn(named_event, name_code.astype(np.int64)), SparseColumn(roots, root_codes.astype(np.int64))
    )
    flow_event, flow_value = np.zeros(0, dtype=np.uint32), np.zeros(0, dtype=np.uint64)
    if host.derive:
        hostnames = host.space.hostnames
        flow_event, flow_value = flows(plane, lookup.stat_columns, lookup.links(), hostnames[0] if hostnames else "")
    return PlaneExtras(
        group_id=_frozen(group_id),
        removed=_frozen(removed),
        line_display_id=_frozen(line_display_id),
        flow_event=_frozen(flow_event),
        flow_value=_frozen(flow_value),
        step_event=_frozen(steps.event.astype(np.uint32)),
        step_code=_frozen(steps.value.astype(np.int32)),
        step_names=tuple(names.texts),
        eager_event=_frozen(grouped.eager[index][0]),
        eager_value=_frozen(grouped.eager[index][1]),
        run_id_event=_frozen(lookup.run_id.event.astype(np.uint32)),
        run_id_value=_frozen(lookup.run_id.value),
        lines=tuple(lines),
    )


def _frozen(array: Any) -> Any:
    if array is not None:
        array.flags.writeable = False
    return array


def _launch_lines(host: HostContext, gpu: Plane) -> list[ExtraLine]:
    device = [other.plane for other in host.planes if other.plane.name.startswith(GPU_PREFIX)].index(gpu)
    launches = (
        launch_stats(other, group, device, host.grouped.names)
        for other, group in zip(host.planes, host.grouped.group, strict=True)
        if other.plane.name == HOST_THREADS
    )
    return [line for line in launches if line is not None]


def _step_line(lookup: PlaneLookup, steps: Steps, names: StepNames) -> ExtraLine:
    """The step line after merging; it replaces the one in the file."""
    line, plane = steps.line, lookup.plane
    distinct, code = np.unique(plane.events.metadata[steps.source], return_inverse=True)
    rows: list[int] = distinct.tolist()
    return ExtraLine(
        id=int(plane.lines.id[line]) & 0xFFFFFFFF,
        name=plane.lines.name[line],
        begin_ps=steps.begin_ps,
        duration_ps=steps.duration_ps,
        metadata=code.reshape(-1).astype(np.uint32),
        names=tuple(plane.event_metadata.names[row] for row in rows),
        display_names=tuple(plane.event_metadata.display_names[row] for row in rows),
        display_id=int(plane.lines.display_id[line]),
        metadata_source=distinct.astype(np.int64),
        event_source=steps.source,
        group_id=steps.group_id,
        step_code=names.of(steps.group_id),
        extra_args={
            "step_idle_time_ps": steps.idle_ps,
            "device_offset_ps": steps.device_offset_ps,
            "device_duration_ps": steps.device_duration_ps,
        },
    )


def _region_lines(lookup: PlaneLookup, group_id: I64 | None) -> list[ExtraLine]:
    """The threadpool regions of a plane, added to the lines of their stop events."""
    regions, lines = lookup.regions, []
    assert regions is not None
    first = np.searchsorted(regions.line, np.arange(len(lookup.plane.lines) + 1)).tolist()
    for line, rows in enumerate(map(slice, first, first[1:])):
        if rows.start == rows.stop:
            continue
        lines.append(
            ExtraLine(
                id=int(lookup.plane.lines.id[line]) & 0xFFFFFFFF,
                name=lookup.plane.lines.name[line],
                begin_ps=regions.begin_ps[rows],
                duration_ps=regions.duration_ps[rows],
                metadata=np.zeros(rows.stop - rows.start, dtype=np.uint32),
                names=(REGION,),
                display_names=("",),
                display_id=int(lookup.plane.lines.display_id[line]),
                group_id=None if group_id is None else group_id[rows],
            )
        )
    return lines


def preprocess(space: XSpace, *, derive: bool = True, mapper: Mapper = map) -> Preprocessed:
    """Groups one host's events and derives flows and lines that profilers do not write.

    Args:
      space: the host's columns; they are not changed.
      derive: also compute flows and derived lines; if false, only groups, steps, step names and eager execution.
      mapper: works on the planes, and on independent passes over the events of one.
    """
    if already_grouped(space.planes):
        return _as_in_file(space)
    planes = list(mapper(lambda plane: look_up_plane(space, plane, mapper), space.planes))
    grouped = group(planes, mapper, keep_links=derive)
    host = HostContext(space, planes, grouped, hlo_programs(space), derive)
    extras = mapper(lambda index: plane_extras(host, index), range(len(planes)))
    return Preprocessed(tuple(extras), grouped.names, grouped.links)


def already_grouped(planes: Sequence[Plane]) -> bool:
    """True when every host and device plane has `group_id` in its stat metadata."""
    relevant = [plane for plane in planes if is_host(plane.name) or is_device(plane.name)]
    return bool(relevant) and all(plane.stat_metadata.row("group_id") is not None for plane in relevant)


def _as_in_file(space: XSpace) -> Preprocessed:
    """Results that an earlier preprocessing stored in the file."""
    extras = []
    for plane in space.planes:
        stat_columns = StatColumns(space, plane, plane.events.stats, ("group_id", "step_name", "is_eager", "flow"))
        recorded = stat_columns.ints("group_id")
        flow, eager = stat_columns.ints("flow"), stat_columns.ints("is_eager")
        step_event, step_code, step_names = stat_columns.texts("step_name")
        extras.append(
            PlaneExtras(
                group_id=recorded.dense(len(plane.events), ABSENT) if len(recorded) else None,
                removed=None,
                line_display_id=None,
                flow_event=flow.event.astype(np.uint32),
                flow_value=flow.value.view(np.uint64),
                step_event=step_event.astype(np.uint32),
                step_code=step_code,
                step_names=tuple(step_names),
                eager_event=eager.event.astype(np.uint32),
                eager_value=(eager.value != 0).astype(np.uint8),
                run_id_event=np.zeros(0, dtype=np.uint32),
                run_id_value=np.zeros(0, dtype=np.int64),
                lines=(),
            )
        )
    none = np.zeros(0, dtype=np.int64)
    return Preprocessed(tuple(extras), {}, (none, none))
