"""Steps of TPU cores, and how much of each core's peak they use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tpu_profile_plugin import _native
from tpu_profile_plugin.analysis.common.planes import (
    SPARSE_STEPS,
    STEPS,
    PlaneExtras,
    event_groups,
    events_of_lines,
    lines_named,
)
from tpu_profile_plugin.analysis.common.spans import PartTimes, covered_within, side_by_side
from tpu_profile_plugin.analysis.common.statistics import ratio
from tpu_profile_plugin.analysis.environment.environment import Peaks
from tpu_profile_plugin.analysis.ops.op_tables import IDLE, WITH_INNER_OPS, OpTable
from tpu_profile_plugin.analysis.ops.tpu_ops import DeviceSpans, OpMetadata, described_by, op_events
from tpu_profile_plugin.analysis.steps.step_table import (
    PART_OF_CATEGORY,
    SPARSE_CORE_IDS,
    StepTable,
    TpuPart,
    least_by_key,
    longest_spans,
)
from tpu_profile_plugin.columns import Plane, XSpace
from tpu_profile_plugin.columns import stats as read
from tpu_profile_plugin.columns.arrays import F64, I64
from tpu_profile_plugin.units import GIGA, PS_PER_S, TERA


@dataclass(frozen=True, slots=True)
class Efficiency:
    """Shares in percent; None when peaks, costs or time are unknown.

    Attributes:
      peak_flops_percent: FLOPs per second relative to the peak of the matrix units; on TPUs their use at least.
      flop_rate_percent: FLOPs per second relative to the roofline at the program's FLOPs per byte.
      memory_bw_percent: bytes per second relative to peak HBM bandwidth.
      goodput_percent: time that all ops would take at peak rates relative to the measured time.
      over: the measured time, that of the "steps" or of the whole "profile".
    """

    peak_flops_percent: float | None
    flop_rate_percent: float | None
    memory_bw_percent: float | None
    goodput_percent: float | None
    over: str


def ideal_seconds(flops: F64, accessed: F64, peaks: Peaks) -> F64:
    """Seconds that ops take at peak compute or peak HBM bandwidth, whichever is longer; 0 for unknown peaks."""
    with np.errstate(over="ignore"):  # peaks come from the file and may be anything
        compute = flops / (peaks.tera_flops * TERA) if peaks.tera_flops else np.zeros(len(flops))
        memory = accessed / (peaks.hbm * GIGA) if peaks.hbm else np.zeros(len(flops))
    ideal: F64 = np.maximum(compute, memory)
    return ideal


def efficiency(steps: StepTable, device: OpTable, peaks: Peaks) -> Efficiency:
    """Efficiency over the steps if their costs are known (TPUs), else over the whole profile."""
    if len(steps) and steps.costs.size and steps.costs.any():
        flops, accessed, ideal = steps.costs.sum(axis=0).tolist()
        dense = steps.dense
        busy = sum(int(own[:, dense].sum()) for own in steps.times.arrays.values())
        return _shares(flops, accessed, ideal, float(busy) / PS_PER_S, peaks, "steps")
    leaf = np.array([category not in WITH_INNER_OPS for category in device.category], np.bool_)
    flops, accessed = device.flops[leaf], device.bytes[leaf]
    ideal = float(ideal_seconds(flops, accessed, peaks).sum())
    return _shares(float(flops.sum()), float(accessed.sum()), ideal, device.total_ps / PS_PER_S, peaks, "profile")


def _shares(flops: float, accessed: float, ideal: float, seconds: float, peaks: Peaks, over: str) -> Efficiency:
    peak_flops, peak_bytes = peaks.tera_flops * TERA, peaks.hbm * GIGA
    if not seconds or not peak_flops or not peak_bytes or not (flops or accessed):
        return Efficiency(None, None, None, None, over)
    roof = min(flops / accessed * peak_bytes, peak_flops) if accessed else peak_flops
    return Efficiency(
        peak_flops_percent=100.0 * flops / seconds / peak_flops,
        flop_rate_percent=100.0 * ratio(flops / seconds, roof),
        memory_bw_percent=100.0 * accessed / seconds / peak_bytes,
        goodput_percent=100.0 * ideal / seconds,
        over=over,
    )


@dataclass(frozen=True, slots=True)
class CoreSteps:
    """The steps of one TensorCore.

    Attributes:
      core: plane id.
      markers: group -> begin and end of the core's step event.
      groups: groups with ops, ascending; category_ps: self time per group and category, int64[g, k].
      costs: FLOPs, bytes and seconds at peak rates of the ops of each group, float64[g, 3].
      collectives: group, instance id and duration of each run of a collective with a recorded instance id.
    """

    core: int
    markers: dict[int, tuple[int, int]]
    groups: I64
    categories: tuple[str, ...]
    category_ps: I64
    costs: F64
    collectives: tuple[I64, I64, I64]


def step_spans(plane: Plane, extras: PlaneExtras | None, spans: DeviceSpans) -> tuple[DeviceSpans, I64]:
    """Step events of one core and their groups (-1: none), as merged by preprocessing if they were."""
    if extras is not None:
        for line in extras.lines:
            if line.name in (STEPS, SPARSE_STEPS):
                return _merged(line)
    events = events_of_lines(plane, lines_named(plane, STEPS, SPARSE_STEPS))
    return DeviceSpans(spans.begin_ps[events], spans.duration_ps[events]), event_groups(extras, events)


def _merged(line: Any) -> tuple[DeviceSpans, I64]:
    begin, duration = line.begin_ps, line.duration_ps
    offset, length = line.extra_args.get("device_offset_ps"), line.extra_args.get("device_duration_ps")
    if isinstance(offset, np.ndarray) and isinstance(length, np.ndarray):
        both = (offset >= 0) & (length >= 0)
        begin, duration = np.where(both, offset, begin), np.where(both, length, duration)
    group = line.group_id
    return DeviceSpans(begin, duration), np.full(len(begin), -1, np.int64) if group is None else group.astype(np.int64)


def core_steps(
    space: XSpace, plane: Plane, extras: PlaneExtras, spans: DeviceSpans, op_meta: OpMetadata, peaks: Peaks
) -> CoreSteps | None:
    """The steps of one TensorCore; None if it has no step line."""
    step_events, group = step_spans(plane, extras, spans)
    if not len(group):
        return None
    events = op_events(plane)
    group_of_op = event_groups(extras, events)
    columns = (group.tolist(), step_events.begin_ps.tolist(), step_events.end_ps.tolist())
    markers = longest_spans(span for span in zip(*columns, strict=True) if span[0] >= 0)
    groups, category_ps, categories = _category_times(plane, events, group_of_op, spans, op_meta)
    costs = _costs(plane, events, group_of_op, groups, op_meta, peaks)
    collectives = _collectives(space, plane, extras, spans)
    return CoreSteps(plane.id, markers, groups, categories, category_ps, costs, collectives)


def _costs(plane: Plane, events: I64, group: I64, groups: I64, op_meta: OpMetadata, peaks: Peaks) -> F64:
    """Costs per group of ops without inner ops; the costs of one run come from the metadata."""
    inner = np.array([category in WITH_INNER_OPS for category in (*op_meta.categories, "")], np.bool_)[op_meta.category]
    leaf = op_meta.counted & ~inner
    flops, accessed = np.where(leaf, op_meta.flops, 0.0), np.where(leaf, op_meta.bytes, 0.0)
    run_costs = (flops, accessed, ideal_seconds(flops, accessed, peaks))
    events, group = events[group >= 0], group[group >= 0]
    where, row = np.searchsorted(groups, group), op_meta.row[plane.events.metadata[events]]
    return np.stack([np.bincount(where, weights=cost[row], minlength=len(groups)) for cost in run_costs], axis=1)


def _collectives(space: XSpace, plane: Plane, extras: PlaneExtras, spans: DeviceSpans) -> tuple[I64, I64, I64]:
    empty = np.zeros(0, np.int64)
    if plane.stat_metadata.row("all_reduce_unique_id") is None or extras.group_id is None:
        return empty, empty, empty
    instance, present = read.ints(space, plane, plane.events.stats, "all_reduce_unique_id")
    events = op_events(plane)
    events = events[present[events] & (extras.group_id[events] >= 0)]
    return event_groups(extras, events), instance[events], spans.duration_ps[events]


def _category_times(
    plane: Plane, events: I64, group: I64, spans: DeviceSpans, op_meta: OpMetadata
) -> tuple[I64, I64, tuple[str, ...]]:
    """Self time per group and category; nesting is determined among the grouped events only."""
    kind, categories = op_meta.time_categories()
    events, group = events[group >= 0], group[group >= 0]
    begin = np.ascontiguousarray(spans.begin_ps[events])
    duration = np.ascontiguousarray(spans.duration_ps[events])
    # Ops that overlap without containing each other may together take longer than the op around them.
    self_ps = np.maximum(_native.self_times(begin, duration), 0)
    row = plane.events.metadata[events].astype(np.int64)
    groups, where = np.unique(group, return_inverse=True)
    if (op_meta.shared >= 0).any():
        row = described_by(plane, op_meta.shared, events, where)[where, row]
    key = where * len(categories) + kind[row]
    key[~op_meta.counted[row]] = len(groups) * len(categories)
    size = len(groups) * len(categories)
    _, _, sums, _ = _native.totals_by_key(key.astype(np.uint32), duration, self_ps, duration, size)
    return groups, sums.reshape(len(groups), len(categories)), tuple(categories)


def tpu_steps(cores: list[CoreSteps], sparse_cores: Mapping[int, tuple[I64, I64]] | None = None) -> StepTable:
    """The steps that all cores with step events have in common; the span of a step is its longest marker on any core.

    A core whose ops take longer than the step has no idle time. Steps whose markers have no duration are empty, and
    named "-1", as in XProf.

    Args:
      cores: the TensorCores.
      sparse_cores: when each SparseCore was busy, disjoint spans on the host's clock by plane id. As in XProf,
        a SparseCore computes in a step for as long as it is busy within the step's span.
    """
    steps: set[int] = set()
    for core in cores:
        marked = set(core.markers) & set(core.groups.tolist())
        if marked:
            steps = (steps & marked) if steps else marked
    cores = [core for core in cores if steps <= set(core.groups.tolist())]
    times = longest_spans((step, *core.markers[step]) for core in cores for step in steps if step in core.markers)
    numbers = np.array(sorted(times), np.int64)
    if not len(numbers):
        return StepTable(on_tpu=True)
    window = np.array([times[g] for g in numbers.tolist()], np.int64)
    table = _table(sorted(cores, key=lambda core: core.core), numbers, window)
    return _with_sparse_cores(table, window, sparse_cores) if sparse_cores else table


def _table(cores: list[CoreSteps], numbers: I64, window: I64) -> StepTable:
    names = tuple(dict.fromkeys(c for core in cores for c in core.categories))
    column = {name: i for i, name in enumerate(dict.fromkeys((*names, IDLE)))}
    parts = np.zeros((len(TpuPart), len(numbers), len(cores)), np.int64)
    category_ps = np.zeros((len(numbers), len(column)), np.int64)
    costs = np.zeros((len(numbers), 3))
    length = np.maximum(window[:, 1] - window[:, 0], 0)
    lasting = length > 0
    for i, core in enumerate(cores):
        core_ps = core.category_ps[np.searchsorted(core.groups, numbers)] * lasting[:, None]
        for k, category in enumerate(core.categories):
            parts[PART_OF_CATEGORY.get(category, TpuPart.COMPUTE), :, i] += core_ps[:, k]
            category_ps[:, column[category]] += core_ps[:, k]
        category_ps[:, column[IDLE]] += np.maximum(length - core_ps.sum(axis=1), 0)
        busy = parts[:, :, i].sum(axis=0) - parts[TpuPart.IDLE, :, i]
        parts[TpuPart.IDLE, :, i] = np.maximum(length - busy, 0)
        costs += core.costs[np.searchsorted(core.groups, numbers)] * lasting[:, None]
    total, key, least = _collective_times(cores, numbers)
    return StepTable(
        on_tpu=True,
        number=numbers,
        names=tuple("" if step else "-1" for step in lasting.tolist()),
        cores=tuple(core.core for core in cores),
        begin_ps=np.repeat(window[:, :1], len(cores), axis=1),
        duration_ps=np.repeat(length[:, None], len(cores), axis=1),
        times=PartTimes.of(TpuPart, parts),
        categories=tuple(column),
        category_ps=category_ps,
        costs=costs,
        collective_ps=total,
        collective_key=key,
        collective_least_ps=least,
    )


def _with_sparse_cores(steps: StepTable, window: I64, busy: Mapping[int, tuple[I64, I64]]) -> StepTable:
    """The steps with SparseCores beside the TensorCores."""
    length = steps.duration_ps[:, 0]
    covered = [covered_within(*spans, window[:, 0], window[:, 0] + length) for spans in busy.values()]
    compute, none = np.stack(covered, axis=1), np.zeros((len(steps), len(busy)), np.int64)
    times = PartTimes(none.shape, {TpuPart.COMPUTE: compute, TpuPart.IDLE: length[:, None] - compute})
    return replace(
        steps,
        cores=(*steps.cores, *(SPARSE_CORE_IDS + core for core in busy)),
        begin_ps=np.concatenate([steps.begin_ps, none + window[:, :1]], axis=1),
        duration_ps=np.concatenate([steps.duration_ps, none + length[:, None]], axis=1),
        times=side_by_side([steps.times, times]),
        collective_ps=np.concatenate([steps.collective_ps, none], axis=1),
    )


def _collective_times(cores: list[CoreSteps], numbers: I64) -> tuple[I64, I64, I64]:
    """Time in collectives per step and core; minimum time of a core per step and instance."""
    total = np.zeros((len(numbers), len(cores)), np.int64)
    keys, durations = [np.zeros((0, 2), np.int64)], [np.zeros(0, np.int64)]
    for i, core in enumerate(cores):
        group, instance, duration = core.collectives
        if not len(group):
            continue
        row = np.minimum(np.searchsorted(numbers, group), len(numbers) - 1)
        in_steps = numbers[row] == group
        np.add.at(total[:, i], row[in_steps], duration[in_steps])
        keys.append(np.stack([row, instance], axis=1)[in_steps])
        durations.append(duration[in_steps])
    return total, *least_by_key(np.concatenate(keys), np.concatenate(durations))
