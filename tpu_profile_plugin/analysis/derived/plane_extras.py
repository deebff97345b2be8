"""Assembles the preprocessing results of one plane."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tpu_profile_plugin.analysis.common.planes import (
    GPU_PREFIX,
    HOST_THREADS,
    LAUNCH_STATS,
    LAUNCH_STATS_ID,
    ExtraLine,
    PlaneExtras,
    tensor_core,
)
from tpu_profile_plugin.analysis.common.stat_columns import SparseColumn, override
from tpu_profile_plugin.analysis.derived.gpu import derive_steps, derive_streams, fill_groups
from tpu_profile_plugin.analysis.derived.tpu import derive_tpu
from tpu_profile_plugin.analysis.grouping.event_names import REGION
from tpu_profile_plugin.analysis.grouping.flows import flows
from tpu_profile_plugin.analysis.grouping.groups import Grouped
from tpu_profile_plugin.analysis.grouping.plane_lookup import PlaneLookup
from tpu_profile_plugin.analysis.grouping.tpu_step_events import Steps, group_lines, merge_step_events, removed_steps
from tpu_profile_plugin.analysis.hlo.programs import HloPrograms
from tpu_profile_plugin.columns import XSpace
from tpu_profile_plugin.columns.arrays import I32, I64
from tpu_profile_plugin.units import PS_PER_US

# Launch Stats line: per GPU and group, the number of kernels the host launched and the launch durations.

_DRIVER_CALLS = "cu"


def launch_stats(host: PlaneLookup, group: I64 | None, device: int, names: Mapping[int, str]) -> ExtraLine | None:
    """Launches from one host plane on GPU number `device`; None without any.

    CUDA driver calls (`cu...`) are excluded, and so are groups without a name, which only the file assigned.
    Launch times are formatted texts in microseconds.
    """
    if group is None:
        return None
    events, plane = _launches(host, device), host.plane
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


def _launches(host: PlaneLookup, device: int) -> I64:
    """Events that launch on the device and are not driver calls."""
    devices = host.stat_columns.ints("device_id")
    events = devices.event[devices.value == device]
    _, launched = host.stat_columns.ints("correlation_id").at(events)
    events = events[launched]
    rows = host.plane.events.metadata[events]
    names = host.plane.event_metadata.names
    driver = {row for row in np.unique(rows).tolist() if names[row].startswith(_DRIVER_CALLS)}
    launches: I64 = events[~np.isin(rows, list(driver))] if driver else events
    return launches


@dataclass(frozen=True, slots=True, eq=False)
class HostContext:
    """Inputs shared by the planes of a host; unless `derive`, no flows and only step and region lines are built."""

    space: XSpace
    planes: Sequence[PlaneLookup]
    grouped: Grouped
    programs: HloPrograms
    derive: bool


@dataclass(slots=True, eq=False)
class _RoleResults:
    """Results that depend on the plane's role, filled in step by step."""

    group_id: I64 | None
    lines: list[ExtraLine]
    steps: Steps | None = None
    line_display_id: I64 | None = None


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
    own_event, own_code, own_texts = lookup.stat_columns.texts("step_name")
    names = StepNames(own_texts, grouped.names)
    results = _RoleResults(grouped.group[index], [])
    if lookup.grouping_line is not None and results.group_id is not None:
        _tpu_steps(host, lookup, results, names)
    if lookup.regions is not None:
        results.lines += _region_lines(lookup, grouped.region_group[index])
    if host.derive and tensor_core(lookup.plane.name) is not None:
        results.lines += derive_tpu(host.space, lookup.plane, lookup.stat_columns, results.group_id)
    if lookup.plane.name.startswith(GPU_PREFIX):
        _gpu(host, lookup, results, names)
    roots, group_id = grouped.step_roots[index], results.group_id
    root_codes = names.of(group_id[roots] if group_id is not None else np.zeros(0, dtype=np.int64))
    steps = override(
        SparseColumn(own_event, own_code.astype(np.int64)), SparseColumn(roots, root_codes.astype(np.int64))
    )
    flow_event, flow_value = _flows(host, lookup)
    return PlaneExtras(
        group_id=_frozen(results.group_id),
        removed=None if results.steps is None else _frozen(removed_steps(lookup.plane, results.steps)),
        line_display_id=_frozen(results.line_display_id),
        flow_event=_frozen(flow_event),
        flow_value=_frozen(flow_value),
        step_event=_frozen(steps.event.astype(np.uint32)),
        step_code=_frozen(steps.value.astype(np.int32)),
        step_names=tuple(names.texts),
        eager_event=_frozen(grouped.eager[index][0]),
        eager_value=_frozen(grouped.eager[index][1]),
        run_id_event=_frozen(lookup.run_id.event.astype(np.uint32)),
        run_id_value=_frozen(lookup.run_id.value),
        lines=tuple(results.lines),
    )


def _frozen(array: Any) -> Any:
    if array is not None:
        array.flags.writeable = False
    return array


def _flows(host: HostContext, lookup: PlaneLookup) -> tuple[Any, Any]:
    if not host.derive:
        return np.zeros(0, dtype=np.uint32), np.zeros(0, dtype=np.uint64)
    named = host.space.hostnames
    return flows(lookup.plane, lookup.stat_columns, lookup.links(), named[0] if named else "")


def _tpu_steps(host: HostContext, lookup: PlaneLookup, results: _RoleResults, names: StepNames) -> None:
    assert lookup.grouping_line is not None
    assert results.group_id is not None
    results.steps = merge_step_events(host.space, lookup.plane, lookup.grouping_line, results.group_id)
    group_lines(lookup.plane, lookup.grouping_line, results.group_id, results.steps, keep=not host.derive)
    if results.steps is not None:
        results.lines.append(_step_line(lookup, results.steps, names))


def _gpu(host: HostContext, lookup: PlaneLookup, results: _RoleResults, names: StepNames) -> None:
    plane = lookup.plane
    results.group_id = fill_groups(plane, results.group_id)
    if results.group_id is not None and (steps := derive_steps(plane, results.group_id, names.of)):
        results.lines.append(steps)
    if not host.derive:
        return
    streams, results.line_display_id = derive_streams(host.space, plane, results.group_id, host.programs)
    results.lines += streams
    device = [other.plane for other in host.planes if other.plane.name.startswith(GPU_PREFIX)].index(plane)
    for index, other in enumerate(host.planes):
        if other.plane.name == HOST_THREADS:
            launches = launch_stats(other, host.grouped.group[index], device, host.grouped.names)
            results.lines += [launches] if launches else []


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
