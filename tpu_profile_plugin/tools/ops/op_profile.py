"""Op profile: device time as a tree by program, category or framework scope, with the utilization of each node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tpu_profile_plugin.analysis.environment.environment import Hardware
from tpu_profile_plugin.analysis.ops.tree import (
    CATEGORY,
    MAX_CHILDREN,
    PROGRAM,
    PROVENANCE,
    OpNode,
    add_details,
    add_use,
    op_key,
    op_tree,
    single_ops,
)
from tpu_profile_plugin.run.figures.ops import run_op_details
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tables.document import Document
from tpu_profile_plugin.tools.common.ops import OP_PARAMS, OpNotes, chosen_ops, lacks_device_ops, op_notes
from tpu_profile_plugin.tools.params import Param
from tpu_profile_plugin.tools.query import Query
from tpu_profile_plugin.tools.tool import Tool


@dataclass(frozen=True)
class OpProfile(Document):
    """Device time as a tree of ops.

    Attributes:
      device: "TPU", "GPU", "CPU_ONLY" or "UNKNOWN_HARDWARE".
      total_ps: recorded time of the devices, idle time included.
      time_scale: ratio of the ops' time at the nominal clock to their time; 0 without ops.
      ops: the tree of all ops, without idle time.
      idle: ops that count as idle time, and the time without any op.
    """

    device: str
    total_ps: int
    time_scale: float
    ops: OpNode
    idle: Sequence[OpNode]
    notes: OpNotes


def build(run: Run, query: Query) -> OpProfile:
    """The tree by the levels of `group_by`."""
    summary = chosen_ops(run, query)
    records, group_by = summary.records, query.text("group_by")
    ops, idle = op_tree(records, group_by)
    nodes = [ops, *idle]
    tpu, on_cpu = (summary.hardware is kind for kind in (Hardware.TPU, Hardware.CPU_ONLY))
    details = run_op_details(run, map(op_key, single_ops(nodes)), with_cost=not tpu, on_cpu=on_cpu)
    # By scope, where ops have different depths, nothing is pruned.
    add_details(nodes, details, layouts=tpu, most_parts=None if group_by == PROVENANCE else MAX_CHILDREN)
    add_use(ops, idle, summary.peaks)
    return OpProfile(
        device=summary.hardware.value,
        total_ps=records.table.total_ps,
        time_scale=records.time_scale,
        ops=ops,
        idle=idle,
        notes=op_notes(query, summary),
    )


TOOL = Tool(
    id="op_profile",
    title="Op Profile",
    group="Ops",
    summary="Time of XLA ops as a tree, with utilization of the hardware.",
    build=build,
    params=(
        Param(
            "group_by",
            "string",
            PROGRAM,
            "Levels of the tree: program, category, or framework scope.",
            choices=(PROGRAM, CATEGORY, PROVENANCE),
        ),
        *OP_PARAMS,
    ),
    aliases=("hlo_op_profile",),
    lacks=lacks_device_ops,
)
