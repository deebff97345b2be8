"""Ops that TensorCores offload to SparseCores, grouped by the TensorCore op that waits for them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tpu_profile_plugin import _native
from tpu_profile_plugin.analysis.common.planes import (
    SPARSE_MODULES,
    SPARSE_OPS,
    is_sparse_core,
    is_tensor_core,
    lines_named,
)
from tpu_profile_plugin.analysis.ops.records import OpRecords, OpText, combine_records, no_traffic
from tpu_profile_plugin.analysis.ops.tpu.ops import OpMetadata, device_spans, metadata_ops, op_metadata
from tpu_profile_plugin.columns import Plane, XSpace
from tpu_profile_plugin.columns import stats as read
from tpu_profile_plugin.columns.arrays import I64

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
