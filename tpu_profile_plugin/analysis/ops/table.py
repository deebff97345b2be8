"""Op metrics: one row per (module, op), summed over cores and hosts; aggregation of device ops by framework op."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tpu_profile_plugin.analysis.common.op_names import UNKNOWN, OpName, parse_op
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
    def op_ps(self) -> int:
        """Sum of the self times."""
        return int(self.self_ps.sum())

    @property
    def idle_ps(self) -> int:
        """Observed time without any op."""
        return self.total_ps - self.op_ps

    def with_total(self, measured_ps: int) -> OpTable:
        """The table with `measured_ps` as observed time, or the sum of self times if that is longer."""
        return _build(self, total_ps=max(self.op_ps, measured_ps))

    def by_self_time(self) -> list[int]:
        """Rows by self time descending, ties by name."""
        self_ps, name = self.self_ps.tolist(), self.name
        return sorted(range(len(name)), key=lambda i: (-self_ps[i], name[i]))


def _build(table: OpTable, **changes: object) -> OpTable:
    values = {name: getattr(table, name) for name in OpTable.__slots__}
    return OpTable(**{**values, **changes})


_SUMS = ("occurrences", "time_ps", "self_ps", "cores", "flops", "model_flops", "bytes")
_INT64_MAX = np.iinfo(np.int64).max


def combine(tables: Iterable[OpTable], *, cores: bool = True) -> OpTable:
    """Adds up tables by (module, name), in order of first appearance; texts come from the first table that has them.

    With `cores` False the numbers of cores are not added up (threads of a host).
    """
    tables = list(tables)
    total = sum(table.total_ps for table in tables)
    filled = [table for table in tables if len(table)]
    keys = [key for table in filled for key in zip(table.module, table.name, strict=True)]
    if len(filled) == 1 and len(set(keys)) == len(keys):
        return _build(filled[0], total_ps=total)
    merged = _merge(filled, keys, total)
    return merged if cores else _build(merged, cores=np.minimum(merged.cores, 1))


def _merge(tables: Sequence[OpTable], keys: Sequence[tuple[int, str]], total_ps: int) -> OpTable:
    rows: dict[tuple[int, str], int] = {}
    target = np.fromiter((rows.setdefault(key, len(rows)) for key in keys), np.int64, len(keys))
    columns: dict[str, Any] = {}
    for name in _SUMS:
        values = np.concatenate([getattr(table, name) for table in tables]) if tables else np.zeros(0, np.int64)
        sums = np.zeros(len(rows), values.dtype)
        np.add.at(sums, target, values)
        columns[name] = sums
    if any(len(table.calls) for table in tables):
        counted = [table.calls if len(table.calls) else np.zeros(len(table), np.int64) for table in tables]
        columns["calls"] = np.zeros(len(rows), np.int64)
        np.add.at(columns["calls"], target, np.concatenate(counted))
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


def select(table: OpTable, keep: Callable[[int], bool]) -> OpTable:
    """The rows for which `keep(row)` is true; `total_ps` is unchanged."""
    rows = [i for i in range(len(table)) if keep(i)]
    return take(table, rows)


def take(table: OpTable, rows: Sequence[int]) -> OpTable:
    """The given rows in the given order; `total_ps` is unchanged."""
    changes: dict[str, object] = {}
    for name in OpTable.__slots__:
        values = getattr(table, name)
        if isinstance(values, tuple):
            changes[name] = tuple(values[i] for i in rows)
        elif isinstance(values, np.ndarray) and (name != "calls" or len(values)):
            changes[name] = values[np.asarray(rows, np.int64)]
    return _build(table, **changes)


def framework_ops(device: OpTable) -> OpTable:
    """Device ops aggregated by framework op; the category is the op type (`Unknown` without provenance).

    A framework op is compiled to several device ops that each run once per call, so occurrences is their maximum, not
    their sum; PyTorch's choose other kernels in each call, which `calls` counts. `eager` is that of the last device
    op. Device ops of the category IDLE become one row of that name.
    """
    keys, types = [], []
    for name, category, provenance in zip(device.name, device.category, device.provenance, strict=True):
        op = parse_op(provenance) if provenance else None
        if category == IDLE:
            op = OpName("", IDLE, IDLE)
        keys.append((0, op.name if op else name))
        types.append((op and op.type) or UNKNOWN)
    renamed = _build(device, category=tuple(types))
    merged = _merge([renamed], keys, device.total_ps)
    rows = {key: i for i, key in enumerate(zip(merged.module, merged.name, strict=True))}
    target = np.array([rows[key] for key in keys], np.int64)
    occurrences = np.zeros(len(merged), np.int64)
    np.maximum.at(occurrences, target, device.occurrences)
    if len(merged.calls):
        occurrences = np.where(merged.calls > 0, merged.calls, occurrences)
    eager = np.zeros(len(merged), np.bool_)
    eager[target] = device.eager
    return _build(merged, occurrences=occurrences, eager=eager, cores=np.zeros(len(merged), np.int64))
