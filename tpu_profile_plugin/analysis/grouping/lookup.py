"""Lookups that grouping needs on one plane: events by name, stats as columns, links to other threads, flows."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from tpu_profile_plugin import _native
from tpu_profile_plugin.analysis.common.mapper import Mapper, both
from tpu_profile_plugin.analysis.common.op_names import TENSORFLOW, TF_DATA, parse_op
from tpu_profile_plugin.analysis.common.planes import (
    HOST_THREADS,
    MODULES,
    TPU_PREFIX,
    events_of_lines,
    grouping_line,
    is_device,
    lines_named,
    tensor_core,
)
from tpu_profile_plugin.analysis.common.rows import joined, rows_of
from tpu_profile_plugin.analysis.common.stat_columns import EMPTY, SparseColumn, StatColumns, override
from tpu_profile_plugin.columns import Plane, XSpace
from tpu_profile_plugin.columns.arrays import I32, I64, U8, U32, U64, Bools

TRACE_CONTEXT = "TraceContext"
EAGER_EXECUTE = "EagerExecute"
EXECUTOR = "ExecutorState::Process"
TPU_EXECUTE = "TpuExecuteOp"
REGION_START, REGION_STOP, REGION = (f"ThreadpoolListener::{kind}" for kind in ("StartRegion", "StopRegion", "Region"))
CAPTURED_FUNCTIONS = tuple(
    f"InstantiatedCapturedFunction::{kind}" for kind in ("Run", "RunAsync", "RunInstantiated", "RunWithBorrowedArgs")
)
GET_NEXT = ("IteratorGetNextOp::DoCompute", "IteratorGetNextAsOptionalOp::DoCompute")
HOST_LOOPS = ("WhileOp-EvalCond", "WhileOp-StartBody", "ForOp", "ParallelForOp", "ForeverOp")
IMPLICIT_ROOTS = ("FunctionRun", "SessionRun", "RunGraph", EXECUTOR)
ROOT_LEVELS = {"ProcessBatch": 2, "OrbaxServing::ProcessBatch": 2, "BatchingSessionRun": 1}
ENQUEUE_REQUEST = "EnqueueRequestLocked"
REQUESTS = (
    "RunProgramRequest", "HostCallbackRequest", "TransferH2DRequest", "TransferPreprocessedH2DRequest",
    "TransferD2HRequest", "OnDeviceSendRequest", "OnDeviceRecvRequest", "OnDeviceSendRecvLocalRequest", "CustomWait",
    "OnDeviceSendRequestMulti", "OnDeviceRecvRequestMulti", "PjrtAsyncWait",
)  # fmt: skip
ENQUEUE_PROGRAM, ENQUEUE_CONTINUATION = "DoEnqueueProgram", "DoEnqueueContinuationProgram"
COMPLETE = "CompleteCallbacks"

# Types of the contexts that link a producer to a consumer.
LEGACY, GPU_LAUNCH, TPU_STREAM, TPU_LAUNCH = 1, 9, 11, 12
LAST_CONTEXT = 17

# Events recognised by name; any other event may be an op or a kernel.
_PROGRAM_EVENTS = (ENQUEUE_REQUEST, ENQUEUE_PROGRAM, ENQUEUE_CONTINUATION, COMPLETE)
KNOWN_EVENTS = frozenset((TRACE_CONTEXT, EAGER_EXECUTE, TPU_EXECUTE, *_PROGRAM_EVENTS, *REQUESTS))
KNOWN_EVENTS |= {*CAPTURED_FUNCTIONS, *GET_NEXT, *HOST_LOOPS, *IMPLICIT_ROOTS, *ROOT_LEVELS}

# Further names with a type in XProf; even with a correlation id they neither launch nor run a kernel.
_TYPED_EVENTS = frozenset(
    {
        "ASBSQueue::Schedule", "BrainSessionRun", "ConcatInputTensors", "Delinearize", "ExecutorDoneCallback",
        "Iterator", "Linearize", "MapAndBatchConsume", "MapAndBatchProduce", "MemoryAllocation", "MemoryDeallocation",
        "MergeInputTensors", "ParallelInterleaveConsume",
        "ParallelInterleaveInitializeInput", "ParallelInterleaveProduce", "ParallelMapConsume", "ParallelMapProduce",
        "ParseExampleConsume", "ParseExampleProduce", "PrefetchConsume", "PrefetchProduce", "ReadHbm",
        "RemotePerfCounter", "RunGraphDone", "ScheduleWithEagerSplit", "ScheduleWithSplit", "ScheduleWithoutSplit",
        "ServingModelRun", "TPUPartitionedCallOp-ExecuteLocal", "TPUPartitionedCallOp-ExecuteRemote",
        "TPUPartitionedCallOp-InitializeVarOnTPU", "TfOpRun", "TfrtModelRun", "TransferBufferFromDevice-FastPath",
        "UnknownHostEventType", "WriteHbm", "tpu::System::Execute", "tpu::System::TransferFromDevice=>IssueEvent",
        "tpu::System::TransferFromDevice=>IssueEvent=>Done", "tpu::System::TransferToDevice=>IssueEvent",
        "tpu::System::TransferToDevice=>IssueEvent=>Done",
    }
)  # fmt: skip
NO_LAUNCHES = KNOWN_EVENTS | _TYPED_EVENTS | {"KernelExecute"}
"""Names of host events that never launch a kernel, even with a correlation id."""
NO_KERNELS = KNOWN_EVENTS | _TYPED_EVENTS | {"KernelLaunch"}
"""Names of device events that are never kernels, even with a correlation id."""


class EventsByName:
    """Index of a plane's events by exact metadata name."""

    def __init__(self, plane: Plane, indexed: frozenset[str] = KNOWN_EVENTS) -> None:
        self._rows: dict[str, list[int]] = {}
        for row, name in enumerate(plane.event_metadata.names):
            if name in indexed:
                self._rows.setdefault(name, []).append(row)
        self._count = len(plane.event_metadata.id)
        self._metadata = plane.events.metadata
        # All events with any of the names, selected in one pass; `events` filters these few.
        self._events = np.zeros(0, dtype=np.int64)
        if self._rows:
            self._events = np.flatnonzero(self.mask(*self._rows)[self._metadata])
        self._event_rows = self._metadata[self._events]

    def has(self, *names: str) -> bool:
        """True when the plane's event metadata has one of the names, whether or not an event uses it."""
        return any(name in self._rows for name in names)

    def mask(self, *names: str) -> Bools:
        """Per row of the event metadata, whether it has one of the names."""
        mask = np.zeros(self._count, dtype=np.bool_)
        mask[[row for name in names for row in self._rows.get(name, ())]] = True
        return mask

    def events(self, *names: str) -> I64:
        """Events with one of the names, ascending."""
        if not self.has(*names):
            return np.zeros(0, dtype=np.int64)
        return self._events[self.mask(*names)[self._event_rows]]

    def among(self, events: I64, *names: str) -> Bools:
        """Mask of the events that have one of the names."""
        if len(events) == 0 or not self.has(*names):
            return np.zeros(len(events), dtype=np.bool_)
        matches: Bools = self.mask(*names)[self._metadata[events]]
        return matches


RUN_ID_MASK = (1 << 27) - 1
NONE = np.zeros(0, dtype=np.int64)

EVENT_STATS = (
    *("_pid", "_r", "_a", "id", "iter_num", "step_num", "graph_type", "is_func", "request_id", "queue_addr"),
    *("correlation_id", "device_id", "group_id", "step_name", "is_eager", "flow", "tf_op", "source"),
)
"""Event stats that preprocessing reads on any plane, beside those of contexts."""
LAUNCH_STATS = ("run_id", "queue_id", "device_ordinal", "core_type")
"""Event stats that preprocessing reads on cores, and on planes with launches of programs."""
_LAUNCHES = (ENQUEUE_PROGRAM, ENQUEUE_CONTINUATION, COMPLETE)
_CONTEXT_STATS = ("_pt", "_p", "_ct", "_c")
_NO_ROLE = 255
_EDGES = {REGION_START: 1, REGION_STOP: 2}


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
    """Contexts that the events of a plane produce and consume."""

    producers: Contexts
    consumers: Contexts


def mix(*columns: I64 | int) -> U64:
    """A 64-bit hash of each row of the columns; injective for a single column."""
    return _native.mix([np.atleast_1d(np.asarray(column, dtype=np.int64)) for column in columns])


def event_stats(plane: Plane, events: EventsByName) -> tuple[str, ...]:
    """The event stats to read on this plane: without stats of launches if it launches no program."""
    launches = tensor_core(plane.name) is not None or events.has(*_LAUNCHES)
    return (*EVENT_STATS, *LAUNCH_STATS) if launches else EVENT_STATS


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

    connect(LEGACY, [EXECUTOR], [TPU_EXECUTE], ["id", "iter_num"])
    connect(TPU_STREAM, [ENQUEUE_REQUEST], REQUESTS, ["request_id", "queue_addr"])
    launches = _launches(plane, events, stat_columns, run_id)
    for side, keys in zip((produced, consumed), launches, strict=True):
        if len(keys):
            side.append((TPU_LAUNCH, keys))
    producers, consumers = own_contexts(plane)
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
    sides = (ENQUEUE_PROGRAM,), (COMPLETE,)
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


def own_contexts(plane: Plane) -> tuple[Contexts, Contexts]:
    """Contexts that the plane's events produce and consume according to their stats."""
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
    if REGION_START not in metadata or REGION_STOP not in metadata:
        return None
    edges = np.array([_EDGES.get(name, 0) for name in metadata], np.uint8)
    events, stats = plane.events, plane.events.stats
    columns = _native.threadpool_regions(
        plane.lines.event_start, events.metadata, events.begin_ps, edges, stats.start, stats.key, _roles(plane)
    )
    return Regions(*columns) if len(columns[0]) else None


NO_OP, TF_OP, DATA_OP = 0, 1, 2
_MANY_EVENTS = 100_000
"""With fewer events, a second thread costs more than it saves."""


@dataclass(frozen=True, slots=True, eq=False)
class PlaneLookup:
    """Lookups of one plane; `grouping_line` is None except on TPU cores that have one."""

    plane: Plane
    events: EventsByName
    stat_columns: StatColumns
    root_level: SparseColumn
    run_id: SparseColumn
    regions: Regions | None
    process_id: int | None
    grouping_line: int | None
    _links: list[Links] = field(default_factory=list, init=False)

    def links(self) -> Links:
        """Contexts that its events produce and consume; found on first use, by whichever thread needs them."""
        if not self._links:
            self._links.append(links(self.plane, self.events, self.stat_columns, self.run_id))
        return self._links[0]

    def forget_links(self) -> None:
        """Drops the links, which take about as much memory as the begins of all events."""
        self._links.clear()

    @property
    def is_tpu(self) -> bool:
        """True for planes with a TPU name, including ones that are not cores."""
        return self.plane.name.startswith(TPU_PREFIX)

    def ops(self) -> I32:
        """Per row of the event metadata: TF_OP or DATA_OP if the name is that of an op, else NO_OP."""
        code = {TENSORFLOW: TF_OP, TF_DATA: DATA_OP}
        table = np.zeros(len(self.plane.event_metadata.id), dtype=np.int32)
        for row, name in enumerate(self.plane.event_metadata.names):
            if ":" in name:
                table[row] = code.get(parse_op(name).category, NO_OP)
        return table

    def kernels(self) -> I64:
        """Events at either end of a launch: with a correlation id, and a name that may be a kernel's."""
        events = self.stat_columns.owners("correlation_id")
        if len(events) == 0:
            return events
        others = NO_LAUNCHES if self.launches else NO_KERNELS
        may_be = np.array([name not in others for name in self.plane.event_metadata.names], np.bool_)
        kernels: I64 = events[((self.ops() == NO_OP) & may_be)[self.plane.events.metadata[events]]]
        return kernels

    @property
    def launches(self) -> bool:
        """True if kernels of this plane are launched (host threads), False if they run on it."""
        return self.plane.name == HOST_THREADS


def look_up_plane(space: XSpace, plane: Plane, mapper: Mapper = map) -> PlaneLookup:
    """Builds the lookups of one plane; `mapper` works on the passes over the events and stats of a large one."""

    def named() -> tuple[EventsByName, StatColumns]:
        events = EventsByName(plane)
        return events, StatColumns(space, plane, plane.events.stats, event_stats(plane, events))

    if len(plane.events.begin_ps) < _MANY_EVENTS:
        mapper = map
    (events, stat_columns), regions = both(mapper, named, lambda: threadpool_regions(plane))
    process = StatColumns(space, plane, plane.stats, ["process_id"]).ints("process_id")
    # Root levels of names replace those in the file.
    of_names = [
        SparseColumn(root_events, np.full(len(root_events), level, dtype=np.int64))
        for name, level in ROOT_LEVELS.items()
        if len(root_events := events.events(name))
    ]
    return PlaneLookup(
        plane,
        events,
        stat_columns,
        override(stat_columns.signed("_r"), *of_names),
        masked_run_ids(events, stat_columns),
        regions,
        int(process.value[0]) if len(process) else None,
        grouping_line(plane),
    )


IN, OUT = 1, 2
_ID_BITS, _ID_SHIFT, _CATEGORY_SHIFT = 56, 2, 58


def flow_values(direction: int, host: int, types: I64, ids: I64) -> U64:
    """Flow numbers of contexts: direction | id << 2 | category << 58; unknown categories become 0."""
    category = np.where((types >= 0) & (types <= LAST_CONTEXT), types, 0).astype(np.uint64)
    number = mix(np.full(len(types), host, dtype=np.int64), types, ids) >> np.uint64(64 - _ID_BITS)
    value: U64 = np.uint64(direction) | number << np.uint64(_ID_SHIFT) | category << np.uint64(_CATEGORY_SHIFT)
    return value


def flows(plane: Plane, stat_columns: StatColumns, links: Links, hostname: str) -> tuple[U32, U64]:
    """Flows of a plane of a host, events ascending; per event in the order: file, launch, produced, consumed."""
    # A number per host, the same in every process: equal contexts of two hosts are two flows.
    host = zlib.crc32(hostname.encode("utf-8", "replace"))
    sources: list[tuple[I64, U64]] = []
    recorded = stat_columns.ints("flow")
    if len(recorded):
        sources.append((recorded.event, recorded.value.view(np.uint64)))
    launch = stat_columns.ints("correlation_id")
    if len(launch):
        direction = IN if is_device(plane.name) else OUT
        types = np.full(len(launch), GPU_LAUNCH, dtype=np.int64)
        sources.append((launch.event, flow_values(direction, host, types, launch.value)))
    for direction, side in ((OUT, links.producers), (IN, links.consumers)):
        if len(side):
            sources.append((side.event, flow_values(direction, host, side.type, side.id)))
    event, value = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.uint64)
    for more_events, more_values in sources:
        if len(event) == 0:
            event, value = more_events, more_values
            continue
        take = _native.merge_rows(event, more_events, False)
        event, value = np.concatenate([event, more_events])[take], np.concatenate([value, more_values])[take]
    return event.astype(np.uint32), value
