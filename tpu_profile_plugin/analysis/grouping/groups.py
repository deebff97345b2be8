"""Assigns the events of a host to groups by root event, names groups, and numbers the steps of TPU cores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tpu_profile_plugin import _native
from tpu_profile_plugin.analysis.common.mapper import Mapper, both
from tpu_profile_plugin.analysis.common.planes import ABSENT, tensor_core
from tpu_profile_plugin.analysis.common.rows import among
from tpu_profile_plugin.analysis.common.stat_columns import SparseColumn, override
from tpu_profile_plugin.analysis.grouping import lookup as names
from tpu_profile_plugin.analysis.grouping.lookup import TF_OP, Contexts, PlaneLookup, mix
from tpu_profile_plugin.columns.arrays import I32, I64, U8, U32, U64, Bools

NO_NODE = 2**32 - 1
NONE = np.zeros(0, dtype=np.int64)


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

    def has(self, nodes: I64) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
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
        events = lookup.plane.events
        skip = lookup.stat_columns.flagged("_a", len(events))
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
    if not parents or not children:
        return NONE, NONE
    parent, parent_key = (np.concatenate(column) for column in zip(*parents, strict=True))
    child, child_key = (np.concatenate(column) for column in zip(*children, strict=True))
    if len(parent) == 0 or len(child) == 0:
        return NONE, NONE
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
        indices = np.flatnonzero(nodes.has(heads))
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


def _nearest_ints(forest: HostForest, heads: I64, stat: str) -> tuple[I64, Bools]:
    with_stat = _nodes_with_stat(forest, stat)
    if not with_stat:
        return np.zeros(len(heads), dtype=np.int64), np.zeros(len(heads), dtype=np.bool_)
    nodes = np.concatenate([nodes for _, nodes, _ in with_stat])
    nearest = forest.native.nearest(heads.astype(np.uint32), nodes.astype(np.uint32)).astype(np.int64)
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
    candidates = np.concatenate([nodes for _, nodes, _ in with_stat])
    nearest = forest.native.nearest(heads.astype(np.uint32), candidates.astype(np.uint32)).astype(np.int64)
    for index, _, _ in with_stat:
        nodes, lookup = forest.nodes[index], forest.planes[index]
        owner, text_code, plane_texts = lookup.stat_columns.texts(stat)
        rows = np.flatnonzero(nodes.has(nearest))
        events = nodes.sources(nearest[rows])
        position = np.minimum(np.searchsorted(owner, events), max(len(owner) - 1, 0))
        has_text = owner[position] == events if len(owner) else np.zeros(len(events), dtype=np.bool_)
        code[rows[has_text]] = text_code[position[has_text]] + len(texts)
        texts += plane_texts
    return code, texts


# Root events, i.e. events that open a group, in group order.


@dataclass(frozen=True, slots=True, eq=False)
class Roots:
    """Roots by node number.

    Attributes:
      nodes: in the order in which they open groups.
      level_nodes, levels: all nodes with a root level, including those that may not open a group, and their levels.
      loops: the roots are loop iterations; each opens a group regardless of its ancestors.
      links: (parents, children) to link in addition to the forest's own links.
    """

    nodes: I64
    level_nodes: I64
    levels: I64
    loops: bool = False
    links: tuple[I64, I64] = (NONE, NONE)


def find_roots(forest: HostForest) -> Roots:
    """Iterations of executor loops if there are any, else all events with a root level, highest level first."""
    hosts = [(nodes, lookup) for nodes, lookup in zip(forest.nodes, forest.planes, strict=True) if not lookup.is_tpu]
    # Runs of functions captured by tf.data are not steps.
    captured = (
        lookup.stat_columns.signed("id").at(lookup.events.events(*names.CAPTURED_FUNCTIONS)) for _, lookup in hosts
    )
    data_functions = np.sort(np.concatenate([NONE, *(value[present] for value, present in captured)]))
    by_level = _by_level(hosts, data_functions)
    loops = _loops(hosts, data_functions)
    return by_level if loops is None else replace(by_level, nodes=loops[0], loops=True, links=loops[1:])


def _by_level(hosts: Sequence[tuple[PlaneNodes, PlaneLookup]], data_functions: I64) -> Roots:
    columns: list[tuple[I64, I64, I64, I64]] = [(NONE,) * 4]
    for nodes, lookup in hosts:
        context = lookup.events.events(names.TRACE_CONTEXT)
        root_levels = override(SparseColumn(context, np.ones(len(context), dtype=np.int64)), lookup.root_level)
        function, has_function = lookup.stat_columns.signed("id").at(root_levels.event)
        in_tf_data = has_function & among(function, data_functions)
        begin = lookup.plane.events.begin_ps[root_levels.event]
        columns.append((nodes.nodes(root_levels.event), root_levels.value, begin, in_tf_data.astype(np.int64)))
    node, level, begin, in_tf_data = (np.concatenate(column) for column in zip(*columns, strict=True))
    order = np.lexsort((begin, -level))
    return Roots(node[order[in_tf_data[order] == 0]], node, level)


def _loops(hosts: Sequence[tuple[PlaneNodes, PlaneLookup]], data_functions: I64) -> tuple[I64, I64, I64] | None:
    """Each iteration of a function opens a group at its earliest executor run; its other runs are linked below it.

    A function whose only iteration is number 0 is not a loop. Returns (roots, parents, children of links), None if
    no function is a loop.
    """
    columns: list[tuple[I64, I64, I64, I64]] = [(NONE,) * 4]
    for nodes, lookup in hosts:
        events = lookup.events.events(names.EXECUTOR)
        function, has_function = lookup.stat_columns.signed("id").at(events)
        step, has_step = lookup.stat_columns.signed("iter_num").at(events)
        keep = has_function & has_step & ~among(function, data_functions)
        begin = lookup.plane.events.begin_ps[events[keep]]
        columns.append((nodes.nodes(events[keep]), function[keep], step[keep], begin))
    node, function, step, begin = (np.concatenate(column) for column in zip(*columns, strict=True))
    if len(node) == 0:
        return None
    order = np.lexsort((begin, step, function))
    node, function, step, begin = node[order], function[order], step[order], begin[order]
    first = np.append(True, (function[1:] != function[:-1]) | (step[1:] != step[:-1]))
    iteration = np.cumsum(first) - 1
    owner = function[first]
    single = np.append(True, owner[1:] != owner[:-1]) & np.append(owner[1:] != owner[:-1], True)
    loops = ~(single & (step[first] == 0))[iteration]
    if not bool(loops.any()):
        return None
    heads, others = np.flatnonzero(first & loops), np.flatnonzero(~first & loops)
    roots = node[heads][np.argsort(begin[heads], kind="stable")]
    return roots, node[first][iteration][others], node[others]


# Determines which ops and kernels ran eagerly, i.e. outside any compiled function.

Eager = tuple[U32, U8]


def eager_events(planes: Sequence[PlaneLookup], forest: HostForest | None) -> list[Eager]:
    """Per plane the ops and kernels, each with 1 if its nearest enclosing eager call runs no function, else 0.

    Without a forest no event is eager. Values in the file for other events are preserved.
    """
    calls, plain = (NONE, NONE) if forest is None else _eager_calls(forest)
    columns = []
    for index, lookup in enumerate(planes):
        events = NONE if lookup.is_tpu else _ops_and_kernels(lookup)
        value = np.zeros(len(events), dtype=np.int64)
        if forest is not None and len(plain) and len(events):
            nodes = forest.nodes[index].nodes(events).astype(np.uint32)
            nearest_call = forest.native.nearest(nodes, calls.astype(np.uint32))
            value[(nearest_call != NO_NODE) & np.isin(nearest_call, plain)] = 1
        column = override(lookup.stat_columns.ints("is_eager"), SparseColumn(events, value))
        columns.append((column.event.astype(np.uint32), (column.value != 0).astype(np.uint8)))
    return columns


def _eager_calls(forest: HostForest) -> tuple[I64, I64]:
    """Nodes of eager calls: all, and those that run no function, whose stat `is_func` is 0."""
    calls, plain = [NONE], [NONE]
    for nodes, lookup in zip(forest.nodes, forest.planes, strict=True):
        if not lookup.is_tpu:
            events = lookup.events.events(names.EAGER_EXECUTE)
            value, present = lookup.stat_columns.signed("is_func").at(events)
            calls.append(nodes.nodes(events))
            plain.append(nodes.nodes(events[present & (value == 0)]))
    return np.concatenate(calls), np.concatenate(plain)


def _ops_and_kernels(lookup: PlaneLookup) -> I64:
    is_op = lookup.ops() == TF_OP
    ops = np.flatnonzero(is_op[lookup.plane.events.metadata]) if bool(is_op.any()) else NONE
    kernels = NONE if lookup.launches else lookup.kernels()
    return np.union1d(ops, kernels) if len(kernels) else ops


@dataclass(frozen=True, slots=True, eq=False)
class Grouped:
    """Groups of a host.

    Attributes:
      group: per plane the group of each event, or ABSENT; None for planes without groups. On TPU cores only events of
        the grouping line have one at this stage.
      region_group: per plane the group of each threadpool region.
      links: (parents, children): pairs of groups connected by an event link.
      step_roots: per plane the events that opened a group and get its name as step name, ascending.
      eager: per plane, see `eager_events`.
    """

    group: list[I64 | None]
    region_group: list[I64 | None]
    names: GroupNames
    links: tuple[I64, I64]
    step_roots: list[I64]
    eager: list[Eager]


def group(planes: Sequence[PlaneLookup], mapper: Mapper = map, *, keep_links: bool) -> Grouped:
    """Groups one host's events by root event; profiles with host loops (`HOST_LOOPS`) get no new groups.

    `keep_links`: the planes' links are needed afterwards.
    """
    has_host_loops = any(lookup.events.has(*names.HOST_LOOPS) for lookup in planes)
    # Only eager calls whose stats say whether they run a function tell which ops run eagerly.
    may_be_eager = any(
        lookup.events.has(names.EAGER_EXECUTE) and lookup.stat_columns.has("is_func") for lookup in planes
    )
    if may_be_eager or (not has_host_loops and _needs_forest(planes)):
        return _by_forest(planes, has_host_loops, mapper, keep_links)
    return _by_count(planes, [] if has_host_loops else _cores(planes))


def _needs_forest(planes: Sequence[PlaneLookup]) -> bool:
    """False when there are no roots, and no names or links that would affect the groups of a core."""
    has_roots = any(
        len(lookup.root_level) or lookup.events.has(names.TRACE_CONTEXT, names.EXECUTOR)
        for lookup in planes
        if not lookup.is_tpu
    )
    has_names = any(
        lookup.stat_columns.has(stat) for lookup in planes for stat in ("iter_num", "step_num", "graph_type")
    )
    has_links = any(lookup.is_tpu and len(lookup.links().producers) for lookup in planes)
    return has_roots or (bool(_cores(planes)) and (has_names or has_links))


def _cores(planes: Sequence[PlaneLookup]) -> list[int]:
    """Indices of TensorCore planes with a grouping line."""
    return [
        index
        for index, lookup in enumerate(planes)
        if lookup.grouping_line is not None and tensor_core(lookup.plane.name) is not None
    ]


def _file_groups(lookup: PlaneLookup) -> I64 | None:
    """Groups stored in the file; they apply where grouping assigns none."""
    recorded = lookup.stat_columns.ints("group_id")
    return recorded.dense(len(lookup.plane.events), ABSENT) if len(recorded) else None


def _by_count(planes: Sequence[PlaneLookup], cores: list[int]) -> Grouped:
    """Without roots: numbers each core's steps or module runs from 0."""
    groups = [_file_groups(lookup) for lookup in planes]
    group_count = 0
    for index in cores:
        lookup, column = planes[index], groups[index]
        start, line = lookup.plane.lines.event_start, lookup.grouping_line
        assert line is not None
        first, last = int(start[line]), int(start[line + 1])
        if column is None:
            column = groups[index] = np.full(len(lookup.plane.events.begin_ps), ABSENT, dtype=np.int64)
        column[first:last] = np.arange(last - first)
        group_count = max(group_count, last - first)
    regions = [None if lookup.regions is None else np.full(len(lookup.regions), ABSENT) for lookup in planes]
    return Grouped(
        groups, regions, numbered(group_count), (NONE, NONE), [NONE] * len(planes), eager_events(planes, None)
    )


def _by_forest(planes: Sequence[PlaneLookup], has_host_loops: bool, mapper: Mapper, keep_links: bool) -> Grouped:
    forest = HostForest(planes)

    def nested() -> Roots:
        roots = Roots(NONE, NONE, NONE) if has_host_loops else find_roots(forest)
        forest.nest(roots.links)
        return roots

    roots, contexts = both(mapper, nested, lambda: forest.contexts(keep_links=keep_links))
    forest.native.connect(contexts)

    def spread() -> tuple[I64, I64, tuple[I64, I64]]:
        levels = None if roots.loops else (roots.level_nodes.astype(np.uint32), roots.levels)
        node_group, opened, above, below = forest.native.group(roots.nodes.astype(np.uint32), levels)
        heads, links = opened.astype(np.int64), (above, below)
        if not has_host_loops and not _reach_cores(forest, node_group, roots.level_nodes[roots.levels == 0]):
            return _count_cores(forest, node_group, heads, links)
        return node_group, heads, links

    eager, (node_group, heads, links) = both(
        mapper, lambda: eager_events(planes, None if has_host_loops else forest), spread
    )
    group_names, shows_name = name_groups(forest, heads)
    groups, regions, step_roots = [], [], []
    for nodes, lookup in zip(forest.nodes, planes, strict=True):
        column, region = _per_event(nodes, lookup, node_group)
        groups.append(column)
        regions.append(region)
        step_roots.append(np.sort(nodes.sources(heads[shows_name & nodes.has(heads)])))
    return Grouped(groups, regions, group_names, links, step_roots, eager)


def _core_ranges(forest: HostForest) -> list[tuple[int, int]]:
    """Node range (begin, end) of each core with a grouping line."""
    cores = [forest.nodes[index] for index in _cores(forest.planes)]
    return [(nodes.base, nodes.base + nodes.count) for nodes in cores]


def _reach_cores(forest: HostForest, node_group: I64, level_0_nodes: I64) -> bool:
    """True if any core node is grouped, or is the descendant of a root of level 0, the level of steps."""
    nodes = [np.arange(first, last, dtype=np.uint32) for first, last in _core_ranges(forest)]
    if any(bool((node_group[of_core] >= 0).any()) for of_core in nodes):
        return True
    roots = level_0_nodes.astype(np.uint32)
    return any(bool((forest.native.nearest(core, roots) != NO_NODE).any()) for core in nodes)


def _count_cores(
    forest: HostForest, node_group: I64, heads: I64, links: tuple[I64, I64]
) -> tuple[I64, I64, tuple[I64, I64]]:
    """Numbers steps of the cores when no root reached any: the same new groups, in order, on every core."""
    if not _core_ranges(forest):
        return node_group, heads, links
    node_group, opened, above, below = forest.native.count_cores(_core_ranges(forest), len(heads), node_group)
    pairs = np.unique(np.stack([np.append(links[0], above), np.append(links[1], below)]), axis=1)
    return node_group, np.append(heads, opened.astype(np.int64)), (pairs[0], pairs[1])


def _per_event(nodes: PlaneNodes, lookup: PlaneLookup, node_group: I64) -> tuple[I64 | None, I64 | None]:
    """Groups per event of the file and per threadpool region, from the groups per node."""
    group = node_group[nodes.base : nodes.base + nodes.count]
    column, events = _file_groups(lookup), len(lookup.plane.events.begin_ps)
    region = None
    if not lookup.is_tpu:
        group, region = group[:events], group[events:]
    if not bool((group >= 0).any()):
        return column, region
    if column is None and len(group) == events:
        return group, region
    if column is None:
        column = np.full(events, ABSENT, dtype=np.int64)
    target = column[nodes.first : nodes.first + len(group)]
    target[group >= 0] = group[group >= 0]
    return column, region
