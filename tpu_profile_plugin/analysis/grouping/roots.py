"""Root events, i.e. events that open a group, in group order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tpu_profile_plugin.analysis.common.keys import among
from tpu_profile_plugin.analysis.common.stat_columns import SparseColumn, override
from tpu_profile_plugin.analysis.grouping import event_names as names
from tpu_profile_plugin.analysis.grouping.forest import HostForest, PlaneNodes
from tpu_profile_plugin.analysis.grouping.plane_lookup import PlaneLookup
from tpu_profile_plugin.columns.arrays import I64

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
