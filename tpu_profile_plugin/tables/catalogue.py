"""The catalogue of columns: id, our label, unit and meaning of each, once; tables choose from it by id.

A table in which a column means something narrower gives it another sentence or label (`column`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tpu_profile_plugin.tables.column import Column, flags, numbers, texts

_OPS = (
    numbers("rank", "Rank", "", "Rank by self time."),
    texts("program_id", "Program", "Id of the HLO program that the op belongs to."),
    texts("category", "Category", "HLO category of the op."),
)

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
    numbers("occurrences", "Runs", "", "Number of runs on all devices."),
    numbers("total_duration_us", "Total", "us", "Time of all runs."),
    numbers("avg_duration_us", "Average", "us", "Total duration divided by runs, in whole ns."),
    numbers("min_duration_us", "Shortest", "us", "Duration of the shortest run."),
    numbers("max_duration_us", "Longest", "us", "Duration of the longest run."),
    texts("dtype", "Data type", "Type of the op's first tensor; tf32 where the kernel rounds to it; empty if unknown."),
)  # fmt: skip

_BY_ID: dict[str, Column] = {}
for _column in (*_OPS, *_KERNELS):
    if _column.id in _BY_ID:
        raise ValueError(f"column {_column.id} is declared twice")
    _BY_ID[_column.id] = _column


def column(id_: str, **changes: Any) -> Column:
    """The column of this id, with other attributes where the table needs them; raises KeyError."""
    return replace(_BY_ID[id_], **changes)


def columns(*chosen: str | Column) -> tuple[Column, ...]:
    """The columns of these ids in order; those given as columns are kept. Raises KeyError."""
    return tuple(_BY_ID[each] if isinstance(each, str) else each for each in chosen)
