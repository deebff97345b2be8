"""HLO stats: one row per XLA op with its time, rates and the resource that bounds it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np

from tpu_profile_plugin.analysis.attribution import hlo_name
from tpu_profile_plugin.analysis.common.op_names import is_outside_compilation
from tpu_profile_plugin.analysis.ops.op_tables import OpRecords, is_rematerialized
from tpu_profile_plugin.analysis.ops.rates import Resource, divide, rates
from tpu_profile_plugin.analysis.ops.tree import rows_of
from tpu_profile_plugin.analysis.summary.op_summary import OpSummary, supported_peaks
from tpu_profile_plugin.columns.arrays import I64
from tpu_profile_plugin.run.catalogue.ops import HLO_STATS
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tables.document import Document
from tpu_profile_plugin.tables.table import Table
from tpu_profile_plugin.tools.common.hlo_modules import lacks_modules
from tpu_profile_plugin.tools.common.ops import (
    OP_PARAMS,
    OpNotes,
    chosen_ops,
    measured,
    op_notes,
    over_cores,
    source_columns,
)
from tpu_profile_plugin.tools.query import Query
from tpu_profile_plugin.tools.tool import Tool
from tpu_profile_plugin.units import PS_PER_US

MEASURED = (
    *("dma_stall_percent", "model_flop_rate", "normalized_flop_rate", "measured_memory_bw", "hbm_bw"),
    *("cmem_read_bw", "cmem_write_bw", "operational_intensity", "vdd_energy"),
)
"""Columns in which 0 means that nothing was measured."""


@dataclass(frozen=True)
class HloStats(Document):
    """XLA ops.

    Attributes:
      ops: one row per op, most self time first; the ops that SparseCores ran for an op follow it, with rank 0.
    """

    ops: Table
    notes: OpNotes


def build(run: Run, query: Query) -> HloStats:
    """The ops that ran, by self time."""
    summary = chosen_ops(run, query)
    notes = op_notes(query, summary)
    cells = op_cells(summary)
    own = np.where(np.asarray(cells["rank"]) > 0, np.asarray(cells["total_self_time"], np.float64), np.nan)
    busy = float(np.nansum(own))
    cells["busy_share"] = own / busy if busy else np.full(len(own), np.nan)
    cells |= {id_: measured(cells[id_]) for id_ in MEASURED}
    all_time = f"of all recorded time{over_cores(notes.cores)}, idle time included."
    sentences = {
        "busy_share": f"Self time, of the {'op time' if notes.on_cpu else 'busy time'} of all ops of the profile"
        f"{over_cores(notes.cores)}.",
        "total_self_time_percent": f"Part {all_time}",
        "cumulative_total_self_time_percent": f"Part of this op and those above it {all_time}",
    }
    declared = tuple(replace(each, sentence=sentences.get(each.id, each.sentence)) for each in HLO_STATS)
    return HloStats(Table(declared, {each.id: cells[each.id] for each in HLO_STATS}), notes)


def op_cells(summary: OpSummary) -> dict[str, Any]:
    """The columns of a summary's ops by id; the ops that SparseCores ran for an op follow it."""
    records = summary.records
    rows = rows_of(records)
    data = _columns(summary, records, rows, total_ps=records.table.total_ps)
    if not records.inner:
        return data
    parts, position = [data], [np.arange(len(rows))]
    for i, row in enumerate(rows.tolist()):
        inside = records.inside(row)
        if inside is not None:
            within = rows_of(inside)
            parts.append(_columns(summary, inside, within, parent=records.table.name[row]))
            position.append(np.full(len(within), i))
    order = np.argsort(np.concatenate(position), kind="stable").tolist()
    joined = {name: list(chain.from_iterable(part[name] for part in parts)) for name in data}
    return {name: [values[row] for row in order] for name, values in joined.items()}


def _columns(
    summary: OpSummary, records: OpRecords, rows: I64, *, total_ps: int = 0, parent: str = ""
) -> dict[str, Any]:
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
        **source_columns([records.text[i] for i in indices]),
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
    lacks=lambda facts: lacks_modules(facts) if facts.pytorch else None,
    aliases=("hlo_op_stats",),
)
