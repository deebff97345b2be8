"""Kernel stats: time, launch configuration and tensor core use of GPU kernels."""

from __future__ import annotations

from tpu_profile_plugin.analysis.common.reasons import NO_GPU, Reason
from tpu_profile_plugin.analysis.ops.gpu.kernel_table import combine_kernel_rows
from tpu_profile_plugin.analysis.ops.torch_inputs import dtype_of
from tpu_profile_plugin.run.facts import RunFacts
from tpu_profile_plugin.run.figures.kernels import GPU, host_kernels
from tpu_profile_plugin.run.figures.op_inputs import run_op_inputs
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tables.table import Table, flags, numbers, texts
from tpu_profile_plugin.tools.query import Query
from tpu_profile_plugin.tools.tool import Tool
from tpu_profile_plugin.units import NS_PER_US

COLUMNS = (
    numbers("rank", "Rank", "", "Rank by total duration."),
    texts("kernel_name", "Kernel Name", "Name of the kernel."),
    numbers("registers_per_thread", "Registers per thread", "", "Number of registers per thread."),
    numbers("shmem_bytes", "Shared Mem bytes", "bytes", "Static and dynamic shared memory of a block."),
    texts("block_dim", "Block dim", "Threads per block, `x,y,z`."),
    texts("grid_dim", "Grid dim", "Blocks of the grid, `x,y,z`."),
    numbers("occupancy_pct", "Theoretical Occupancy %", "%", "Share of a multiprocessor's threads that can be in use."),
    flags("is_op_tensor_core_eligible", "Op is TensorCore eligible", "Whether the op can run on tensor cores."),
    flags("is_kernel_using_tensor_core", "Kernel uses TensorCore",
          "Whether the kernel uses tensor cores, judged by its name."),
    texts("op_name", "Op Name", "Framework op that launched the kernel."),
    numbers("occurrences", "Occurrences", "", "Number of runs."),
    numbers("total_duration_us", "Total Duration (μs)", "us", "Time of all runs."),
    numbers("avg_duration_us", "Avg Duration (μs)", "us", "Total duration divided by runs, in whole ns."),
    numbers("min_duration_us", "Min Duration (μs)", "us", "Duration of the shortest run."),
    numbers("max_duration_us", "Max Duration (μs)", "us", "Duration of the longest run."),
)  # fmt: skip


PYTORCH_COLUMNS = (
    texts("dtype", "Data type", "Type of the op's first tensor; tf32 where the kernel rounds to it; empty if unknown."),
)
"""Of PyTorch, after the columns that all profiles have."""


def build(run: Run, query: Query) -> Table:
    """The kernels by total duration."""
    rows = combine_kernel_rows(run.map_hosts(host_kernels))
    kernels = [row.kernel for row in rows]
    inputs = run_op_inputs(run)
    known = [dtype_of(inputs[one.op].types if one.op in inputs else "", one.name) for one in kernels]
    return Table(
        (*COLUMNS, *PYTORCH_COLUMNS) if inputs else COLUMNS,
        (
            range(1, len(rows) + 1),
            [kernel.name for kernel in kernels],
            [kernel.registers for kernel in kernels],
            [kernel.static_shared + kernel.dynamic_shared for kernel in kernels],
            [",".join(map(str, kernel.block)) for kernel in kernels],
            [",".join(map(str, kernel.grid)) for kernel in kernels],
            [row.occupancy for row in rows],
            [kernel.eligible for kernel in kernels],
            [kernel.uses_tensor_core for kernel in kernels],
            [kernel.op for kernel in kernels],
            [row.runs for row in rows],
            [row.total_ns / NS_PER_US for row in rows],
            [row.total_ns // row.runs / NS_PER_US for row in rows],
            [row.min_ns / NS_PER_US for row in rows],
            [row.max_ns / NS_PER_US for row in rows],
            *([known] if inputs else []),
        ),
    )


def _lacks(facts: RunFacts) -> Reason | None:
    return None if facts.has_plane(GPU) else NO_GPU


TOOL = Tool(
    id="kernel_stats",
    title="Kernel Stats",
    group="Ops",
    summary="Time of GPU kernels, their launch parameters and use of tensor cores.",
    build=build,
    lacks=_lacks,
)
