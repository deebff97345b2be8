"""Classifies grouped events as step markers or by event class."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.analysis.common import op_names
from tpu_profile_plugin.analysis.common.planes import STEPS_ID, PlaneExtras, events_of_lines, on_recorded_line, spans_at
from tpu_profile_plugin.analysis.common.rows import extents
from tpu_profile_plugin.analysis.steps.table import EventClass
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
    marker, span = (_spans_of(plane, extras, events[rows], kind[rows]) for rows in (kind == _MARKER, kind < _MARKER))
    return HostEvents(marker, span, _step_names(extras))


def _spans_of(plane: Plane, extras: PlaneExtras, events: I64, kind: U8) -> Spans:
    """Spans of grouped events."""
    group = extras.group_id
    assert group is not None or not len(events)
    of_event = events if group is None else group[events].astype(np.int64, copy=False)
    return Spans(of_event, *spans_at(plane, events), kind)


def _step_names(extras: PlaneExtras) -> dict[int, str]:
    if extras.group_id is None:
        return {}
    groups = extras.group_id[extras.step_event].tolist()
    return {g: extras.step_names[c] for g, c in zip(groups, extras.step_code.tolist(), strict=True)}


def _mark_launches(space: XSpace, plane: Plane, events: I64, kind: U8) -> None:
    """Sets the class of kernel launches and executor work; copies are unchanged."""
    _, launches = read.ints(space, plane, plane.events.stats, "correlation_id")
    prefix = "executorstate::process"
    process = np.array([name.lower().startswith(prefix) for name in plane.event_metadata.names], np.bool_)
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
    group = extras.group_id[events].astype(np.int64, copy=False) if extras.group_id is not None else events
    kinds = np.array(classes, np.uint8)[where] if len(keys) else np.zeros(0, np.uint8)
    return Spans(group, *spans_at(plane, events), kinds)


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
        group = extras.group_id[recorded].astype(np.int64) if extras.group_id is not None else recorded
        begin, end = spans_at(plane, recorded)
    else:
        events = _grouped(plane, extras)
        event_group = extras.group_id[events].astype(np.int64, copy=False) if extras.group_id is not None else events
        group, begin, end = extents(event_group, *spans_at(plane, events))
    return Spans(group, begin, end, np.zeros(len(group), np.uint8))
