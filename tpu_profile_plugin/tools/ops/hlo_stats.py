"""HLO stats: one row per XLA op with its time, rates and the resource that bounds it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain

import numpy as np

from tpu_profile_plugin.analysis.attribution import hlo_name
from tpu_profile_plugin.analysis.common.op_names import is_outside_compilation
from tpu_profile_plugin.analysis.ops.op_tables import OpRecords, is_rematerialized
from tpu_profile_plugin.analysis.ops.rates import Resource, divide, rates
from tpu_profile_plugin.analysis.ops.tree import rows_of
from tpu_profile_plugin.analysis.summary.op_summary import OpSummary, supported_peaks
from tpu_profile_plugin.columns.arrays import F64, I64
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tables.table import Table, numbers, texts
from tpu_profile_plugin.tools.common.hlo_modules import lacks_modules
from tpu_profile_plugin.tools.common.ops import OP_EXTRAS, OP_PARAMS, chosen_ops, notes_of, peaks_of, source_cell
from tpu_profile_plugin.tools.query import Query
from tpu_profile_plugin.tools.tool import Tool
from tpu_profile_plugin.units import PS_PER_US

COLUMNS = (
    numbers("rank", "Rank", "", "Rank by self time; 0 for ops that run inside another op on SparseCores."),
    texts("program_id", "Program id", "Id of the HLO program that the op belongs to."),
    texts("category", "HLO op category", "Kind of the op."),
    texts("hlo_op_name", "HLO op name", "Name of the op in its program."),
    texts("hlo_op_expression", "HLO op text", "HLO instruction."),
    texts("tf_op_name", "Framework op name", "Framework op from which the op was compiled."),
    numbers("occurrences", "#Occurrences", "", "Number of runs on all cores."),
    numbers("total_time", "Total time (us)", "us", "Time of all runs, including nested ops."),
    numbers("avg_time", "Avg. time (us)", "us", "Total time divided by occurrences."),
    numbers("total_self_time", "Total self time (us)", "us", "Time of all runs, excluding nested ops."),
    numbers("avg_self_time", "Avg. self time (us)", "us", "Total self time divided by occurrences."),
    numbers("total_self_time_percent", "Total self time (%)", "%", "Share of the device time, including idle time."),
    numbers("cumulative_total_self_time_percent", "Cumulative total self time (%)", "%",
            "Sum of the shares of this row and the rows above."),
    numbers("dma_stall_percent", "%time stalled by DMA", "", "Share of its time spent waiting for DMA, 0 to 1."),
    numbers("model_flop_rate", "Model GFLOP/s", "GFLOP/s", "FLOPs of the model divided by time."),
    numbers("normalized_flop_rate", "Normalized GFLOP/s", "GFLOP/s",
            "FLOPs in bf16 equivalents divided by time; operations on narrower types count less."),
    numbers("measured_memory_bw", "Measured memory BW (GiB/s)", "GiB/s",
            "Bytes accessed in all memories, divided by time."),
    numbers("hbm_bw", "HBM BW (GiB/s)", "GiB/s", "Bytes accessed in HBM, divided by time."),
    numbers("cmem_read_bw", "CMEM Read BW (GiB/s)", "GiB/s", "Bytes read from CMEM, divided by time."),
    numbers("cmem_write_bw", "CMEM Write BW (GiB/s)", "GiB/s", "Bytes written to CMEM, divided by time."),
    numbers("operational_intensity", "Operational intensity (FLOPS/Byte)", "", "FLOPs divided by bytes accessed."),
    texts("bound_by", "Bound by", "Resource that limits the op: the highest share of its peak."),
    texts("hlo_rematerialization", "Rematerialization", "Yes: the op recomputes a value (rematerialization)."),
    texts("outside_compilation", "Outside Compilation",
          "Yes: the op waits for a part of the program on the host (outside compilation)."),
    texts("autotuned", "Autotuned", "Yes: its parameters were autotuned."),
    texts("source_info", "Source Info", "Source line of the program."),
    texts("core_type", "TPU core type", "TensorCore or SparseCore."),
    texts("parent_op_name", "Parent op name", "TensorCore op that this op ran for on a SparseCore."),
    numbers("vdd_energy", "VDD Energy (J)", "J", "Energy used by all runs."),
)  # fmt: skip


def build(run: Run, query: Query) -> Table:
    """The table of ops that ran, by self time."""
    summary = chosen_ops(run, query)
    return hlo_table(summary, {**notes_of(query, summary), **peaks_of(summary)})


def hlo_table(summary: OpSummary, properties: Mapping[str, str]) -> Table:
    """The table of a summary's ops; the ops that SparseCores ran for an op follow it."""
    records = summary.records
    rows = rows_of(records)
    data = _columns(summary, records, rows, total_ps=records.table.total_ps)
    if not records.inner:
        return Table(COLUMNS, data, properties)
    parts, position = [data], [np.arange(len(rows))]
    for i, row in enumerate(rows.tolist()):
        inside = records.inside(row)
        if inside is not None:
            within = rows_of(inside)
            parts.append(_columns(summary, inside, within, parent=records.table.name[row]))
            position.append(np.full(len(within), i))
    joined = {name: list(chain.from_iterable(part[name] for part in parts)) for name in data}
    return Table(COLUMNS, joined, properties).take(np.argsort(np.concatenate(position), kind="stable"))


def _columns(
    summary: OpSummary, records: OpRecords, rows: I64, *, total_ps: int = 0, parent: str = ""
) -> dict[str, Sequence[object] | F64]:
    """The columns for the given rows in order; SparseCore ops with a `parent` have rank and share 0."""
    table, indices = records.table, rows.tolist()
    time, self_time, runs = (c[rows].astype(np.float64) for c in (table.time_ps, table.self_ps, table.occurrences))
    rate = rates(
        time, table.flops[rows], table.model_flops[rows], table.bytes[rows], records.traffic[rows],
        supported_peaks(summary), summary.hardware, records.has_traffic[rows],
    )  # fmt: skip
    share = self_time / total_ps * 100.0 if total_ps else np.zeros(len(indices))
    return {
        "rank": [0] * len(indices) if parent else range(1, len(indices) + 1),
        "program_id": [str(table.module[i]) for i in indices],
        "category": [table.category[i] for i in indices],
        "hlo_op_name": [hlo_name(records.expression(i)) for i in indices],
        "hlo_op_expression": [records.expression(i) for i in indices],
        "tf_op_name": [table.provenance[i] for i in indices],
        "occurrences": runs,
        "total_time": time / PS_PER_US,
        "avg_time": time / PS_PER_US / runs,
        "total_self_time": self_time / PS_PER_US,
        "avg_self_time": self_time / PS_PER_US / runs,
        "total_self_time_percent": share,
        "cumulative_total_self_time_percent": np.cumsum(share),
        "dma_stall_percent": divide(records.stall_ps[rows], time),
        "model_flop_rate": rate.model_flops,
        "normalized_flop_rate": rate.flops,
        "measured_memory_bw": rate.bandwidth,
        "hbm_bw": rate.memory[Resource.HBM],
        "cmem_read_bw": rate.memory[Resource.CMEM_READ],
        "cmem_write_bw": rate.memory[Resource.CMEM_WRITE],
        "operational_intensity": rate.intensity,
        "bound_by": [resource.value for resource in rate.bound],
        "hlo_rematerialization": [
            _yes(is_rematerialized(records.text[i].expression, table.provenance[i])) for i in indices
        ],
        "outside_compilation": [
            _yes(is_outside_compilation(table.provenance[i], records.text[i].expression)) for i in indices
        ],
        "autotuned": ["No"] * len(indices),
        "source_info": [source_cell(records.text[i]) for i in indices],
        "core_type": [records.text[i].core for i in indices],
        "parent_op_name": [parent] * len(indices),
        "vdd_energy": records.energy[rows],
    }


def _yes(value: bool) -> str:
    return "Yes" if value else "No"


TOOL = Tool(
    id="hlo_stats",
    title="HLO Op Stats",
    group="Ops",
    summary="Time, rates and bottleneck of every XLA op.",
    build=build,
    params=OP_PARAMS,
    extras=OP_EXTRAS,
    lacks=lambda facts: lacks_modules(facts) if facts.pytorch else None,
    aliases=("hlo_op_stats",),
)
