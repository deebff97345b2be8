"""HLO stats: one row per XLA op with its time, rates and the resource that bounds it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np

from tpu_profile_plugin.analysis.ops.tree import rows_of
from tpu_profile_plugin.analysis.summary.op_summary import OpSummary
from tpu_profile_plugin.run.catalogue.ops import HLO_STATS
from tpu_profile_plugin.run.figures.ops import OpRows
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tables.document import Document
from tpu_profile_plugin.tables.table import Table
from tpu_profile_plugin.tools.common.hlo_modules import lacks_modules
from tpu_profile_plugin.tools.common.ops import (
    OP_PARAMS,
    OpNotes,
    chosen_ops,
    lacks_device_ops,
    measured,
    op_notes,
    over_cores,
)
from tpu_profile_plugin.tools.query import Query
from tpu_profile_plugin.tools.tool import Tool

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
    all_time = f"of the observed time{over_cores(notes.cores)}, idle time included."
    sentences = {
        "busy_share": f"Self time, of the {'op time' if notes.on_cpu else 'busy time'} of all ops of the profile"
        f"{over_cores(notes.cores)}.",
        "total_self_time_percent": f"Part {all_time}",
        "cumulative_total_self_time_percent": f"Part of this op and those above it {all_time}",
    }
    declared = tuple(replace(each, sentence=sentences.get(each.id, each.sentence)) for each in HLO_STATS)
    return HloStats(Table(declared, {each.id: cells[each.id] for each in HLO_STATS}), notes)


def op_cells(summary: OpSummary) -> dict[str, Any]:
    """The columns of a summary's ops by id; the ops that SparseCores ran for an op follow it, with share 0."""
    records = summary.records
    rows = rows_of(records)
    data = _columns(OpRows(records, rows, summary=summary, total_ps=records.table.total_ps))
    if not records.inner:
        return data
    parts, position = [data], [np.arange(len(rows))]
    for i, row in enumerate(rows.tolist()):
        inside = records.inside(row)
        if inside is not None:
            within = OpRows(inside, rows_of(inside), summary=summary, parent=records.table.name[row])
            parts.append(_columns(within))
            position.append(np.full(len(within), i))
    order = np.argsort(np.concatenate(position), kind="stable").tolist()
    joined = {name: list(chain.from_iterable(part[name] for part in parts)) for name in data}
    return {name: [values[row] for row in order] for name, values in joined.items()}


def _columns(ops: OpRows) -> dict[str, Any]:
    return {column.id: column.value(ops) for column in HLO_STATS if column.id != "busy_share"}


TOOL = Tool(
    id="hlo_stats",
    title="HLO Op Stats",
    group="Ops",
    summary="Time, rates and bottleneck of every XLA op.",
    build=build,
    params=OP_PARAMS,
    lacks=lambda facts: lacks_modules(facts) if facts.pytorch else lacks_device_ops(facts),
    aliases=("hlo_op_stats",),
)
