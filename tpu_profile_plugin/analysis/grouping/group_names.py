"""Names of groups: the kind of the root event, and a number from the stats of its ancestors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from tpu_profile_plugin.analysis.common.stat_columns import SparseColumn
from tpu_profile_plugin.analysis.grouping import event_names as names
from tpu_profile_plugin.analysis.grouping.forest import HostForest
from tpu_profile_plugin.columns.arrays import I32, I64, Bools


class GroupNames(Mapping[int, str]):
    """Names of groups 0..n, formatted on access from a prefix (code -1: none) and a number."""

    def __init__(self, prefix: I32, prefixes: Sequence[str], number: I64) -> None:
        self._prefix, self._prefixes, self._number = prefix, tuple(prefixes), number

    def __getitem__(self, group: int) -> str:
        if not 0 <= group < len(self._number):
            raise KeyError(group)
        code, number = int(self._prefix[group]), int(self._number[group])
        return f"{self._prefixes[code]} {number}" if code >= 0 else str(number)

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self._number)))

    def __len__(self) -> int:
        return len(self._number)

    @property
    def nbytes(self) -> int:
        """Bytes held: that of the columns, for names do not exist until they are read."""
        return self._prefix.nbytes + self._number.nbytes


def numbered(count: int) -> GroupNames:
    """Names of groups that consist of the group's id alone."""
    return GroupNames(np.full(count, -1, dtype=np.int32), (), np.arange(count, dtype=np.int64))


def name_groups(forest: HostForest, heads: I64) -> tuple[GroupNames, Bools]:
    """Names of the groups opened by the nodes `heads`, and a mask of the heads that get the name as step name.

    The prefix is the nearest `graph_type` among the head and its ancestors, else the head's own name unless it is an
    implicit root; the number is the nearest `iter_num`, else the nearest `step_num`, else the group's id.
    """
    prefix, prefixes, explicit = _own_names(forest, heads)
    kind, kinds = _nearest_texts(forest, heads, "graph_type")
    prefix = np.where(kind >= 0, kind + len(prefixes), prefix).astype(np.int32)
    number = np.arange(len(heads), dtype=np.int64)
    for stat in ("step_num", "iter_num"):
        value, present = _nearest_ints(forest, heads, stat)
        number = np.where(present, value, number)
    return GroupNames(prefix, [*prefixes, *kinds], number), explicit


def _own_names(forest: HostForest, heads: I64) -> tuple[I32, list[str], Bools]:
    prefix, prefixes = np.full(len(heads), -1, dtype=np.int32), list[str]()
    explicit = np.zeros(len(heads), dtype=np.bool_)
    for nodes, lookup in zip(forest.nodes, forest.planes, strict=True):
        if lookup.is_tpu:
            continue
        indices = np.flatnonzero(nodes.own(heads))
        events = nodes.sources(heads[indices])
        indices = indices[~lookup.events.among(events, *names.IMPLICIT_ROOTS)]
        rows, code = np.unique(lookup.plane.events.metadata[nodes.sources(heads[indices])], return_inverse=True)
        prefix[indices] = code.reshape(-1) + len(prefixes)
        prefixes += [lookup.plane.event_metadata.names[row] for row in rows.tolist()]
        explicit[indices] = True
    return prefix, prefixes, explicit


def _nodes_with_stat(forest: HostForest, stat: str) -> list[tuple[int, I64, I64]]:
    """Per plane with the stat: plane index, the nodes whose events have it, and those events."""
    with_stat = []
    for index, (nodes, lookup) in enumerate(zip(forest.nodes, forest.planes, strict=True)):
        events = lookup.stat_columns.owners(stat)
        if lookup.is_tpu:
            events = events[(events >= nodes.first) & (events < nodes.first + nodes.count)]
        if len(events):
            with_stat.append((index, nodes.nodes(events), events))
    return with_stat


def _nearest(forest: HostForest, heads: I64, with_stat: list[tuple[int, I64, I64]]) -> I64:
    candidates = np.concatenate([nodes for _, nodes, _ in with_stat])
    return forest.native.nearest(heads.astype(np.uint32), candidates.astype(np.uint32)).astype(np.int64)


def _nearest_ints(forest: HostForest, heads: I64, stat: str) -> tuple[I64, Bools]:
    with_stat = _nodes_with_stat(forest, stat)
    if not with_stat:
        return np.zeros(len(heads), dtype=np.int64), np.zeros(len(heads), dtype=np.bool_)
    nearest = _nearest(forest, heads, with_stat)
    nodes = np.concatenate([nodes for _, nodes, _ in with_stat])
    values = np.concatenate(
        [forest.planes[index].stat_columns.signed(stat).at(events)[0] for index, _, events in with_stat]
    )
    order, ascending = np.argsort(nodes), np.argsort(nearest, kind="stable")
    value, present = SparseColumn(nodes[order], values[order]).at(nearest[ascending])
    unsorted = np.empty_like(ascending)
    unsorted[ascending] = np.arange(len(ascending))
    return value[unsorted], present[unsorted]


def _nearest_texts(forest: HostForest, heads: I64, stat: str) -> tuple[I32, list[str]]:
    with_stat = _nodes_with_stat(forest, stat)
    code, texts = np.full(len(heads), -1, dtype=np.int32), list[str]()
    if not with_stat:
        return code, texts
    nearest = _nearest(forest, heads, with_stat)
    for index, _, _ in with_stat:
        nodes, lookup = forest.nodes[index], forest.planes[index]
        owner, own_code, own_texts = lookup.stat_columns.texts(stat)
        rows = np.flatnonzero(nodes.own(nearest))
        events = nodes.sources(nearest[rows])
        position = np.minimum(np.searchsorted(owner, events), max(len(owner) - 1, 0))
        has_text = owner[position] == events if len(owner) else np.zeros(len(events), dtype=np.bool_)
        code[rows[has_text]] = own_code[position[has_text]] + len(texts)
        texts += own_texts
    return code, texts
