"""Steps of GPUs and CPUs: host events that mark or fill them, and the parts of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from tpu_profile_plugin import _native
from tpu_profile_plugin.analysis.common import op_names
from tpu_profile_plugin.analysis.common.mapper import Mapper, both
from tpu_profile_plugin.analysis.common.planes import (
    GPU_PREFIX,
    STEPS_ID,
    PlaneExtras,
    Preprocessed,
    event_groups,
    events_of_lines,
    host_plane,
    on_recorded_line,
    rows_named,
    spans_at,
)
from tpu_profile_plugin.analysis.common.rows import extents, joined, rows_of, sums_by
from tpu_profile_plugin.analysis.common.spans import PartTimes
from tpu_profile_plugin.analysis.steps.step_table import CLASSES, EventClass, StepTable, longest_spans
from tpu_profile_plugin.columns import Plane, XSpace
from tpu_profile_plugin.columns import stats as read
from tpu_profile_plugin.columns.arrays import I64, U8

_MARKER_PREFIXES = ("train", "test", "TraceContext")
_SILENT_PREFIXES = ("EagerExecute", "EagerLocalExecute", "EagerKernelExecute", "FunctionRun")
_MARKER, _SILENT = 254, 255
_SIGNED_STEPS_ID = STEPS_ID - (1 << 32)


@dataclass(frozen=True, slots=True)
class Spans:
    """Spans of grouped events: classified ones, or step markers.

    Attributes:
      group, begin_ps, end_ps: int64[n].
      kind: uint8[n], an EventClass; not meaningful for markers.
    """

    group: I64
    begin_ps: I64
    end_ps: I64
    kind: U8

    def __len__(self) -> int:
        return len(self.group)

    def longest(self) -> dict[int, tuple[int, int]]:
        """Begin and end of the longest span of each group."""
        columns = (self.group.tolist(), self.begin_ps.tolist(), self.end_ps.tolist())
        return longest_spans(zip(*columns, strict=True))


_NONE = np.zeros(0, np.int64)
NO_SPANS = Spans(_NONE, _NONE, _NONE, np.zeros(0, np.uint8))


@dataclass(frozen=True, slots=True)
class HostEvents:
    """Grouped events of the host: step markers, classified spans, and step names by group."""

    markers: Spans
    spans: Spans
    names: dict[int, str]


def is_explicit_marker(name: str) -> bool:
    """True for events that programs record around a training or test step."""
    return name.startswith(_MARKER_PREFIXES) and "/" not in name


def host_class(name: str) -> EventClass:
    """Class of a host event, from its name."""
    op = op_names.parse_op(name)
    if op_names.is_infeed_enqueue(op.type) or op.type == op_names.MEMCPY_H2D:
        return EventClass.HOST_TO_DEVICE
    if op.type == op_names.MEMCPY_H2H:
        return EventClass.HOST_TO_HOST
    if name.lower().startswith("iteratorgetnext"):
        return EventClass.HOST_WAIT_INPUT
    return EventClass.HOST_COMPUTE


def gpu_class(name: str, shapes: str = "", *, short_memcpy: bool = False) -> EventClass:
    """Class of an event on a GPU stream; `short_memcpy` also recognises copies spelled MemcpyH2D."""
    kind = op_names.memcpy_kind(name, short=short_memcpy) if ":" not in name else ""
    copies = {
        op_names.MEMCPY_H2D: EventClass.HOST_TO_DEVICE,
        op_names.MEMCPY_D2H: EventClass.DEVICE_TO_HOST,
        op_names.MEMCPY_D2D: EventClass.DEVICE_TO_DEVICE,
    }
    if kind in copies:
        return copies[kind]
    if op_names.xprof_collective(name):
        return EventClass.DEVICE_COLLECTIVES
    half = "half" in shapes if shapes else "half" in name or "fp16" in name
    return EventClass.DEVICE_COMPUTE_16 if half else EventClass.DEVICE_COMPUTE_32


def _grouped(plane: Plane, extras: PlaneExtras) -> I64:
    """Events on recorded lines that have a group."""
    group = extras.group_id
    if group is None or not len(group):
        return np.zeros(0, np.int64)
    return np.flatnonzero((group >= 0) & on_recorded_line(plane))


def host_events(space: XSpace, plane: Plane, extras: PlaneExtras, *, with_device: bool = False) -> HostEvents:
    """Step markers and classified spans of the host plane.

    With `with_device`, events that launch device work are distinguished from computation, as documented for hosts with
    GPUs; XProf only uses host events of hosts without devices.
    """
    events = _grouped(plane, extras)
    names = plane.event_metadata.names
    class_of_row = np.full(len(names), _SILENT, np.uint8)
    for row in np.unique(plane.events.metadata[events]).tolist():
        name = names[row]
        if is_explicit_marker(name):
            class_of_row[row] = _MARKER
        elif not name.startswith(_SILENT_PREFIXES):
            class_of_row[row] = host_class(name)
    kind = class_of_row[plane.events.metadata[events]]
    is_step = np.zeros(len(plane.events.begin_ps), np.bool_)
    is_step[extras.step_event] = True
    kind[is_step[events]] = _MARKER
    if with_device:
        _mark_launches(space, plane, events, kind)
    _mark_input_stages(space, plane, events, kind)
    # Each is gathered by itself: there may be millions of events, and most are in neither.
    marker, span = (
        Spans(event_groups(extras, events[rows]), *spans_at(plane, events[rows]), kind[rows])
        for rows in (kind == _MARKER, kind < _MARKER)
    )
    return HostEvents(marker, span, _step_names(extras))


def _step_names(extras: PlaneExtras) -> dict[int, str]:
    if extras.group_id is None:
        return {}
    groups = extras.group_id[extras.step_event].tolist()
    return {g: extras.step_names[c] for g, c in zip(groups, extras.step_code.tolist(), strict=True)}


def _mark_launches(space: XSpace, plane: Plane, events: I64, kind: U8) -> None:
    """Sets the class of kernel launches and executor work; copies are unchanged."""
    _, launches = read.ints(space, plane, plane.events.stats, "correlation_id")
    prefix = "executorstate::process"
    process = rows_named(plane, lambda name: name.lower().startswith(prefix))
    prepare = launches[events] | process[plane.events.metadata[events]]
    computes = (kind == EventClass.HOST_COMPUTE) | (kind == EventClass.HOST_WAIT_INPUT)
    kind[prepare & computes] = EventClass.HOST_PREPARE


def _mark_input_stages(space: XSpace, plane: Plane, events: I64, kind: U8) -> None:
    """Sets the class of outermost input pipeline stages without a producer on this plane: the step waits for them."""
    stats = plane.events.stats
    if plane.stat_metadata.row("_ipl_stage_name") is None:
        return
    codes, _ = read.strings(space, plane, stats, "_ipl_stage_name")
    stages = np.flatnonzero(codes >= 0)
    line = np.searchsorted(plane.lines.event_start, stages, side="right")
    begin, end = spans_at(plane, stages)
    order = np.lexsort((-end, begin, line))
    consumer = _contexts(space, plane, "_ct", "_c")
    producer = set(_contexts(space, plane, "_pt", "_p").values())
    roots, last_end, last_line = [], 0, 0  # lines count from 1 here
    for i in order.tolist():
        if line[i] != last_line or end[i] > last_end:
            last_end, last_line = int(end[i]), int(line[i])
            event = int(stages[i])
            if event not in consumer or consumer[event] not in producer:
                roots.append(event)
    waiting = np.isin(events, np.array(roots, np.int64)) & (kind == EventClass.HOST_COMPUTE)
    kind[waiting] = EventClass.HOST_WAIT_INPUT


def _contexts(space: XSpace, plane: Plane, kind: str, key: str) -> dict[int, tuple[int, int]]:
    kinds, has_kind = read.ints(space, plane, plane.events.stats, kind)
    keys, has_key = read.ints(space, plane, plane.events.stats, key)
    both = np.flatnonzero(has_kind & has_key)
    pairs = zip(kinds[both].tolist(), keys[both].tolist(), strict=True)
    return dict(zip(both.tolist(), pairs, strict=True))


def gpu_spans(space: XSpace, plane: Plane, extras: PlaneExtras, *, short_memcpy: bool = False) -> Spans:
    """Classified spans of a GPU plane: grouped events with a launch on the host."""
    events = _grouped(plane, extras)
    _, has_launch = read.ints(space, plane, plane.events.stats, "correlation_id")
    events = events[has_launch[events]]
    names = plane.event_metadata.names
    codes, texts = read.strings(space, plane, plane.events.stats, "shape")
    shapes = np.maximum(codes[events] + 1, 0).astype(np.int64)
    key = plane.events.metadata[events].astype(np.int64) * (len(texts) + 1) + shapes
    keys, where = np.unique(key, return_inverse=True)
    classes = [
        gpu_class(names[k // (len(texts) + 1)], ["", *texts][k % (len(texts) + 1)], short_memcpy=short_memcpy)
        for k in keys.tolist()
    ]
    kinds = np.array(classes, np.uint8)[where] if len(keys) else np.zeros(0, np.uint8)
    return Spans(event_groups(extras, events), *spans_at(plane, events), kinds)


def _step_line(plane: Plane, extras: PlaneExtras) -> I64:
    """Grouped events of the step line of a file; XProf only recognises its id when written signed."""
    events = events_of_lines(plane, np.flatnonzero(plane.lines.id == _SIGNED_STEPS_ID).tolist())
    return events if extras.group_id is None else events[extras.group_id[events] >= 0]


def gpu_markers(plane: Plane, extras: PlaneExtras, *, infer: bool = False) -> Spans:
    """Span of each group on a GPU: from the derived step line, else from the step line of a file saved with groups.

    With `infer`, groups of a file without a step line span from their first to their last event.
    """
    line, recorded = extras.line("Steps"), _step_line(plane, extras)
    if line is not None and line.group_id is not None:
        group, begin, end = line.group_id.astype(np.int64), line.begin_ps, line.begin_ps + line.duration_ps
    elif len(recorded) or not infer:
        group, (begin, end) = event_groups(extras, recorded), spans_at(plane, recorded)
    else:
        events = _grouped(plane, extras)
        group, begin, end = extents(event_groups(extras, events), *spans_at(plane, events))
    return Spans(group, begin, end, np.zeros(len(group), np.uint8))


_RANK = np.full(256, 255, np.uint8)
"""By number of an `EventClass` its index in CLASSES, which is ascending; no other number is one of a span."""
_RANK[list(CLASSES)] = range(len(CLASSES))

CORE = 1
"""Id of the single core that all events of a host are assigned to."""


def cpu_steps(space: XSpace, pre: Preprocessed, mapper: Mapper = map) -> tuple[StepTable, StepTable | None]:
    """Steps of a host without devices, from the step markers on its threads.

    The first table counts instants until the next end of their class, as XProf does; the second counts only
    what lasts, and is None if it does not differ. `mapper` works on both.
    """
    plane = host_plane(space)
    if plane is None:
        return StepTable(), None
    host = host_events(space, plane, pre.planes[plane.index])
    times = step_times(None, host.markers)
    make = partial(assemble, host.spans, times, host.names, with_device=False)
    if bool((host.spans.end_ps > host.spans.begin_ps).all()):
        return make(), None
    steps, without = both(mapper, make, partial(make, instants=False))
    one, other = (table.times.stacked(CLASSES) for table in (steps, without))
    same = np.array_equal(steps.number, without.number) and np.array_equal(one, other)
    return steps, None if same else without


def gpu_steps(space: XSpace, pre: Preprocessed, *, merge_host: bool = False, short_memcpy: bool = False) -> StepTable:
    """Steps of a host with GPUs, from the groups that have events on a device.

    Args:
      space: the profile.
      pre: its groups and derived lines.
      merge_host: include the host's markers and events of these groups, so that all nine categories are populated, and
        infer the steps of a file saved with groups but without a step line; XProf does neither.
      short_memcpy: also recognise copies spelled MemcpyH2D.
    """
    device, typed = _on_devices(space, pre, infer=merge_host, short_memcpy=short_memcpy)
    cpu_plane = host_plane(space)
    if not merge_host or cpu_plane is None:
        return assemble(typed, step_times(device, None), {}, with_device=True)
    host = host_events(space, cpu_plane, pre.planes[cpu_plane.index], with_device=True)
    groups, names = np.unique(device.group), host.names
    times = step_times(device, _of_groups(host.markers, groups))
    typed = _together([typed, _of_groups(host.spans, groups)])
    del host  # as large as what is made of it
    return assemble(typed, times, names, with_device=True, instants=False)


def _on_devices(space: XSpace, pre: Preprocessed, *, infer: bool, short_memcpy: bool) -> tuple[Spans, Spans]:
    """Markers and classified spans of all GPUs, of the groups that have both."""
    markers, spans = [], []
    for plane in space.planes:
        if plane.name.startswith(GPU_PREFIX):
            extras = pre.planes[plane.index]
            marker = gpu_markers(plane, extras, infer=infer)
            span = gpu_spans(space, plane, extras, short_memcpy=short_memcpy)
            both = np.intersect1d(marker.group, span.group)
            markers.append(_of_groups(marker, both))
            spans.append(_of_groups(span, both))
    return _together(markers), _together(spans)


def _of_groups(spans: Spans, groups: I64) -> Spans:
    kept = np.isin(spans.group, groups)
    return spans if bool(kept.all()) else rows_of(spans, kept)


def _together(parts: Sequence[Spans]) -> Spans:
    filled = [part for part in parts if len(part)]
    return filled[0] if len(filled) == 1 else joined([NO_SPANS, *filled])


def step_times(device: Spans | None, host: Spans | None) -> dict[int, tuple[int, int]]:
    """Span of each group: its longest device marker, or its longest host marker if that encloses it or is alone."""
    times = device.longest() if device is not None else {}
    for group, (begin, end) in (host.longest() if host is not None else {}).items():
        on_device = times.get(group)
        if on_device is None or (begin <= on_device[0] and on_device[1] <= end):
            times[group] = (begin, end)
    return {group: span for group, span in sorted(times.items()) if span[1] > span[0]}


def assemble(
    spans: Spans, times: dict[int, tuple[int, int]], names: dict[int, str], *, with_device: bool, instants: bool = True
) -> StepTable:
    """Clips the spans of each group to its step; keeps steps with compute on the device, or on the host without one.

    As in XProf, compute counts if it is anywhere in the group, and instants count until the next end of their
    class; without `instants` they do not count.
    """
    groups, window = np.array(list(times), np.int64), np.array(list(times.values()), np.int64).reshape(len(times), 2)
    total, within, flags = _native.priority_times(
        spans.group,
        spans.begin_ps,
        spans.end_ps,
        _RANK[spans.kind],
        groups,
        np.ascontiguousarray(window[:, 0]),
        np.ascontiguousarray(window[:, 1]),
        len(CLASSES),
        instants,
    )
    shape = len(groups), len(CLASSES)
    total_times, times_in_step, present = total.reshape(shape), within.reshape(shape), flags.reshape(shape)
    half, full, on_host = map(
        CLASSES.index, (EventClass.DEVICE_COMPUTE_16, EventClass.DEVICE_COMPUTE_32, EventClass.HOST_COMPUTE)
    )
    computes = present[:, half] | present[:, full] if with_device else present[:, on_host]
    rows = np.flatnonzero(computes)
    return StepTable(
        number=groups[rows],
        names=tuple([names.get(group, "") for group in groups[rows].tolist()]),
        cores=(CORE,) if len(rows) else (),
        begin_ps=window[rows, :1],
        duration_ps=window[rows, 1:] - window[rows, :1],
        times=PartTimes.of(CLASSES, times_in_step[rows].T[:, :, None]),
        category_ps=np.zeros((len(rows), 0), np.int64),
        compute_16_ps=int(total_times[:, half].sum()),
        compute_32_ps=int(total_times[:, full].sum()),
    )


def host_input_ps(host: HostEvents) -> dict[int, int]:
    """Per group, the time of events waiting for input or transferring it to devices; overlaps count twice."""
    keep = np.isin(host.spans.kind, (EventClass.HOST_WAIT_INPUT, EventClass.HOST_TO_DEVICE))
    groups, where = np.unique(host.spans.group[keep], return_inverse=True)
    sums = sums_by(where, (host.spans.end_ps - host.spans.begin_ps)[keep], len(groups))
    return dict(zip(groups.tolist(), sums.tolist(), strict=True))
