"""Determines which ops and kernels ran eagerly, i.e. outside any compiled function."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tpu_profile_plugin.analysis.common.stat_columns import SparseColumn, override
from tpu_profile_plugin.analysis.grouping import event_names as names
from tpu_profile_plugin.analysis.grouping.forest import NO_NODE, HostForest
from tpu_profile_plugin.analysis.grouping.plane_lookup import TF_OP, PlaneLookup
from tpu_profile_plugin.columns.arrays import I64, U8, U32

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
