"""Op profile: device time as a tree by program, category or framework scope, with the utilization of each node."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from tpu_profile_plugin.analysis.environment.environment import Hardware
from tpu_profile_plugin.analysis.hlo.instructions import Dimension, used_share
from tpu_profile_plugin.analysis.hlo.ops import Fused
from tpu_profile_plugin.analysis.ops.op_tables import IDLE, OpRecords, OpTable, OpText
from tpu_profile_plugin.analysis.ops.tree import (
    CATEGORY,
    MAX_CHILDREN,
    PROGRAM,
    PROVENANCE,
    Metrics,
    Node,
    is_fusion,
    op_tree,
    utilization_of,
)
from tpu_profile_plugin.analysis.summary.op_summary import OpSummary
from tpu_profile_plugin.run.figures.ops import OpKey, run_op_details
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tools.common.ops import OP_PARAMS, chosen_ops, lacks_device_ops, op_notes
from tpu_profile_plugin.tools.params import Param
from tpu_profile_plugin.tools.payload import Json
from tpu_profile_plugin.tools.query import Query
from tpu_profile_plugin.tools.tool import Tool

_NO_DETAILS: tuple[tuple[Dimension, ...], tuple[Fused, ...]] = ((), ())
_KEYS = {PROGRAM: "byProgram", CATEGORY: "byCategory", PROVENANCE: "byProvenance"}


def build(run: Run, query: Query) -> Json:
    """The tree with idle time and the one without."""
    summary = chosen_ops(run, query)
    group_by = query.text("group_by")
    key = _KEYS[group_by]
    roots = [op_tree(summary.records, group_by, with_idle=with_idle) for with_idle in (True, False)]
    tpu, on_cpu = (summary.hardware is kind for kind in (Hardware.TPU, Hardware.CPU_ONLY))
    wanted = [key for root in roots for key in _single_ops(root)]
    details = run_op_details(run, wanted, with_cost=not tpu, on_cpu=on_cpu)
    # By scope, where ops have different depths, nothing is pruned.
    most_fused = None if group_by == PROVENANCE else MAX_CHILDREN
    whole, busy = (_Writer(summary, details, root.metrics.time_ps, most_fused).node(root) for root in roots)
    return Json(
        {
            key: whole,
            f"{key}ExcludeIdle": busy,
            "deviceType": summary.hardware.value,
            "aggDvfsTimeScaleMultiplier": summary.records.time_scale,
            "notes": asdict(op_notes(query, summary)),
        }
    )


def _single_ops(node: Node) -> Iterator[OpKey]:
    """The ops below a node that represent a single op of a program, without duplicates."""
    if node.row is not None and node.records is not None and not node.has_duplicates:
        yield node.records.table.module[node.row], node.records.table.name[node.row]
    for child in (*node.children, *node.around):
        yield from _single_ops(child)


class _Writer:
    """Writes the nodes of one tree as JSON."""

    def __init__(
        self,
        summary: OpSummary,
        details: Mapping[OpKey, tuple[tuple[Dimension, ...], tuple[Fused, ...]]],
        total_ps: int,
        most_fused: int | None,
    ) -> None:
        self._summary, self._details, self._total, self._most_fused = summary, details, total_ps, most_fused

    def node(self, node: Node) -> dict[str, Any]:
        entry: dict[str, Any] = {
            "name": node.name,
            "metrics": self._metrics(node.metrics),
            "children": [self.node(child) for child in node.children],
            "numChildren": node.count,
        }
        if node.around:
            entry["selfTimeOps"] = [self._around(child) for child in node.around]
        if node.row is not None and node.records is not None:
            entry["xla"] = self._op(node, node.records, node.row)
            if not node.has_duplicates and not node.children:
                self._add_fused(entry, node.records.table, node.row)
        elif node.is_idle:
            entry["xla"] = _xla(OpText(), IDLE, "", 0)
        return entry

    def _around(self, node: Node) -> dict[str, Any]:
        """An op that contains others, with its self time."""
        assert node.records is not None
        assert node.row is not None
        return {
            "name": node.name,
            "metrics": self._metrics(node.metrics),
            "children": [],
            "xla": self._op(node, node.records, node.row),
            "numChildren": 0,
        }

    def _op(self, node: Node, records: OpRecords, row: int) -> dict[str, Any]:
        table = records.table
        category, module = table.category[row], table.module[row]
        if node.has_duplicates:
            fusion = is_fusion(category)
            entry = _xla(records.text[row], category, "" if fusion else table.provenance[row], module)
            return entry if fusion else {**entry, "layout": {"dimensions": []}}
        entry = _xla(records.text[row], category, table.provenance[row], module)
        if "convolution" in category or is_fusion(category):
            dimensions, _ = self._details.get((module, table.name[row]), _NO_DETAILS)
            if dimensions and self._summary.hardware is Hardware.TPU:
                entry["layout"] = _layout(dimensions)
        return entry

    def _add_fused(self, entry: dict[str, Any], table: OpTable, row: int) -> None:
        """Adds the instructions in a fusion: as children on TPUs, else, where XProf has none, as `fused`.

        The program decides what is a fusion, whatever the op's category.
        """
        tpu = self._summary.hardware is Hardware.TPU
        _, instructions = self._details.get((table.module[row], table.name[row]), _NO_DETAILS)
        if instructions:
            entry["children" if tpu else "fused"] = self._fused(instructions)
            if tpu:
                entry["numChildren"] = len(instructions)

    def _fused(self, instructions: tuple[Fused, ...]) -> list[dict[str, Any]]:
        return [
            {
                "name": instruction.name,
                "metrics": self._metrics(
                    Metrics(occurrences=1, flops=instruction.flops, model_flops=instruction.flops)
                ),
                "children": self._fused(instruction.inner),
                "xla": _xla(OpText(expression=instruction.expression), instruction.category, instruction.provenance, 0),
                "numChildren": len(instruction.inner),
            }
            for instruction in sorted(instructions, key=lambda instruction: -instruction.flops)[: self._most_fused]
        ]

    def _metrics(self, metrics: Metrics) -> dict[str, Any]:
        peaks = self._summary.peaks
        utilization = utilization_of(metrics, self._total, peaks.tera_flops, peaks.bandwidths[:3])
        return {
            "flops": utilization.flops,
            "uncappedFlops": utilization.uncapped_flops,
            "bandwidthUtils": list(utilization.bandwidth),
            "rawTime": metrics.time_ps,
            "normalizedTimePs": metrics.normalized_ps,
            "rawFlops": metrics.model_flops,
            "bf16Flops": metrics.flops,
            # XProf derives it from rates, which are 0 without time.
            "rawBytesAccessedArray": list(metrics.bytes) if metrics.time_ps else [0.0] * len(metrics.bytes),
            "occurrences": metrics.occurrences,
            "avgTimePs": metrics.time_ps / metrics.occurrences if metrics.occurrences else 0.0,
        }


def _layout(dimensions: tuple[Dimension, ...]) -> dict[str, Any]:
    """The dimensions, minor to major; `utilization` is the unpadded share of the tensor."""
    rows = [{"size": d.size, "alignment": d.alignment, "semantics": d.semantics} for d in dimensions]
    return {"dimensions": rows, "utilization": used_share(dimensions)}


def _xla(text: OpText, category: str, provenance: str, program: int) -> dict[str, Any]:
    return {
        "op": "",
        "expression": text.expression,
        "provenance": provenance,
        "category": category,
        "computationPrimitiveSize": 0,
        "fingerprint": "0",
        "programId": str(program),
        "sourceInfo": {
            "fileName": text.source_file,
            "lineNumber": text.source_line,
            "stackFrame": text.source_stack,
            **({"sourceOf": text.source_of} if text.source_of else {}),
        },
        "xprofKernelMetadata": "",
    }


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
    extras=("notes", "selfTimeOps", "fused", "utilization"),
)
