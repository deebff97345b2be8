"""One allocator's history: its peak, the allocations live at the peak, and a downsampled timeline."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tpu_profile_plugin import _native
from tpu_profile_plugin.analysis.memory.allocations import Allocations, TextColumn
from tpu_profile_plugin.columns.arrays import I64

TIMELINE_SNAPSHOTS = 1000


@dataclass(frozen=True, slots=True)
class SpecialAllocation:
    """Memory at the peak that is not covered by recorded allocations."""

    name: str
    region: str
    bytes: int


@dataclass(frozen=True, slots=True, eq=False)
class MemoryPeak:
    """Analysis of one allocator.

    Attributes:
      rows: its events by time, with missing steps filled in; deallocations have the op etc. of their allocation.
      lifetime_peak: the most bytes ever in use, as the allocator counted at the last event of the file.
      peak: the row with most memory in use in the profile (the last in the file among equals); None if always 0.
      step: the step of the peak.
      live: rows of the allocations that are live at the peak, made in its step.
      active: per line of the breakdown the row of `rows`, or -1 - i for `special[i]`; largest first.
      count: per line of the breakdown the number of identical allocations it stands for.
      timeline: rows to draw, at most TIMELINE_SNAPSHOTS.
    """

    rows: Allocations
    lifetime_peak: int
    peak: int | None
    step: int
    active: tuple[int, ...]
    count: tuple[int, ...]
    special: tuple[SpecialAllocation, ...]
    timeline: I64
    live: I64


def memory_peak(recorded: Allocations) -> MemoryPeak:
    """Analyses the events of one allocator (at least one), given in file order."""
    in_use = recorded.in_use
    last_highest = len(in_use) - 1 - int(np.argmax(in_use[::-1]))
    order = _order(recorded)
    rows = with_matches(_stepped(recorded.take(order)))
    if in_use[last_highest] < 0:
        none = np.zeros(0, dtype=np.int64)
        return MemoryPeak(rows, int(recorded.peak[-1]), None, 0, (), (), (), timeline(rows.in_use), none)
    peak = int(np.flatnonzero(order == last_highest)[0])
    step = int(rows.step[np.flatnonzero(rows.in_use == rows.in_use[peak])[-1]])
    active, special = _active(rows, peak, step)
    lines, counts = _breakdown(rows, active, special)
    return MemoryPeak(
        rows=rows,
        lifetime_peak=int(recorded.peak[-1]),
        peak=peak,
        step=step,
        active=lines,
        count=counts,
        special=special,
        timeline=timeline(rows.in_use),
        live=active,
    )


def by_time(recorded: Allocations) -> Allocations:
    """The events of one allocator by time, with missing steps filled in."""
    return _stepped(recorded.take(_order(recorded)))


def _order(recorded: Allocations) -> I64:
    return _native.walk_order(recorded.time_ps, np.zeros(len(recorded), dtype=np.int64), np.arange(len(recorded)))


def _stepped(rows: Allocations) -> Allocations:
    """Assigns an event outside of steps to the step after the last step so far, or to step 0."""
    known = rows.step >= 0
    last = np.maximum.accumulate(np.where(known, np.arange(len(rows)), -1))
    before = np.where(last >= 0, rows.step[np.maximum(last, 0)], -1)
    return replace(rows, step=np.where(known, rows.step, before + 1))


def runs_by_address(rows: Allocations) -> tuple[I64, I64]:
    """(rows ordered by address and then time, per position the position where its run begins).

    A run is the sequence of events at one address that ends with a deallocation: the first allocation holds the address
    until then; further allocations at the address are ignored.
    """
    order = np.argsort(rows.address, kind="stable")
    address, allocates = rows.address[order], rows.allocates[order]
    begins = np.ones(len(order), dtype=np.bool_)
    begins[1:] = (address[1:] != address[:-1]) | ~allocates[:-1]
    return order, np.maximum.accumulate(np.where(begins, np.arange(len(order)), 0))


def with_matches(rows: Allocations) -> Allocations:
    """Copies op, region, type and shape of each allocation to the matching deallocation."""
    order, begin = runs_by_address(rows)
    freeing = ~rows.allocates[order]
    frees, allocations = (
        order[freeing],
        order[begin[freeing]],
    )  # one without allocation begins a run

    def matched(column: TextColumn) -> TextColumn:
        code = column.code.copy()
        code[frees] = column.code[allocations]
        return TextColumn(code, column.texts)

    texts: dict[str, Any] = {n: matched(getattr(rows, n)) for n in ("op", "region", "data_type", "shape")}
    return replace(rows, **texts)


def _active(rows: Allocations, peak: int, step: int) -> tuple[I64, tuple[SpecialAllocation, ...]]:
    """Allocations of the peak's step that are live at the peak, and the remaining memory in use."""
    before = np.flatnonzero((rows.time_ps <= rows.time_ps[peak]) & (rows.step == step))
    until_peak = rows.take(before)
    order, begin = runs_by_address(until_peak)
    allocates = until_peak.allocates[order]
    is_last = np.ones(len(order), dtype=np.bool_)
    is_last[:-1] = until_peak.address[order[1:]] != until_peak.address[order[:-1]]
    live = before[np.sort(order[is_last & allocates])]
    unmatched = ~allocates & (begin == np.arange(len(order)))
    # Allocated before the step began, or freed without a recorded allocation.
    size = until_peak.allocated
    unmapped = int(rows.heap[peak]) - int(size[until_peak.allocates].sum()) + int(size[~until_peak.allocates].sum())
    unmapped -= int(size[order[unmatched]].sum())
    special = []
    if unmapped > 0:
        special.append(SpecialAllocation("unused preallocated device memory", "persist/dynamic", unmapped))
    if rows.stack[peak] > 0:
        special.append(SpecialAllocation("stack", "stack", int(rows.stack[peak])))
    return live, tuple(special)


def _breakdown(
    rows: Allocations, active: I64, special: tuple[SpecialAllocation, ...]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Lines of the breakdown, largest first, identical ones merged: (row or -1 - index of special, count)."""
    live = rows.take(active)
    columns = (live.allocated, live.requested, live.op.code, live.region.code, live.data_type.code, live.shape.code)
    if len(active):
        table = np.stack([column.astype(np.int64) for column in columns], axis=1)
        _, first, counts = np.unique(table, axis=0, return_index=True, return_counts=True)
    else:
        first = counts = np.zeros(0, dtype=np.int64)
    lines: list[tuple[tuple[object, ...], int, int]] = []
    for row, count in zip(first.tolist(), counts.tolist(), strict=True):
        texts = (column.texts[int(column.code[row])] for column in (live.op, live.region, live.data_type, live.shape))
        key = (-int(live.allocated[row]), -int(live.requested[row]), *texts)
        lines.append((key, int(active[row]), count))
    for number, extra in enumerate(special):
        lines.append(((-extra.bytes, -extra.bytes, extra.name, extra.region, "INVALID", "unknown"), -1 - number, 1))
    lines.sort(key=lambda line: line[0])
    return tuple(line[1] for line in lines), tuple(line[2] for line in lines)


def timeline(in_use: I64, limit: int = TIMELINE_SNAPSHOTS) -> I64:
    """Indices of at most `limit` values: the first maximum of each of `limit` buckets of almost equal length."""
    count = len(in_use)
    if count <= limit:
        return np.arange(count)
    bucket_size = count // limit
    smaller_buckets = limit * (bucket_size + 1) - count
    split = smaller_buckets * bucket_size
    highest = []
    for begin, values, size in ((0, in_use[:split], bucket_size), (split, in_use[split:], bucket_size + 1)):
        buckets = values.reshape(-1, size)
        highest.append(begin + np.arange(len(buckets)) * size + buckets.argmax(axis=1))
    return np.concatenate(highest)
