"""The columns of the roofline tables, for TPUs and CPUs and for GPUs."""

from __future__ import annotations

from dataclasses import replace

from tpu_profile_plugin.analysis.ops.rates import Resource
from tpu_profile_plugin.tables.table import Column, flags, numbers, texts

_GIB, _GFLOPS = "GiB/s", "GFLOP/s"


def _bandwidth(name: str, label: str) -> Column:
    return numbers(f"{name}_bw", f"{label} BW (GiB/s)", _GIB, f"{label} traffic per time.")


def _intensity(name: str, label: str) -> Column:
    id_, header = f"{name}_operational_intensity", f"{label} Operational Intensity (FLOP/Byte)"
    return numbers(id_, header, "", f"FLOPs per byte of {label} traffic.")


_MEMORIES = (Resource.HBM, Resource.CMEM_READ, Resource.CMEM_WRITE, Resource.VMEM_READ, Resource.VMEM_WRITE)
MEMORY_IDS = {memory: memory.value.lower().replace(" ", "_") for memory in _MEMORIES}
"""What the names of columns and properties of each memory begin with."""
COLUMNS = (
    texts("step", "Step", "Total: the whole profile; Average: of all steps; else the number of the step."),
    numbers("rank", "Rank", "", "Rank of the op by self time; 0 for the whole program."),
    texts("category", "Category", "Kind of the op."),
    texts("operation", "Operation", "Name of the op; Program for the whole program."),
    numbers("occurrences", "# Occurrences", "", "Number of runs on all cores."),
    numbers("total_time", "Total Time (us)", "us", "Time on all cores; of a program, including idle time."),
    numbers("avg_time", "Avg. time (us)", "us", "Total time divided by occurrences."),
    numbers("total_self_time", "Total self time (us)", "us", "Time of all runs, excluding nested ops."),
    numbers("avg_self_time", "Avg. self time (us)", "us", "Total self time divided by occurrences."),
    numbers("total_self_time_percent", "Total self time (%)", "",
            "Share of the device time, including idle time, 0 to 1."),
    numbers("cumulative_total_self_time_percent", "Cumulative total self time (%)", "",
            "Sum of the shares of this row and the rows above, 0 to 1."),
    numbers("dma_stall_percent", "%time stalled by DMA", "", "Share of its time spent waiting for DMA, 0 to 1."),
    numbers("measured_flop_rate", "Normalized FLOP Rate (GFLOP/s)", _GFLOPS,
            "FLOPs in bf16 equivalents divided by time: operations of narrower types count less."),
    numbers("model_flop_rate", "Model FLOP Rate (GFLOP/s)", _GFLOPS, "FLOPs of the model divided by time."),
    numbers("measured_memory_bw", "Memory BW (GiB/s)", _GIB, "Bytes accessed in all memories, divided by time."),
    *(_bandwidth(name, memory.value) for memory, name in MEMORY_IDS.items()),
    numbers("operational_intensity", "Operational Intensity (FLOP/Byte)", "",
            "FLOPs divided by bytes accessed in all memories."),
    *(_intensity(name, memory.value) for memory, name in MEMORY_IDS.items()),
    numbers("bottleneck_operational_intensity", "Bottleneck Operational Intensity (FLOP/Byte)", "",
            "FLOPs per byte of the memory that is the bottleneck; of all memories if compute is."),
    texts("bound_by", "Bound by", "Resource of which it uses the largest share of the peak."),
    numbers("total_time_per_core", "Total Time per core (us)", "us", "Total time divided by the number of cores."),
    numbers("total_time_in_percentage", "Total Time (%)", "", "Share of the time of the program, 0 to 1."),
    numbers("optimal_flop_rate", "Optimal FLOP Rate (GFLOP/s)", _GFLOPS,
            "FLOP rate of the roofline at this operational intensity."),
    numbers("roofline_efficiency", "Roofline efficiency (%)", "", "FLOP rate divided by that of the roofline, 0 to 1."),
    numbers("compute_efficiency", "FLOP Rate / Peak (%)", "", "FLOP rate divided by the peak, 0 to 1."),
    numbers("max_mem_bw_utilization", "Max memory BW utilization (among supported memories) (%)", "",
            "Bandwidth of the most utilized memory divided by its peak, 0 to 1."),
    flags("include_infeed_outfeed", "Include Infeed/Outfeed", "Whether infeed and outfeed are included."),
    texts("hlo_module_id", "Program ID", "Id of the HLO program that the op belongs to."),
    texts("source_info", "Source Info", "Source line of the program."),
)  # fmt: skip

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
    texts("severity", "Severity", "INFO, WARNING or ERROR."),
    texts("message", "Message", "The message."),
)
