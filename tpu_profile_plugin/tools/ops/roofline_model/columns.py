"""The columns of the roofline tables, for TPUs and CPUs and for GPUs."""

from __future__ import annotations

from dataclasses import replace

from tpu_profile_plugin.tables.table import Column

_GIB, _GFLOPS = "GiB/s", "GFLOP/s"


def _bandwidth(name: str, label: str) -> Column:
    return Column(f"{name}_bw", f"{label} BW (GiB/s)", "number", _GIB, f"{label} traffic per time.")


def _intensity(name: str, label: str) -> Column:
    return Column(
        f"{name}_operational_intensity",
        f"{label} Operational Intensity (FLOP/Byte)",
        "number",
        "",
        f"FLOPs per byte of {label} traffic.",
    )


_MEMORIES = (
    ("hbm", "HBM"),
    ("cmem_read", "CMEM Read"),
    ("cmem_write", "CMEM Write"),
    ("vmem_read", "VMEM Read"),
    ("vmem_write", "VMEM Write"),
)
COLUMNS = (
    Column(
        "step", "Step", "string", "", "Total: the whole profile; Average: of all steps; else the number of the step."
    ),
    Column("rank", "Rank", "number", "", "Rank of the op by self time; 0 for the whole program."),
    Column("category", "Category", "string", "", "Kind of the op."),
    Column("operation", "Operation", "string", "", "Name of the op; Program for the whole program."),
    Column("occurrences", "# Occurrences", "number", "", "Number of runs on all cores."),
    Column("total_time", "Total Time (us)", "number", "us", "Time on all cores; of a program, including idle time."),
    Column("avg_time", "Avg. time (us)", "number", "us", "Total time divided by occurrences."),
    Column("total_self_time", "Total self time (us)", "number", "us", "Time of all runs, excluding nested ops."),
    Column("avg_self_time", "Avg. self time (us)", "number", "us", "Total self time divided by occurrences."),
    Column(
        "total_self_time_percent",
        "Total self time (%)",
        "number",
        "",
        "Share of the device time, including idle time, 0 to 1.",
    ),
    Column(
        "cumulative_total_self_time_percent",
        "Cumulative total self time (%)",
        "number",
        "",
        "Sum of the shares of this row and the rows above, 0 to 1.",
    ),
    Column(
        "dma_stall_percent", "%time stalled by DMA", "number", "", "Share of its time spent waiting for DMA, 0 to 1."
    ),
    Column(
        "measured_flop_rate",
        "Normalized FLOP Rate (GFLOP/s)",
        "number",
        _GFLOPS,
        "FLOPs in bf16 equivalents divided by time: operations of narrower types count less.",
    ),
    Column("model_flop_rate", "Model FLOP Rate (GFLOP/s)", "number", _GFLOPS, "FLOPs of the model divided by time."),
    Column(
        "measured_memory_bw", "Memory BW (GiB/s)", "number", _GIB, "Bytes accessed in all memories, divided by time."
    ),
    *(_bandwidth(*memory) for memory in _MEMORIES),
    Column(
        "operational_intensity",
        "Operational Intensity (FLOP/Byte)",
        "number",
        "",
        "FLOPs divided by bytes accessed in all memories.",
    ),
    *(_intensity(*memory) for memory in _MEMORIES),
    Column(
        "bottleneck_operational_intensity",
        "Bottleneck Operational Intensity (FLOP/Byte)",
        "number",
        "",
        "FLOPs per byte of the memory that is the bottleneck; of all memories if compute is.",
    ),
    Column("bound_by", "Bound by", "string", "", "Resource of which it uses the largest share of the peak."),
    Column(
        "total_time_per_core", "Total Time per core (us)", "number", "us", "Total time divided by the number of cores."
    ),
    Column("total_time_in_percentage", "Total Time (%)", "number", "", "Share of the time of the program, 0 to 1."),
    Column(
        "optimal_flop_rate",
        "Optimal FLOP Rate (GFLOP/s)",
        "number",
        _GFLOPS,
        "FLOP rate of the roofline at this operational intensity.",
    ),
    Column(
        "roofline_efficiency",
        "Roofline efficiency (%)",
        "number",
        "",
        "FLOP rate divided by that of the roofline, 0 to 1.",
    ),
    Column("compute_efficiency", "FLOP Rate / Peak (%)", "number", "", "FLOP rate divided by the peak, 0 to 1."),
    Column(
        "max_mem_bw_utilization",
        "Max memory BW utilization (among supported memories) (%)",
        "number",
        "",
        "Bandwidth of the most utilized memory divided by its peak, 0 to 1.",
    ),
    Column(
        "include_infeed_outfeed", "Include Infeed/Outfeed", "boolean", "", "Whether infeed and outfeed are included."
    ),
    Column("hlo_module_id", "Program ID", "string", "", "Id of the HLO program that the op belongs to."),
    Column("source_info", "Source Info", "string", "", "Source line of the program."),
)

_NOT_ON_GPU = ("dma_stall_percent", *(f"{m}_{what}" for m in ("cmem_read", "cmem_write", "vmem_read")
               for what in ("bw", "operational_intensity")))  # fmt: skip
_GPU_LABELS = {
    "vmem_write_bw": "SHM/L1 BW (GiB/s)",
    "vmem_write_operational_intensity": "SHM/L1 Operational Intensity (FLOP/Byte)",
}
GPU_COLUMNS = tuple(
    replace(column, label=_GPU_LABELS.get(column.id, column.label))
    for column in COLUMNS
    if column.id not in _NOT_ON_GPU
)
DIAGNOSTICS = (
    Column("severity", "Severity", "string", "", "INFO, WARNING or ERROR."),
    Column("message", "Message", "string", "", "The message."),
)
