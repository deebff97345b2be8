"""Summary of a host for step and op tools, and of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tpu_profile_plugin.analysis.attribution import names_hlo_ops
from tpu_profile_plugin.analysis.common.mapper import Mapper, both
from tpu_profile_plugin.analysis.common.planes import (
    SPARSE_STEPS,
    STEPS,
    PlaneExtras,
    Preprocessed,
    device_planes,
    enclosing_span,
    host_plane,
    is_sparse_core,
    is_tensor_core,
    is_tpu,
)
from tpu_profile_plugin.analysis.environment import environment as env
from tpu_profile_plugin.analysis.environment.environment import (
    Environment,
    Peaks,
    combine_environments,
    combine_peaks,
    core_details,
    environment,
    hostname,
    peaks,
    utilization,
)
from tpu_profile_plugin.analysis.grouping.lookup import EAGER_EXECUTE, IMPLICIT_ROOTS, ROOT_LEVELS, TRACE_CONTEXT
from tpu_profile_plugin.analysis.hlo.ops import HloOps
from tpu_profile_plugin.analysis.hlo.programs import is_training
from tpu_profile_plugin.analysis.ops.gpu_kernels import KernelTimes, combine_kernel_times, kernel_rows, kernel_times
from tpu_profile_plugin.analysis.ops.gpu_ops import gpu_ops
from tpu_profile_plugin.analysis.ops.op_tables import OpTable, combine
from tpu_profile_plugin.analysis.ops.thread_ops import (
    HostOps,
    TfFunction,
    combine_functions,
    combine_host_ops,
    host_ops,
    ops_only,
    tf_functions,
)
from tpu_profile_plugin.analysis.ops.tpu_ops import (
    NO_SPANS,
    SPARSE_CORE_DUTY,
    TENSOR_CORE_DUTY,
    CoreWork,
    DutyCycle,
    Spans,
    combine_duty,
    device_spans,
    duty_cycle,
    op_metadata,
    op_table,
)
from tpu_profile_plugin.analysis.steps.breakdown import idle_to_infeed
from tpu_profile_plugin.analysis.steps.core_steps import CoreSteps, core_steps, step_spans, tpu_steps
from tpu_profile_plugin.analysis.steps.host_steps import cpu_steps, gpu_steps, host_events, host_input_ps
from tpu_profile_plugin.analysis.steps.step_table import (
    SPARSE_CORE_IDS,
    StepTable,
    core_in_run,
    drop_incomplete,
    merge_steps,
)
from tpu_profile_plugin.analysis.summary.framework import frameworks, has_input_events, has_python_frames
from tpu_profile_plugin.analysis.summary.precision import NO_COMPUTE, Precision, gpu_precision, tpu_precision
from tpu_profile_plugin.analysis.summary.recording import Recording, TpuWork, marked_steps, recording
from tpu_profile_plugin.columns import DeviceClock, ImpossibleTimes, Plane, XSpace


@dataclass(frozen=True, slots=True, kw_only=True)
class _Summary:
    """Common part of the summaries of a host and of a run.

    Attributes:
      environment, peaks: the hardware.
      host, device: op metrics.
      kernels: GPU kernel time per framework op.
      steps: steps as XProf computes them; of a run those that all hosts have in common.
      cores: core id -> (host, ordinal), for display; the ordinal is -1 if it was not recorded.
      mxu_percent, hbm_percent: utilization as recorded by the host, the mean over hosts.
      precision: time of device computation by the width of its data, inside steps and outside.
      frameworks: see `framework.NAMES`; cpu_ops: the CPU ran XLA ops; input_events: an input pipeline was recorded.
      host_events, python_frames: events of a host, and Python functions of all hosts with events, were recorded.
    """

    environment: Environment
    peaks: Peaks
    host: HostOps
    device: OpTable
    kernels: KernelTimes
    steps: StepTable
    duty: DutyCycle
    cores: dict[int, tuple[str, int]]
    functions: tuple[TfFunction, ...]
    mxu_percent: float
    hbm_percent: float
    errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    impossible: tuple[ImpossibleTimes, ...] = ()
    clocks: tuple[DeviceClock, ...] = ()
    precision: Precision = NO_COMPUTE
    frameworks: tuple[str, ...] = ()
    cpu_ops: bool = False
    input_events: bool = False
    host_events: bool = False
    python_frames: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class HostSummary(_Summary):
    """Data of one host for the step and op tools; picklable, and its size does not grow with the number of events.

    Attributes:
      hostname: the name in the profile.
      merged_steps: steps of GPU hosts that also include host events, of CPU hosts that leave out instants; None if they
        do not differ.
      recording: what the steps cover; None without steps.
    """

    hostname: str
    merged_steps: StepTable | None
    recording: Recording | None = None

    @property
    def has_device(self) -> bool:
        return self.environment.device_cores > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary(_Summary):
    """Summary of one or more hosts.

    `recordings` and `host_names` have an entry per host; duplicate names get the index of the host as suffix.
    """

    merged_steps: StepTable
    recordings: tuple[Recording | None, ...] = ()
    host_names: tuple[str, ...] = ()


class _OfDevices(NamedTuple):
    """Figures of a host's devices, or of its CPU where it has none."""

    device: OpTable = OpTable()
    kernels: KernelTimes = KernelTimes()
    steps: StepTable = StepTable()
    merged_steps: StepTable | None = None
    duty: DutyCycle = DutyCycle()
    precision: Precision = Precision()
    work: TpuWork | None = None


def summarize(space: XSpace, pre: Preprocessed | None, mapper: Mapper = map) -> HostSummary:
    """The summary of one host.

    Args:
      space: its profile.
      pre: its groups; may be None if the profile cannot have groups (see `may_have_groups`).
      mapper: works on ops and steps; on those of TPUs, which have most events, memory allows one after the other only.
    """
    plane = host_plane(space)
    mxu, hbm = utilization(space, plane)
    planes = device_planes(space)
    space.decode(planes)
    host = plane if plane is None or pre is not None else ops_only(space, plane)
    if planes and is_tpu(planes[0]):
        mapper = map
    of_devices, ops = both(
        mapper, lambda: _of_devices(space, planes, pre, mapper), lambda: thread_ops(space, host, pre)
    )
    steps, merged_steps = of_devices.steps, of_devices.merged_steps
    covering = merged_steps if merged_steps else steps
    if not len(covering) and pre is not None and planes and of_devices.work is None:
        covering = marked_steps(space, pre)
    return HostSummary(
        hostname=hostname(space),
        environment=environment(space, is_training(space)),
        peaks=peaks(space),
        host=ops,
        device=of_devices.device,
        kernels=of_devices.kernels,
        steps=steps,
        merged_steps=merged_steps,
        duty=of_devices.duty,
        cores=_cores(space, planes),
        functions=tf_functions(space, host) if host is not None else (),
        mxu_percent=mxu,
        hbm_percent=hbm,
        errors=tuple(space.errors),
        warnings=tuple(space.warnings),
        impossible=space.impossible,
        clocks=space.clocks,
        precision=of_devices.precision,
        recording=recording(space, covering, planes, of_devices.work),
        frameworks=frameworks(space, [*planes, *([] if host is None else [host])], of_devices.device.provenance),
        cpu_ops=host is not None and names_hlo_ops(host),
        input_events=has_input_events(host),
        host_events=host is not None and bool(host.declared.event_metadata.names),
        python_frames=has_python_frames(host),
    )


def _of_devices(space: XSpace, planes: Sequence[Plane], pre: Preprocessed | None, mapper: Mapper) -> _OfDevices:
    if planes and is_tpu(planes[0]):
        return _tpu(space, planes, pre)
    if pre is None:
        return _gpu_ops(space, planes, pre) if planes else _OfDevices()
    if not planes:
        steps, merged_steps = cpu_steps(space, pre, mapper)
        return _OfDevices(steps=steps, merged_steps=merged_steps)
    ops, (steps, merged_steps) = both(
        mapper,
        lambda: _gpu_ops(space, planes, pre),
        lambda: (gpu_steps(space, pre), gpu_steps(space, pre, merge_host=True, short_memcpy=True)),
    )
    return ops._replace(steps=steps, merged_steps=merged_steps)


def _gpu_ops(space: XSpace, planes: Sequence[Plane], pre: Preprocessed | None) -> _OfDevices:
    hlo = HloOps(space)
    device, kernels = gpu_ops(space, planes, pre, hlo), kernel_times(kernel_rows(space, planes, hlo))
    return _OfDevices(device, kernels, precision=gpu_precision(space, planes, hlo))


def thread_ops(space: XSpace, plane: Plane | None, pre: Preprocessed | None) -> HostOps:
    """The ops of the host's threads; without `pre` none of them ran eagerly."""
    if plane is None:
        return HostOps()
    eager = np.zeros(0, np.int64)
    if pre is not None:
        extras = pre.planes[plane.index]
        eager = extras.eager_event[extras.eager_value > 0].astype(np.int64)
    return host_ops(space, plane, eager)


def _tpu(space: XSpace, planes: Sequence[Plane], pre: Preprocessed | None) -> _OfDevices:
    """Of TPU planes, which are processed one by one to bound memory."""
    tables: list[OpTable] = []
    cores: list[CoreSteps] = []
    works: list[tuple[Plane, CoreWork]] = []
    limits = peaks(space)
    sparse_cores: dict[int, Spans] = {}
    precision, widths = Precision(), dict[str, int]()
    extents: list[tuple[int, int]] = []
    for plane in planes:
        op_meta = op_metadata(space, plane)
        step_events = NO_SPANS
        extras: PlaneExtras | None = pre.planes[plane.index] if pre else None
        if extras is not None:
            spans = device_spans(space, plane)
            step_events, _ = step_spans(plane, extras, spans)
            if is_tensor_core(plane):
                core = core_steps(space, plane, extras, spans, op_meta, limits)
                cores += [] if core is None else [core]
                extents += [(int(spans.begin_ps.min()), int(spans.end_ps.max()))] if len(spans.begin_ps) else []
        # The metrics of SparseCore ops belong to the TensorCore op that they ran for.
        sparse = is_sparse_core(plane)
        duty = SPARSE_CORE_DUTY if sparse else TENSOR_CORE_DUTY
        table, work = op_table(space, plane, op_meta, duty, step_events)
        works.append((plane, work))
        if not sparse:
            tables.append(table)
            precision += tpu_precision(plane, op_meta, table, widths)
        elif work.busy_spans:
            sparse_cores[plane.id] = work.busy_spans
    steps = tpu_steps(cores, sparse_cores)
    cpu_plane = host_plane(space)
    if pre is not None and cpu_plane is not None and len(steps):
        host = host_events(space, cpu_plane, pre.planes[cpu_plane.index])
        steps = idle_to_infeed(steps, host_input_ps(host))
    work_of_cores = TpuWork(enclosing_span(extents))
    return _OfDevices(
        device=combine(tables), steps=steps, duty=duty_cycle(space, works), precision=precision, work=work_of_cores
    )


def _cores(space: XSpace, planes: Sequence[Plane]) -> dict[int, tuple[str, int]]:
    host = hostname(space)
    if not planes or not is_tpu(planes[0]):
        return {1: (host, 0)}
    cores = {}
    for plane in planes:
        details = core_details(space, plane)
        core = plane.id + (0 if is_tensor_core(plane) else SPARSE_CORE_IDS)
        cores[core] = (host, details.device_ordinal if details else -1)
    return cores


def reduce_summaries(parts: Sequence[HostSummary], *, drop_edges: bool = True) -> RunSummary:
    """Combines hosts in the given order; `drop_edges` first drops steps of CPU and GPU hosts that may be truncated."""
    trimmed = drop_incomplete if drop_edges else (lambda steps: steps)
    steps = [trimmed(part.steps) for part in parts]
    has_device = [part.has_device for part in parts]
    names = _distinct_names(parts)
    common_steps = merge_steps(steps, has_device)
    merged = common_steps
    if any(part.merged_steps is not None for part in parts):
        with_host_events = [part.steps if part.merged_steps is None else part.merged_steps for part in parts]
        merged = merge_steps([trimmed(table) for table in with_host_events], has_device)
    return RunSummary(
        environment=combine_environments([part.environment for part in parts]),
        peaks=combine_peaks([part.peaks for part in parts]),
        host=combine_host_ops([part.host for part in parts]),
        device=combine(part.device for part in parts),
        kernels=combine_kernel_times(part.kernels for part in parts),
        steps=common_steps,
        merged_steps=merged,
        duty=combine_duty(part.duty for part in parts),
        cores={core_in_run(host, core): name for host, part in enumerate(parts) for core, name in part.cores.items()},
        functions=combine_functions([part.functions for part in parts]),
        mxu_percent=sum(part.mxu_percent for part in parts) / len(parts),
        hbm_percent=sum(part.hbm_percent for part in parts) / len(parts),
        errors=tuple(text for part in parts for text in part.errors),
        warnings=tuple(text for part in parts for text in part.warnings),
        impossible=tuple(line for part in parts for line in part.impossible),
        clocks=tuple(clock for part in parts for clock in part.clocks),
        precision=sum((part.precision for part in parts), NO_COMPUTE),
        recordings=tuple(part.recording for part in parts),
        host_names=names,
        frameworks=tuple(dict.fromkeys(name for part in parts for name in part.frameworks)),
        cpu_ops=any(part.cpu_ops for part in parts),
        input_events=any(part.input_events for part in parts),
        host_events=any(part.host_events for part in parts),
        python_frames=any(part.python_frames for part in parts)
        and all(part.python_frames or not part.host_events for part in parts),
    )


def _distinct_names(parts: Sequence[HostSummary]) -> tuple[str, ...]:
    """The hosts' names; duplicates get the index of the host as suffix."""
    names: dict[str, None] = {}
    for i, part in enumerate(parts):
        names[part.hostname if part.hostname not in names else f"{part.hostname} ({i})"] = None
    return tuple(names)


_ROOTS = (TRACE_CONTEXT, *IMPLICIT_ROOTS, *ROOT_LEVELS)


def may_have_groups(space: XSpace) -> bool:
    """False when grouping the profile's events cannot produce steps; decodes at most the device planes.

    TPU steps require events on a step line; others require a root event.
    """
    planes = device_planes(space)
    if planes and is_tpu(planes[0]):
        space.decode(plane for plane in planes if not plane.in_memory)
        return any(
            name in (STEPS, SPARSE_STEPS) and plane.lines.event_start[i + 1] > plane.lines.event_start[i]
            for plane in planes
            for i, name in enumerate(plane.lines.name)
        )
    return any(has_root(plane) for plane in space.planes)


def has_root(plane: Plane) -> bool:
    """False when the plane's metadata has neither events that can open a group nor stats that grouping assigns."""
    declared = plane.declared
    stat_metadata = declared.stat_metadata
    stats = ("_r", "group_id", "step_name", "iter_num", "is_func", "is_eager")
    if any(stat_metadata.row(name) is not None for name in stats):
        return True
    return any(name.startswith(_ROOTS) for name in declared.event_metadata.names)


@dataclass(frozen=True, slots=True)
class FrameworkOps:
    """Ops of one or more hosts: of their devices, with kernel times on GPUs, and of their threads."""

    environment: env.Environment
    peaks: env.Peaks
    device: OpTable
    kernels: KernelTimes
    host: HostOps

    @classmethod
    def of(cls, summary: HostSummary | RunSummary) -> FrameworkOps:
        return cls(summary.environment, summary.peaks, summary.device, summary.kernels, summary.host)


def need_groups(space: XSpace) -> bool:
    """Whether the ops of a profile without TPUs depend on its groups; decodes at most the device planes.

    Groups matter on GPUs, if events can have a group: it delimits the runs of an op. They also matter if ops may have
    run eagerly, which an enclosing call or an earlier preprocessing tells.
    """
    planes = device_planes(space)
    space.decode(planes)
    if any(len(plane.events) for plane in planes) and may_have_groups(space):
        return True
    for plane in space.planes:
        stats, names = plane.declared.stat_metadata, plane.declared.event_metadata.names
        if stats.row("is_eager") is not None or (stats.row("is_func") is not None and EAGER_EXECUTE in names):
            return True
    return False


def framework_ops(space: XSpace, pre: Preprocessed | None, hlo: HloOps) -> FrameworkOps:
    """The ops of one host without TPUs; `pre` may be None if they need no groups."""
    planes, plane = device_planes(space), host_plane(space)
    space.decode(planes)
    return FrameworkOps(
        environment=env.environment(space, False),
        peaks=env.peaks(space),
        device=gpu_ops(space, planes, pre, hlo) if planes else OpTable(),
        kernels=kernel_times(kernel_rows(space, planes, hlo)),
        host=thread_ops(space, plane if plane is None or pre is not None else ops_only(space, plane), pre),
    )


def combine_framework_ops(parts: Sequence[FrameworkOps]) -> FrameworkOps:
    return FrameworkOps(
        env.combine_environments([part.environment for part in parts]),
        env.combine_peaks([part.peaks for part in parts]),
        combine(part.device for part in parts),
        combine_kernel_times(part.kernels for part in parts),
        combine_host_ops([part.host for part in parts]),
    )
