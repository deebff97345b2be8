"""Op records of TPU cores, from the op table and the event metadata."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tpu_profile_plugin import protos
from tpu_profile_plugin.analysis.common.mapper import Mapper
from tpu_profile_plugin.analysis.common.planes import OP_LINES, events_of_lines, is_sparse_core, lines_named
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
    op_metadata,
    op_table,
)
from tpu_profile_plugin.analysis.ops.tpu.sparse_cores import sparse_ops
from tpu_profile_plugin.columns import Kind, Plane, XSpace
from tpu_profile_plugin.columns import stats as read
from tpu_profile_plugin.columns.arrays import F64, I64, Bools
from tpu_profile_plugin.columns.hlo import hlo_modules
from tpu_profile_plugin.columns.tables import Stats
from tpu_profile_plugin.protos import lenient

TENSOR_CORE = "TensorCore"
_LINE = re.compile(r"\s*([+-]?[0-9]+)\s*", re.ASCII)


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
    decoded = lenient.read("tensorflow.profiler.MemoryAccessBreakdown", message).memory_accessed
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


def split_source(source: str) -> tuple[str, int]:
    """File and line of `file:line`; ("", 0) for other texts."""
    file, colon, line = source.partition(":")
    match = _LINE.fullmatch(line) if colon and len(line) < 32 else None
    number = int(match[1]) if match else 2**31
    return (file, number) if -(2**31) <= number < 2**31 else ("", 0)
