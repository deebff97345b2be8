"""Kernel stats: time, launch configuration and tensor core use of GPU kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tpu_profile_plugin.analysis.ops.gpu.kernel_table import combine_kernel_rows
from tpu_profile_plugin.run.figures.kernels import GPU, NO_KERNELS, host_kernels
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tables.table import Column, Table
from tpu_profile_plugin.tools.query import Query
from tpu_profile_plugin.tools.tool import HostChoice, Tool

if TYPE_CHECKING:
    from tpu_profile_plugin.run.facts import RunFacts

COLUMNS = (
    Column("rank", "Rank", "number", "", "Rank by total duration."),
    Column("kernel_name", "Kernel Name", "string", "", "Name of the kernel."),
    Column("registers_per_thread", "Registers per thread", "number", "", "Number of registers per thread."),
    Column("shmem_bytes", "Shared Mem bytes", "number", "bytes", "Static and dynamic shared memory of a block."),
    Column("block_dim", "Block dim", "string", "", "Threads per block, `x,y,z`."),
    Column("grid_dim", "Grid dim", "string", "", "Blocks of the grid, `x,y,z`."),
    Column(
        "occupancy_pct",
        "Theoretical Occupancy %",
        "number",
        "%",
        "Share of a multiprocessor's threads that can be in use.",
    ),
    Column(
        "is_op_tensor_core_eligible",
        "Op is TensorCore eligible",
        "boolean",
        "",
        "Whether the op can run on tensor cores.",
    ),
    Column(
        "is_kernel_using_tensor_core",
        "Kernel uses TensorCore",
        "boolean",
        "",
        "Whether the kernel uses tensor cores, judged by its name.",
    ),
    Column("op_name", "Op Name", "string", "", "Framework op that launched the kernel."),
    Column("occurrences", "Occurrences", "number", "", "Number of runs."),
    Column("total_duration_us", "Total Duration (μs)", "number", "us", "Time of all runs."),
    Column("avg_duration_us", "Avg Duration (μs)", "number", "us", "Total duration divided by runs, in whole ns."),
    Column("min_duration_us", "Min Duration (μs)", "number", "us", "Duration of the shortest run."),
    Column("max_duration_us", "Max Duration (μs)", "number", "us", "Duration of the longest run."),
)


def build(run: Run, query: Query) -> Table:
    """The kernels by total duration."""
    rows = combine_kernel_rows(run.map_hosts(host_kernels))
    kernels = [row.kernel for row in rows]
    return Table(
        COLUMNS,
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
            [row.total_ns / 1e3 for row in rows],
            [row.total_ns // row.runs / 1e3 for row in rows],
            [row.min_ns / 1e3 for row in rows],
            [row.max_ns / 1e3 for row in rows],
        ),
    )


def _available(facts: RunFacts) -> str | None:
    return None if facts.has_plane(GPU) else NO_KERNELS


TOOL = Tool(
    id="kernel_stats",
    title="Kernel Stats",
    group="Ops",
    summary="Time of GPU kernels, their launch parameters and use of tensor cores.",
    build=build,
    hosts=HostChoice.ONE_OR_ALL,
    available=_available,
)
