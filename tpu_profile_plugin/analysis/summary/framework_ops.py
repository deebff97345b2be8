"""Ops of the devices and host threads of a host, without the steps and groups of its full summary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tpu_profile_plugin.analysis.common.planes import Preprocessed, device_planes, host_plane
from tpu_profile_plugin.analysis.environment import environment as env
from tpu_profile_plugin.analysis.grouping.lookup import EAGER_EXECUTE
from tpu_profile_plugin.analysis.hlo.ops import HloOps
from tpu_profile_plugin.analysis.ops.gpu import kernel_table
from tpu_profile_plugin.analysis.ops.gpu.ops import gpu_ops
from tpu_profile_plugin.analysis.ops.host import HostOps, combine_host_ops, ops_only
from tpu_profile_plugin.analysis.ops.table import OpTable, combine
from tpu_profile_plugin.analysis.summary.host import HostSummary, RunSummary, may_have_groups, thread_ops
from tpu_profile_plugin.columns import XSpace


@dataclass(frozen=True, slots=True)
class FrameworkOps:
    """Ops of one or more hosts: of their devices, with kernel times on GPUs, and of their threads."""

    environment: env.Environment
    peaks: env.Peaks
    device: OpTable
    kernels: kernel_table.KernelTimes
    host: HostOps

    @classmethod
    def of(cls, summary: HostSummary | RunSummary) -> FrameworkOps:
        """The ops of a summary."""
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
        kernels=kernel_table.kernel_times(kernel_table.kernel_rows(space, planes, hlo)),
        host=thread_ops(space, plane if plane is None or pre is not None else ops_only(space, plane), pre),
    )


def combine_framework_ops(parts: Sequence[FrameworkOps]) -> FrameworkOps:
    """Adds up the ops of several hosts."""
    return FrameworkOps(
        env.combine_environments([part.environment for part in parts]),
        env.combine_peaks([part.peaks for part in parts]),
        combine(part.device for part in parts),
        kernel_table.combine_kernel_times(part.kernels for part in parts),
        combine_host_ops([part.host for part in parts]),
    )
