"""Event mutators: derive root levels, run ids and links to other threads from event names and stats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin import _native
from tpu_profile_plugin.analysis.common.planes import MODULES, events_of_lines, lines_named, tensor_core
from tpu_profile_plugin.analysis.common.rows import joined, rows_of
from tpu_profile_plugin.analysis.common.stat_columns import EMPTY, SparseColumn, StatColumns, override
from tpu_profile_plugin.analysis.grouping import event_names as names
from tpu_profile_plugin.analysis.grouping.event_names import EventsByName
from tpu_profile_plugin.columns import Plane
from tpu_profile_plugin.columns.arrays import I64, U8, U64

RUN_ID_MASK = (1 << 27) - 1
NONE = np.zeros(0, dtype=np.int64)

EVENT_STATS = (
    *("_pid", "_r", "_a", "id", "iter_num", "step_num", "graph_type", "is_func", "request_id", "queue_addr"),
    *("correlation_id", "device_id", "group_id", "step_name", "is_eager", "flow", "tf_op", "source"),
)
"""Event stats that preprocessing reads on any plane, beside those of contexts."""
LAUNCH_STATS = ("run_id", "queue_id", "device_ordinal", "core_type")
"""Event stats that preprocessing reads on cores, and on planes with launches of programs."""
_LAUNCHES = (names.ENQUEUE_PROGRAM, names.ENQUEUE_CONTINUATION, names.COMPLETE)
_CONTEXT_STATS = ("_pt", "_p", "_ct", "_c")
_NO_ROLE = 255
_EDGES = {names.REGION_START: 1, names.REGION_STOP: 2}


@dataclass(frozen=True, slots=True)
class Contexts:
    """One side of the links between events: the events, ascending, with type and id of their context."""

    event: I64
    type: I64
    id: I64

    def __len__(self) -> int:
        return len(self.event)


@dataclass(frozen=True, slots=True)
class Links:
    """What the events of a plane produce and consume."""

    producers: Contexts
    consumers: Contexts


def mix(*columns: I64 | int) -> U64:
    """A 64-bit hash of each row of the columns; injective for a single column."""
    return _native.mix([np.atleast_1d(np.asarray(column, dtype=np.int64)) for column in columns])


def event_stats(plane: Plane, events: EventsByName) -> tuple[str, ...]:
    """The event stats to read on this plane: without stats of launches if it launches no program."""
    launches = tensor_core(plane.name) is not None or events.has(*_LAUNCHES)
    return (*EVENT_STATS, *LAUNCH_STATS) if launches else EVENT_STATS


def root_levels(events: EventsByName, stat_columns: StatColumns) -> SparseColumn:
    """Root levels of events; those of names replace those in the file."""
    of_names = [
        SparseColumn(root_events, np.full(len(root_events), level, dtype=np.int64))
        for name, level in names.ROOT_LEVELS.items()
        if len(root_events := events.events(name))
    ]
    return override(stat_columns.signed("_r"), *of_names)


def links(plane: Plane, events: EventsByName, stat_columns: StatColumns, run_id: SparseColumn) -> Links:
    """Links by the contexts in stats, and by names that replace these. `run_id`: as by `masked_run_ids`."""
    produced: list[tuple[int, SparseColumn]] = []
    consumed: list[tuple[int, SparseColumn]] = []

    def connect(type_: int, producer: Sequence[str], consumer: Sequence[str], stats: Sequence[str]) -> None:
        if not all(stat_columns.has(stat) for stat in stats):
            return
        for side, event_names in ((produced, producer), (consumed, consumer)):
            keys = _keys(stat_columns, events.events(*event_names), stats)
            if len(keys):
                side.append((type_, keys))

    connect(names.LEGACY, [names.EXECUTOR], [names.TPU_EXECUTE], ["id", "iter_num"])
    connect(names.TPU_STREAM, [names.ENQUEUE_REQUEST], names.REQUESTS, ["request_id", "queue_addr"])
    launches = _launches(plane, events, stat_columns, run_id)
    for side, keys in zip((produced, consumed), launches, strict=True):
        if len(keys):
            side.append((names.TPU_LAUNCH, keys))
    producers, consumers = _own_contexts(plane)
    return Links(_contexts(producers, produced), _contexts(consumers, consumed))


def _keys(stat_columns: StatColumns, events: I64, stats: Sequence[str]) -> SparseColumn:
    """The events that have all the stats, each with a hash of their values."""
    columns: list[I64] = []
    for stat in stats:
        value, present = stat_columns.ints(stat).at(events)
        if not bool(present.all()):
            columns = [column[present] for column in columns]
            events, value = events[present], value[present]
        columns.append(value)
    return SparseColumn(events, mix(*columns).view(np.int64)) if len(events) else EMPTY


def masked_run_ids(events: EventsByName, stat_columns: StatColumns) -> SparseColumn:
    """Run ids truncated by RUN_ID_MASK: only the low bits appear in the device's trace."""
    if not stat_columns.has("run_id"):
        return EMPTY
    launch = events.events(*_LAUNCHES)
    value, present = stat_columns.ints("run_id").at(launch)
    masked = value & RUN_ID_MASK
    return SparseColumn(launch, masked).where(present & (masked != value))


def _launches(
    plane: Plane, events: EventsByName, stat_columns: StatColumns, masked: SparseColumn
) -> tuple[SparseColumn, SparseColumn]:
    """Launch keys (device, queue, run, core type): host launches and completions, or a core's module runs."""
    run_id = override(stat_columns.ints("run_id"), masked)
    core = tensor_core(plane.name)
    if core is not None:
        runs = events_of_lines(plane, lines_named(plane, MODULES))
        return EMPTY, _launch_keys(stat_columns, runs, run_id, core)
    if not stat_columns.has("device_ordinal"):
        return EMPTY, EMPTY
    sides = (names.ENQUEUE_PROGRAM,), (names.COMPLETE,)
    producer, consumer = (_launch_keys(stat_columns, events.events(*side), run_id, None) for side in sides)
    return producer, consumer


def _launch_keys(stat_columns: StatColumns, events: I64, run_id: SparseColumn, core: int | None) -> SparseColumn:
    if not len(events):
        return EMPTY
    queue, has_queue = stat_columns.ints("queue_id").at(events)
    run, has_run = run_id.at(events)
    kind, _ = stat_columns.ints("core_type").at(events)
    keep = has_queue & has_run
    device: I64 | int = core or 0
    if core is None:
        device, has_device = stat_columns.ints("device_ordinal").at(events)
        keep &= has_device
    return SparseColumn(events, mix(device, queue, kind, run).view(np.int64)).where(keep)


def _roles(plane: Plane) -> U8:
    """Per row of the stat metadata, the role of the stat in a context; equal names have equal roles."""
    roles = [_CONTEXT_STATS.index(name) if name in _CONTEXT_STATS else _NO_ROLE for name in plane.stat_metadata.names]
    return np.array(roles, np.uint8)


def _own_contexts(plane: Plane) -> tuple[Contexts, Contexts]:
    """What the plane's events produce and consume according to their stats."""
    stats, roles = plane.events.stats, _roles(plane)
    if not len(stats.key) or not bool((roles != _NO_ROLE).any()):
        return Contexts(NONE, NONE, NONE), Contexts(NONE, NONE, NONE)
    produced, consumed = _native.event_contexts(stats.start, stats.key, stats.kind, stats.value, roles)
    return Contexts(*produced), Contexts(*consumed)


def _contexts(contexts: Contexts, overrides: list[tuple[int, SparseColumn]]) -> Contexts:
    out = contexts
    for type_, column in overrides:
        take = _native.merge_rows(out.event, column.event, True)
        added = np.full(len(column), type_, dtype=np.int64)
        out = rows_of(joined([out, Contexts(column.event, added, column.value)]), take)
    return out


@dataclass(frozen=True, slots=True)
class Regions:
    """Spans of threadpool work, from start to stop event: line of the stop event, begin and duration."""

    line: I64
    begin_ps: I64
    duration_ps: I64

    def __len__(self) -> int:
        return len(self.line)


def threadpool_regions(plane: Plane) -> Regions | None:
    """A region per stop event preceded on its line by a start event with a consumer id; None without any."""
    metadata = plane.event_metadata.names
    if names.REGION_START not in metadata or names.REGION_STOP not in metadata:
        return None
    edges = np.array([_EDGES.get(name, 0) for name in metadata], np.uint8)
    events, stats = plane.events, plane.events.stats
    columns = _native.threadpool_regions(
        plane.lines.event_start, events.metadata, events.begin_ps, edges, stats.start, stats.key, _roles(plane)
    )
    return Regions(*columns) if len(columns[0]) else None
