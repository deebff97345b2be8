"""Op tables: one row per op, summed over cores and hosts; with memory traffic, HLO text and source they are records."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from tpu_profile_plugin.analysis.attribution import OpKey
from tpu_profile_plugin.analysis.common.op_names import PYTORCH, UNKNOWN, OpName, parse_op
from tpu_profile_plugin.analysis.common.rows import sums_by
from tpu_profile_plugin.analysis.hlo.instructions import category, provenance
from tpu_profile_plugin.analysis.hlo.ops import HloOps
from tpu_profile_plugin.columns.arrays import F64, I64, Bools

IDLE = "IDLE"


@dataclass(frozen=True, slots=True)
class OpTable:
    """Op metrics in columns of equal length; idle time is `idle_ps`, not a row.

    Attributes:
      module: program id of the HLO module, input stage id, or 0.
      name: op name; (module, name) identifies a row.
      category: HLO category on devices, op type on hosts.
      provenance: the framework op it was compiled from, `name:type`, or "".
      eager: ran outside a graph or tf.function.
      occurrences, time_ps (with children), self_ps (without), min_ps (shortest, host clock), cores: sums over cores.
      flops, model_flops, bytes: of all occurrences together.
      calls: runs of the framework op that begin with this op; empty if the profiler does not record them.
      total_ps: observed time, at least the sum of `self_ps`.
    """

    module: tuple[int, ...] = ()
    name: tuple[str, ...] = ()
    category: tuple[str, ...] = ()
    provenance: tuple[str, ...] = ()
    eager: Bools = field(default_factory=lambda: np.zeros(0, np.bool_))
    occurrences: I64 = field(default_factory=lambda: np.zeros(0, np.int64))
    time_ps: I64 = field(default_factory=lambda: np.zeros(0, np.int64))
    self_ps: I64 = field(default_factory=lambda: np.zeros(0, np.int64))
    min_ps: I64 = field(default_factory=lambda: np.zeros(0, np.int64))
    cores: I64 = field(default_factory=lambda: np.zeros(0, np.int64))
    flops: F64 = field(default_factory=lambda: np.zeros(0, np.float64))
    model_flops: F64 = field(default_factory=lambda: np.zeros(0, np.float64))
    bytes: F64 = field(default_factory=lambda: np.zeros(0, np.float64))
    total_ps: int = 0
    calls: I64 = field(default_factory=lambda: np.zeros(0, np.int64))

    def __len__(self) -> int:
        return len(self.name)

    @property
    def keys(self) -> list[OpKey]:
        """Module and name of each row."""
        return list(zip(self.module, self.name, strict=True))

    @property
    def op_ps(self) -> int:
        """Sum of the self times."""
        return int(self.self_ps.sum())

    @property
    def idle_ps(self) -> int:
        """Observed time without any op."""
        return self.total_ps - self.op_ps

    def with_total(self, measured_ps: int) -> OpTable:
        """The table with `measured_ps` as observed time, or the sum of self times if that is longer."""
        return replace(self, total_ps=max(self.op_ps, measured_ps))

    def by_self_time(self) -> list[int]:
        """Rows by self time descending, ties by name."""
        self_ps, name = self.self_ps.tolist(), self.name
        return sorted(range(len(name)), key=lambda i: (-self_ps[i], name[i]))


_SUMS = ("occurrences", "time_ps", "self_ps", "cores", "flops", "model_flops", "bytes")
_INT64_MAX = np.iinfo(np.int64).max


def combine(tables: Iterable[OpTable], *, cores: bool = True) -> OpTable:
    """Adds up tables by (module, name), in order of first appearance; texts come from the first table that has them.

    With `cores` False the numbers of cores are not added up (threads of a host).
    """
    tables = list(tables)
    total = sum(table.total_ps for table in tables)
    filled = [table for table in tables if len(table)]
    keys = [key for table in filled for key in table.keys]
    if len(filled) == 1 and len(set(keys)) == len(keys):
        return replace(filled[0], total_ps=total)
    merged = _merge(filled, keys, total)
    return merged if cores else replace(merged, cores=np.minimum(merged.cores, 1))


def _merge(tables: Sequence[OpTable], keys: Sequence[tuple[int, str]], total_ps: int) -> OpTable:
    rows: dict[tuple[int, str], int] = {}
    target = np.fromiter((rows.setdefault(key, len(rows)) for key in keys), np.int64, len(keys))
    columns: dict[str, Any] = {}
    for name in _SUMS:
        values = np.concatenate([getattr(table, name) for table in tables]) if tables else np.zeros(0, np.int64)
        columns[name] = sums_by(target, values, len(rows))
    if any(len(table.calls) for table in tables):
        counted = [table.calls if len(table.calls) else np.zeros(len(table), np.int64) for table in tables]
        columns["calls"] = sums_by(target, np.concatenate(counted), len(rows))
    minimum = np.full(len(rows), _INT64_MAX, np.int64)
    eager = np.zeros(len(rows), np.bool_)
    if tables:
        occurs = np.concatenate([table.occurrences for table in tables]) > 0
        np.minimum.at(minimum, target[occurs], np.concatenate([table.min_ps for table in tables])[occurs])
        np.logical_or.at(eager, target, np.concatenate([table.eager for table in tables]))
    minimum[minimum == _INT64_MAX] = 0
    for name in ("category", "provenance"):
        texts = [""] * len(rows)
        for row, text in zip(target.tolist(), (t for table in tables for t in getattr(table, name)), strict=True):
            texts[row] = texts[row] or text
        columns[name] = tuple(texts)
    return OpTable(
        module=tuple(module for module, _ in rows),
        name=tuple(name for _, name in rows),
        min_ps=minimum,
        eager=eager,
        total_ps=total_ps,
        **columns,
    )


def rows_in(table: OpTable, keys: Sequence[OpKey]) -> I64:
    """The row of each op in a table, -1 for ops that are not in it."""
    row_of = {key: row for row, key in enumerate(table.keys)}
    return np.fromiter((row_of.get(key, -1) for key in keys), np.int64, len(keys))


def framework_ops(device: OpTable) -> OpTable:
    """Device ops aggregated by framework op; the category is the op type (`Unknown` without provenance).

    A framework op is compiled to several device ops that each run once per call, so occurrences is their maximum, not
    their sum; PyTorch's choose other kernels in each call, which `calls` counts. `eager` is that of the last device
    op. Device ops of the category IDLE become one row of that name.
    """
    keys, types = [], []
    for name, op_category, framework_op in zip(device.name, device.category, device.provenance, strict=True):
        op = parse_op(framework_op) if framework_op else None
        if op_category == IDLE:
            op = OpName("", IDLE, IDLE)
        keys.append((0, op.name if op else name))
        types.append((op and op.type) or UNKNOWN)
    renamed = replace(device, category=tuple(types))
    merged = _merge([renamed], keys, device.total_ps)
    target = rows_in(merged, keys)
    occurrences = np.zeros(len(merged), np.int64)
    np.maximum.at(occurrences, target, device.occurrences)
    if len(merged.calls):
        occurrences = np.where(merged.calls > 0, merged.calls, occurrences)
    eager = np.zeros(len(merged), np.bool_)
    eager[target] = device.eager
    return replace(merged, occurrences=occurrences, eager=eager, cores=np.zeros(len(merged), np.int64))


OTHER, HBM, CMEM, VMEM = range(4)
"""Memory spaces as numbered in profiles, the index of the spaces axis of traffic; unknown spaces are `OTHER`."""
READ, WRITE = range(2)
_SPACES = 4


class OpText(NamedTuple):
    """Texts describing an op; "" or 0 if unknown.

    Attributes:
      expression: the HLO instruction in full.
      deduplicated: name shared by identical ops.
      source_file, source_line, source_stack: source location; line -1 if the HLO program has none.
      source_of: the op that has this source, the closest one, if the op has none of its own.
      core: "TensorCore", "SparseCore" or "" on other hardware.
    """

    expression: str = ""
    deduplicated: str = ""
    source_file: str = ""
    source_line: int = 0
    source_stack: str = ""
    core: str = ""
    source_of: str = ""

    @property
    def has_source(self) -> bool:
        return bool(self.source_file) and self.source_line != -1


@dataclass(frozen=True, slots=True)
class OpRecords:
    """Op records of cores, hosts or a run; every column has one entry per row of `table`.

    Attributes:
      table: identity, category, provenance and sums.
      normalized_ps: time, scaled to the nominal clock; 0 where clocks are not scaled (GPU).
      normalized_self_ps: self time, scaled likewise.
      stall_ps: time waiting for DMA; energy: in joules.
      traffic: bytes of all occurrences, float64[n, spaces, 2] (space, then read and write).
      text: HLO text and source of each op.
      programs: program id -> `module(program_id)`.
      inner: records of the ops that SparseCores ran for an op, by its module and name.
      observed: there are devices, even if nothing ran on them.
      accesses: number of recorded kinds of memory access, possibly of 0 bytes; empty if `traffic` tells whether any
        were recorded.
    """

    table: OpTable = field(default_factory=OpTable)
    normalized_ps: F64 = field(default_factory=lambda: np.zeros(0))
    normalized_self_ps: F64 = field(default_factory=lambda: np.zeros(0))
    stall_ps: F64 = field(default_factory=lambda: np.zeros(0))
    energy: F64 = field(default_factory=lambda: np.zeros(0))
    traffic: F64 = field(default_factory=lambda: no_traffic(0))
    text: tuple[OpText, ...] = ()
    programs: dict[int, str] = field(default_factory=dict)
    inner: dict[tuple[int, str], OpRecords] = field(default_factory=dict)
    observed: bool = False
    accesses: I64 = field(default_factory=lambda: np.zeros(0, np.int64))

    def __len__(self) -> int:
        return len(self.table)

    @property
    def has_traffic(self) -> Bools:
        """Per op, whether memory accesses were recorded."""
        recorded = self.accesses if len(self.accesses) == len(self) else self.traffic.sum(axis=(1, 2))
        known: Bools = recorded > 0
        return known

    def expression(self, row: int) -> str:
        """The HLO instruction in full, or its name if that is unknown."""
        return self.text[row].expression or self.table.name[row]

    def inside(self, row: int) -> OpRecords | None:
        """The ops that SparseCores ran for the op in a row; None if there are none."""
        return self.inner.get((self.table.module[row], self.table.name[row])) if self.inner else None

    @property
    def time_scale(self) -> float:
        """Ratio of normalized to measured self time; 0 if there is none."""
        op_ps = self.table.op_ps
        return float(self.normalized_self_ps.sum()) / op_ps if op_ps else 0.0


def no_traffic(rows: int) -> F64:
    return np.zeros((rows, _SPACES, 2))


def space_index(number: int) -> int:
    return number if number in (HBM, CMEM, VMEM) else OTHER


_RECORD_SUMS = ("normalized_ps", "normalized_self_ps", "stall_ps", "energy", "traffic")


def combine_records(parts: Iterable[OpRecords]) -> OpRecords:
    """Adds up ops by (module, name), in order of first appearance; texts come from the first part that has them."""
    parts = list(parts)
    table = combine(part.table for part in parts)
    programs: dict[int, str] = {}
    for part in parts:
        for program, name in part.programs.items():
            programs.setdefault(program, name)
    filled = [part for part in parts if len(part)]
    inner = {
        key: combine_records(part.inner[key] for part in parts if key in part.inner)
        for key in dict.fromkeys(key for part in parts for key in part.inner)
    }
    observed = any(part.observed for part in parts)
    if not filled:
        return OpRecords(table=table, programs=programs, inner=inner, observed=observed)
    target = rows_in(table, [key for part in filled for key in part.table.keys])
    columns: dict[str, Any] = {
        name: sums_by(target, np.concatenate([getattr(part, name) for part in filled]), len(table))
        for name in _RECORD_SUMS
    }
    accesses = sums_by(target, np.concatenate([part.has_traffic for part in filled]).astype(np.int64), len(table))
    text = [OpText()] * len(table)
    for row, new in zip(target.tolist(), (text for part in filled for text in part.text), strict=True):
        if text[row] != new:
            filled_text = (value or other for value, other in zip(text[row], new, strict=True))
            text[row] = OpText(*filled_text)  # type: ignore[arg-type]
    return OpRecords(
        table=table, text=tuple(text), programs=programs, inner=inner, observed=observed, accesses=accesses, **columns
    )


WITH_INNER_OPS = frozenset(("call", "conditional", "while", "megacore fusion"))
"""Categories of ops that contain other ops; counting both would count time and cost twice."""


_NOT_COMPUTE = re.compile(
    r"copy-(start|done)|(async|host|send|recv|infeed|outfeed|sparsecore)\b|all-|collective|reduce-scatter|send-|recv-|async-"
)


def computes(category: str) -> bool:
    """Whether an HLO category is computation: not a wait, a copy, communication, or a container of ops."""
    return category not in WITH_INNER_OPS and not _NOT_COMPUTE.search(category)


def is_rematerialized(expression: str, provenance: str) -> bool:
    return ".remat" in expression.partition("=")[0] or "rematted_computation" in provenance


def is_transfer(category: str) -> bool:
    """True for infeed and outfeed."""
    return "infeed" in category or "outfeed" in category


Source = tuple[str, int, str]
"""File, line and stack."""
_NO_SOURCE: Source = ("", -1, "")


def hlo_op_table(
    ops: HloOps,
    keys: Sequence[OpKey],
    sums: tuple[I64, I64, I64, I64],
    unknown: str,
    other_categories: Mapping[OpKey, str] | None = None,
    *,
    on_cpu: bool = False,
) -> OpTable:
    """Op table of HLO instructions, with category, provenance and cost from their programs.

    Args:
      ops: the HLO programs.
      keys: one per row.
      sums: occurrences, time, self time and minimum time in ps, per row.
      unknown: category of instructions that are in no program.
      other_categories: categories of the keys that are not instructions.
      on_cpu: costs are those of a CPU, not of a GPU.
    """
    other = other_categories or {}
    occurrences, time_ps, self_ps, min_ps = sums
    instructions = [None if key in other else ops.find(*key) for key in keys]
    costs = np.zeros((3, len(keys)))
    for row, (key, instruction) in enumerate(zip(keys, instructions, strict=True)):
        if instruction is not None:
            cost = ops.cost(key[0], instruction, on_cpu=on_cpu)
            costs[:, row] = np.array((cost.flops, cost.model_flops, cost.bytes)) * occurrences[row]
    flops, model_flops, accessed = costs
    return OpTable(
        module=tuple(program for program, _ in keys),
        name=tuple(name for _, name in keys),
        category=tuple(
            category(instruction) if instruction else other.get(key, unknown)
            for key, instruction in zip(keys, instructions, strict=True)
        ),
        provenance=tuple(provenance(instruction) if instruction else "" for instruction in instructions),
        eager=np.zeros(len(keys), np.bool_),
        occurrences=occurrences,
        time_ps=time_ps,
        self_ps=self_ps,
        min_ps=min_ps,
        cores=np.ones(len(keys), np.int64),
        flops=flops,
        model_flops=model_flops,
        bytes=accessed,
    )


def hlo_records(
    table: OpTable, ops: HloOps, sources: Mapping[str, Source] | None = None, *, on_cpu: bool = False
) -> OpRecords:
    """Records for an op table of GPUs or CPUs; `sources` by provenance, of ops that are no HLO instructions."""
    zeros = np.zeros(len(table))
    traffic, text = no_traffic(len(table)), []
    for row, (program, name) in enumerate(zip(table.module, table.name, strict=True)):
        instruction = ops.find(program, name) if program else None
        if instruction is None:
            file, line, stack = (sources or {}).get(table.provenance[row], _NO_SOURCE)
            text.append(OpText(source_file=file, source_line=line, source_stack=stack))
            if parse_op(table.provenance[row]).category == PYTORCH:
                # Operands and results, each once: how much is read and how much written is not known apart.
                traffic[row, HBM, READ] = table.bytes[row]
            continue
        file, line, stack = ops.source(program, name)
        shared = instruction.metadata.deduplicated_name
        text.append(OpText(ops.text(program, instruction), shared, file, line, stack))
        cost = ops.cost(program, instruction, on_cpu=on_cpu)
        traffic[row, HBM] = np.array((cost.read, cost.written)) * table.occurrences[row]
    programs = dict(ops.programs.names)
    return OpRecords(table, zeros, zeros, zeros, zeros, traffic, tuple(text), programs, observed=True)
