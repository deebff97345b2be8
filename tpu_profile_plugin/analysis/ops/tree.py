"""The op profile: device time as a tree by program, category or framework scope, and the utilization of each node."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from tpu_profile_plugin.analysis.attribution import OpKey
from tpu_profile_plugin.analysis.common.op_names import PYTORCH_SUFFIX, parse_op
from tpu_profile_plugin.analysis.environment.environment import Peaks
from tpu_profile_plugin.analysis.hlo.instructions import Dimension, used_share
from tpu_profile_plugin.analysis.hlo.ops import Fused
from tpu_profile_plugin.analysis.ops.op_tables import HBM, IDLE, READ, WRITE, OpRecords
from tpu_profile_plugin.units import GIGA, KILO, PS_PER_NS, PS_PER_S

PROGRAM, CATEGORY, PROVENANCE = "program", "category", "provenance"
MAX_CHILDREN = 100
MAX_SCOPES = 100
"""Maximum depth of framework scopes; deeper scopes share one node."""
_PRUNE_BELOW = {PROGRAM: 2, CATEGORY: 1}
NO_PROGRAM = "main"
_END = "\0"
"""Separates a name in a path from its qualifier: the id of a program, nothing for a category.

It distinguishes a category from a scope of the same name, and programs of the same name.
"""
_NO_BYTES = (0.0, 0.0, 0.0)
_NO_COSTS: dict[str, Any] = {"normalized_ps": 0.0, "flops": 0.0, "model_flops": 0.0, "bytes": _NO_BYTES}
_UNKNOWN = (None, None, None)
OpDetails: TypeAlias = tuple[tuple[Dimension, ...], tuple[Fused, ...]]
"""The layout of an op's result in the matrix unit, and the instructions in a fusion; empty for other ops."""


@dataclass(slots=True)
class OpNode:
    """A node of the tree of ops: sums over all runs and cores, and of ops what they are (of duplicates, the longest).

    Attributes:
      name: of a program with its id; of duplicates, that of the longest.
      kind: "group": a program, scope or category; "duplicates": ops with one deduplicated name; "part": an
        instruction in a fusion, which is not timed by itself.
      time_ps: of an op that contains others, its self time.
      normalized_ps: time, scaled to the nominal clock; 0 where clocks are not scaled (GPU).
      flops: as bf16 equivalents, weighted by the speed of the hardware for their data type.
      model_flops: as the program has them.
      bytes: of HBM, of on-chip reads and of on-chip writes.
      runs: 0 for nodes above categories.
      flops_use: share of the peak FLOP rate while the node runs, not capped; null if the peak, the time, or both FLOPs
        and bytes are unknown.
      memory_use: shares of the peak bandwidths while the node runs, in the order of `bytes`, not capped.
      program_id: "" if unknown.
      source_line: -1 if the HLO program has none.
      source_of: the op that has this source, if this op has none of its own.
      layout: dimensions of a convolution's result on TPUs, minor to major.
      layout_use: share of the padded result that holds data; null without a layout.
      contains: it contains other ops, which have nodes of their own.
      count: number of children; below categories only the longest are listed.
      children: longest first, then those that contain others; parts by FLOPs.
    """

    name: str
    kind: Literal["root", "group", "duplicates", "op", "part", "idle"]
    time_ps: int = 0
    normalized_ps: float = 0.0
    flops: float = 0.0
    model_flops: float = 0.0
    bytes: tuple[float, float, float] = _NO_BYTES
    runs: int = 0
    flops_use: float | None = None
    memory_use: tuple[float | None, float | None, float | None] = _UNKNOWN
    category: str = ""
    program_id: str = ""
    framework_op: str = ""
    expression: str = ""
    source_file: str = ""
    source_line: int = 0
    source_stack: str = ""
    source_of: str = ""
    layout: Sequence[Dimension] = ()
    layout_use: float | None = None
    contains: bool = False
    count: int = 0
    children: list[OpNode] = field(default_factory=list)

    def add(self, other: OpNode, *, runs: bool) -> None:
        """Adds another node's sums; runs are not added to the ancestors of categories."""
        self.time_ps += other.time_ps
        self.normalized_ps += other.normalized_ps
        self.flops += other.flops
        self.model_flops += other.model_flops
        before, added = self.bytes, other.bytes
        self.bytes = (before[0] + added[0], before[1] + added[1], before[2] + added[2])
        if runs:
            self.runs += other.runs

    def rate(self, peaks: Peaks) -> None:
        """Sets the use of the peaks of a core."""
        costs = bool(self.flops) or any(self.bytes)
        if self.time_ps and costs and peaks.tera_flops:
            ns = (self.normalized_ps or self.time_ps) / PS_PER_NS
            self.flops_use = self.flops / ns / (peaks.tera_flops * KILO)
        if self.time_ps and (costs or self.kind != "idle"):
            seconds = self.time_ps / PS_PER_S
            known = (*peaks.bandwidths[:3], 0.0, 0.0, 0.0)
            use = [
                count / seconds / GIGA / peak if peak else None for count, peak in zip(self.bytes, known, strict=False)
            ]
            self.memory_use = use[0], use[1], use[2]


def op_tree(records: OpRecords, group_by: str) -> tuple[OpNode, list[OpNode]]:
    """The tree over all ops without idle time, and idle time: ops that count as such, and last time without any op.

    Args:
      records: the ops.
      group_by: PROGRAM, CATEGORY or PROVENANCE.
    """
    table = records.table
    groups = _Groups(records, group_by)
    idle = []
    for row, category in enumerate(table.category):
        if category != IDLE:
            groups.add(row)
        else:
            idle.append(replace(groups.ops[row], kind="idle"))
    groups.close()
    groups.root.time_ps = table.op_ps
    if table.total_ps > 0 or records.observed:
        idle.append(OpNode(IDLE, "idle", time_ps=table.idle_ps, category=IDLE))
    _sort(groups.root, _PRUNE_BELOW.get(group_by))
    return groups.root, idle


def single_ops(nodes: Iterable[OpNode]) -> Iterator[OpNode]:
    """The nodes, and those below them, that are a single op of a program."""
    for node in nodes:
        if node.kind == "op" or (node.kind == "idle" and node.program_id):
            yield node
        yield from single_ops(node.children)


def op_key(node: OpNode) -> OpKey:
    """Program id and name of a single op."""
    return int(node.program_id or 0), node.name


def add_details(
    nodes: Sequence[OpNode], details: Mapping[OpKey, OpDetails], *, layouts: bool, most_parts: int | None
) -> None:
    """Adds the layouts of convolutions, and to fusions their instructions: what is a fusion, the program decides.

    Args:
      nodes: roots of trees.
      details: of the single ops in them.
      layouts: the device has a matrix unit.
      most_parts: instructions listed per fusion, those with most FLOPs; None: all.
    """
    for node in [*single_ops(nodes)]:
        dimensions, instructions = details.get(op_key(node), ((), ()))
        if layouts and dimensions and ("convolution" in node.category or is_fusion(node.category)):
            node.layout, node.layout_use = dimensions, used_share(dimensions)
        if instructions and not node.children and not node.contains:
            node.children = _parts(instructions, node.program_id, most_parts)
            node.count = len(instructions)


def _parts(instructions: Sequence[Fused], program_id: str, most: int | None) -> list[OpNode]:
    return [
        OpNode(
            part.name,
            "part",
            flops=part.flops,
            model_flops=part.flops,
            runs=1,
            category=part.category,
            program_id=program_id,
            framework_op=part.provenance,
            expression=part.expression,
            count=len(part.inner),
            children=_parts(part.inner, program_id, most),
        )
        for part in sorted(instructions, key=lambda part: -part.flops)[:most]
    ]


def add_use(root: OpNode, idle: Sequence[OpNode], peaks: Peaks) -> None:
    """Sets the use of the peaks of a core for all nodes, unless no op has any costs."""

    def rate(node: OpNode) -> None:
        if node.kind != "part" and not node.contains:
            node.rate(peaks)
            for child in node.children:
                rate(child)

    if root.flops or any(root.bytes):
        for node in (root, *idle):
            rate(node)


def _ops(records: OpRecords) -> list[OpNode]:
    """A node of each op."""
    table, traffic = records.table, records.traffic
    on_chip = traffic.sum(axis=1) - traffic[:, HBM]
    moved = np.stack([traffic[:, HBM].sum(axis=1), on_chip[:, READ], on_chip[:, WRITE]], axis=1).tolist()
    columns = zip(
        table.name,
        table.time_ps.tolist(),
        records.normalized_ps.tolist(),
        table.flops.tolist(),
        table.model_flops.tolist(),
        moved,
        table.occurrences.tolist(),
        table.category,
        table.module,
        table.provenance,
        records.text,
        strict=True,
    )
    return [
        OpNode(
            *(name, "op", time, normalized, flops, model, (moved[0], moved[1], moved[2]), count, None, _UNKNOWN),
            *(category, str(module or ""), provenance, text.expression),
            *(text.source_file, text.source_line, text.source_stack, text.source_of),
        )
        for name, time, normalized, flops, model, moved, count, category, module, provenance, text in columns
    ]


class _Groups:
    """Builds the levels between the root and the ops."""

    def __init__(self, records: OpRecords, group_by: str) -> None:
        self._records, self._by = records, group_by
        self.root = OpNode(f"by_{group_by}", "root")
        self.ops = _ops(records)
        self._self_ps: list[int] = records.table.self_ps.tolist()
        self._nodes: dict[tuple[str, ...], OpNode] = {}
        self._members: dict[tuple[tuple[str, ...], str], tuple[OpNode, list[OpNode]]] = {}

    def add(self, row: int) -> None:
        """Adds one op. An op that contains others only adds its self time to its program and is no child of a category.

        As in XProf, the time of a region counts in the root only.
        """
        op, self_ps = self.ops[row], self._self_ps[row]
        path = self._path(row)
        inner = self._records.inside(row)
        if op.name.startswith("region"):
            self._add_around(op, self_ps, self.root)
            return
        if op.time_ps > self_ps and inner is None:
            ancestors = [self.root] + ([self._child(path[:1], self.root)] if self._by != CATEGORY else [])
            for node in ancestors:
                node.time_ps += self_ps
                node.normalized_ps += op.normalized_ps
            self._add_around(op, self_ps, ancestors[-1])
            return
        node = self.root
        node.add(op, runs=False)
        for depth in range(1, len(path) + 1):
            node = self._child(path[:depth], node)
            node.add(op, runs=depth == len(path))
        if inner is not None:  # what SparseCores ran for it
            op.children = _ops(inner)
        shared = self._records.text[row].deduplicated or op.name
        members = self._members.setdefault((path, shared), (node, []))[1]
        members.append(op)

    def _add_around(self, op: OpNode, self_ps: int, parent: OpNode) -> None:
        """Adds an op that contains others; its FLOPs and bytes are left out, because the inner ops have them."""
        if self_ps:
            parent.children.append(replace(op, time_ps=self_ps, contains=True, **_NO_COSTS))

    def _path(self, row: int) -> tuple[str, ...]:
        table = self._records.table
        category = table.category[row]
        if self._by == CATEGORY:
            return (_END + category,)
        module = table.module[row]
        program = f"{module}{_END}{self._records.programs.get(module, NO_PROGRAM)}"
        if self._by == PROGRAM:
            return program, _END + category
        scopes = [name for name in table.provenance[row].split("/", MAX_SCOPES) if name]
        if scopes:
            last = scopes[-1]
            scopes[-1] = parse_op(last).name if last.endswith(PYTORCH_SUFFIX) else last.partition(":")[0]
        return program, *scopes, _END + category

    def _child(self, path: tuple[str, ...], parent: OpNode) -> OpNode:
        node = self._nodes.get(path)
        if node is None:
            node = self._nodes[path] = OpNode(path[-1].rpartition(_END)[2], "group")
            parent.children.append(node)
        return node

    def close(self) -> None:
        """Attaches the ops to their categories, grouping duplicates."""
        for parent, members in self._members.values():
            if len(members) == 1:
                parent.children.append(members[0])
                continue
            longest = max(members, key=lambda node: node.time_ps)
            group = replace(
                longest, kind="duplicates", runs=0, time_ps=0, normalized_ps=0.0, flops=0.0, model_flops=0.0
            )
            group.bytes, group.children = _NO_BYTES, members
            for member in members:
                group.add(member, runs=True)
            parent.children.append(group)


def is_fusion(category: str) -> bool:
    """True for categories of fused instructions."""
    return category.endswith(" fusion")


def _sort(node: OpNode, keep_levels: int | None) -> None:
    """Sorts children by time descending; from level `keep_levels` on, drops all but the first MAX_CHILDREN."""
    if not node.children:
        return
    longest = sorted(node.children, key=lambda child: -child.time_ps)
    around = [child for child in longest if child.contains][:MAX_CHILDREN]
    others = [child for child in longest if not child.contains]
    node.count = len(others) + len(around)
    if keep_levels is not None and keep_levels <= 0:
        others = others[:MAX_CHILDREN]
    node.children = [*others, *around]
    for child in others:
        _sort(child, None if keep_levels is None else keep_levels - 1)


def rows_of(records: OpRecords) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Rows of the ops that ran, by self time descending, ties by name."""
    ran = [row for row in records.table.by_self_time() if records.table.occurrences[row] > 0]
    return np.array(ran, np.int64)
