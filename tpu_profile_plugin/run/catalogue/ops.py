"""Columns about ops, kernels and programs; most are computed from `OpRows`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tpu_profile_plugin.analysis.attribution import hlo_name
from tpu_profile_plugin.analysis.common.op_names import is_outside_compilation
from tpu_profile_plugin.analysis.ops.op_tables import HBM, OpText, is_rematerialized
from tpu_profile_plugin.analysis.ops.rates import Resource, divide
from tpu_profile_plugin.run.catalogue import (
    FRAMEWORK_OP,
    HOST,
    PLACE_OF_LINE,
    PLACE_OF_STACK,
    RUN,
    SOURCE,
    SOURCE_FILE,
    SOURCE_LINE,
)
from tpu_profile_plugin.tables.catalogue import Catalogue
from tpu_profile_plugin.tables.column import Column, flags, integers, numbers, texts
from tpu_profile_plugin.units import NS_PER_US, PS_PER_US

_MEMORIES = (Resource.HBM, Resource.CMEM_READ, Resource.CMEM_WRITE, Resource.VMEM_READ, Resource.VMEM_WRITE)
MEMORY_IDS = {memory: memory.value.lower().replace(" ", "_") for memory in _MEMORIES}
"""Prefix of the columns of each memory."""


def memory_name(memory: Resource) -> str:
    """The name of a memory: "HBM", "CMEM read"."""
    name, _, direction = memory.value.partition(" ")
    return f"{name} {direction.lower()}".rstrip()


def _place(text: OpText) -> str | None:
    if not text.has_source:
        return None
    return f"{text.source_file}:{text.source_line}" + (f" (of {text.source_of})" if text.source_of else "")


def _yes(value: bool) -> str:
    return "Yes" if value else "No"


def _bandwidth(memory: Resource) -> Column:
    name = memory_name(memory)
    return numbers(f"{MEMORY_IDS[memory]}_bw", f"{name} bandwidth", "GiB/s", f"{name} traffic divided by time.",
                   lambda ops: ops.rates.memory[memory])  # fmt: skip


def _intensity(memory: Resource) -> Column:
    name, id_ = memory_name(memory), f"{MEMORY_IDS[memory]}_operational_intensity"
    return numbers(id_, f"{name} operational intensity", "FLOP/B", f"FLOPs per byte of {name} traffic.",
                   lambda ops: ops.rates.memory_intensity[memory])  # fmt: skip


OPS = Catalogue(
    *(RUN, HOST, SOURCE),
    replace(FRAMEWORK_OP, of=lambda ops: ops.of(ops.table.provenance)),
    replace(SOURCE_FILE, of=lambda ops: [text.source_file if text.has_source else None for text in ops.text]),
    replace(SOURCE_LINE, of=lambda ops: [text.source_line if text.has_source else None for text in ops.text]),
    numbers("rank", "Rank", "", "Rank by self time.",
            lambda ops: [0] * len(ops) if ops.parent else range(1, len(ops) + 1)),
    texts("hlo_op_name", "Op", "Name of the op in its program.",
          lambda ops: [hlo_name(text) for text in ops.expression]),
    texts("operation", "Op", "Name of the op.", lambda ops: ops.of(ops.table.name)),
    texts("hlo_op_expression", "HLO text", "HLO instruction.", lambda ops: ops.expression),
    texts("program_id", "Program", "Id of the HLO program that the op belongs to.",
          lambda ops: list(map(str, ops.of(ops.table.module)))),
    texts("hlo_module_id", "Program", "Id of the HLO program that the op belongs to.",
          lambda ops: list(map(str, ops.of(ops.table.module)))),
    texts("category", "Category", "HLO category, or type of the framework's op.",
          lambda ops: ops.of(ops.table.category)),
    texts("type", "Type", "Type of the framework op; Unknown for ops without a framework op."),
    texts("tf_op_name", "Framework op", "Framework op from which the op was compiled.",
          lambda ops: ops.of(ops.table.provenance)),
    texts("host_or_device", "Where", "Host or Device: where the op ran."),
    texts("core_type", "TPU core type", "TensorCore or SparseCore.", lambda ops: [text.core for text in ops.text]),
    texts("parent_op_name", "Parent op", "TensorCore op that this op ran for on a SparseCore.",
          lambda ops: [ops.parent] * len(ops)),
    texts("source_info", "Source",
          "Where the op comes from in your program. (of OP), (near): it has no source of its own, OP is the closest op "
          "that has one.",
          lambda ops: list(map(_place, ops.text))),
    texts("source_stack", "Source stack", "Call stack, innermost call first.",
          lambda ops: [text.source_stack or None if text.has_source else None for text in ops.text]),
    texts("hlo_rematerialization", "Rematerialization", "Yes: the op recomputes a value (rematerialization).",
          lambda ops: [_yes(is_rematerialized(*texts)) for texts in ops.expression_and_provenance]),
    texts("outside_compilation", "Outside compilation",
          "Yes: the op waits for a part of the program on the host (outside compilation).",
          lambda ops: [_yes(is_outside_compilation(of, text)) for text, of in ops.expression_and_provenance]),
    texts("eager", "Execution mode", "Eager: op by op; Function: as part of a graph or function."),
    texts("shapes", "Input shapes", "Sizes of the operands in most runs; empty if the profiler did not record shapes."),
    texts("dtypes", "Input types", "Data types of the operands in these runs.", lambda inputs: inputs.types),
    numbers("variants", "Different inputs", "", "Number of different shapes and types; 0 if none were recorded."),
    texts("stack", "Call stack", "Calls of Python that led to the op, innermost first, if the profiler recorded them."),
    # Source lines.
    texts("file", "File", "Source file, as the compiler recorded its path."),
    texts("function", "Function", "Function that contains the line."),
    integers("line", "Line", "", "Line in the file."),
    integers("buffers", "Buffers", "", "Number of the program's buffers at its memory peak."),
    integers("peak_bytes", "At the peak", "bytes", "Size of these buffers."),
    # Times in ps, of programs that read tables.
    texts("id", "Id", "Name and program of the op, for the verbs op and hlo."),
    texts("backend", "Backend", "device: ops of TPUs or GPUs; cpu: of XLA's CPU backend; tensorflow: of the host."),
    texts("program", "Program", "The HLO module with its program id.",
          lambda ops: [ops.records.programs.get(module) for module in ops.of(ops.table.module)]),
    texts("name", "Op", "HLO instruction, or the framework's op without a program.",
          lambda ops: ops.of(ops.table.name)),
    texts("source_of", "Source of", "The closest op with a source, if the op has none: file and line are its source.",
          lambda ops: [text.source_of for text in ops.text]),
    texts("core", "Core", "TensorCore or SparseCore, on TPUs.", lambda ops: [text.core for text in ops.text]),
    integers("time_ps", "Time", "ps", "Time of all runs with nested ops, summed over devices."),
    integers("self_ps", "Self time", "ps", "Time of all runs without nested ops, summed over devices."),
    integers("min_ps", "Shortest", "ps", "Time of the shortest run.", lambda ops: ops.of(ops.table.min_ps)),
    numbers("average_ps", "Average", "ps", "Self time of a run."),
    numbers("share_percent", "Share of all time", "%", "Self time, of the observed time, idle time included."),
    numbers("flops", "FLOPs", "FLOP",
            "Floating-point operations of all runs, in bf16 equivalents: those of slower types count more.",
            lambda ops: ops.of(ops.table.flops)),
    numbers("model_flops", "Model FLOPs", "FLOP", "The same as the model's code has them, whatever their precision.",
            lambda ops: ops.of(ops.table.model_flops)),
    numbers("bytes", "Bytes", "bytes", "Memory traffic of all runs, in all memories.",
            lambda ops: ops.of(ops.table.bytes) if ops.traffic is None else ops.traffic.sum(axis=(1, 2))),
    numbers("hbm_bytes", "HBM bytes", "bytes", "Memory traffic of all runs in the main memory of the device.",
            lambda ops: ops.unknown if ops.traffic is None else ops.traffic[:, HBM].sum(axis=1)),
    numbers("dma_stall_ps", "DMA stall", "ps", "Time of all runs spent waiting for DMA, on TPUs.",
            lambda ops: ops.stall_ps),
    integers("device_ps", "Device time", "ps", "Time of the host's devices in the recording, idle time included."),
    integers("ops", "Ops", "", "Number of ops from the line."),
    texts("longest", "Longest", "The op with most self time, for the verb op."),
    texts("role", "Role",
          "asked, operand or user of it, inside (fused into it or called by it), or near: more hops away."),
    texts("text", "HLO text", "The instruction."),
    flags("hlo_in_profile", "HLO in profile", "Whether its HLO text is in the profile, for hlo and memory."),
    # Runs and times, of pages.
    integers("occurrences", "Runs", "", "Number of runs on all devices.", lambda ops: ops.of(ops.table.occurrences)),
    numbers("total_time", "Total time", "us", "Time of all runs, including nested ops.",
            lambda ops: ops.time_ps / PS_PER_US),
    numbers("avg_time", "Avg. time", "us", "Total time divided by runs.",
            lambda ops: ops.time_ps / PS_PER_US / ops.of(ops.table.occurrences)),
    numbers("total_self_time", "Self time", "us", "Time of all runs, excluding nested ops.",
            lambda ops: ops.self_ps / PS_PER_US),
    numbers("avg_self_time", "Avg. self time", "us", "Self time divided by runs.",
            lambda ops: ops.self_ps / PS_PER_US / ops.of(ops.table.occurrences)),
    numbers("total_self_time_percent", "Share of all time", "fraction", "Self time divided by the observed time.",
            lambda ops: ops.share),
    numbers("cumulative_total_self_time_percent", "Cumulative share of all time", "fraction",
            "Self time of this op and those above it divided by the observed time.",
            lambda ops: np.cumsum(ops.share)),
    numbers("busy_share", "Busy share", "fraction", "Self time divided by that of all ops."),
    numbers("device_total_self_time_percent", "Device share", "fraction", "Self time divided by that of the device."),
    numbers("device_cumulative_total_self_time_percent", "Device share, cumulative", "fraction",
            "Self time of this row and those above it divided by that of the device."),
    numbers("host_total_self_time_percent", "Host share", "fraction", "Self time divided by that of the host."),
    numbers("Host_cumulative_total_self_time_percent", "Host share, cumulative", "fraction",
            "Self time of this row and those above it divided by that of the host."),
    numbers("dma_stall_percent", "DMA stall", "fraction", "Share of its time spent waiting for DMA.",
            lambda ops: divide(ops.stall_ps, ops.time_ps)),
    numbers("total_time_per_core", "Time per core", "us", "Total time divided by the number of cores."),
    numbers("total_time_in_percentage", "Total time share of all time", "fraction",
            "Total time divided by the observed time."),
    texts("step", "Step", "Total: the whole profile; Average: of all steps; else the number of the step."),
    flags("include_infeed_outfeed", "Include infeed and outfeed", "Whether infeed and outfeed are included."),
    # Rates.
    numbers("measured_flop_rate", "FLOP rate", "GFLOP/s",
            "FLOPs in bf16 equivalents divided by time; operations on narrower types count less.",
            lambda ops: ops.rates.flops),
    numbers("normalized_flop_rate", "Normalized FLOP rate", "GFLOP/s",
            "FLOPs in bf16 equivalents divided by time; operations on narrower types count less.",
            lambda ops: ops.rates.flops),
    numbers("model_flop_rate", "Model FLOP rate", "GFLOP/s", "FLOPs of the model divided by time.",
            lambda ops: ops.rates.model_flops),
    numbers("optimal_flop_rate", "Optimal FLOP rate", "GFLOP/s",
            "FLOP rate that the roofline allows at this intensity.",
            lambda ops: ops.rates.optimal_flops),
    numbers("measured_memory_bw", "Memory bandwidth", "GiB/s", "Bytes accessed in all memories, divided by time.",
            lambda ops: ops.rates.bandwidth),
    *map(_bandwidth, MEMORY_IDS),
    numbers("operational_intensity", "Operational intensity", "FLOP/B",
            "FLOPs divided by bytes accessed in all memories.",
            lambda ops: ops.rates.intensity),
    *map(_intensity, MEMORY_IDS),
    numbers("bottleneck_operational_intensity", "Intensity", "FLOP/B",
            "FLOPs per byte of the memory that limits the op; of all memories if compute limits it.",
            lambda ops: ops.rates.bound_intensity),
    texts("bound_by", "Closest limit", "Resource that limits the op: the highest share of its peak.",
          lambda ops: [resource.value for resource in ops.rates.bound]),
    numbers("roofline_efficiency", "Of the roofline", "fraction", "FLOP rate divided by the optimal rate.",
            lambda ops: ops.rates.efficiency),
    numbers("compute_efficiency", "Of peak FLOPS", "fraction", "FLOP rate divided by the peak.",
            lambda ops: ops.rates.compute_share),
    numbers("max_mem_bw_utilization", "Of peak bandwidth", "fraction",
            "Bandwidth of the most utilized memory divided by its peak.",
            lambda ops: ops.rates.best_memory_share),
    numbers("gpu_tensorcore_utilization", "GPU TensorCore utilization", "fraction",
            "Share of the op's kernel time in kernels that use tensor cores."),
    numbers("vdd_energy", "VDD energy", "J", "Energy used by all runs.", lambda ops: ops.of(ops.records.energy)),
    # Kernels of GPUs.
    texts("kernel_name", "Kernel", "Name of the kernel.", lambda row: row.kernel.name),
    numbers("share", "Share", "fraction", "Total duration divided by that of all kernels of the profile."),
    numbers("registers_per_thread", "Registers per thread", "", "Number of registers per thread.",
            lambda row: row.kernel.registers),
    numbers("shmem_bytes", "Shared memory", "bytes", "Static and dynamic shared memory of a block.",
            lambda row: row.kernel.static_shared + row.kernel.dynamic_shared),
    texts("block_dim", "Block", "Threads per block, `x,y,z`.", lambda row: ",".join(map(str, row.kernel.block))),
    texts("grid_dim", "Grid", "Blocks of the grid, `x,y,z`.", lambda row: ",".join(map(str, row.kernel.grid))),
    numbers("occupancy_pct", "Occupancy", "%", "Share of a multiprocessor's threads that can be in use.",
            lambda row: row.occupancy),
    flags("is_op_tensor_core_eligible", "Op can use tensor cores", "Whether the op can run on tensor cores.",
          lambda row: row.kernel.eligible),
    flags("is_kernel_using_tensor_core", "Uses tensor cores",
          "Whether the kernel uses tensor cores, judged by its name.",
          lambda row: row.kernel.uses_tensor_core),
    texts("op_name", "Op", "Framework op that launched the kernel.", lambda row: row.kernel.op),
    numbers("total_duration_us", "Total", "us", "Time of all runs.", lambda row: row.total_ns / NS_PER_US),
    numbers("avg_duration_us", "Average", "us", "Total duration divided by runs, in whole ns.",
            lambda row: row.total_ns // row.runs / NS_PER_US),
    numbers("min_duration_us", "Shortest", "us", "Duration of the shortest run.", lambda row: row.min_ns / NS_PER_US),
    numbers("max_duration_us", "Longest", "us", "Duration of the longest run.", lambda row: row.max_ns / NS_PER_US),
    texts("dtype", "Data type", "Type of the op's first tensor; tf32 where the kernel rounds to it; empty if unknown."),
)  # fmt: skip
_column = OPS.column

RELATION = OPS.typed(
    *("run", "host", "backend", "program", "name", "category", "framework_op", "source_file", "source_line"),
    *("source_of", "core", _column("occurrences", "Number of runs on all devices of the host.", label="Occurrences")),
    *("time_ps", "self_ps", "min_ps", "flops", "model_flops", "bytes", "hbm_bytes", "dma_stall_ps", "device_ps"),
)
"""Of the relation `ops`."""
_occurrences = _column("occurrences", label="Occurrences")
OF_RUN = OPS.columns(
    *("name", "program", "category", "framework_op", "source", _occurrences, "self_ps", "time_ps"),
    _column("share", "Self time, of the devices' time, idle time included.", unit="%", label="Share of all time"),
    *("flops", "bytes"),
)
"""Of the ops of a run (`Ops`)."""
ANSWERED = OPS.typed(
    *("id", "self_ps", "share_percent", _occurrences, "average_ps", "time_ps", "category"),
    *(_column("bound_by", "The nearest limit, reached or not.", label="Bound by"), "source", "framework_op"),
)
"""Of the verb `ops`."""
OF_LINES = OPS.typed(
    _column("id", "File and line, for the argument place.", label="Line"),
    *("self_ps", "share_percent", "ops", "longest"),
)
"""Of the verb `source`."""
OF_LINE = OPS.typed(
    _column("id", label="Op"),
    *("self_ps", "share_percent", _occurrences, _column("category", "HLO category."), "source"),
)
"""Of the verb `source`, of one line."""
_work = (
    _column("flops", "Model FLOPs of all runs; ops that contain others count as 0.", label="Model FLOPs"),
    _column("bytes", "Memory traffic of all runs; ops that contain others count as 0.", label="Bytes accessed"),
)
SOURCE_LINES = OPS.typed(
    *("file", "function", "line"),
    _column("self_ps", "Time of the ops from the line, nested ops excluded, summed over devices."),
    _column("share", "Self time, of that of all ops.", unit="%", label="Busy share"),
    *("ops", _column("occurrences", "Runs of these ops on all devices."), *_work, "buffers", "peak_bytes"),
)
"""Of the tool `source_view`, by line."""
SOURCE_OPS = OPS.typed(
    *("name", _column("program_id", "Id of the HLO program; empty if unknown.", label="Program id"), "program"),
    *("category", "framework_op", PLACE_OF_LINE, PLACE_OF_STACK, "self_ps", "occurrences", *_work),
)
"""Of the tool `source_view`, by op."""
SOURCE_FRAMES = OPS.typed(
    *(_column("file", "Source file."), _column("function", "Function; empty if unknown."), "line"),
)
"""Of the tool `source_view`, by call."""
FUSED = OPS.typed(
    _column("id", "Name of the fused instruction.", label="Instruction"),
    *(_column("category", "Kind of the instruction."), "framework_op", "text"),
)
"""Of the verb `op`: instructions of a fusion."""
INSTRUCTIONS = OPS.typed(
    _column("id", "Name and program, for the verb hlo.", label="Instruction"),
    *("role", "text", "framework_op", "source"),
)
"""Of the verb `hlo`."""
KERNELS = OPS.columns(
    *(
        "kernel_name",
        "share",
        "total_duration_us",
        _column("occurrences", of=lambda row: row.runs),
        "avg_duration_us",
        "op_name",
        "grid_dim",
    ),
    *("block_dim", "min_duration_us", "max_duration_us", "registers_per_thread", "shmem_bytes", "occupancy_pct"),
    *("is_op_tensor_core_eligible", "is_kernel_using_tensor_core", _column("rank", "Rank by total duration.")),
)
"""Of the tool `kernel_stats`."""
KERNELS_OF_PYTORCH = OPS.columns("dtype")
"""Its last columns, of PyTorch."""
HLO_STATS = OPS.columns(
    *("hlo_op_name", "busy_share", "total_self_time", "source_info", "occurrences", "avg_time", "bound_by", "category"),
    *("tf_op_name", "model_flop_rate", "hbm_bw", "program_id", "hlo_op_expression"),
    _column("rank", "Rank by self time; 0 for ops that run inside another op on SparseCores."),
    *("total_time", "avg_self_time", _column("total_self_time_percent", unit="%")),
    _column("cumulative_total_self_time_percent", unit="%"),
    *("dma_stall_percent", "normalized_flop_rate", "measured_memory_bw", "cmem_read_bw", "cmem_write_bw"),
    *("operational_intensity", "hlo_rematerialization", "outside_compilation", "source_stack", "core_type"),
    *("parent_op_name", "vdd_energy"),
)
"""Of the tool `hlo_stats`."""
ROOFLINE = OPS.columns(
    *("step", "operation", "total_self_time_percent", "total_self_time", "total_time_per_core", "source_info"),
    *("bound_by", "roofline_efficiency", "measured_flop_rate", "hbm_bw", "bottleneck_operational_intensity"),
    *("category", "occurrences", "compute_efficiency", "max_mem_bw_utilization"),
    _column("rank", "Rank of the op by self time; 0 for the whole program."),
    _column("total_time", "Time on all cores; of a program, including idle time."),
    *("avg_time", "avg_self_time", "cumulative_total_self_time_percent", "dma_stall_percent", "model_flop_rate"),
    *(
        "measured_memory_bw",
        *(f"{memory}_bw" for memory in MEMORY_IDS.values() if memory != "hbm"),
        "operational_intensity",
    ),
    *(f"{memory}_operational_intensity" for memory in MEMORY_IDS.values()),
    *("total_time_in_percentage", "optimal_flop_rate", "include_infeed_outfeed", "hlo_module_id", "source_stack"),
)
"""Of the tool `roofline_model`."""
RATES = OPS.columns(
    *("measured_flop_rate", "model_flop_rate", "measured_memory_bw", "operational_intensity"),
    *("bottleneck_operational_intensity", "bound_by", "optimal_flop_rate", "roofline_efficiency"),
    *("compute_efficiency", "max_mem_bw_utilization"),
    *(f"{memory}_{what}" for memory in MEMORY_IDS.values() for what in ("bw", "operational_intensity")),
)
"""Rates of `roofline_model`."""
ROOFLINE_OF_OPS = OPS.columns(
    *("operation", "occurrences", "total_time", "avg_time", "total_self_time", "avg_self_time", "dma_stall_percent"),
    *("hlo_module_id", "source_info", "source_stack"),
)
"""Columns of `roofline_model` that are computed from the ops alone."""
FRAMEWORK_OPS = OPS.columns(
    *("operation", "host_or_device", "total_self_time", "device_total_self_time_percent"),
    *("host_total_self_time_percent", "occurrences", "avg_self_time", "type", "bound_by"),
    _column("measured_flop_rate", "FLOPs divided by total time."),
    _column("measured_memory_bw", "Bytes accessed divided by total time.", label="Bandwidth"),
    _column("operational_intensity", "FLOPs divided by bytes accessed.", label="Intensity"),
    _column("rank", "Rank by self time, device ops first."),
    *("total_time", "avg_time", "device_cumulative_total_self_time_percent"),
    *("Host_cumulative_total_self_time_percent", "model_flop_rate", "gpu_tensorcore_utilization", "eager"),
)
"""Of the tool `framework_op_stats`."""
FRAMEWORK_OPS_OF_PYTORCH = OPS.columns("shapes", "dtypes", "variants", "stack")
"""Its last columns, of PyTorch."""
PROGRAMS = OPS.columns(
    _column("name", "The HLO module with its program id.", label="Program", of=None),
    _column(
        "program_id",
        "Program id, up to 64 bits.",
        label="Program id",
        of=lambda programs: list(map(str, programs.program_id)),
    ),
    _column("host", "First host that has the program."),
)
"""Of the programs of a run (`Programs`)."""
PROGRAMS_ANSWERED = OPS.typed(
    _column("id", "The HLO module with its program id, for the argument program of memory and find of ops.",
            label="Program"),
    _column("time_ps", "Time of its ops, summed over devices; none if no op ran."),
    _column("ops", "Number of its ops that ran."),
    "hlo_in_profile",
)  # fmt: skip
"""Of the verb `programs`."""
