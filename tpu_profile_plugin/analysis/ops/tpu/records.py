"""Op records of TPU cores, from the op table and the event metadata."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tpu_profile_plugin import _native, protos
from tpu_profile_plugin.analysis.attribution import split_source
from tpu_profile_plugin.analysis.common.mapper import Mapper
from tpu_profile_plugin.analysis.common.planes import (
    OP_LINES,
    SPARSE_MODULES,
    SPARSE_OPS,
    events_of_lines,
    is_sparse_core,
    is_tensor_core,
    lines_named,
)
from tpu_profile_plugin.analysis.ops.records import (
    READ,
    WRITE,
    OpRecords,
    OpText,
    combine_records,
    no_traffic,
    space_index,
)
from tpu_profile_plugin.analysis.ops.table import OpTable
from tpu_profile_plugin.analysis.ops.tpu.ops import (
    NO_SPANS,
    DeviceSpans,
    OpMetadata,
    device_spans,
    metadata_ops,
    op_metadata,
    op_table,
)
from tpu_profile_plugin.columns import Kind, Plane, XSpace
from tpu_profile_plugin.columns import stats as read
from tpu_profile_plugin.columns.arrays import F64, I64, Bools
from tpu_profile_plugin.columns.hlo import hlo_modules
from tpu_profile_plugin.columns.tables import Stats
from tpu_profile_plugin.protos import read as read_message

# Ops that TensorCores offload to SparseCores, grouped by the TensorCore op that waits for them.

SPARSE_CORE = "SparseCore"
_CORE, _START = "offload_core_id", "tc_offload_start_id"
_NONE = 2**32 - 1

OpKey = tuple[int, str]
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
    row_of = {key: row for row, key in enumerate(zip(table.module, table.name, strict=True))}
    keys = zip(op_meta.program.tolist(), op_meta.name, strict=True)
    table_row = np.array([row_of.get(key, -1) for key in keys], np.int64).reshape(-1)
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
