"""The roofline model as XProf answers it."""

from __future__ import annotations

from dataclasses import replace

from tpu_profile_plugin.analysis.environment.environment import Hardware
from tpu_profile_plugin.analysis.ops.rates import Resource, peak_gib
from tpu_profile_plugin.analysis.summary.framework import graphs_note
from tpu_profile_plugin.analysis.summary.op_summary import OpSummary, supported_peaks
from tpu_profile_plugin.compat.xprof.steps import diagnostics_table
from tpu_profile_plugin.compat.xprof.tables import source_cell, xprof_table
from tpu_profile_plugin.run.catalogue.ops import MEMORY_IDS
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tables.table import Table, property_text
from tpu_profile_plugin.tools.ops import roofline_model
from tpu_profile_plugin.tools.ops.roofline_model import NOT_ON_GPU
from tpu_profile_plugin.tools.query import Query
from tpu_profile_plugin.units import GIB, GIGA

LABELS = {
    "step": "Step",
    "rank": "Rank",
    "category": "Category",
    "operation": "Operation",
    "occurrences": "# Occurrences",
    "total_time": "Total Time (us)",
    "avg_time": "Avg. time (us)",
    "total_self_time": "Total self time (us)",
    "avg_self_time": "Avg. self time (us)",
    "total_self_time_percent": "Total self time (%)",
    "cumulative_total_self_time_percent": "Cumulative total self time (%)",
    "dma_stall_percent": "%time stalled by DMA",
    "measured_flop_rate": "Normalized FLOP Rate (GFLOP/s)",
    "model_flop_rate": "Model FLOP Rate (GFLOP/s)",
    "measured_memory_bw": "Memory BW (GiB/s)",
    **{f"{name}_bw": f"{memory.value} BW (GiB/s)" for memory, name in MEMORY_IDS.items()},
    "operational_intensity": "Operational Intensity (FLOP/Byte)",
    **{
        f"{name}_operational_intensity": f"{memory.value} Operational Intensity (FLOP/Byte)"
        for memory, name in MEMORY_IDS.items()
    },
    "bottleneck_operational_intensity": "Bottleneck Operational Intensity (FLOP/Byte)",
    "bound_by": "Bound by",
    "total_time_per_core": "Total Time per core (us)",
    "total_time_in_percentage": "Total Time (%)",
    "optimal_flop_rate": "Optimal FLOP Rate (GFLOP/s)",
    "roofline_efficiency": "Roofline efficiency (%)",
    "compute_efficiency": "FLOP Rate / Peak (%)",
    "max_mem_bw_utilization": "Max memory BW utilization (among supported memories) (%)",
    "include_infeed_outfeed": "Include Infeed/Outfeed",
    "hlo_module_id": "Program ID",
    "source_info": "Source Info",
}
_GPU_LABELS = {id_: label for id_, label in LABELS.items() if id_ not in NOT_ON_GPU} | {
    "vmem_write_bw": "SHM/L1 BW (GiB/s)",
    "vmem_write_operational_intensity": "SHM/L1 Operational Intensity (FLOP/Byte)",
}


def build(run: Run, query: Query) -> tuple[Table, Table]:
    """The table of programs, ops and steps, then the table of diagnostics."""
    found = roofline_model.roofline_rows(run, query)
    sources = list(map(source_cell, found.cells["source_info"], found.cells["source_stack"]))
    properties = _properties(found.summary)
    if note := graphs_note(found.summary.records.table):
        properties["graphs_note"] = note
    table = xprof_table(_GPU_LABELS if found.gpu else LABELS, {**found.cells, "source_info": sources}, properties)
    return table, diagnostics_table(found.diagnostics)


def _properties(summary: OpSummary) -> dict[str, str]:
    gpu = summary.hardware is Hardware.GPU
    device = bool(summary.environment.device_cores)
    peaks = supported_peaks(summary)
    giga_flops = peaks.tera_flops * 1000.0
    properties = {
        "device_type": summary.environment.device_type if device else "",
        "peak_flop_rate": property_text(giga_flops),
    }
    for memory, name in MEMORY_IDS.items():
        peak = peak_gib(peaks, memory, summary.hardware)
        if not gpu or memory in (Resource.HBM, Resource.VMEM_WRITE):
            properties[f"peak_{name}_bw"] = property_text(peak)
            gigabytes = peak * GIB / GIGA
            properties[f"{name}_ridge_point"] = property_text(giga_flops / gigabytes if gigabytes else 0.0)
    if not gpu:
        properties["megacore"] = str(int(summary.chip.megacore))
        properties["has_cmem"] = str(int(any(rate > 0 for rate in peaks.bandwidths[3:5])))
        properties["has_merged_vmem"] = str(int(summary.chip.merged_vmem))
        properties["time_scale_multiplier"] = property_text(summary.records.time_scale)
    return properties


TOOL = replace(roofline_model.TOOL, build=build)
