"""Op records: the sums of an op table and, per op, memory traffic, HLO text and source."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from tpu_profile_plugin.analysis.ops.table import OpTable, combine
from tpu_profile_plugin.columns.arrays import F64, I64, Bools

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
        """Whether file and line are known."""
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
    """Zero traffic for `rows` ops."""
    return np.zeros((rows, _SPACES, 2))


def space_index(number: int) -> int:
    """Index of a memory space by its number in a profile."""
    return number if number in (HBM, CMEM, VMEM) else OTHER


_SUMS = ("normalized_ps", "normalized_self_ps", "stall_ps", "energy", "traffic")


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
    target = _target_rows(filled, table)
    columns: dict[str, Any] = {}
    for name in _SUMS:
        values = np.concatenate([getattr(part, name) for part in filled])
        sums = np.zeros((len(table), *values.shape[1:]))
        np.add.at(sums, target, values)
        columns[name] = sums
    accesses = np.zeros(len(table), np.int64)
    np.add.at(accesses, target, np.concatenate([part.has_traffic for part in filled]))
    text = [OpText()] * len(table)
    for row, new in zip(target.tolist(), (text for part in filled for text in part.text), strict=True):
        text[row] = _filled(text[row], new)
    return OpRecords(
        table=table, text=tuple(text), programs=programs, inner=inner, observed=observed, accesses=accesses, **columns
    )


def _target_rows(parts: Sequence[OpRecords], table: OpTable) -> I64:
    """For each row of the concatenated parts, its row in the combined table."""
    row_of = {key: row for row, key in enumerate(zip(table.module, table.name, strict=True))}
    keys = [key for part in parts for key in zip(part.table.module, part.table.name, strict=True)]
    return np.fromiter((row_of[key] for key in keys), np.int64, len(keys))


def _filled(old: OpText, new: OpText) -> OpText:
    if old == new:
        return old
    return OpText(*(text or fallback for text, fallback in zip(old, new, strict=True)))  # type: ignore[arg-type]
