"""Framework ops of a run: per host, computed in parallel, and added up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tpu_profile_plugin.analysis.common.planes import device_planes, is_tpu
from tpu_profile_plugin.analysis.summary.framework_ops import (
    FrameworkOps,
    combine_framework_ops,
    framework_ops,
    need_groups,
)
from tpu_profile_plugin.run.host import PerHost
from tpu_profile_plugin.run.ops import hlo_ops_of
from tpu_profile_plugin.run.summary import SUMMARY, groups_of, run_summary, summary_of

if TYPE_CHECKING:
    from tpu_profile_plugin.run.host import HostProfile
    from tpu_profile_plugin.run.inputs import Inputs


def make_framework_ops(host: HostProfile) -> FrameworkOps:
    """The ops of one host: from its summary if there is one, or on TPUs, where ops depend on steps; else without it."""
    space = host.lazy
    if host.has(SUMMARY) or any(is_tpu(plane) for plane in device_planes(space)):
        return FrameworkOps.of(summary_of(host))
    return framework_ops(space, groups_of(host) if need_groups(space) else None, hlo_ops_of(host))


FRAMEWORK_OPS = PerHost(make_framework_ops)


def run_framework_ops(inputs: Inputs) -> FrameworkOps:
    """The ops of the chosen hosts."""
    if all(host.has(SUMMARY) for host in inputs.readable):
        return FrameworkOps.of(run_summary(inputs))
    return inputs.map_reduce("framework_ops", FRAMEWORK_OPS, combine_framework_ops)
