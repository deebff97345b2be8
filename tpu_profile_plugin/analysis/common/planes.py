"""Planes of a profile: roles of planes and lines, their events, and what preprocessing adds to them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from tpu_profile_plugin import _native
from tpu_profile_plugin.columns import Plane, XSpace
from tpu_profile_plugin.columns.arrays import I32, I64, U8, U32, U64, Bools
from tpu_profile_plugin.units import PS_PER_NS

Arg: TypeAlias = I64 | tuple[I32, tuple[str, ...]]

ABSENT = -1
"""Missing value of integer columns: no group, no such argument, no row."""

# Ids reserved for derived lines. XProf stores them as signed 32-bit numbers and displays them unsigned.
FIRST_DERIVED_ID = 0xDEADBEEF
STEPS_ID = FIRST_DERIVED_ID
LAUNCH_STATS_ID = FIRST_DERIVED_ID + 1
NAME_SCOPE_ID = FIRST_DERIVED_ID + 2
FRAMEWORK_OPS_ID = FIRST_DERIVED_ID + 3
SOURCE_ID = FIRST_DERIVED_ID + 7
HOST_OFFLOAD_ID = FIRST_DERIVED_ID + 8
HOST_OFFLOAD_ROWS = 41
HOST_REGION_ID = HOST_OFFLOAD_ID + HOST_OFFLOAD_ROWS
HOST_REGION_IDS = 241
STREAM_ID = HOST_REGION_ID + HOST_REGION_IDS
STREAM_IDS = 100
IDS_PER_STREAM = 6
LAST_DERIVED_ID = STREAM_ID + STREAM_IDS - 1

LAUNCH_STATS, FRAMEWORK_OPS, NAME_SCOPE, SOURCE = "Launch Stats", "Framework Ops", "Framework Name Scope", "Source code"
HOST_OFFLOAD = "Host Offload Ops row "


def is_derived_line(line_id: int) -> bool:
    """True for ids of derived lines, written signed or unsigned."""
    return FIRST_DERIVED_ID <= line_id & 0xFFFFFFFF <= LAST_DERIVED_ID


@dataclass(frozen=True, slots=True)
class ExtraLine:
    """Derived events; if `id` is the id of a line in the file, the events are added to that line's track.

    Attributes:
      id: unsigned line id.
      display_id: 0 to use `id`.
      begin_ps, duration_ps: per event, on the time axis of the plane's own events.
      metadata: per event, a row of `names`, `display_names` ("" = none) and `metadata_source`.
      metadata_source: per metadata row, the row of the plane's event metadata whose stats it inherits, or ABSENT; None
        if no row inherits stats.
      event_source: per event, the event of the plane whose stats it inherits, or ABSENT; None if no event does.
      group_id: per event, ABSENT = none; None if no event has a group.
      step_code: per event, code into the plane's `step_names`, or ABSENT; None if no event has a step name.
      extra_args: further stats by name, overriding inherited ones; ABSENT where an integer is missing.
    """

    id: int
    name: str
    begin_ps: I64
    duration_ps: I64
    metadata: U32
    names: tuple[str, ...]
    display_names: tuple[str, ...]
    display_id: int = 0
    metadata_source: I64 | None = None
    event_source: I64 | None = None
    group_id: I64 | None = None
    step_code: I32 | None = None
    extra_args: Mapping[str, Arg] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PlaneExtras:
    """Preprocessing results of one plane. Sparse columns come in pairs: the events, ascending, and their values.

    Attributes:
      group_id: per event of the file, ABSENT = none; None when no event has a group.
      removed: per event of the file, true if an event of `lines` replaces it; None when nothing is removed.
      line_display_id: per line of the file, 0 = as in the file; None when no line has another.
      flow_event, flow_value: flows as direction (2 bits) | id (56 bits) << 2 | category (6 bits) << 58; of several
        flows of one event the last takes effect.
      step_event, step_code: events with a step name, a code into `step_names`.
      eager_event, eager_value: events for which it was determined whether they ran eagerly (1) or not (0).
      run_id_event, run_id_value: events whose run id differs from the one in the file.
      lines: derived lines and additions to lines of the file.
    """

    group_id: I64 | None
    removed: Bools | None
    line_display_id: I64 | None
    flow_event: U32
    flow_value: U64
    step_event: U32
    step_code: I32
    step_names: tuple[str, ...]
    eager_event: U32
    eager_value: U8
    run_id_event: U32
    run_id_value: I64
    lines: tuple[ExtraLine, ...]

    def line(self, name: str) -> ExtraLine | None:
        """The first derived line with the given name, None without one."""
        return next((line for line in self.lines if line.name == name), None)


@dataclass(frozen=True, slots=True)
class Preprocessed:
    """Preprocessing results of one host.

    Attributes:
      planes: one entry per plane of the profile, in file order.
      group_names: group id -> name.
      group_links: (parents, children): pairs of groups connected by an event link; sorted, unique.
    """

    planes: tuple[PlaneExtras, ...]
    group_names: Mapping[int, str]
    group_links: tuple[I64, I64]


HOST_THREADS = "/host:CPU"
HOST_METADATA = "/host:metadata"
TPU_PREFIX, GPU_PREFIX = "/device:TPU:", "/device:GPU:"
_COUNTERS = "_counters_"
CUSTOM_PREFIXES = ("/device:CUSTOM:", "/custom:")

_HOST_PREFIXES = (
    *(HOST_THREADS, "Host CPUs", "/host:tfstreamz", HOST_METADATA, "Syscalls", "/host:python-tracer", "/host:CUPTI"),
    "/host:__ScopeRangeCallStack__",
)
_DEVICE_PREFIXES = ("/device", "#Chip", *CUSTOM_PREFIXES)
_TENSOR_CORE = re.compile(r"/device:TPU:([0-9]*)\Z")
_SPARSE_CORE = re.compile(r"/device:TPU:[0-9]+ SparseCore(?: [a-zA-Z]+)? ([0-9]+)\Z")

STEPS, SPARSE_STEPS = "Steps", "Sparse Core Steps"
MODULES, SPARSE_MODULES = "XLA Modules", "Sparse Core Modules"
OPS, SPARSE_OPS, ASYNC_OPS = "XLA Ops", "Sparse Core Ops", "Async XLA Ops"
OP_LINES = (OPS, SPARSE_OPS, FRAMEWORK_OPS)
"""Lines with an event for each run of an op; framework ops where they were recorded, not derived from other lines."""

GROUPING_LINES = {False: (STEPS, MODULES), True: (SPARSE_STEPS, SPARSE_MODULES)}
"""Lines whose events partition a core's time, preferred first; keyed by whether the core is a SparseCore."""


def is_host(name: str) -> bool:
    """True for planes of the host: threads, metadata, metrics, tracers."""
    return name.startswith(_HOST_PREFIXES)


def is_device(name: str) -> bool:
    """True for planes of accelerators and their attached components."""
    return not is_host(name) and name.startswith(_DEVICE_PREFIXES)


def tensor_core(name: str) -> int | None:
    """Ordinal of a TensorCore plane (0 when the name has no number); None for any other plane."""
    match = _TENSOR_CORE.match(name)
    return int(match[1] or 0) if match else None


def grouping_line(plane: Plane) -> int | None:
    """The line whose events split a TPU core's time into steps or module runs; None when no such line has events."""
    sparse = is_sparse_core(plane)
    if not sparse and tensor_core(plane.name) is None:
        return None
    start = plane.lines.event_start
    for line_name in GROUPING_LINES[sparse]:
        for line, name in enumerate(plane.lines.name):
            if name == line_name and start[line + 1] > start[line]:
                return line
    return None


def is_step_line(name: str) -> bool:
    """True for lines with one event per step, as TPU profilers write them."""
    return name in (STEPS, SPARSE_STEPS)


def is_counter_line(name: str) -> bool:
    """True for lines whose events are samples of counters."""
    return name == _COUNTERS


def host_plane(space: XSpace) -> Plane | None:
    """The plane of the host's threads; the first if a file has several, None without one."""
    return next((plane for plane in space.planes if plane.name == HOST_THREADS), None)


def device_planes(space: XSpace) -> tuple[Plane, ...]:
    """The TPU planes of a profile, or its GPU planes when it has no TPU planes, in file order."""
    for prefix in (TPU_PREFIX, GPU_PREFIX):
        if planes := tuple(plane for plane in space.planes if plane.name.startswith(prefix)):
            return planes
    return ()


def is_tpu(plane: Plane) -> bool:
    """True for TensorCore and SparseCore planes."""
    return plane.name.startswith(TPU_PREFIX)


def is_tensor_core(plane: Plane) -> bool:
    """True for a TPU's TensorCore planes."""
    return tensor_core(plane.name) is not None


def is_sparse_core(plane: Plane) -> bool:
    """True for a TPU's SparseCore planes."""
    return _SPARSE_CORE.match(plane.name) is not None


def recorded_lines(plane: Plane) -> Bools:
    """Per line of the file, False if preprocessing derived it: a derived line repeats the events of others."""
    return np.array([not is_derived_line(line_id) for line_id in plane.lines.id.tolist()], np.bool_)


def on_recorded_line(plane: Plane) -> Bools:
    """Per event, whether its line was recorded by a profiler and not derived by preprocessing."""
    return np.repeat(recorded_lines(plane), np.diff(plane.lines.event_start))


def events_of_lines(plane: Plane, lines: Iterable[int]) -> I64:
    """Indices of all events on the given lines, line by line."""
    ranges = (plane.lines.events_of(line) for line in lines)
    rows = [np.arange(events.start, events.stop) for events in ranges]
    return rows[0] if len(rows) == 1 else np.concatenate([np.zeros(0, np.int64), *rows])


def rows_of_lines(plane: Plane, lines: Sequence[int]) -> slice | I64:
    """All events on the given lines, line by line; a slice for a single line, which copies no column."""
    return plane.lines.events_of(lines[0]) if len(lines) == 1 else events_of_lines(plane, lines)


def line_of(plane: Plane, events: I64) -> I64:
    """The line of each event."""
    return np.searchsorted(plane.lines.event_start, events, side="right") - 1


def spans_at(plane: Plane, events: I64 | slice) -> tuple[I64, I64]:
    """Begin and end of events."""
    begin = plane.events.begin_ps[events]
    return begin, begin + plane.events.duration_ps[events]


def rows_named(plane: Plane, test: Callable[[str], object]) -> Bools:
    """Per row of the event metadata, whether its name passes a test."""
    return np.array([bool(test(name)) for name in plane.event_metadata.names], np.bool_)


def events_named(plane: Plane, test: Callable[[str], object]) -> I64:
    """The events whose names pass a test."""
    return np.flatnonzero(rows_named(plane, test)[plane.events.metadata])


def event_groups(extras: PlaneExtras | None, events: I64) -> I64:
    """Group of each event, ABSENT without one."""
    if extras is None or extras.group_id is None:
        return np.full(len(events), ABSENT, np.int64)
    return extras.group_id[events].astype(np.int64, copy=False)


def recorded_span(planes: Iterable[Plane]) -> tuple[int, int] | None:
    """First begin and last end of the events of some planes; None without events."""
    filled = [plane.events for plane in planes if len(plane.events.begin_ps)]
    return enclosing_span([
        (int(events.begin_ps.min()), int((events.begin_ps + events.duration_ps).max())) for events in filled
    ])  # fmt: skip


def enclosing_span(spans: Sequence[tuple[int, int]]) -> tuple[int, int] | None:
    """Span from the first begin to the last end; None without any."""
    return (min(begin for begin, _ in spans), max(end for _, end in spans)) if spans else None


def shown_names(names: Iterable[str], display_names: Iterable[str]) -> list[str]:
    """The names that viewers show: the display name where there is one."""
    return [display or name for name, display in zip(names, display_names, strict=True)]


def lines_named(plane: Plane, *names: str) -> list[int]:
    """Indices of the lines with one of the given names, in file order."""
    return [i for i, name in enumerate(plane.lines.name) if name in names]


def offsets_in_line(space: XSpace, plane: Plane, events: I64) -> I64:
    """Begin of each event since the start of its line, in ps."""
    lines = plane.lines
    line = line_of(plane, events)
    base = lines.timestamp_ns.copy()
    if space.origin_ns:
        # Line timestamps that overflow int64 picoseconds are relative to the origin, as are their events.
        base[np.abs(base.astype(np.float64)) * PS_PER_NS >= 2.0**63] -= space.origin_ns
    offsets: I64 = plane.events.begin_ps[events] - base[line] * PS_PER_NS
    return offsets


def nested(plane: Plane) -> tuple[I64, I32]:
    """Self time in ps of each event, its duration without the events that it encloses directly, and its depth.

    The depth is the number of events of the line that enclose it, 0 for the outermost.
    """
    return _native.nested_times(plane.lines.event_start, plane.events.begin_ps, plane.events.duration_ps)
