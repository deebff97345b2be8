"""Framework op stats as XProf answers them."""

from __future__ import annotations

from dataclasses import replace

from tpu_profile_plugin.analysis.summary.framework import graphs_note
from tpu_profile_plugin.compat.xprof.tables import xprof_table
from tpu_profile_plugin.run.catalogue.ops import FRAMEWORK_OPS_OF_PYTORCH
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tables.table import Table
from tpu_profile_plugin.tools.ops import framework_op_stats
from tpu_profile_plugin.tools.query import Query

LABELS = {
    "rank": "Rank",
    "host_or_device": "Host/device",
    "type": "Operation Type",
    "operation": "Operation Name",
    "occurrences": "#Occurrences",
    "total_time": "Total time (us)",
    "avg_time": "Avg. time (us)",
    "total_self_time": "Total self-time (us)",
    "avg_self_time": "Avg. self-time (us)",
    "device_total_self_time_percent": "Total self-time on Device (%)",
    "device_cumulative_total_self_time_percent": "Cumulative total-self time on Device (%)",
    "host_total_self_time_percent": "Total self-time on Host (%)",
    "Host_cumulative_total_self_time_percent": "Cumulative total-self time on Host (%)",
    "measured_flop_rate": "Normalized FLOP Rate (FLOPs/s)",
    "model_flop_rate": "Model FLOP Rate (GFLOP/s)",
    "measured_memory_bw": "Measured Memory BW (GBytes/Sec)",
    "operational_intensity": "Operational Intensity (FLOPs/Byte)",
    "bound_by": "Bound by",
    "eager": "Execution mode",
}
_LAST = ("bound_by", "eager")
"""Columns after the one that only GPUs have."""


def build(run: Run, query: Query) -> tuple[Table, Table]:
    """The table with idle time, then the one without; of PyTorch, which XProf does not read, with our columns."""
    found = framework_op_stats.op_cells(run, query)
    ours = {column.id: column.label for column in found.columns}
    labels = {id_: label for id_, label in LABELS.items() if id_ not in _LAST}
    if "gpu_tensorcore_utilization" in ours:
        labels["gpu_tensorcore_utilization"] = "GPU TensorCore utilization"
    labels |= {id_: LABELS[id_] for id_ in _LAST}
    labels |= {column.id: column.label for column in FRAMEWORK_OPS_OF_PYTORCH if column.id in ours}
    properties = {"architecture_type": "Unknown", "task_type": "Training" if found.training else "Inference"}
    notes = {"graphs_note": graphs_note(found.ops.device), "inputs_note": found.inputs_note}
    properties |= {name: note for name, note in notes.items() if note}
    with_idle, without_idle = (
        xprof_table(labels, cells, properties) for cells in (found.with_idle, found.without_idle)
    )
    return with_idle, without_idle


TOOL = replace(framework_op_stats.TOOL, build=build)
