"""The catalogue of columns: id, our label, unit and meaning of each, once; tables choose from it by id.

A table in which a column means something narrower gives it another sentence or label (`column`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tpu_profile_plugin.tables.column import Column, flags, numbers, texts

_OPS = (
    numbers("rank", "Rank", "", "Rank by self time."),
    texts("hlo_op_name", "Op", "Name of the op in its program."),
    texts("operation", "Op", "Name of the op."),
    texts("hlo_op_expression", "HLO text", "HLO instruction."),
    texts("program_id", "Program", "Id of the HLO program that the op belongs to."),
    texts("hlo_module_id", "Program", "Id of the HLO program that the op belongs to."),
    texts("category", "Category", "HLO category of the op, or type of the framework's op."),
    texts("type", "Type", "Type of the framework op; Unknown for ops without a framework op."),
    texts("tf_op_name", "Framework op", "Framework op from which the op was compiled."),
    texts("host_or_device", "Where", "Host or Device: where the op ran."),
    texts("core_type", "TPU core type", "TensorCore or SparseCore."),
    texts("parent_op_name", "Parent op", "TensorCore op that this op ran for on a SparseCore."),
    texts("source_info", "Source",
          "Where the op comes from in your program. (of OP), (near): it has no source of its own, OP is the closest op "
          "that has one."),
    texts("source_stack", "Source stack", "Call stack, innermost call first."),
    texts("hlo_rematerialization", "Rematerialization", "Yes: the op recomputes a value (rematerialization)."),
    texts("outside_compilation", "Outside compilation",
          "Yes: the op waits for a part of the program on the host (outside compilation)."),
    texts("eager", "Execution mode", "Eager: op by op; Function: as part of a graph or function."),
    texts("shapes", "Input shapes", "Sizes of the operands in most runs; empty if the profiler did not record shapes."),
    texts("dtypes", "Input types", "Data types of the operands in these runs."),
    numbers("variants", "Different inputs", "", "Number of different shapes and types; 0 if none were recorded."),
    texts("stack", "Call stack", "Calls of Python that led to the op, innermost first, if the profiler recorded them."),
)  # fmt: skip

_OP_TIMES = (
    numbers("occurrences", "Runs", "", "Number of runs on all devices."),
    numbers("total_time", "Total time", "us", "Time of all runs, including nested ops."),
    numbers("avg_time", "Avg. time", "us", "Total time divided by runs."),
    numbers("total_self_time", "Self time", "us", "Time of all runs, excluding nested ops."),
    numbers("avg_self_time", "Avg. self time", "us", "Self time divided by runs."),
    numbers("total_self_time_percent", "Share of all time", "fraction", "Self time divided by all recorded time."),
    numbers("cumulative_total_self_time_percent", "Cumulative share of all time", "fraction",
            "Self time of this op and those above it divided by all recorded time."),
    numbers("busy_share", "Busy share", "fraction", "Self time divided by that of all ops."),
    numbers("device_total_self_time_percent", "Device share", "fraction", "Self time divided by that of the device."),
    numbers("device_cumulative_total_self_time_percent", "Device share, cumulative", "fraction",
            "Self time of this row and those above it divided by that of the device."),
    numbers("host_total_self_time_percent", "Host share", "fraction", "Self time divided by that of the host."),
    numbers("Host_cumulative_total_self_time_percent", "Host share, cumulative", "fraction",
            "Self time of this row and those above it divided by that of the host."),
    numbers("dma_stall_percent", "DMA stall", "fraction", "Share of its time spent waiting for DMA."),
    numbers("total_time_per_core", "Time per core", "us", "Total time divided by the number of cores."),
    numbers("total_time_in_percentage", "Total time share of all time", "fraction",
            "Total time divided by all recorded time."),
    texts("step", "Step", "Total: the whole profile; Average: of all steps; else the number of the step."),
    flags("include_infeed_outfeed", "Include infeed and outfeed", "Whether infeed and outfeed are included."),
)  # fmt: skip

_MEMORIES = {
    "hbm": "HBM",
    "cmem_read": "CMEM read",
    "cmem_write": "CMEM write",
    "vmem_read": "VMEM read",
    "vmem_write": "VMEM write",
}
_RATES = (
    numbers("measured_flop_rate", "FLOP rate", "GFLOP/s",
            "FLOPs in bf16 equivalents divided by time; operations on narrower types count less."),
    numbers("normalized_flop_rate", "Normalized FLOP rate", "GFLOP/s",
            "FLOPs in bf16 equivalents divided by time; operations on narrower types count less."),
    numbers("model_flop_rate", "Model FLOP rate", "GFLOP/s", "FLOPs of the model divided by time."),
    numbers("optimal_flop_rate", "Optimal FLOP rate", "GFLOP/s",
            "FLOP rate that the roofline allows at this intensity."),
    numbers("measured_memory_bw", "Memory bandwidth", "GiB/s", "Bytes accessed in all memories, divided by time."),
    *(numbers(f"{memory}_bw", f"{name} bandwidth", "GiB/s", f"{name} traffic divided by time.")
      for memory, name in _MEMORIES.items()),
    numbers("operational_intensity", "Operational intensity", "FLOP/B",
            "FLOPs divided by bytes accessed in all memories."),
    *(numbers(f"{memory}_operational_intensity", f"{name} operational intensity", "FLOP/B",
              f"FLOPs per byte of {name} traffic.")
      for memory, name in _MEMORIES.items()),
    numbers("bottleneck_operational_intensity", "Intensity", "FLOP/B",
            "FLOPs per byte of the memory that limits the op; of all memories if compute limits it."),
    texts("bound_by", "Closest limit", "Resource that limits the op: the highest share of its peak."),
    numbers("roofline_efficiency", "Of the roofline", "fraction", "FLOP rate divided by the optimal rate."),
    numbers("compute_efficiency", "Of peak FLOPS", "fraction", "FLOP rate divided by the peak."),
    numbers("max_mem_bw_utilization", "Of peak bandwidth", "fraction",
            "Bandwidth of the most utilized memory divided by its peak."),
    numbers("gpu_tensorcore_utilization", "GPU TensorCore utilization", "fraction",
            "Share of the op's kernel time in kernels that use tensor cores."),
    numbers("vdd_energy", "VDD energy", "J", "Energy used by all runs."),
)  # fmt: skip

_KERNELS = (
    texts("kernel_name", "Kernel", "Name of the kernel."),
    numbers("share", "Share", "fraction", "Total duration divided by that of all kernels of the profile."),
    numbers("registers_per_thread", "Registers per thread", "", "Number of registers per thread."),
    numbers("shmem_bytes", "Shared memory", "bytes", "Static and dynamic shared memory of a block."),
    texts("block_dim", "Block", "Threads per block, `x,y,z`."),
    texts("grid_dim", "Grid", "Blocks of the grid, `x,y,z`."),
    numbers("occupancy_pct", "Occupancy", "%", "Share of a multiprocessor's threads that can be in use."),
    flags("is_op_tensor_core_eligible", "Op can use tensor cores", "Whether the op can run on tensor cores."),
    flags("is_kernel_using_tensor_core", "Uses tensor cores",
          "Whether the kernel uses tensor cores, judged by its name."),
    texts("op_name", "Op", "Framework op that launched the kernel."),
    numbers("total_duration_us", "Total", "us", "Time of all runs."),
    numbers("avg_duration_us", "Average", "us", "Total duration divided by runs, in whole ns."),
    numbers("min_duration_us", "Shortest", "us", "Duration of the shortest run."),
    numbers("max_duration_us", "Longest", "us", "Duration of the longest run."),
    texts("dtype", "Data type", "Type of the op's first tensor; tf32 where the kernel rounds to it; empty if unknown."),
)  # fmt: skip

CATALOGUE: dict[str, Column] = {}
"""All columns by id."""
for _column in (*_OPS, *_OP_TIMES, *_RATES, *_KERNELS):
    if _column.id in CATALOGUE:
        raise ValueError(f"column {_column.id} is declared twice")
    CATALOGUE[_column.id] = _column


def column(id_: str, **changes: Any) -> Column:
    """The column of this id, with other attributes where the table needs them; raises KeyError."""
    return replace(CATALOGUE[id_], **changes)


def columns(*chosen: str | Column) -> tuple[Column, ...]:
    """The columns of these ids in order; those given as columns are kept. Raises KeyError."""
    return tuple(CATALOGUE[each] if isinstance(each, str) else each for each in chosen)
