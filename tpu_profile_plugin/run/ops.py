"""The ops of a run: of its devices or of the CPU backend."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Literal

from tpu_profile_plugin.analysis.common.planes import device_planes
from tpu_profile_plugin.analysis.hlo.convolution_layout import Dimension
from tpu_profile_plugin.analysis.hlo.ops import Fused
from tpu_profile_plugin.analysis.summary.cpu_ops import cpu_summary
from tpu_profile_plugin.analysis.summary.ops import OpSummary, reduce_op_summaries, summarize_ops
from tpu_profile_plugin.run.host import HostProfile, PerHost, per_host
from tpu_profile_plugin.run.hosts import RunHosts
from tpu_profile_plugin.run.programs import hlo_ops, hlo_ops_without_events
from tpu_profile_plugin.run.summary import groups_if_any
from tpu_profile_plugin.system.threads import map_threads

Backend = Literal["device", "cpu", "auto"]
"""Whose ops: of TPUs or GPUs, of XLA's CPU backend, or of the CPU backend if there is no device."""
OpKey = tuple[int, str]
"""Program id and name of an op."""


@per_host()
def device_ops(host: HostProfile, unattributed: bool) -> OpSummary:
    """The ops of one host's devices; `unattributed`: GPU events without an op, too."""
    space = host.lazy
    planes = device_planes(space)
    space.decode(planes)
    groups = groups_if_any(host) if any(len(plane.events) for plane in planes) else None
    return summarize_ops(space, groups, hlo_ops(host), unattributed=unattributed, mapper=map_threads)


@per_host()
def cpu_ops(host: HostProfile) -> OpSummary:
    """The ops of one host's CPU backend."""
    return cpu_summary(host.lazy, hlo_ops(host))


DEVICE_OPS = device_ops.given(False)
"""The device ops as XProf shows them."""


def op_summary(run: RunHosts, backend: Backend = "auto", *, unattributed: bool = False) -> OpSummary:
    """The ops of the chosen hosts."""
    if backend != "cpu":
        summary = _merged(run, device_ops.given(unattributed))
        if backend == "device" or summary.environment.device_cores:
            return summary
    return _merged(run, cpu_ops)


def _merged(run: RunHosts, step: PerHost[OpSummary]) -> OpSummary:
    summary = run.merged(step, reduce_op_summaries)
    return replace(summary, warnings=(*summary.warnings, *run.warnings)) if run.left_out else summary


@per_host()
def op_details(
    host: HostProfile, wanted: tuple[OpKey, ...], with_cost: bool, on_cpu: bool
) -> dict[OpKey, tuple[tuple[Dimension, ...], tuple[Fused, ...]]]:
    """Of the wanted ops that a program of the host has: the layout of a convolution, the instructions in a fusion."""
    programs = hlo_ops_without_events(host)
    return {
        key: (programs.layout(*key), programs.fused(*key, with_cost=with_cost, on_cpu=on_cpu))
        for key in wanted
        if programs.find(*key) is not None
    }


def run_op_details(
    run: RunHosts, wanted: Iterable[OpKey], *, with_cost: bool, on_cpu: bool
) -> dict[OpKey, tuple[tuple[Dimension, ...], tuple[Fused, ...]]]:
    """The details of each op from the first host that has it; hosts are read until all are found.

    Programs stay in memory for the first host only: most hosts run the same ones.
    """
    details: dict[OpKey, tuple[tuple[Dimension, ...], tuple[Fused, ...]]] = {}
    wanted = tuple(dict.fromkeys(wanted))
    for i, host in enumerate(run.readable):
        missing = tuple(key for key in wanted if key not in details)
        if not missing:
            break
        details |= op_details(host, missing, with_cost, on_cpu)
        if i:
            host.forget_metadata()
    return details
