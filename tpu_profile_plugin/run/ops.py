"""Op summary of a run: per-host op summaries, computed in parallel, and their reduction."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tpu_profile_plugin.analysis.common.planes import device_planes
from tpu_profile_plugin.analysis.environment.environment import Hardware, Peaks
from tpu_profile_plugin.analysis.hlo.convolution_layout import Dimension
from tpu_profile_plugin.analysis.hlo.ops import Fused, HloOps
from tpu_profile_plugin.analysis.summary.cpu_ops import cpu_summary
from tpu_profile_plugin.analysis.summary.ops import OpSummary, reduce_op_summaries, summarize_ops
from tpu_profile_plugin.run.host import PerHost
from tpu_profile_plugin.run.summary import groups_if_any
from tpu_profile_plugin.system.threads import map_threads
from tpu_profile_plugin.tables.table import property_text
from tpu_profile_plugin.tools.params import Param
from tpu_profile_plugin.units import GIB

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tpu_profile_plugin.run.host import HostProfile
    from tpu_profile_plugin.run.inputs import Inputs


OpKey = tuple[int, str]
"""Program id and name of an op."""


def hlo_ops_of(host: HostProfile) -> HloOps:
    """The HLO programs of one host, decoded on demand."""
    return host.derive_lazily("hlo_ops", HloOps)


def programs_of(host: HostProfile) -> HloOps:
    """As `hlo_ops_of`, without loading events, for lookups of details."""
    return host.derive_metadata("hlo_ops", HloOps)


def make_op_summary(host: HostProfile, unattributed: bool) -> OpSummary:
    """The ops of one host's devices, from its columns."""
    space = host.lazy
    planes = device_planes(space)
    space.decode(planes)
    groups = groups_if_any(host) if any(len(plane.events) for plane in planes) else None
    return summarize_ops(space, groups, hlo_ops_of(host), unattributed=unattributed, mapper=map_threads)


def make_cpu_summary(host: HostProfile) -> OpSummary:
    """The ops of one host's CPU backend, from its columns."""
    return cpu_summary(host.lazy, hlo_ops_of(host))


DEVICE_OPS = PerHost(make_op_summary, (False,))
"""The device ops with default parameters."""
CPU_SUMMARY = PerHost(make_cpu_summary)


BACKEND = Param(
    "backend",
    "string",
    "device",
    "The ops of TPUs or GPUs (device), of the CPU backend (cpu), or of the CPU backend if there is no device (auto).",
    choices=("device", "cpu", "auto"),
)
UNATTRIBUTED = Param(
    "unattributed",
    "bool",
    False,
    "Include GPU kernels and copies without an op, attributed to ops by launch or kernel name where possible.",
)
THREAD_GFLOPS, THREAD_GIB = 5000.0, 1024.0
"""More than one core of any CPU does per second: matrix units of bfloat16; its caches."""
OP_PARAMS = (BACKEND, UNATTRIBUTED)
"""Parameters of all tools about ops; with the defaults answers are as other clients expect."""


def op_summary(inputs: Inputs) -> OpSummary:
    """The ops of the chosen hosts, of their devices or their CPU backend depending on `OP_PARAMS`."""
    backend = inputs.text(BACKEND.name)
    if backend != "cpu":
        unattributed = bool(inputs.params.get(UNATTRIBUTED.name))
        summary = _merged(inputs, PerHost(make_op_summary, (unattributed,)))
        if backend == "device" or summary.environment.device_cores:
            return summary
    return _merged(inputs, CPU_SUMMARY)


def on_cpu(inputs: Inputs, summary: OpSummary) -> bool:
    """True if the summary is that of the CPU backend."""
    return inputs.text(BACKEND.name) != "device" and summary.hardware is Hardware.CPU_ONLY


def _merged(inputs: Inputs, step: PerHost[OpSummary]) -> OpSummary:
    summary = inputs.map_reduce(step, step, reduce_op_summaries)
    return replace(summary, warnings=(*summary.warnings, *inputs.warnings)) if inputs.left_out else summary


def notes_of(inputs: Inputs, summary: OpSummary) -> dict[str, str]:
    """Additional table properties of ours: the backend, cores, and the share of GPU time without an op."""
    notes = {"backend": "CPU"} if on_cpu(inputs, summary) else {}
    if summary.environment.device_cores:
        notes["cores"] = str(summary.environment.device_cores)
    if summary.events_ps:
        notes["unattributed_share"] = property_text(summary.unattributed_ps / summary.events_ps)
    return notes


def peaks_of(summary: OpSummary) -> dict[str, str]:
    """Additional properties: the known peaks of a core, compute in GFLOP/s, HBM and all memories in GiB/s.

    Peaks of CPUs are unknown; in their place stand rates that no CPU reaches with as many threads.
    """
    if summary.threads:
        limits = {"compute_limit": THREAD_GFLOPS * summary.threads, "memory_limit": THREAD_GIB * summary.threads}
        return {"threads": str(summary.threads)} | {name: property_text(rate) for name, rate in limits.items()}
    return peak_properties(summary.peaks)


def peak_properties(peaks: Peaks) -> dict[str, str]:
    """Properties of the given peaks; nothing for those that are unknown."""
    memory = sum(peaks.bandwidths) if peaks.hbm else 0.0
    gib = {"hbm_peak": peaks.hbm * 1e9 / GIB, "memory_peak": memory * 1e9 / GIB}
    rates = {"compute_peak": peaks.tera_flops * 1000.0, **gib}
    return {name: property_text(rate) for name, rate in rates.items() if rate > 0}


def make_op_details(
    host: HostProfile, wanted: tuple[OpKey, ...], with_cost: bool, on_cpu: bool
) -> dict[OpKey, tuple[tuple[Dimension, ...], tuple[Fused, ...]]]:
    """Of the wanted ops that a program of the host has: the layout of a convolution, the instructions in a fusion."""
    programs = programs_of(host)
    return {
        key: (programs.layout(*key), programs.fused(*key, with_cost=with_cost, on_cpu=on_cpu))
        for key in wanted
        if programs.find(*key) is not None
    }


def op_details_in(
    inputs: Inputs, wanted: Iterable[OpKey], *, with_cost: bool, on_cpu: bool
) -> dict[OpKey, tuple[tuple[Dimension, ...], tuple[Fused, ...]]]:
    """The details of each op from the first host that has it; hosts are read until all are found.

    Programs stay in memory for the first host only: most hosts run the same ones.
    """
    found: dict[OpKey, tuple[tuple[Dimension, ...], tuple[Fused, ...]]] = {}
    wanted = tuple(dict.fromkeys(wanted))
    for at, host in enumerate(inputs.readable):
        missing = tuple(key for key in wanted if key not in found)
        if not missing:
            break
        found |= host.compute(PerHost(make_op_details, (missing, with_cost, on_cpu)))
        if at:
            host.forget_metadata()
    return found
