"""Aligns and merges the steps of several hosts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tpu_profile_plugin import _native
from tpu_profile_plugin.analysis.common.spans import side_by_side
from tpu_profile_plugin.analysis.steps.table import StepTable, core_in_run
from tpu_profile_plugin.analysis.steps.tpu import least_by_key
from tpu_profile_plugin.columns.arrays import I64


def merge_steps(tables: Sequence[StepTable], has_device: Sequence[bool]) -> StepTable:
    """The steps common to all hosts, renumbered from 0; the steps of a single host are returned unchanged.

    Hosts without a device are ignored if others have one. Steps are matched by time since the start of each host's own
    recording: the chief is the host with the shortest series, and every other host is shifted by the number of steps
    that maximises the overlap with it.
    """
    if len(tables) == 1:
        return tables[0]
    workers = [i for i in range(len(tables)) if has_device[i] or not any(has_device)]
    if not workers:
        return StepTable()
    spans = {i: _spans(tables[i]) for i in workers}
    chief = min(workers, key=lambda i: _total(spans[i]))
    # Steps of TPUs and of GPUs have no parts in common.
    workers = [i for i in workers if tables[i].on_tpu == tables[chief].on_tpu]
    offset, first, last = align({i: spans[i] for i in workers}, chief)
    if last <= first:
        all_have_steps = any(len(tables[i]) for i in workers) and all(len(tables[i]) for i in workers)
        return StepTable(on_tpu=tables[chief].on_tpu, empty_intersection=bool(all_have_steps))
    parts = [(i, tables[i], slice(first - offset[i], last - offset[i])) for i in workers]
    return _side_by_side(parts, tables[chief].select(slice(first, last)))


def align(spans: Mapping[int, tuple[I64, I64]], chief: int) -> tuple[dict[int, int], int, int]:
    """Index offset (chief - host) of each host's steps, and the chief's first step and last (exclusive) that all have.

    Args:
      spans: begins and ends of the steps of each host, the chief's among them, on the hosts' own time axes.
      chief: the host that the others are shifted to.
    """
    first, last = 0, len(spans[chief][0])
    offset = {chief: 0}
    for i, steps in spans.items():
        if i != chief:
            offset[i] = _native.step_shift(spans[chief], steps)
            first = max(first, offset[i])
            last = min(last, offset[i] + len(steps[0]))
    return offset, first, last


def _spans(table: StepTable) -> tuple[I64, I64]:
    """First begin and last end of each step over the host's cores."""
    if not len(table):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    return table.begin_ps.min(axis=1), (table.begin_ps + table.duration_ps).max(axis=1)


def _total(spans: tuple[I64, I64]) -> int:
    begin, end = spans
    return int(end.max()) - int(begin.min()) if len(begin) else 0


def _side_by_side(parts: Sequence[tuple[int, StepTable, slice]], lead: StepTable) -> StepTable:
    """The hosts' tables, each with the rows of the common steps; what is one for all hosts is that of `lead`."""
    categories = tuple(dict.fromkeys(c for _, table, _ in parts for c in table.categories))
    category_ps = np.zeros((len(lead), len(categories)), np.int64)
    for _, table, rows in parts:
        category_ps[:, [categories.index(c) for c in table.categories]] += table.category_ps[rows]
    collectives = [table.collectives(rows) for _, table, rows in parts]
    key, least = least_by_key(*(np.concatenate(column) for column in zip(*collectives, strict=True)))
    per_core = ["begin_ps", "duration_ps", *(["collective_ps"] if lead.on_tpu else [])]
    columns: dict[str, Any] = {
        name: np.concatenate([getattr(table, name)[rows] for _, table, rows in parts], axis=1) for name in per_core
    }
    return replace(
        lead,
        number=np.arange(len(lead), dtype=np.int64),
        cores=tuple(core_in_run(host, core) for host, table, _ in parts for core in table.cores),
        **columns,
        times=side_by_side([table.times.where(rows) for _, table, rows in parts]),
        categories=categories,
        category_ps=category_ps,
        costs=np.sum([table.costs[rows] for _, table, rows in parts], axis=0) if lead.on_tpu else lead.costs,
        collective_key=key,
        collective_least_ps=least,
        compute_16_ps=sum(table.compute_16_ps for _, table, _ in parts),
        compute_32_ps=sum(table.compute_32_ps for _, table, _ in parts),
    )
