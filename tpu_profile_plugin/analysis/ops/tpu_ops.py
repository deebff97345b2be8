"""Ops of TPU cores: op tables and records from their op lines, duty cycles, and what SparseCores ran for an op."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np

from tpu_profile_plugin import _native, protos
from tpu_profile_plugin.analysis.attribution import OpKey, split_source
from tpu_profile_plugin.analysis.common.mapper import Mapper
from tpu_profile_plugin.analysis.common.planes import (
    MODULES,
    OP_LINES,
    OPS,
    SPARSE_MODULES,
    SPARSE_OPS,
    enclosing_span,
    events_of_lines,
    is_sparse_core,
    is_tensor_core,
    lines_named,
    shown_names,
    spans_at,
)
from tpu_profile_plugin.analysis.common.spans import union
from tpu_profile_plugin.analysis.common.stat_columns import StatColumns
from tpu_profile_plugin.analysis.common.statistics import ratio
from tpu_profile_plugin.analysis.environment.environment import chip_of
from tpu_profile_plugin.analysis.ops.op_tables import (
    READ,
    WRITE,
    OpRecords,
    OpTable,
    OpText,
    combine,
    combine_records,
    no_traffic,
    rows_in,
    space_index,
)
from tpu_profile_plugin.columns import Kind, Plane, XSpace
from tpu_profile_plugin.columns import stats as read
from tpu_profile_plugin.columns.arrays import F64, I64, U8, Bools
from tpu_profile_plugin.columns.hlo import hlo_modules
from tpu_profile_plugin.columns.tables import Stats
from tpu_profile_plugin.protos import read as read_message

CUSTOM_CALL = "custom-call"
ASYNC_DONE = "async-done"
_WAITING_NAMES = ("async-done", "host-send-done", "host-recv-done")
"""Parts of the names of ops whose time counts as async-done, as in XProf."""
WAITS_FOR_HOST = frozenset(("infeed", "outfeed", "host send", "host send-done", "host recv", "host recv-done"))
_NO_KEY = 2**32 - 1
SILENT_CORE_PS = 1
"""Observed time of a core without ops, as in XProf: any positive value makes it 100% idle."""


@dataclass(frozen=True, slots=True)
class DeviceSpans:
    """Spans of a plane's events on the device's clock where recorded, else on the host's.

    Attributes:
      begin_ps, duration_ps: one value per event of the plane.
    """

    begin_ps: I64
    duration_ps: I64

    @property
    def end_ps(self) -> I64:
        return self.begin_ps + self.duration_ps


NO_SPANS = DeviceSpans(np.zeros(0, np.int64), np.zeros(0, np.int64))


@dataclass(frozen=True, slots=True)
class OpMetadata:
    """Op metadata of a plane, one row per row of `event_metadata`.

    Attributes:
      counted: the row is an op, i.e. has a program and a symbol; other rows only enclose ops.
      row: the row that describes the op; rows of one program and symbol share the one whose event completed first.
      shared: number of the program and symbol of rows that share them, -1 for others.
      program: program id; category: code into `categories`.
      flops, model_flops, bytes: of one execution.
    """

    counted: Bools
    row: I64
    shared: I64
    program: np.ndarray[Any, np.dtype[np.uint64]]
    name: list[str]
    category: np.ndarray[Any, np.dtype[np.int32]]
    categories: list[str]
    provenance: list[str]
    flops: I64
    model_flops: I64
    bytes: I64

    def category_of(self, row: int) -> str:
        """The category's text, "" when there is none."""
        code = int(self.category[row])
        return self.categories[code] if code >= 0 else ""

    def time_categories(self) -> tuple[np.ndarray[Any, np.dtype[np.int64]], list[str]]:
        """Category of each op's time in steps and in the duty cycle: codes into the returned categories.

        Normally the op's category; ops with one of `_WAITING_NAMES` count as waiting.
        """
        categories = [*self.categories, ""]
        code = self.category.astype(np.int64)
        code[code < 0] = len(categories) - 1
        waits = np.array([category in WAITS_FOR_HOST for category in categories], np.bool_)
        is_done = np.array([any(part in name for part in _WAITING_NAMES) for name in self.name], np.bool_)
        is_done &= ~waits[code]
        if is_done.any():
            categories += [] if ASYNC_DONE in categories else [ASYNC_DONE]
            code[is_done] = categories.index(ASYNC_DONE)
        return code, categories


def device_spans(space: XSpace, plane: Plane) -> DeviceSpans:
    offset, has_offset = read.ints(space, plane, plane.events.stats, "device_offset_ps")
    duration, has_duration = read.ints(space, plane, plane.events.stats, "device_duration_ps")
    both = has_offset & has_duration
    if both.all():
        return DeviceSpans(offset, duration)
    events = plane.events
    return DeviceSpans(np.where(both, offset, events.begin_ps), np.where(both, duration, events.duration_ps))


def op_metadata(space: XSpace, plane: Plane) -> OpMetadata:
    stats, meta = plane.event_metadata.stats, plane.event_metadata
    program, has_program = read.ints(space, plane, stats, "program_id")
    symbol, has_symbol = read.ints(space, plane, stats, "symbol_id")
    category, categories = read.strings(space, plane, stats, "hlo_category")
    op, texts = read.strings(space, plane, stats, "tf_op")
    flops, _ = read.ints(space, plane, stats, "flops")
    model_flops, _ = read.ints(space, plane, stats, "model_flops")
    accessed, _ = read.ints(space, plane, stats, "bytes_accessed")
    counted = has_program & has_symbol & (symbol != 0)
    shared = _shared(counted, program, symbol)
    return OpMetadata(
        counted=counted,
        row=described_by(plane, shared, op_events(plane))[0] if (shared >= 0).any() else np.arange(len(counted)),
        shared=shared,
        program=program.view(np.uint64),
        name=shown_names(meta.names, meta.display_names),
        category=category,
        categories=categories,
        provenance=[texts[code] if code >= 0 else "" for code in op.tolist()],
        flops=flops,
        model_flops=model_flops,
        bytes=accessed,
    )


def _shared(counted: Bools, program: I64, symbol: I64) -> I64:
    """`OpMetadata.shared`; programs normally have one row per symbol."""
    shared, ops = np.full(len(counted), -1, np.int64), np.flatnonzero(counted)
    keys = np.stack([program[ops], symbol[ops]], axis=1)
    _, where, count = np.unique(keys, axis=0, return_inverse=True, return_counts=True)
    where = where.reshape(-1)
    shared[ops] = np.where(count[where] > 1, where, -1)
    return shared


def described_by(plane: Plane, shared: I64, events: I64, group: I64 | None = None) -> I64:
    """Row that describes each metadata row in each group of `events`, int64[groups, rows]; groups count from 0.

    Among rows that share a program and symbol it is the row whose event completed first, else the row itself.
    """
    group = np.zeros(len(events), np.int64) if group is None else group
    describing: I64 = np.repeat(np.arange(len(shared))[None], int(group.max(initial=0)) + 1, axis=0)
    row = plane.events.metadata[events].astype(np.int64)
    index = np.flatnonzero(shared[row] >= 0)
    end = plane.events.begin_ps[events[index]] + plane.events.duration_ps[events[index]]
    # The event completed first is the innermost of the events that end first.
    index = index[np.lexsort((-index, end))][::-1]
    first = np.full((len(describing), int(shared.max(initial=-1)) + 1), -1, np.int64)
    first[group[index], shared[row[index]]] = row[index]
    rows = np.flatnonzero(shared >= 0)
    completed = first[:, shared[rows]]
    describing[:, rows] = np.where(completed >= 0, completed, rows)
    return describing


def op_events(plane: Plane) -> I64:
    """Indices of the events on the plane's op line by begin, longest first."""
    parts = []
    for line in lines_named(plane, OPS, SPARSE_OPS):
        events = events_of_lines(plane, [line])
        begin, duration = plane.events.begin_ps[events], plane.events.duration_ps[events]
        later, earlier = slice(1, None), slice(None, -1)
        same = (begin[later] == begin[earlier]) & (duration[later] <= duration[earlier])
        sorted_already = bool(((begin[later] > begin[earlier]) | same).all())
        parts.append(events if sorted_already else events[np.lexsort((-duration, begin))])
    return np.concatenate([np.zeros(0, np.int64), *parts])


Spans = tuple[I64, I64]
"""Begins and ends of disjoint spans, ascending."""


@dataclass(frozen=True, slots=True)
class CoreWork:
    """Busy time of a core on the host's clock.

    Attributes:
      busy: spans per op line with the innermost op on duty; sure: the same without custom calls of unknown cost.
      span_ps: first begin and last end of the ops.
    """

    busy: tuple[Spans, ...] = ()
    sure: tuple[Spans, ...] = ()
    span_ps: tuple[int, int] | None = None

    @property
    def busy_spans(self) -> Spans | None:
        """The busy spans of all lines together; None if the core was never busy."""
        begin, end = (np.concatenate([np.zeros(0, np.int64), *(line[i] for line in self.busy)]) for i in (0, 1))
        return union(begin, end) if len(begin) else None


class Duty(IntEnum):
    """Role of an op's self time in the duty cycle."""

    ON = 0
    CUSTOM_CALL = 1
    OFF = 2


def op_table(
    space: XSpace, plane: Plane, op_meta: OpMetadata, duty_of: Mapping[str, Duty], step_spans: DeviceSpans
) -> tuple[OpTable, CoreWork]:
    """Metrics of one core's ops, and its busy time.

    Nesting of the sums is determined on the device's clock; busy time and the minimum time of an op are on the host's.
    `duty_of` has the categories that are not always on duty. `step_spans`, the core's steps, extend the observed time,
    as do, on the host's clock, the events shown on the line of framework ops.
    """
    duty = _duty(space, plane, op_meta, duty_of)
    row_of = op_meta.row.astype(np.uint32)
    begins = [int(step_spans.begin_ps.min())] if len(step_spans.begin_ps) else []
    ends = [int(step_spans.end_ps.max())] if len(step_spans.begin_ps) else []
    clock_keys = [plane.stat_metadata.row(name) for name in ("device_offset_ps", "device_duration_ps")]
    begin_key, duration_key = (_NO_KEY if key is None else key for key in clock_keys)
    framework = _framework_span(space, plane)
    if framework is not None:
        begins.append(framework[0])
        ends.append(framework[1])
    tables: list[OpTable] = []
    busy: list[Spans] = []
    sure: list[Spans] = []
    host_spans: list[tuple[int, int]] = []
    for line in lines_named(plane, *OP_LINES):
        events = plane.lines.events_of(line)
        sums, span, host_span, on_duty, surely_on_duty = _native.core_ops(
            plane.events.begin_ps[events],
            plane.events.duration_ps[events],
            row_of[plane.events.metadata[events]],
            len(op_meta.name),
            duty[events],
            plane.events.stats.start[events.start : events.stop + 1],
            plane.events.stats.key,
            plane.events.stats.kind,
            plane.events.stats.value,
            (begin_key, duration_key),
        )
        if plane.lines.name[line] in (OPS, SPARSE_OPS):
            busy.append(on_duty)
            sure.append(surely_on_duty)
            host_spans += [] if host_span is None else [host_span]
        used = np.flatnonzero(op_meta.counted & (sums[0] > 0))
        tables.append(metadata_ops(op_meta, used, *(column[used] for column in sums)))
        if span is not None:
            begins.append(span[0])
            ends.append(span[1])
    # A core normally has one op line.
    table = combine(tables)
    work = CoreWork(tuple(busy), tuple(sure), enclosing_span(host_spans))
    return table.with_total(max(ends) - min(begins) if begins else SILENT_CORE_PS), work


def _duty(space: XSpace, plane: Plane, op_meta: OpMetadata, duty_of: Mapping[str, Duty]) -> U8:
    """The `Duty` of each event; custom calls with a known cost are on duty."""
    code, categories = op_meta.time_categories()
    rows = np.array([duty_of.get(category, Duty.ON) for category in categories], np.uint8)[code]
    rows[(rows == Duty.CUSTOM_CALL) & ((op_meta.flops > 0) | (op_meta.model_flops > 0))] = Duty.ON
    if (rows == Duty.ON).all():
        return np.zeros(len(plane.events.metadata), np.uint8)
    duty: U8 = rows[plane.events.metadata]
    for name in ("flops", "model_flops") if (rows == Duty.CUSTOM_CALL).any() else ():
        if plane.stat_metadata.row(name) is not None:
            cost, _ = read.ints(space, plane, plane.events.stats, name)
            duty[(duty == Duty.CUSTOM_CALL) & (cost > 0)] = Duty.ON
    return duty


def _framework_span(space: XSpace, plane: Plane) -> tuple[int, int] | None:
    """First begin and last end, on the host's clock, of the synchronous events with a framework op."""
    names = ("tf_op", "_a")
    on_rows = StatColumns(space, plane, plane.event_metadata.stats, names)
    on_events = StatColumns(space, plane, plane.events.stats, names)
    rows, events = plane.event_metadata.id, plane.events.metadata
    has_op = _marked(len(rows), on_rows.texts("tf_op")[0])[events]
    has_op[on_events.texts("tf_op")[0]] = True
    if not has_op.any():
        return None
    on_row, on_event = on_rows.ints("_a"), on_events.ints("_a")
    is_async = _marked(len(rows), on_row.event[on_row.value != 0])[events]
    is_async[on_event.event] = on_event.value != 0
    synchronous = np.flatnonzero(has_op & ~is_async)
    if not len(synchronous):
        return None
    begin = plane.events.begin_ps[synchronous]
    return int(begin.min()), int((begin + plane.events.duration_ps[synchronous]).max())


def _marked(count: int, rows: I64) -> Bools:
    marks = np.zeros(count, np.bool_)
    marks[rows] = True
    return marks


def metadata_ops(op_meta: OpMetadata, rows: I64, occurrences: I64, time: I64, self_ps: I64, minimum: I64) -> OpTable:
    """The ops of some rows of the metadata, with their sums; costs are those of one execution, multiplied."""
    flops, model_flops, accessed = (
        cost[rows].astype(np.float64) * occurrences for cost in (op_meta.flops, op_meta.model_flops, op_meta.bytes)
    )
    return OpTable(
        module=tuple(op_meta.program[rows].tolist()),
        name=tuple(op_meta.name[i] for i in rows.tolist()),
        category=tuple(op_meta.category_of(i) for i in rows.tolist()),
        provenance=tuple(op_meta.provenance[i] for i in rows.tolist()),
        eager=np.zeros(len(rows), np.bool_),
        occurrences=occurrences,
        time_ps=time,
        self_ps=self_ps,
        min_ps=minimum,
        cores=np.ones(len(rows), np.int64),
        flops=flops,
        model_flops=np.where(model_flops == 0, flops, model_flops),
        bytes=accessed,
    )


_OFF_DUTY = dict.fromkeys((*WAITS_FOR_HOST, ASYNC_DONE, "megacore fusion"), Duty.OFF)
TENSOR_CORE_DUTY = {**_OFF_DUTY, CUSTOM_CALL: Duty.CUSTOM_CALL}
"""Categories of ops that wait for the host or for another core; custom calls may wait."""
SPARSE_CORE_DUTY = _OFF_DUTY
"""Categories of SparseCores: as in XProf, their custom calls are always on duty."""


@dataclass(frozen=True, slots=True)
class DutyCycle:
    """Picoseconds summed over chips: recorded, busy, and busy without custom calls of unknown cost.

    A core is busy while its innermost op is on duty, e.g. not while an infeed runs inside a loop.
    """

    recorded_ps: int = 0
    busy_ps: int = 0
    sure_ps: int = 0

    @property
    def percent(self) -> float:
        """Busy time as a share of all recorded time, 0 to 100."""
        return 100.0 * ratio(self.busy_ps, self.recorded_ps)

    @property
    def sure_percent(self) -> float:
        """Busy time without custom calls of unknown cost as a share of all recorded time, 0 to 100."""
        return 100.0 * ratio(self.sure_ps, self.recorded_ps)


def combine_duty(parts: Iterable[DutyCycle]) -> DutyCycle:
    parts = list(parts)
    return DutyCycle(*(sum(getattr(part, name) for part in parts) for name in DutyCycle.__slots__))


def duty_cycle(space: XSpace, works: Sequence[tuple[Plane, CoreWork]]) -> DutyCycle:
    """The duty cycle of a host's chips from the busy time of each core; a chip is busy when any of its cores is."""
    chips: dict[tuple[str, int], list[tuple[Plane, CoreWork]]] = {}
    for plane, work in works:
        chip = chip_of(space, plane)
        key = ("plane", plane.index) if chip is None else ("chip", chip)
        chips.setdefault(key, []).append((plane, work))
    recorded = busy = sure = 0
    for cores in chips.values():
        spans = [span for plane, work in cores if (span := _span(plane, work))]
        if spans:
            recorded += _covered([(np.array([first], np.int64), np.array([last], np.int64)) for first, last in spans])
            busy += _covered([line for _, work in cores for line in work.busy])
            sure += _covered([line for _, work in cores for line in work.sure])
    return DutyCycle(recorded, busy, sure)


def _covered(parts: Sequence[Spans]) -> int:
    """Length of the union of all spans; the spans within each part are disjoint."""
    if len(parts) == 1:
        begin, end = parts[0]
        return int((end - begin).sum())
    if not parts:
        return 0
    begin, end = (np.concatenate(column) for column in zip(*parts, strict=True))
    return _native.covered(begin, end - begin)


def _span(plane: Plane, work: CoreWork) -> tuple[int, int] | None:
    """Span from the first to the last op or program run of a core; None without any."""
    spans = [work.span_ps] if work.span_ps else []
    for line in lines_named(plane, MODULES, SPARSE_MODULES):
        events = plane.lines.events_of(line)
        if events.start < events.stop:
            begin, end = spans_at(plane, events)
            spans.append((int(begin.min()), int(end.max())))
    return enclosing_span(spans)


# Ops that TensorCores offload to SparseCores, grouped by the TensorCore op that waits for them.

SPARSE_CORE = "SparseCore"
_CORE, _START = "offload_core_id", "tc_offload_start_id"
_NONE = 2**32 - 1

Offload = tuple[int, int]
"""An offload: the id of the SparseCore and the start id."""


def sparse_ops(space: XSpace, planes: Sequence[Plane]) -> dict[OpKey, OpRecords]:
    """The ops that SparseCores ran, by the TensorCore op that they ran for."""
    if not any(_may_offload(plane) and is_sparse_core(plane) for plane in planes):
        return {}
    parent_of: dict[Offload, OpKey] = {}
    for plane in planes:
        if is_tensor_core(plane) and _may_offload(plane):
            parent_of.update(_parents(space, plane))
    records_by_parent: dict[OpKey, list[OpRecords]] = {}
    for plane in planes:
        if is_sparse_core(plane) and _may_offload(plane) and parent_of:
            for key, records in _children(space, plane, parent_of).items():
                records_by_parent.setdefault(key, []).append(records)
    return {key: combine_records(parts) for key, parts in records_by_parent.items()}


def _may_offload(plane: Plane) -> bool:
    return all(plane.stat_metadata.row(name) is not None for name in (_CORE, _START))


def _parents(space: XSpace, plane: Plane) -> dict[Offload, OpKey]:
    """The op of each offload that a TensorCore started."""
    core, has_core = read.uints(space, plane, plane.events.stats, _CORE)
    start, has_start = read.int64s(space, plane, plane.events.stats, _START)
    op_meta = op_metadata(space, plane)
    row = plane.events.metadata
    events = np.flatnonzero(has_core & has_start & op_meta.counted[row])
    triples = np.unique(
        np.stack([core[events].astype(np.int64), start[events], row[events].astype(np.int64)], axis=1), axis=0
    )
    return {(c, s): (int(op_meta.program[r]), op_meta.name[r]) for c, s, r in triples.tolist()}


def _children(space: XSpace, plane: Plane, parent_of: dict[Offload, OpKey]) -> dict[OpKey, OpRecords]:
    """The ops of one SparseCore, by the TensorCore op that they ran for."""
    spans, op_meta = device_spans(space, plane), op_metadata(space, plane)
    core, _ = read.uints(space, plane, plane.events.stats, _CORE)
    start, _ = read.uints(space, plane, plane.events.stats, _START)
    modules = [plane.lines.events_of(line) for line in lines_named(plane, SPARSE_MODULES)]
    parents = list(dict.fromkeys(parent_of.values()))
    number = {key: i for i, key in enumerate(parents)}
    keys: list[I64] = []
    times: list[tuple[I64, I64]] = []
    for line in lines_named(plane, SPARSE_OPS):
        events = plane.lines.events_of(line)
        begin, duration = (np.ascontiguousarray(c[events]) for c in (spans.begin_ps, spans.duration_ps))
        self_ps = _native.self_times(begin, duration)
        row = plane.events.metadata[events].astype(np.int64)
        for module in modules:
            first, length = (np.ascontiguousarray(c[module]) for c in (spans.begin_ps, spans.duration_ps))
            inside = _native.enclosing(first, length, begin, duration)
            offloads = zip(core[module].tolist(), start[module].astype(np.int64).tolist(), strict=True)
            parent = np.array([number.get(parent_of.get(offload, (0, "")), -1) for offload in offloads], np.int64)
            of = np.append(parent, -1)[np.where(inside == _NONE, len(parent), inside)]
            keep = (of >= 0) & op_meta.counted[row]
            keys.append(of[keep] * len(op_meta.name) + row[keep])
            times.append((duration[keep], self_ps[keep]))
    return _tables(op_meta, plane, parents, keys, times)


def _tables(
    op_meta: OpMetadata, plane: Plane, parents: list[OpKey], keys: list[I64], times: list[tuple[I64, I64]]
) -> dict[OpKey, OpRecords]:
    if not keys:
        return {}
    distinct, where = np.unique(np.concatenate(keys), return_inverse=True)
    time, self_ps = (np.concatenate(column) for column in zip(*times, strict=True))
    runs, total, self_time, _ = _native.totals_by_key(
        where.reshape(-1).astype(np.uint32), time, self_ps, time, len(distinct)
    )
    parent, row = np.divmod(distinct, len(op_meta.name))
    tables = {}
    for index in np.unique(parent).tolist():
        rows = np.flatnonzero(parent == index)
        tables[parents[index]] = _records(op_meta, plane, row[rows], runs[rows], total[rows], self_time[rows])
    return tables


def _records(op_meta: OpMetadata, plane: Plane, row: I64, runs: I64, time: I64, self_ps: I64) -> OpRecords:
    table = metadata_ops(op_meta, row, runs, time, self_ps, np.zeros(len(row), np.int64)).with_total(int(self_ps.sum()))
    names = plane.event_metadata.names
    return OpRecords(
        table=table,
        normalized_ps=time.astype(np.float64),
        normalized_self_ps=self_ps.astype(np.float64),
        stall_ps=np.zeros(len(row)),
        energy=np.zeros(len(row)),
        traffic=no_traffic(len(row)),
        text=tuple(OpText(expression=names[i], core=SPARSE_CORE) for i in row.tolist()),
    )


TENSOR_CORE = "TensorCore"


def tpu_records(
    space: XSpace, planes: Sequence[Plane], step_spans: dict[int, DeviceSpans] | None = None, mapper: Mapper = map
) -> OpRecords:
    """Records of all TPU planes of a host except SparseCores.

    Args:
      space: the profile.
      planes: its device planes.
      step_spans: per plane index, steps that extend the observed time.
      mapper: works on the cores, which are independent.
    """

    def records_of(plane: Plane) -> OpRecords:
        return core_records(space, plane, op_metadata(space, plane), (step_spans or {}).get(plane.index))

    cores = [plane for plane in planes if not is_sparse_core(plane)]
    parts = mapper(records_of, cores)
    programs = {module.program_id: module.name for module in hlo_modules(space)}
    return combine_records([OpRecords(programs=programs, inner=sparse_ops(space, planes)), *parts])


def core_records(space: XSpace, plane: Plane, op_meta: OpMetadata, steps: DeviceSpans | None = None) -> OpRecords:
    """Records of one core; its `steps` extend the observed time."""
    table, _ = op_table(space, plane, op_meta, {}, steps or NO_SPANS)
    table_row = table_rows(table, op_meta)
    ran = events_of_lines(plane, lines_named(plane, *OP_LINES))
    runs = np.bincount(op_meta.row[plane.events.metadata[ran]], minlength=len(table_row))
    rows = np.flatnonzero((runs > 0) & (table_row >= 0))
    traffic, accesses = no_traffic(len(table)), np.zeros(len(table), np.int64)
    traffic_of_run, accesses_of_run = traffic_of(space, plane)
    np.add.at(traffic, table_row[rows], traffic_of_run[rows] * runs[rows, None, None])
    np.add.at(accesses, table_row[rows], accesses_of_run[rows])
    described_by = np.zeros(len(table), np.int64)
    described_by[table_row[rows][::-1]] = rows[::-1]
    sums = _EventSums(space, plane, ran, table_row, len(table))
    scaled = sums.scaled()
    normalized = table.time_ps.astype(np.float64) if scaled is None else scaled
    with np.errstate(invalid="ignore", over="ignore"):  # time scales may be anything
        ratio = np.divide(normalized, table.time_ps, out=np.ones(len(table)), where=table.time_ps > 0)
        normalized_self = table.self_ps.astype(np.float64) * ratio
    return OpRecords(
        table=table,
        normalized_ps=normalized,
        normalized_self_ps=normalized_self,
        stall_ps=sums.total(read.int64s, "dma_stall_duration_ps"),
        energy=sums.total(read.doubles, "vdd_energy_j"),
        traffic=traffic,
        text=_texts(space, plane, described_by),
        accesses=accesses,
    )


def table_rows(table: OpTable, op_meta: OpMetadata) -> I64:
    """Row of the core's table for each metadata row; -1 for ops that are not in it."""
    table_row = rows_in(table, list(zip(op_meta.program.tolist(), op_meta.name, strict=True)))
    table_row[~op_meta.counted] = -1
    return table_row[op_meta.row]


def traffic_of(space: XSpace, plane: Plane) -> tuple[F64, I64]:
    """Memory accesses of one execution per metadata row: bytes by space and direction, and their number of kinds."""
    stats = plane.event_metadata.stats
    traffic, accesses = no_traffic(len(plane.event_metadata)), np.zeros(len(plane.event_metadata), np.int64)
    owners, index = stats.where(plane.stat_metadata.row("memory_access_breakdown"))
    for owner, stat in zip(owners.tolist(), index.tolist(), strict=True):
        if stats.kind[stat] == Kind.BYTES:
            for space_, direction, bytes_ in breakdown(space.blob(int(stats.value[stat]))):
                accesses[owner] += 1
                if direction is not None:
                    traffic[owner, space_, direction] += bytes_
    return traffic, accesses


def breakdown(message: bytes) -> list[tuple[int, int | None, int]]:
    """Decodes a MemoryAccessBreakdown: space, direction (None: neither read nor written) and bytes of each access."""
    kind = protos.message("tensorflow.profiler.OpMetrics.MemoryAccessed")
    direction = {kind.READ: READ, kind.WRITE: WRITE}
    decoded = read_message("tensorflow.profiler.MemoryAccessBreakdown", message).memory_accessed
    return [(space_index(a.memory_space), direction.get(a.operation_type), a.bytes_accessed) for a in decoded]


class _EventSums:
    """Sums of event stats that few profiles have, per row of a table, over the events `ran`.

    `table_row` is the table's row for each metadata row, -1 for none.
    """

    def __init__(self, space: XSpace, plane: Plane, ran: I64, table_row: I64, rows: int) -> None:
        self._space, self._plane, self._ran, self._table_row, self._rows = space, plane, ran, table_row, rows

    def _sum(self, values: I64 | F64) -> F64:
        row = self._table_row[self._plane.events.metadata[self._ran]]
        counted = row >= 0
        weights = values[self._ran[counted]].astype(np.float64)
        return np.bincount(row[counted], weights=weights, minlength=self._rows).astype(np.float64)

    def total(self, reader: Callable[[XSpace, Plane, Stats, str], tuple[Any, Bools]], name: str) -> F64:
        """Sum of a stat; as in XProf, over values of one type only."""
        if self._plane.stat_metadata.row(name) is None:
            return np.zeros(self._rows)
        return self._sum(reader(self._space, self._plane, self._plane.events.stats, name)[0])

    def scaled(self) -> F64 | None:
        """Sum of durations times the time scale multiplier; None if no event has one."""
        name = "Time Scale Multiplier"
        if self._plane.stat_metadata.row(name) is None:
            return None
        factor, present = read.doubles(self._space, self._plane, self._plane.events.stats, name)
        if not present.any():
            return None
        duration_ps = device_spans(self._space, self._plane).duration_ps
        with np.errstate(invalid="ignore", over="ignore"):  # multipliers may be anything
            return self._sum(duration_ps * np.where(present, factor, 1.0))


def _texts(space: XSpace, plane: Plane, rows: I64) -> tuple[OpText, ...]:
    meta = plane.event_metadata

    def texts(name: str) -> list[str]:
        codes, table = read.strings(space, plane, meta.stats, name)
        return [table[code] if code >= 0 else "" for code in codes[rows].tolist()]

    names, display_names = meta.names, meta.display_names
    columns = (rows.tolist(), texts("deduplicated_name"), texts("source"), texts("source_stack"))
    op_texts = []
    for row, deduplicated, source, stack in zip(*columns, strict=True):
        file, line = split_source(source)
        op_texts.append(OpText(names[row] if display_names[row] else "", deduplicated, file, line, stack, TENSOR_CORE))
    return tuple(op_texts)
