"""Assigns events to groups by root event, and numbers the steps of TPU cores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tpu_profile_plugin.analysis.common.mapper import Mapper, both
from tpu_profile_plugin.analysis.common.planes import ABSENT, tensor_core
from tpu_profile_plugin.analysis.common.rows import among
from tpu_profile_plugin.analysis.common.stat_columns import SparseColumn, override
from tpu_profile_plugin.analysis.grouping import event_names as names
from tpu_profile_plugin.analysis.grouping.forest import NO_NODE, HostForest, PlaneNodes
from tpu_profile_plugin.analysis.grouping.group_names import GroupNames, name_groups, numbered
from tpu_profile_plugin.analysis.grouping.plane_lookup import TF_OP, PlaneLookup
from tpu_profile_plugin.columns.arrays import I64, U8, U32

# Root events, i.e. events that open a group, in group order.

NONE = np.zeros(0, dtype=np.int64)


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


NO_ROOTS = Roots(NONE, NONE, NONE)


def find_roots(forest: HostForest) -> Roots:
    """Iterations of executor loops if there are any, else all events with a root level, highest level first."""
    hosts = [(nodes, lookup) for nodes, lookup in zip(forest.nodes, forest.planes, strict=True) if not lookup.is_tpu]
    data_functions = np.sort(np.concatenate([NONE, *(_captured_functions(lookup) for _, lookup in hosts)]))
    by_level = _by_level(hosts, data_functions)
    loops = _loops(hosts, data_functions)
    return by_level if loops is None else replace(by_level, nodes=loops[0], loops=True, links=loops[1:])


def _captured_functions(lookup: PlaneLookup) -> I64:
    """Ids of functions captured by tf.data, unsorted; their runs are not steps."""
    value, present = lookup.stat_columns.signed("id").at(lookup.events.events(*names.CAPTURED_FUNCTIONS))
    return value if bool(present.all()) else value[present]


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


def may_be_eager(planes: Sequence[PlaneLookup]) -> bool:
    """False when the profile has no eager call whose stats say whether it runs a function."""
    return any(lookup.events.has(names.EAGER_EXECUTE) and lookup.stat_columns.has("is_func") for lookup in planes)


def eager_events(planes: Sequence[PlaneLookup], forest: HostForest | None) -> list[Eager]:
    """Per plane the ops and kernels, each with 1 if its nearest enclosing eager call runs no function, else 0.

    Without a forest no event is eager. Values in the file for other events are preserved.
    """
    calls = np.zeros(0, dtype=np.int64) if forest is None else _eager_calls(forest, functions=None)
    plain = np.zeros(0, dtype=np.int64) if forest is None else _eager_calls(forest, functions=False)
    columns = []
    for index, lookup in enumerate(planes):
        events = np.zeros(0, dtype=np.int64) if lookup.is_tpu else _ops_and_kernels(lookup)
        value = np.zeros(len(events), dtype=np.int64)
        if forest is not None and len(plain) and len(events):
            nodes = forest.nodes[index].nodes(events).astype(np.uint32)
            nearest_call = forest.native.nearest(nodes, calls.astype(np.uint32))
            value[(nearest_call != NO_NODE) & np.isin(nearest_call, plain)] = 1
        column = override(lookup.stat_columns.ints("is_eager"), SparseColumn(events, value))
        columns.append((column.event.astype(np.uint32), (column.value != 0).astype(np.uint8)))
    return columns


def _eager_calls(forest: HostForest, functions: bool | None) -> I64:
    """Nodes of eager calls; with `functions` False only those whose `is_func` stat is 0."""
    calls = []
    for nodes, lookup in zip(forest.nodes, forest.planes, strict=True):
        if lookup.is_tpu:
            continue
        events = lookup.events.events(names.EAGER_EXECUTE)
        if functions is False:
            value, present = lookup.stat_columns.signed("is_func").at(events)
            events = events[present & (value == 0)]
        calls.append(nodes.nodes(events))
    return np.concatenate([np.zeros(0, dtype=np.int64), *calls])


def _ops_and_kernels(lookup: PlaneLookup) -> I64:
    is_op = lookup.ops() == TF_OP
    ops = np.flatnonzero(is_op[lookup.plane.events.metadata]) if bool(is_op.any()) else np.zeros(0, dtype=np.int64)
    kernels = np.zeros(0, dtype=np.int64) if lookup.launches else lookup.kernels()
    return np.union1d(ops, kernels) if len(kernels) else ops


@dataclass(frozen=True, slots=True, eq=False)
class Grouped:
    """Groups of a host.

    Attributes:
      group: per plane the group of each event, or ABSENT; None for planes without groups. On TPU cores only events of
        the grouping line have one at this stage.
      region_group: the same for the threadpool regions of each plane.
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
    if may_be_eager(planes) or (not has_host_loops and _needs_forest(planes)):
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
    if len(recorded) == 0:
        return None
    column = np.full(len(lookup.plane.events.begin_ps), ABSENT, dtype=np.int64)
    column[recorded.event] = recorded.value
    return column


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
        roots = NO_ROOTS if has_host_loops else find_roots(forest)
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
        step_roots.append(np.sort(nodes.sources(heads[shows_name & nodes.own(heads)])))
    return Grouped(groups, regions, group_names, links, step_roots, eager)


def _core_ranges(forest: HostForest) -> list[tuple[int, int]]:
    """Node range (begin, end) of each core with a grouping line."""
    cores = [forest.nodes[index] for index in _cores(forest.planes)]
    return [(nodes.base, nodes.base + nodes.count) for nodes in cores]


def _reach_cores(forest: HostForest, node_group: I64, level_0_nodes: I64) -> bool:
    """True if any core node is grouped, or is the descendant of a root of level 0, the level of steps."""
    nodes = [np.arange(first, last, dtype=np.uint32) for first, last in _core_ranges(forest)]
    if any(bool((node_group[own] >= 0).any()) for own in nodes):
        return True
    ancestors = (
        [forest.native.nearest(own, level_0_nodes.astype(np.uint32)) for own in nodes] if len(level_0_nodes) else []
    )
    return any(bool((own != NO_NODE).any()) for own in ancestors)


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
    if lookup.regions is not None and not lookup.is_tpu:
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
