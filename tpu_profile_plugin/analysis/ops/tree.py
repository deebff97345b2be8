"""The op profile: device time as a tree by program, category or framework scope, and the utilization of each node."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tpu_profile_plugin.analysis.common.op_names import PYTORCH_SUFFIX, parse_op
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


@dataclass(slots=True)
class Metrics:
    """Sums of a node: times in ps, bytes of HBM, of on-chip reads and of on-chip writes."""

    time_ps: int = 0
    normalized_ps: float = 0.0
    flops: float = 0.0
    model_flops: float = 0.0
    bytes: tuple[float, float, float] = (0.0, 0.0, 0.0)
    occurrences: int = 0

    def add(self, other: Metrics, *, occurrences: bool) -> None:
        """Adds another node's sums; occurrences are not added to the ancestors of categories."""
        self.add_time(other.time_ps, other.normalized_ps)
        self.flops += other.flops
        self.model_flops += other.model_flops
        before, added = self.bytes, other.bytes
        self.bytes = (before[0] + added[0], before[1] + added[1], before[2] + added[2])
        if occurrences:
            self.occurrences += other.occurrences

    def add_time(self, time_ps: int, normalized_ps: float) -> None:
        self.time_ps += time_ps
        self.normalized_ps += normalized_ps


@dataclass(slots=True)
class Node:
    """One node of the tree.

    Attributes:
      row: the op that the node represents, a row of `records`; None for groups.
      records: the records that `row` refers to.
      has_duplicates: the node represents the op of `row` and its duplicates.
      count: number of children before pruning.
      around: ops that contain others, with their self time; the node's time includes it, but no child's time does.
    """

    name: str
    metrics: Metrics = field(default_factory=Metrics)
    children: list[Node] = field(default_factory=list)
    row: int | None = None
    records: OpRecords | None = None
    has_duplicates: bool = False
    count: int = 0
    around: list[Node] = field(default_factory=list)

    @property
    def is_idle(self) -> bool:
        return self.row is None and self.name == IDLE


def op_tree(records: OpRecords, group_by: str, *, with_idle: bool) -> Node:
    """The tree over all ops.

    Args:
      records: the ops.
      group_by: PROGRAM, CATEGORY or PROVENANCE.
      with_idle: include idle time in the root, as a child of its own.
    """
    root = Node(f"by_{group_by}")
    groups = _Groups(records, group_by, root)
    for row, category in enumerate(records.table.category):
        if category != IDLE:
            groups.add(row)
        elif with_idle:
            groups.add_idle(row)
    groups.close()
    table = records.table
    root.metrics.time_ps = table.total_ps if with_idle else table.op_ps
    if with_idle and (table.total_ps > 0 or records.observed):
        root.children.append(Node(IDLE, Metrics(time_ps=table.idle_ps)))
    _sort(root, _PRUNE_BELOW.get(group_by))
    return _collapsed(root)


def _collapsed(root: Node) -> Node:
    """As in XProf, a root whose children are ops becomes its only op, or represents them as duplicates."""
    ops = [child for child in root.children if child.row is not None or child.is_idle]
    if not ops or len(ops) < len(root.children):
        return root
    if len(ops) == 1:
        return ops[0]
    root.name = f"{ops[0].name} and its duplicate(s)"
    root.row, root.records, root.has_duplicates = ops[0].row, ops[0].records, True
    return root


def _metrics(records: OpRecords) -> list[Metrics]:
    """The sums of every op; shared, so not to be modified."""
    table, traffic = records.table, records.traffic
    on_chip = traffic.sum(axis=1) - traffic[:, HBM]
    columns = zip(
        table.time_ps.tolist(),
        records.normalized_ps.tolist(),
        table.flops.tolist(),
        table.model_flops.tolist(),
        traffic[:, HBM].sum(axis=1).tolist(),
        on_chip[:, READ].tolist(),
        on_chip[:, WRITE].tolist(),
        table.occurrences.tolist(),
        strict=True,
    )
    return [
        Metrics(time, float(normalized), float(flops), float(model), (float(hbm), float(read), float(written)), count)
        for time, normalized, flops, model, hbm, read, written, count in columns
    ]


def _op_node(records: OpRecords, row: int, metrics: Metrics, inner: OpRecords | None) -> Node:
    """The node of an op; its children are the ops that SparseCores ran for it."""
    children = [] if inner is None else [_op_node(inner, i, own, None) for i, own in enumerate(_metrics(inner))]
    return Node(records.table.name[row], metrics, children, row, records)


class _Groups:
    """Builds the levels between the root and the ops."""

    def __init__(self, records: OpRecords, group_by: str, root: Node) -> None:
        self._records, self._by, self._root = records, group_by, root
        self._metrics = _metrics(records)
        self._self_ps: list[int] = records.table.self_ps.tolist()
        self._nodes: dict[tuple[str, ...], Node] = {}
        self._members: dict[tuple[tuple[str, ...], str], tuple[Node, list[Node]]] = {}

    def add(self, row: int) -> None:
        """Adds one op. An op that contains others only adds its self time to its program and is no child of a category.

        As in XProf, the time of a region counts in the root only.
        """
        table = self._records.table
        metrics, self_ps = self._metrics[row], self._self_ps[row]
        path = self._path(row)
        inner = self._records.inside(row)
        if table.name[row].startswith("region"):
            self._add_around(row, self._root)
            return
        if metrics.time_ps > self_ps and inner is None:
            ancestors = [self._root] + ([self._child(path[:1], self._root)] if self._by != CATEGORY else [])
            for node in ancestors:
                node.metrics.add_time(self_ps, metrics.normalized_ps)
            self._add_around(row, ancestors[-1])
            return
        node = self._root
        node.metrics.add(metrics, occurrences=False)
        for depth in range(1, len(path) + 1):
            node = self._child(path[:depth], node)
            node.metrics.add(metrics, occurrences=depth == len(path))
        shared = self._records.text[row].deduplicated or table.name[row]
        members = self._members.setdefault((path, shared), (node, []))[1]
        members.append(_op_node(self._records, row, metrics, inner))

    def _add_around(self, row: int, node: Node) -> None:
        """Adds an op that contains others; its FLOPs and bytes are left out, because the inner ops have them."""
        metrics = Metrics(time_ps=self._self_ps[row], occurrences=self._metrics[row].occurrences)
        if metrics.time_ps:
            node.around.append(Node(self._records.table.name[row], metrics, row=row, records=self._records))

    def add_idle(self, row: int) -> None:
        """Adds an op that counts as idle time, beside the programs and categories."""
        node = _op_node(self._records, row, self._metrics[row], None)
        self._root.metrics.add(node.metrics, occurrences=False)
        self._root.children.append(node)

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

    def _child(self, path: tuple[str, ...], parent: Node) -> Node:
        node = self._nodes.get(path)
        if node is None:
            node = self._nodes[path] = Node(path[-1].rpartition(_END)[2])
            parent.children.append(node)
        return node

    def close(self) -> None:
        """Attaches the ops to their categories, grouping duplicates."""
        for parent, members in self._members.values():
            if len(members) == 1:
                parent.children.append(members[0])
                continue
            longest = max(members, key=lambda node: node.metrics.time_ps)
            name = f"{longest.name} and its duplicate(s)"
            group = Node(name, children=members, row=longest.row, records=self._records, has_duplicates=True)
            for member in members:
                group.metrics.add(member.metrics, occurrences=True)
            parent.children.append(group)


def is_fusion(category: str) -> bool:
    """True for categories of fused instructions."""
    return category.endswith(" fusion")


def _sort(node: Node, keep_levels: int | None) -> None:
    """Sorts children by time descending; from level `keep_levels` on, drops all but the first MAX_CHILDREN."""
    node.count = len(node.children)
    node.around = sorted(node.around, key=lambda child: -child.metrics.time_ps)[:MAX_CHILDREN]
    node.children.sort(key=lambda child: -child.metrics.time_ps)
    if keep_levels is not None and keep_levels <= 0:
        node.children = node.children[:MAX_CHILDREN]
    for child in node.children:
        _sort(child, None if keep_levels is None else keep_levels - 1)


@dataclass(frozen=True, slots=True)
class Utilization:
    """Utilization of the device by a node: shares of the peaks, 0 where a peak is unknown.

    Attributes:
      flops: share of peak compute, capped at 1, weighted with the node's share of the total time.
      uncapped_flops: the same without the cap.
      bandwidth: shares of peak HBM, on-chip read and on-chip write bandwidth, capped at 1.
    """

    flops: float
    uncapped_flops: float
    bandwidth: tuple[float, float, float]


def utilization_of(metrics: Metrics, total_ps: int, tera_flops: float, peaks: tuple[float, ...]) -> Utilization:
    """Utilization by a node of a tree that covers `total_ps`; `peaks` in GB/s: HBM, on-chip read and write."""
    share = metrics.time_ps / total_ps if total_ps else 0.0
    ns = (metrics.normalized_ps or metrics.time_ps) / PS_PER_NS
    rate = metrics.flops / ns if ns else 0.0
    utilization = rate / (tera_flops * KILO) if tera_flops else 0.0
    seconds = metrics.time_ps / PS_PER_S
    bandwidth = [
        min(1.0, count / seconds / GIGA / peak) if seconds and peak else 0.0
        for count, peak in zip(metrics.bytes, (*peaks, 0.0, 0.0, 0.0), strict=False)
    ]
    return Utilization(min(1.0, utilization) * share, utilization * share, (bandwidth[0], bandwidth[1], bandwidth[2]))


def rows_of(records: OpRecords) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Rows of the ops that ran, by self time descending, ties by name."""
    ran = [row for row in records.table.by_self_time() if records.table.occurrences[row] > 0]
    return np.array(ran, np.int64)
