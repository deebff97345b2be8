"""The event forest of a host: its nodes, and the links between them across threads and devices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin import _native
from tpu_profile_plugin.analysis.common.planes import ABSENT
from tpu_profile_plugin.analysis.common.stat_columns import SparseColumn
from tpu_profile_plugin.analysis.grouping import event_names as names
from tpu_profile_plugin.analysis.grouping.mutators import Contexts, mix
from tpu_profile_plugin.analysis.grouping.plane_lookup import PlaneLookup
from tpu_profile_plugin.columns.arrays import I64, U32, U64

NO_NODE = 2**32 - 1


@dataclass(frozen=True, slots=True, eq=False)
class PlaneNodes:
    """The nodes of one plane, numbered from `base`: events of the file from `first` on, then threadpool regions."""

    base: int
    count: int
    first: int = 0

    def nodes(self, sources: I64) -> I64:
        """Node numbers of the given events, which must be nodes."""
        return sources + (self.base - self.first)

    def sources(self, nodes: I64) -> I64:
        """Source events of node numbers of this plane; regions count on from the events."""
        return np.asarray(nodes, dtype=np.int64) - (self.base - self.first)

    def own(self, nodes: I64) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Mask of the node numbers that belong to this plane."""
        return (nodes >= self.base) & (nodes < self.base + self.count)


class HostForest:
    """Nodes of all planes and the links between them.

    The nodes have their numbers at once. One thread may `nest` them while another looks for `contexts`.
    """

    def __init__(self, planes: Sequence[PlaneLookup]) -> None:
        self.native = _native.Forest()
        self.planes = planes
        self.nodes: list[PlaneNodes] = []
        self._count = 0
        for lookup in planes:
            self.nodes.append(_numbered(lookup, self._count))
            self._count += self.nodes[-1].count

    def nest(self, loop_links: tuple[I64, I64]) -> None:
        """Nests the events of each line, and links executors to iterators, launches to kernels, loops to iterations."""
        for nodes, lookup in self._pairs():
            self._add(nodes, lookup)
        parents, children = zip(self._by_iteration(), self._by_correlation(), loop_links, strict=True)
        parent, child = np.concatenate(parents), np.concatenate(children)
        if len(parent):
            self.native.link(parent.astype(np.uint32), child.astype(np.uint32))

    def _add(self, nodes: PlaneNodes, lookup: PlaneLookup) -> None:
        if lookup.is_tpu:
            self.native.add_points(nodes.count)
            return
        events, skip = lookup.plane.events, None
        async_events = lookup.stat_columns.owners("_a")
        if len(async_events):
            skip = np.zeros(len(events), dtype=np.bool_)
            skip[async_events[lookup.stat_columns.signed("_a").value != 0]] = True
        regions = lookup.regions
        spans = None if regions is None else (regions.line, regions.begin_ps, regions.duration_ps)
        self.native.add_lines(lookup.plane.lines.event_start, events.begin_ps, events.duration_ps, skip, spans)

    def contexts(self, *, keep_links: bool) -> _native.Contexts:
        """The links from producers to consumers. `keep_links`: those of the planes are needed afterwards."""
        producer = [self._side(nodes, lookup, lookup.links().producers) for nodes, lookup in self._pairs()]
        consumer = [self._side(nodes, lookup, lookup.links().consumers) for nodes, lookup in self._pairs()]
        for lookup in () if keep_links else self.planes:
            lookup.forget_links()
        return _native.Contexts(self._count, *_joined(producer), *_joined(consumer))

    def _pairs(self) -> list[tuple[PlaneNodes, PlaneLookup]]:
        return list(zip(self.nodes, self.planes, strict=True))

    def _side(self, nodes: PlaneNodes, lookup: PlaneLookup, side: Contexts) -> tuple[U32, U64]:
        """Node and key of each context; on TPU cores the node is the enclosing step or module run."""
        if len(side) == 0 or nodes.count == 0:
            return np.zeros(0, dtype=np.uint32), np.zeros(0, dtype=np.uint64)
        # Ids are counted up, and neighbours are found faster side by side than scattered.
        key = mix(side.type, _processes(lookup, side))
        key += side.id.view(np.uint64)
        if not lookup.is_tpu:
            return nodes.nodes(side.event).astype(np.uint32), key
        node = _enclosing_nodes(nodes, lookup, side.event)
        return node[node != NO_NODE].astype(np.uint32), key[node != NO_NODE]

    def _by_iteration(self) -> tuple[I64, I64]:
        """Links from executor runs to the iterators they wait for, matched by function id and iteration."""
        parents: list[tuple[I64, I64]] = []
        children: list[tuple[I64, I64]] = []
        for nodes, lookup in self._pairs():
            if lookup.is_tpu or not (lookup.stat_columns.has("id") and lookup.stat_columns.has("iter_num")):
                continue
            for side, event_names in ((parents, (names.EXECUTOR,)), (children, names.GET_NEXT)):
                events = lookup.events.events(*event_names)
                function, has_function = lookup.stat_columns.ints("id").at(events)
                step, has_step = lookup.stat_columns.ints("iter_num").at(events)
                keep = has_function & has_step
                side.append((nodes.nodes(events[keep]), mix(function[keep], step[keep]).view(np.int64)))
        return _last_parent(parents, children)

    def _by_correlation(self) -> tuple[I64, I64]:
        """Links from kernel launches on the host to kernel runs on a device, matched by correlation id."""
        parents: list[tuple[I64, I64]] = []
        children: list[tuple[I64, I64]] = []
        for nodes, lookup in self._pairs():
            if lookup.is_tpu:
                continue
            events = lookup.kernels()
            key, _ = lookup.stat_columns.ints("correlation_id").at(events)
            (parents if lookup.launches else children).append((nodes.nodes(events), key))
        return _last_parent(parents, children)


def _numbered(lookup: PlaneLookup, base: int) -> PlaneNodes:
    """The nodes of a plane, from `base` on: all events and regions of threads, the events of a core's grouping line."""
    if not lookup.is_tpu:
        return PlaneNodes(base, len(lookup.plane.events) + (0 if lookup.regions is None else len(lookup.regions)))
    if lookup.grouping_line is None:
        return PlaneNodes(base, 0)
    first, last = lookup.plane.lines.event_start[lookup.grouping_line : lookup.grouping_line + 2].tolist()
    return PlaneNodes(base, last - first, first)


def _processes(lookup: PlaneLookup, side: Contexts) -> I64 | int:
    """The process id of each context's event, ABSENT where unknown and for TPU launches.

    The event's own `_pid` overrides the plane's process id, except on producers.
    """
    of_plane = ABSENT if lookup.process_id is None else lookup.process_id
    sides = (lookup.links().producers, lookup.links().consumers)
    launches = any(bool((other.type == names.TPU_LAUNCH).any()) for other in sides)
    if not lookup.stat_columns.has("_pid") and (of_plane == ABSENT or not launches):
        return of_plane
    process, named = lookup.stat_columns.ints("_pid").at(side.event)
    process = np.where(named, process, of_plane)
    launch = np.zeros(len(side), dtype=np.bool_)
    for other in sides:
        kind, present = SparseColumn(other.event, other.type).at(side.event)
        launch |= present & (kind == names.TPU_LAUNCH)
        if other is lookup.links().producers and lookup.process_id is not None:
            process = np.where(present, of_plane, process)
    return np.where(launch, ABSENT, process)


def _enclosing_nodes(nodes: PlaneNodes, lookup: PlaneLookup, events: I64) -> I64:
    """Node of each event of a core: its own on the grouping line, else the enclosing grouping event's, or NO_NODE."""
    line, start = lookup.grouping_line, lookup.plane.lines.event_start
    assert line is not None
    begin, duration = lookup.plane.events.begin_ps, lookup.plane.events.duration_ps
    reference = slice(int(start[line]), int(start[line + 1]))
    node = np.full(len(events), NO_NODE, dtype=np.int64)
    cuts = np.searchsorted(events, start)
    for other in range(len(start) - 1):
        part = slice(int(cuts[other]), int(cuts[other + 1]))
        if part.start == part.stop:
            continue
        if other == line:
            node[part] = nodes.nodes(events[part])
            continue
        parent = _native.enclosing(begin[reference], duration[reference], begin[events[part]], duration[events[part]])
        node[part] = np.where(parent == NO_NODE, NO_NODE, nodes.base + parent.astype(np.int64))
    return node


def _last_parent(parents: list[tuple[I64, I64]], children: list[tuple[I64, I64]]) -> tuple[I64, I64]:
    """(parents, children) with equal keys; of several parents with the same key the last one is used."""
    none = np.zeros(0, dtype=np.int64)
    if not parents or not children:
        return none, none
    parent, parent_key = (np.concatenate(column) for column in zip(*parents, strict=True))
    child, child_key = (np.concatenate(column) for column in zip(*children, strict=True))
    if len(parent) == 0 or len(child) == 0:
        return none, none
    order = np.argsort(parent_key, kind="stable")
    parent, parent_key = parent[order], parent_key[order]
    row = np.searchsorted(parent_key, child_key, side="right") - 1
    matched = (row >= 0) & (parent_key[row] == child_key)
    return parent[row[matched]], child[matched]


def _joined(sides: list[tuple[U32, U64]]) -> tuple[U32, U64]:
    filled = [side for side in sides if len(side[0])]
    if len(filled) == 1:
        return filled[0]
    return np.concatenate([side[0] for side in sides]), np.concatenate([side[1] for side in sides])
