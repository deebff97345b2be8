"""Ops of a host's devices with their peaks, for op profile, HLO stats and roofline, and their reduction over hosts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tpu_profile_plugin import _native
from tpu_profile_plugin.analysis.attribution import hlo_runs, names_hlo_ops, with_hlo_ops
from tpu_profile_plugin.analysis.common.mapper import Mapper
from tpu_profile_plugin.analysis.common.planes import (
    Preprocessed,
    device_planes,
    host_plane,
    is_sparse_core,
    is_step_line,
    is_tpu,
)
from tpu_profile_plugin.analysis.common.rows import joined, row_codes
from tpu_profile_plugin.analysis.environment import environment as env
from tpu_profile_plugin.analysis.hlo.ops import HloOps
from tpu_profile_plugin.analysis.ops.gpu_ops import framework_sources, gpu_ops, unclaimed
from tpu_profile_plugin.analysis.ops.op_tables import (
    OpRecords,
    OpTable,
    combine,
    combine_records,
    hlo_op_table,
    hlo_records,
    is_transfer,
)
from tpu_profile_plugin.analysis.ops.rates import Rates, rates
from tpu_profile_plugin.analysis.ops.tpu_ops import DeviceSpans, device_spans, tpu_records
from tpu_profile_plugin.analysis.ops.tree import rows_of
from tpu_profile_plugin.analysis.steps.core_steps import step_spans
from tpu_profile_plugin.analysis.steps.step_ops import StepWork, work_of
from tpu_profile_plugin.columns import Plane, XSpace
from tpu_profile_plugin.columns import stats as read
from tpu_profile_plugin.columns.arrays import F64, I64


@dataclass(frozen=True, slots=True)
class Chip:
    megacore: bool = False
    merged_vmem: bool = False


@dataclass(frozen=True, slots=True)
class OpSummary:
    """Ops of one or more hosts and device peaks; its size grows with the number of distinct ops, not of events.

    Attributes:
      unattributed_ps, events_ps: time of GPU events without an op, and of all GPU events, if the former are in records.
      threads: of ops of the CPU backend, number of host threads with events.
    """

    records: OpRecords
    environment: env.Environment
    peaks: env.Peaks
    chip: Chip
    unattributed_ps: int = 0
    events_ps: int = 0
    threads: int = 0
    errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def hardware(self) -> env.Hardware:
        return self.environment.hardware


def summarize_ops(
    space: XSpace, pre: Preprocessed | None, ops: HloOps, *, unattributed: bool = False, mapper: Mapper = map
) -> OpSummary:
    """The ops of one host's devices.

    Args:
      space: the profile.
      pre: its groups and steps; may be None if it has none.
      ops: its HLO programs.
      unattributed: include GPU events without an op (see `ops.gpu.attribution`), which XProf ignores.
      mapper: works on TPU cores, which are independent.
    """
    planes = device_planes(space)
    records, unattributed_ps, events = OpRecords(), 0, 0
    if planes and is_tpu(planes[0]):
        records = tpu_records(space, planes, _steps(space, planes, pre), mapper)
    elif planes:
        table = gpu_ops(space, planes, pre, ops)
        if unattributed:
            unclaimed_ops = unclaimed(space, planes, ops)
            table = combine([table, unclaimed_ops.table]).with_total(table.total_ps)
            unattributed_ps, events = unclaimed_ops.unattributed_ps, unclaimed_ops.all_ps
        records = hlo_records(table, ops, framework_sources(space, planes))
    return OpSummary(
        records=records,
        environment=env.environment(space, False),
        peaks=env.peaks(space),
        chip=_chip(space, planes),
        unattributed_ps=unattributed_ps,
        events_ps=events,
        errors=tuple(space.errors),
        warnings=tuple(space.warnings),
    )


def _chip(space: XSpace, planes: Sequence[Plane]) -> Chip:
    if not planes:
        return Chip()
    flags = (env.plane_int(space, planes[0], name) != 0 for name in ("has_megacore", "has_merged_vmem"))
    return Chip(*flags)


def _steps(space: XSpace, planes: Sequence[Plane], pre: Preprocessed | None) -> dict[int, DeviceSpans]:
    """Step events of each TPU plane that has any, by plane index; without SparseCores."""
    steps = {}
    for plane in planes:
        if not is_sparse_core(plane) and any(is_step_line(name) for name in plane.lines.name):
            extras = pre.planes[plane.index] if pre else None
            step_events, group = step_spans(plane, extras, device_spans(space, plane))
            if len(group):
                steps[plane.index] = step_events
    return steps


def reduce_op_summaries(parts: Sequence[OpSummary]) -> OpSummary:
    """Combines hosts in the given order; `chip` is that of the first host with devices."""
    if len(parts) == 1:
        return parts[0]
    return OpSummary(
        records=combine_records(part.records for part in parts),
        environment=env.combine_environments([part.environment for part in parts]),
        peaks=env.combine_peaks([part.peaks for part in parts]),
        chip=next((part.chip for part in parts if part.environment.device_cores), Chip()),
        unattributed_ps=sum(part.unattributed_ps for part in parts),
        events_ps=sum(part.events_ps for part in parts),
        threads=sum(part.threads for part in parts),
        errors=tuple(text for part in parts for text in part.errors),
        warnings=tuple(text for part in parts for text in part.warnings),
    )


def supported_peaks(summary: OpSummary) -> env.Peaks:
    """Peaks for the roofline: HBM and on-chip memory, plus CMEM if the chip has it, else VMEM if it is merged."""
    peaks = summary.peaks.bandwidths
    if summary.hardware is env.Hardware.GPU or len(peaks) < 7:
        return summary.peaks
    has_cmem = peaks[3] > 0 or peaks[4] > 0
    cmem = peaks[3:5] if has_cmem else (0.0, 0.0)
    vmem = peaks[5:7] if summary.chip.merged_vmem and not has_cmem else (0.0, 0.0)
    return replace(summary.peaks, bandwidths=(*peaks[:3], *cmem, *vmem))


CPU = "CPU"
NO_CATEGORY = "unknown"
"""Category of ops whose program is not in the profile."""


def cpu_summary(space: XSpace, ops: HloOps) -> OpSummary:
    """The XLA ops of the CPU backend of one host; peaks are unknown."""
    plane = _op_events(space)
    table, devices = _table(space, plane, ops)
    records = hlo_records(table, ops, on_cpu=True)
    records = replace(records, text=tuple(text._replace(core=CPU) for text in records.text))
    where = replace(env.environment(space, False), device_cores=devices)
    errors, warnings = tuple(space.errors), tuple(space.warnings)
    threads = 0 if plane is None else int(np.count_nonzero(plane.lines.filled))
    return OpSummary(records, where, env.peaks(space), Chip(), threads=threads, errors=errors, warnings=warnings)


def cpu_op_table(space: XSpace, ops: HloOps) -> tuple[OpTable, int]:
    """Metrics of the ops, and the number of CPU devices that ran any.

    Self time is computed per thread. The observed time is from the first begin to the last end, or the sum of self
    times if that is longer because threads ran in parallel.
    """
    return _table(space, _op_events(space), ops)


def _op_events(space: XSpace) -> Plane | None:
    """The host's plane with at least the events that name an instruction."""
    plane = host_plane(space)
    return plane and with_hlo_ops(space, plane)


def _table(space: XSpace, plane: Plane | None, ops: HloOps) -> tuple[OpTable, int]:
    if plane is None or not names_hlo_ops(plane):
        return OpTable(), 0
    named, events = hlo_runs(space, plane)
    if not len(events):
        return OpTable(), 0
    devices, _ = read.ints(space, plane, plane.events.stats, "device_ordinal")
    code, first = row_codes(named.op[events])
    order = np.argsort(first)  # rows in order of first appearance
    row_of_code = np.empty(len(first), np.int64)
    row_of_code[order] = np.arange(len(first))
    keys = [named.ops[op].key for op in named.op[events[first[order]]].tolist()]
    sums = _sums(plane, events, row_of_code[code], len(first))
    table = hlo_op_table(ops, keys, sums, NO_CATEGORY, on_cpu=True)
    begin, duration = plane.events.begin_ps[events], plane.events.duration_ps[events]
    return table.with_total(int((begin + duration).max()) - int(begin.min())), len(np.unique(devices[events]))


def _sums(plane: Plane, events: I64, rows: I64, keys: int) -> tuple[I64, I64, I64, I64]:
    """Runs, time, self time and minimum time of each key; ops nest within each thread."""
    self_ps = np.empty(len(events), np.int64)
    cuts = np.searchsorted(events, plane.lines.event_start)
    begin, duration = plane.events.begin_ps[events], plane.events.duration_ps[events]
    for low, high in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
        self_ps[low:high] = _native.self_times(begin[low:high].copy(), duration[low:high].copy())
    return _native.totals_by_key(rows.astype(np.uint32), duration, self_ps, duration, keys)


MAX_OPS = 1000


@dataclass(frozen=True, slots=True)
class Programs:
    """Programs or steps: their time in ps and rates."""

    time_ps: F64
    rates: Rates


@dataclass(frozen=True, slots=True)
class Ops:
    """Ops by self time descending: rows of the records, and rates."""

    rows: I64
    rates: Rates


@dataclass(frozen=True, slots=True)
class Roofline:
    """Roofline with or without infeed and outfeed; `steps` starts with the average step if `has_average`."""

    total: Programs
    ops: Ops
    steps: Programs
    has_average: bool


def roofline(summary: OpSummary, steps: StepWork, *, transfers: bool) -> Roofline:
    """The roofline of all ops, or without the ops and the time of infeed and outfeed."""
    records, table = summary.records, summary.records.table
    transfer = np.array([is_transfer(category) for category in table.category], np.bool_)
    total_ps = table.total_ps - (0 if transfers else int(table.time_ps[transfer].sum()))
    total = StepWork.of(np.array([float(total_ps)]), work_of(records, transfers=transfers).sum(axis=0, keepdims=True))
    rows = rows_of(records)
    rows = rows[transfers | ~transfer[rows]][:MAX_OPS]
    ops = StepWork(
        table.time_ps[rows].astype(np.float64),
        table.flops[rows],
        table.model_flops[rows],
        table.bytes[rows],
        records.traffic[rows],
        records.has_traffic[rows].astype(np.float64),
    )
    # On GPUs the ops of a step are unknown, so there is no meaningful average.
    has_average = summary.hardware is not env.Hardware.GPU
    if has_average:
        steps = joined([steps.mean, steps])
    return Roofline(_programs(summary, total), Ops(rows, _rates(summary, ops)), _programs(summary, steps), has_average)


def _programs(summary: OpSummary, work: StepWork) -> Programs:
    return Programs(work.time_ps, _rates(summary, work))


def _rates(summary: OpSummary, work: StepWork) -> Rates:
    return rates(
        work.time_ps, work.flops, work.model_flops, work.bytes, work.traffic,
        supported_peaks(summary), summary.hardware, work.accesses > 0,
    )  # fmt: skip
