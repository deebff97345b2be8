"""FLOPs and bytes of the ops in each step, summed over the TensorCores of a host."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tpu_profile_plugin import _native
from tpu_profile_plugin.analysis.common.planes import (
    OPS,
    Preprocessed,
    device_planes,
    events_of_lines,
    is_tensor_core,
    lines_named,
)
from tpu_profile_plugin.analysis.ops.op_tables import (
    WITH_INNER_OPS,
    OpRecords,
    combine_records,
    is_transfer,
    no_traffic,
)
from tpu_profile_plugin.analysis.ops.tpu_ops import (
    DeviceSpans,
    OpMetadata,
    core_records,
    device_spans,
    op_metadata,
    table_rows,
)
from tpu_profile_plugin.analysis.steps.step_table import StepTable, merge_steps
from tpu_profile_plugin.columns import Plane, XSpace
from tpu_profile_plugin.columns.arrays import F64, I64

_MOST = 2.0**62
_WORK = 4 + no_traffic(1).size
"""Number of columns of `work`: FLOPs, model FLOPs, bytes, ops with recorded traffic, bytes by memory and direction."""


@dataclass(frozen=True, slots=True)
class StepWork:
    """Work of programs or steps during `time_ps`, one entry each; ops that contain other ops are not counted."""

    time_ps: F64
    flops: F64
    model_flops: F64
    bytes: F64
    traffic: F64
    accesses: F64

    @classmethod
    def of(cls, time_ps: F64, work: F64) -> StepWork:
        """Work from an array with the columns of `work_of`."""
        traffic = work[:, 4:].reshape(len(work), *no_traffic(1).shape[1:])
        return cls(time_ps, work[:, 0], work[:, 1], work[:, 2], traffic, work[:, 3])

    @property
    def mean(self) -> StepWork:
        """The mean of all entries as a single entry; zeros if there are none."""
        columns = (self.time_ps, self.flops, self.model_flops, self.bytes, self.traffic, self.accesses)
        return StepWork(*(column.sum(axis=0, keepdims=True) / max(1, len(self.time_ps)) for column in columns))


def work_of(records: OpRecords, categories: Sequence[str] | None = None, *, transfers: bool) -> F64:
    """float64[ops, _WORK]: work of all occurrences of each op; zeros for infeed and outfeed if not `transfers`.

    `categories`: one per op, if others than those of the records count.
    """
    table = records.table
    categories = table.category if categories is None else categories
    counted = np.array([c not in WITH_INNER_OPS and (transfers or not is_transfer(c)) for c in categories], np.bool_)
    sums = np.stack([table.flops, table.model_flops, table.bytes, records.has_traffic], axis=1)
    return np.concatenate([sums, records.traffic.reshape(len(table), _WORK - 4)], axis=1) * counted[:, None]


@dataclass(frozen=True, slots=True)
class _Core:
    """One TensorCore: its ops, their metadata, and the group of each event."""

    plane: Plane
    spans: DeviceSpans
    op_meta: OpMetadata
    records: OpRecords
    group: I64


def step_ops(space: XSpace, pre: Preprocessed, steps: StepTable) -> StepTable:
    """The steps of one host with their work in `category_ps`, so that it is merged over hosts together with the steps.

    The columns are: time; work with infeed and outfeed; time of infeed and outfeed; work without them. The category of
    an op is that on the first core.
    """
    cores = []
    for plane in device_planes(space):
        group = pre.planes[plane.index].group_id
        if is_tensor_core(plane) and group is not None and plane.id in steps.cores:
            spans, op_meta = device_spans(space, plane), op_metadata(space, plane)
            records = core_records(space, plane, op_meta)
            cores.append(_Core(plane, spans, op_meta, records, group))
    combined = combine_records(core.records for core in cores).table
    category = dict(zip(combined.keys, combined.category, strict=True))
    columns = np.zeros((len(steps), 2 + 2 * _WORK), np.int64)
    columns[:, 0] = steps.category_ps.sum(axis=1)
    for core in cores if len(steps) else ():
        columns[:, 1:] += _core_work(core, steps.number, category)
    columns[steps.duration_ps.max(axis=1, initial=0) == 0] = 0
    return replace(steps, categories=tuple(map(str, range(columns.shape[1]))), category_ps=columns)


def _core_work(core: _Core, numbers: I64, category_of: Mapping[tuple[int, str], str]) -> I64:
    events_metadata, table = core.plane.events.metadata, core.records.table
    category = [category_of[key] for key in table.keys]
    position = table_rows(table, core.op_meta)
    events = events_of_lines(core.plane, lines_named(core.plane, OPS))
    step = np.searchsorted(numbers, core.group[events])
    row = position[events_metadata[events]]
    keep = (step < len(numbers)) & (row >= 0)
    keep[keep] = numbers[step[keep]] == core.group[events[keep]]
    keys, key = np.unique((step * len(table) + row)[keep], return_inverse=True)
    duration = np.ascontiguousarray(core.spans.duration_ps[events[keep]])
    runs, time, _, _ = _native.totals_by_key(key.reshape(-1).astype(np.uint32), duration, duration, duration, len(keys))
    step, row = keys // max(1, len(table)), keys % max(1, len(table))
    share = (runs / table.occurrences[row])[:, None]
    transfer = np.array([is_transfer(c) for c in category], np.bool_)
    columns = np.zeros((len(numbers), 1 + 2 * _WORK))
    np.add.at(columns[:, :_WORK], step, share * work_of(core.records, category, transfers=True)[row])
    np.add.at(columns[:, _WORK], step, time * transfer[row])
    np.add.at(columns[:, 1 + _WORK :], step, share * work_of(core.records, category, transfers=False)[row])
    accesses = [3, 1 + _WORK + 3]  # parts of ops are ops
    columns[:, accesses] = np.ceil(columns[:, accesses])
    return np.clip(np.rint(columns), -_MOST, _MOST).astype(np.int64)


def merged_step_work(tables: Sequence[StepTable], has_device: Sequence[bool]) -> tuple[StepTable, StepWork, StepWork]:
    """The common steps of several hosts and their work: of all ops, then without infeed and outfeed."""
    steps = merge_steps(tables, has_device)
    columns = steps.category_ps.astype(np.float64)
    if not columns.size:
        columns = np.zeros((len(steps), 2 + 2 * _WORK))
    time, work, transfer, rest = np.split(columns, (1, 1 + _WORK, 2 + _WORK), axis=1)
    return steps, StepWork.of(time[:, 0], work), StepWork.of((time - transfer)[:, 0], rest)
