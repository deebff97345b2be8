"""Shared by the tools about ops: parameters, op summary, table properties and cells."""

from __future__ import annotations

from html import escape
from typing import cast

from tpu_profile_plugin.analysis.common.reasons import NO_DEVICE_OPS_IN_PYTORCH, Reason
from tpu_profile_plugin.analysis.environment.environment import Hardware, Peaks
from tpu_profile_plugin.analysis.ops.op_tables import OpText
from tpu_profile_plugin.analysis.summary.framework import graphs_note
from tpu_profile_plugin.analysis.summary.op_summary import OpSummary
from tpu_profile_plugin.run.facts import RunFacts
from tpu_profile_plugin.run.figures.ops import Backend, op_summary, with_near_sources
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tables.table import property_text
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

OP_EXTRAS = (
    *("backend", "cores", "unattributed_share", "threads", "compute_limit", "memory_limit"),
    *("compute_peak", "hbm_peak", "memory_peak"),
)
"""Properties of `notes_of` and `peaks_of`."""


def chosen_ops(run: Run, query: Query) -> OpSummary:
    """The ops that `OP_PARAMS` choose."""
    backend = cast(Backend, query.text(BACKEND.name))
    summary = op_summary(run, backend, unattributed=bool(query.params.get(UNATTRIBUTED.name)))
    return with_near_sources(run, summary) if query.params.get(NEAR_SOURCES.name) else summary


def on_cpu(query: Query, summary: OpSummary) -> bool:
    """True if the summary is that of the CPU backend."""
    return query.text(BACKEND.name) != "device" and summary.hardware is Hardware.CPU_ONLY


def notes_of(query: Query, summary: OpSummary) -> dict[str, str]:
    """Additional table properties of ours: the backend, cores, and the share of GPU time without an op."""
    notes = {"backend": "CPU"} if on_cpu(query, summary) else {}
    if summary.environment.device_cores:
        notes["cores"] = str(summary.environment.device_cores)
    if graphs := graphs_note(summary.records.table):
        notes["graphs_note"] = graphs
    if summary.events_ps:
        notes["unattributed_share"] = property_text(summary.unattributed_ps / summary.events_ps)
    return notes


def peaks_of(summary: OpSummary) -> dict[str, str]:
    """Additional properties: the known peaks of a core, compute in GFLOP/s, HBM and all memories in GiB/s.

    Peaks of CPUs are unknown; rates that no CPU reaches with this number of threads replace them.
    """
    if summary.threads:
        limits = {"compute_limit": THREAD_GFLOPS * summary.threads, "memory_limit": THREAD_GIB * summary.threads}
        return {"threads": str(summary.threads)} | {name: property_text(rate) for name, rate in limits.items()}
    return peak_properties(summary.peaks)


def peak_properties(peaks: Peaks) -> dict[str, str]:
    """Properties of the known peaks."""
    memory = sum(peaks.bandwidths) if peaks.hbm else 0.0
    gib = {"hbm_peak": peaks.hbm * GIGA / GIB, "memory_peak": memory * GIGA / GIB}
    rates = {"compute_peak": peaks.tera_flops * 1000.0, **gib}
    return {name: property_text(rate) for name, rate in rates.items() if rate > 0}


def source_cell(text: OpText) -> str:
    """The cell that links an op to its source line, HTML with the stack as tooltip; "" without a source."""
    if not text.has_source:
        return ""
    of = f" (of {text.source_of})" if text.source_of else ""
    stack, location = _escaped(text.source_stack), _escaped(f"{text.source_file}:{text.source_line}{of}")
    return f"<div class='source-info-cell' title='{stack}'>{location}</div>"


def _escaped(text: str) -> str:
    return escape(text, quote=True).replace("&#x27;", "&#39;")


def lacks_device_ops(facts: RunFacts) -> Reason | None:
    """None if devices may have run ops, else the reason: of PyTorch without a GPU only the host's ops are recorded."""
    if facts.pytorch and not facts.has_plane("/device:GPU:"):
        return NO_DEVICE_OPS_IN_PYTORCH
    return None
