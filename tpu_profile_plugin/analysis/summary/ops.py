"""Per-host op summaries for op profile, HLO stats and roofline, and their reduction over hosts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tpu_profile_plugin.analysis.common.mapper import Mapper
from tpu_profile_plugin.analysis.common.planes import Preprocessed, device_planes, is_sparse_core, is_step_line, is_tpu
from tpu_profile_plugin.analysis.environment import environment as env
from tpu_profile_plugin.analysis.hlo.ops import HloOps
from tpu_profile_plugin.analysis.ops.gpu.attribution import unclaimed
from tpu_profile_plugin.analysis.ops.gpu.ops import framework_sources, gpu_ops
from tpu_profile_plugin.analysis.ops.hlo_records import hlo_records
from tpu_profile_plugin.analysis.ops.records import OpRecords, combine_records
from tpu_profile_plugin.analysis.ops.table import combine
from tpu_profile_plugin.analysis.ops.tpu.ops import DeviceSpans, device_spans
from tpu_profile_plugin.analysis.ops.tpu.records import tpu_records
from tpu_profile_plugin.analysis.steps.tpu import step_spans
from tpu_profile_plugin.columns import Plane, XSpace


@dataclass(frozen=True, slots=True)
class Chip:
    """Properties of the first device of a host."""

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
        """The kind of device."""
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
    known = summary.peaks.bandwidths
    if summary.hardware is env.Hardware.GPU or len(known) < 7:
        return summary.peaks
    has_cmem = known[3] > 0 or known[4] > 0
    cmem = known[3:5] if has_cmem else (0.0, 0.0)
    vmem = known[5:7] if summary.chip.merged_vmem and not has_cmem else (0.0, 0.0)
    return replace(summary.peaks, bandwidths=(*known[:3], *cmem, *vmem))
