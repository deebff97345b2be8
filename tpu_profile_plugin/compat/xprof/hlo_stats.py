"""HLO stats as XProf answers them."""

from __future__ import annotations

from dataclasses import replace

from tpu_profile_plugin.analysis.summary.framework import graphs_note
from tpu_profile_plugin.analysis.summary.op_summary import OpSummary
from tpu_profile_plugin.compat.xprof.tables import source_cell, xprof_table
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tables.table import Table
from tpu_profile_plugin.tools.common.ops import chosen_ops
from tpu_profile_plugin.tools.ops import hlo_stats
from tpu_profile_plugin.tools.query import Query

LABELS = {
    "rank": "Rank",
    "program_id": "Program id",
    "category": "HLO op category",
    "hlo_op_name": "HLO op name",
    "hlo_op_expression": "HLO op text",
    "tf_op_name": "Framework op name",
    "occurrences": "#Occurrences",
    "total_time": "Total time (us)",
    "avg_time": "Avg. time (us)",
    "total_self_time": "Total self time (us)",
    "avg_self_time": "Avg. self time (us)",
    "total_self_time_percent": "Total self time (%)",
    "cumulative_total_self_time_percent": "Cumulative total self time (%)",
    "dma_stall_percent": "%time stalled by DMA",
    "model_flop_rate": "Model GFLOP/s",
    "normalized_flop_rate": "Normalized GFLOP/s",
    "measured_memory_bw": "Measured memory BW (GiB/s)",
    "hbm_bw": "HBM BW (GiB/s)",
    "cmem_read_bw": "CMEM Read BW (GiB/s)",
    "cmem_write_bw": "CMEM Write BW (GiB/s)",
    "operational_intensity": "Operational intensity (FLOPS/Byte)",
    "bound_by": "Bound by",
    "hlo_rematerialization": "Rematerialization",
    "outside_compilation": "Outside Compilation",
    "autotuned": "Autotuned",
    "source_info": "Source Info",
    "core_type": "TPU core type",
    "parent_op_name": "Parent op name",
    "vdd_energy": "VDD Energy (J)",
}


def build(run: Run, query: Query) -> Table:
    """The table of ops that ran, by self time."""
    return hlo_table(chosen_ops(run, query))


def hlo_table(summary: OpSummary) -> Table:
    """The table of a summary's ops."""
    cells = hlo_stats.op_cells(summary)
    cells["source_info"] = list(map(source_cell, cells["source_info"], cells["source_stack"]))
    cells["autotuned"] = ["No"] * len(cells["rank"])
    note = graphs_note(summary.records.table)
    return xprof_table(LABELS, cells, {"graphs_note": note} if note else {})


TOOL = replace(hlo_stats.TOOL, build=build)
