"""Shared by the tools about ops: parameters, op summary, notes on the ops, cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from tpu_profile_plugin.analysis.common.reasons import NO_DEVICE_OPS_IN_PYTORCH, NO_XLA_OPS, Reason
from tpu_profile_plugin.analysis.environment.environment import Hardware, Peaks
from tpu_profile_plugin.analysis.summary.framework import graphs_note
from tpu_profile_plugin.analysis.summary.op_summary import OpSummary
from tpu_profile_plugin.columns.arrays import F64
from tpu_profile_plugin.run.facts import RunFacts
from tpu_profile_plugin.run.figures.ops import Backend, op_summary, with_near_sources
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tools.params import Param
from tpu_profile_plugin.tools.query import Query
from tpu_profile_plugin.units import GIB, GIGA

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
"""More than one core of any CPU achieves per second: matrix units of bfloat16; its caches."""
NEAR_SOURCES = Param(
    "near_sources",
    "bool",
    False,
    "Give ops without a source the source of the closest op: inside them, or using their result.",
)
OP_PARAMS = (BACKEND, UNATTRIBUTED, NEAR_SOURCES)
"""Parameters of all tools about ops; the defaults give the answers that other clients expect."""


@dataclass(frozen=True)
class RateLimits:
    """Rates that no op can exceed, per core of a device or of a CPU with all its threads; null if unknown.

    Attributes:
      hbm_gib_per_s: of the main memory of the device.
      memory_gib_per_s: of all memories together.
      what: in words, such as "the peak of the device".
    """

    gflops_per_s: float | None = None
    hbm_gib_per_s: float | None = None
    memory_gib_per_s: float | None = None
    what: str = "the peak of the device"


@dataclass(frozen=True)
class OpNotes:
    """About the ops of a page.

    Attributes:
      on_cpu: they ran on the CPU itself.
      cores: number of device cores over which times add up; null without a device.
      unattributed_share: fraction of GPU time that belongs to no op and is left out; null if unknown.
      graphs: what to record, if kernels belong to graphs without ops; else empty.
    """

    on_cpu: bool
    cores: int | None
    unattributed_share: float | None
    graphs: str
    limits: RateLimits


def chosen_ops(run: Run, query: Query) -> OpSummary:
    """The ops that `OP_PARAMS` choose."""
    backend = cast(Backend, query.text(BACKEND.name))
    summary = op_summary(run, backend, unattributed=bool(query.params.get(UNATTRIBUTED.name)))
    return with_near_sources(run, summary) if query.params.get(NEAR_SOURCES.name) else summary


def on_cpu(query: Query, summary: OpSummary) -> bool:
    """True if the summary is that of the CPU backend."""
    return query.text(BACKEND.name) != "device" and summary.hardware is Hardware.CPU_ONLY


def op_notes(query: Query, summary: OpSummary) -> OpNotes:
    """The notes on a summary's ops."""
    return OpNotes(
        on_cpu=on_cpu(query, summary),
        cores=summary.environment.device_cores or None,
        unattributed_share=summary.unattributed_ps / summary.events_ps if summary.events_ps else None,
        graphs=graphs_note(summary.records.table),
        limits=_thread_limits(summary.threads) if summary.threads else peak_limits(summary.peaks),
    )


def peak_limits(peaks: Peaks) -> RateLimits:
    """The known peaks of a core."""
    memory = sum(peaks.bandwidths) if peaks.hbm else 0.0
    return RateLimits(peaks.gflops_per_s, peaks.hbm_gib_per_s, memory * GIGA / GIB or None)


def _thread_limits(threads: int) -> RateLimits:
    """Peaks of CPUs are unknown; rates that no CPU reaches with this number of threads replace them."""
    memory = THREAD_GIB * threads
    return RateLimits(THREAD_GFLOPS * threads, memory, memory, f"what {threads} threads of a CPU can do")


def over_cores(cores: int | None) -> str:
    """The cores that times add up over, to be appended: " over 8 cores"; "" for one core."""
    return f" over {cores} cores" if cores is not None and cores > 1 else ""


def measured(values: F64 | Sequence[float]) -> F64:
    """The values with empty cells for 0, which means that nothing was measured."""
    numbers = np.asarray(values, np.float64)
    return np.where(numbers == 0, np.nan, numbers)


def lacks_device_ops(facts: RunFacts) -> Reason | None:
    """None if devices may have run ops, else the reason: of PyTorch without a GPU only the host's ops are recorded."""
    if facts.pytorch:
        return None if facts.device_ops else NO_DEVICE_OPS_IN_PYTORCH
    return None if facts.named_ops else NO_XLA_OPS
