"""Operands and calls of PyTorch's ops, and the ops in groups, over hosts."""

from __future__ import annotations

from tpu_profile_plugin.analysis.common.planes import device_planes, host_plane
from tpu_profile_plugin.analysis.ops.torch_groups import OpGroups, combine_op_groups, op_groups
from tpu_profile_plugin.analysis.ops.torch_inputs import OpInputs, op_inputs, records_inputs
from tpu_profile_plugin.run.host import HostProfile, per_host
from tpu_profile_plugin.run.hosts import RunHosts


@per_host()
def host_op_inputs(host: HostProfile) -> dict[str, OpInputs]:
    """By op name; empty for recordings of other programs. What devices ran comes first: it has stacks."""
    space = host.lazy
    threads = host_plane(space)
    if threads is None or not records_inputs(threads):
        return {}
    return op_inputs(space, (*device_planes(space), threads))


def run_op_inputs(run: RunHosts) -> dict[str, OpInputs]:
    """By op name, from the first host that recorded the op."""
    return run.merged(
        host_op_inputs, lambda parts: {name: one for part in reversed(parts) for name, one in part.items()}
    )


@per_host()
def host_op_groups(host: HostProfile) -> OpGroups:
    """By kind and operands; empty for recordings of other programs."""
    space = host.lazy
    threads = host_plane(space)
    if threads is None or not records_inputs(threads):
        return OpGroups()
    planes = device_planes(space)
    space.decode((*planes, threads))
    return op_groups(space, planes, threads)


def run_op_groups(run: RunHosts) -> OpGroups:
    """The groups of all hosts together."""
    return run.merged(host_op_groups, combine_op_groups)
