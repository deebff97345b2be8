"""Kernel stats: time, launch configuration and tensor core use of GPU kernels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tpu_profile_plugin.analysis.common.reasons import NO_GPU, Reason
from tpu_profile_plugin.analysis.ops.gpu_kernels import combine_kernel_rows
from tpu_profile_plugin.analysis.ops.torch_inputs import dtype_of
from tpu_profile_plugin.run.catalogue.ops import KERNELS, KERNELS_OF_PYTORCH
from tpu_profile_plugin.run.facts import RunFacts, lacks_time
from tpu_profile_plugin.run.figures.op import run_op_inputs
from tpu_profile_plugin.run.figures.ops import GPU, host_kernels
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tables.document import Document
from tpu_profile_plugin.tables.table import Table
from tpu_profile_plugin.tools.common.ops import measured
from tpu_profile_plugin.tools.query import Query
from tpu_profile_plugin.tools.tool import Tool


@dataclass(frozen=True)
class KernelStats(Document):
    """GPU kernels.

    Attributes:
      kernels: one row per kernel, launch configuration and op, longest total duration first; registers and occupancy
        are null where the launch was recorded without them.
    """

    kernels: Table


def build(run: Run, query: Query) -> KernelStats:
    """The kernels by total duration."""
    cells = kernel_cells(run)
    cells |= {id_: measured(cells[id_]) for id_ in ("registers_per_thread", "occupancy_pct")}
    return KernelStats(Table((*KERNELS, *KERNELS_OF_PYTORCH) if "dtype" in cells else KERNELS, cells))


def kernel_cells(run: Run) -> dict[str, Any]:
    """The columns of the kernels by id, 0 for unknown properties of a launch."""
    rows = combine_kernel_rows(run.map_hosts(host_kernels))
    inputs = run_op_inputs(run)
    total_ns = sum(row.total_ns for row in rows)
    cells: dict[str, Any] = {
        column.id: [column.value(row) for row in rows] for column in KERNELS if column.id not in ("rank", "share")
    }
    cells["rank"] = range(1, len(rows) + 1)
    cells["share"] = [row.total_ns / total_ns if total_ns else None for row in rows]
    if inputs:
        kernels = (row.kernel for row in rows)
        types = (dtype_of(inputs[each.op].types if each.op in inputs else "", each.name) for each in kernels)
        cells["dtype"] = list(types)
    return cells


def _lacks(facts: RunFacts) -> Reason | None:
    return lacks_time(facts) if facts.has_plane(GPU) else NO_GPU


TOOL = Tool(
    id="kernel_stats",
    title="Kernel Stats",
    group="Ops",
    summary="Time of GPU kernels, their launch parameters and use of tensor cores.",
    build=build,
    lacks=_lacks,
)
