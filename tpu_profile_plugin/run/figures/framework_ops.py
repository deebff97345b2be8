"""Framework ops of a run, added up over hosts."""

from __future__ import annotations

from tpu_profile_plugin.analysis.common.planes import device_planes, is_tpu
from tpu_profile_plugin.analysis.summary.host_summary import (
    FrameworkOps,
    combine_framework_ops,
    framework_ops,
    need_groups,
)
from tpu_profile_plugin.run.figures.programs import hlo_ops
from tpu_profile_plugin.run.figures.summary import groups_of, host_summary, run_summary
from tpu_profile_plugin.run.host import HostProfile, per_host
from tpu_profile_plugin.run.hosts import RunHosts


@per_host()
def host_framework_ops(host: HostProfile) -> FrameworkOps:
    """The ops of one host: from its summary if there is one, or on TPUs, where ops depend on steps; else without it."""
    space = host.lazy
    if host.has(host_summary) or any(is_tpu(plane) for plane in device_planes(space)):
        return FrameworkOps.of(host_summary(host))
    return framework_ops(space, groups_of(host) if need_groups(space) else None, hlo_ops(host))


def run_framework_ops(run: RunHosts) -> FrameworkOps:
    """The ops of the chosen hosts."""
    if all(host.has(host_summary) for host in run.readable):
        return FrameworkOps.of(run_summary(run))
    return run.merged(host_framework_ops, combine_framework_ops)
