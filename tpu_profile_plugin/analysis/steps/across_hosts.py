"""Aligns and merges the steps of several hosts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

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
    base = StepTable(on_tpu=tables[chief].on_tpu)
    if last <= first:
        all_have_steps = any(len(tables[i]) for i in workers) and all(len(tables[i]) for i in workers)
        return StepTable(on_tpu=base.on_tpu, times=tables[chief].times[:0, :0], empty_intersection=bool(all_have_steps))
    parts = [(i, tables[i].select(slice(first - offset[i], last - offset[i]))) for i in workers]
    return _side_by_side(parts, lead=[i for i, _ in parts].index(chief))


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
            offset[i] = _offset(spans[chief], steps)
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


def _offset(chief: tuple[I64, I64], other: tuple[I64, I64]) -> int:
    """Index offset (chief - other) with the longest overlap; ties in the order 0, 1, 2, ..., -1, -2, ..."""
    (chief_begin, chief_end), (begin, end) = chief, other
    if (np.diff(chief_end) <= 0).any() or (np.diff(end) <= 0).any():
        return _offset_of_any(chief, other)
    # A merge of two ascending series: at each end time, the current step of each series is the first that ends at or
    # after it.
    ends = np.union1d(chief_end, end)
    c, i = np.searchsorted(chief_end, ends), np.searchsorted(end, ends)
    both = (c < len(chief_end)) & (i < len(end))
    c, i = c[both], i[both]
    common = np.minimum(chief_end[c], end[i]) - np.maximum(chief_begin[c], begin[i])
    overlap = np.zeros(len(chief_begin) + len(begin), np.int64)
    np.add.at(overlap, c - i, np.maximum(common, 0))  # negative offsets index from the end
    ordered = np.concatenate([overlap[: len(chief_begin)], overlap[:0:-1][: max(len(begin) - 1, 0)]])
    best = int(ordered.argmax()) if len(ordered) else 0
    return best if best < len(chief_begin) else len(chief_begin) - best - 1


def _offset_of_any(chief: tuple[I64, I64], other: tuple[I64, I64]) -> int:
    """As `_offset`, for steps whose ends are not ascending."""
    (chief_begin, chief_end), (begin, end) = ([list(map(int, c)) for c in s] for s in (chief, other))
    overlap: dict[int, int] = {}
    c = i = 0
    while c < len(chief_begin) and i < len(begin):
        common = min(chief_end[c], end[i]) - max(chief_begin[c], begin[i])
        if common > 0:
            overlap[c - i] = overlap.get(c - i, 0) + common
        ahead = chief_end[c] - end[i]
        c, i = c + (ahead <= 0), i + (ahead >= 0)
    order = [*range(len(chief_begin)), *range(-1, -len(begin), -1)]
    return max(order, key=lambda k: overlap.get(k, 0)) if order else 0


def _side_by_side(parts: list[tuple[int, StepTable]], lead: int) -> StepTable:
    tables = [table for _, table in parts]
    steps = len(tables[0])
    categories = tuple(dict.fromkeys(c for table in tables for c in table.categories))
    category_ps = np.zeros((steps, len(categories)), np.int64)
    for table in tables:
        category_ps[:, [categories.index(c) for c in table.categories]] += table.category_ps
    key, least = least_by_key(
        np.concatenate([table.collective_key for table in tables]),
        np.concatenate([table.collective_least_ps for table in tables]),
    )
    per_core = ["begin_ps", "duration_ps", "times", *(["collective_ps"] if tables[lead].on_tpu else [])]
    columns: dict[str, Any] = {
        name: np.concatenate([getattr(table, name) for table in tables], axis=1) for name in per_core
    }
    return replace(
        tables[lead],
        number=np.arange(steps, dtype=np.int64),
        cores=tuple(core_in_run(host, core) for host, table in parts for core in table.cores),
        **columns,
        categories=categories,
        category_ps=category_ps,
        costs=np.sum([table.costs for table in tables], axis=0) if tables[lead].on_tpu else tables[lead].costs,
        collective_key=key,
        collective_least_ps=least,
        compute_16_ps=sum(table.compute_16_ps for table in tables),
        compute_32_ps=sum(table.compute_32_ps for table in tables),
    )
