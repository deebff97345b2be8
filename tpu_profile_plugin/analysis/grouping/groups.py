"""Assigns events to groups by root event, and numbers the steps of TPU cores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.analysis.common.mapper import Mapper, both
from tpu_profile_plugin.analysis.common.planes import tensor_core
from tpu_profile_plugin.analysis.common.preprocessed import ABSENT
from tpu_profile_plugin.analysis.grouping import event_names as names
from tpu_profile_plugin.analysis.grouping.eager import Eager, eager_events, may_be_eager
from tpu_profile_plugin.analysis.grouping.forest import NO_NODE, HostForest, PlaneNodes
from tpu_profile_plugin.analysis.grouping.group_names import GroupNames, name_groups, numbered
from tpu_profile_plugin.analysis.grouping.plane_lookup import PlaneLookup
from tpu_profile_plugin.analysis.grouping.roots import NO_ROOTS, NONE, Roots, find_roots
from tpu_profile_plugin.columns.arrays import I64


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
