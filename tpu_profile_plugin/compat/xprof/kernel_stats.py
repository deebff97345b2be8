"""Kernel stats as XProf answers them."""

from __future__ import annotations

from dataclasses import replace

from tpu_profile_plugin.compat.xprof.tables import xprof_table
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tables.table import Table
from tpu_profile_plugin.tools.ops import kernel_stats
from tpu_profile_plugin.tools.query import Query

LABELS = {
    "rank": "Rank",
    "kernel_name": "Kernel Name",
    "registers_per_thread": "Registers per thread",
    "shmem_bytes": "Shared Mem bytes",
    "block_dim": "Block dim",
    "grid_dim": "Grid dim",
    "occupancy_pct": "Theoretical Occupancy %",
    "is_op_tensor_core_eligible": "Op is TensorCore eligible",
    "is_kernel_using_tensor_core": "Kernel uses TensorCore",
    "op_name": "Op Name",
    "occurrences": "Occurrences",
    "total_duration_us": "Total Duration (μs)",
    "avg_duration_us": "Avg Duration (μs)",
    "min_duration_us": "Min Duration (μs)",
    "max_duration_us": "Max Duration (μs)",
}


def build(run: Run, query: Query) -> Table:
    """The kernels by total duration; of PyTorch, which XProf does not read, with our column of types."""
    cells = kernel_stats.kernel_cells(run)
    return xprof_table(LABELS | ({"dtype": "Data type"} if "dtype" in cells else {}), cells)


TOOL = replace(kernel_stats.TOOL, build=build)
