"""What an allocator's memory holds after each of its events: recorded blocks with size and life, and the rest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tpu_profile_plugin.analysis.memory.allocations import Allocations, TextColumn
from tpu_profile_plugin.analysis.memory.history import stacked
from tpu_profile_plugin.analysis.memory.peak import by_time, runs_by_address, with_matches
from tpu_profile_plugin.columns.arrays import I64

STACK, REST, OTHERS = "stack of programs", "allocated before or not recorded", "others"
REGION, OP, STEP = "region", "op", "step"
MOST_PARTS = 6
"""As many as have a colour of their own, beside the others and the rest."""


@dataclass(frozen=True, eq=False)
class RecordedMemory:
    """The blocks of one allocator; instant i is after event i.

    Attributes:
      rows: its events by time, with steps; deallocations have the op etc. of their allocation.
      freeing: the op that each event was recorded in, of deallocations that which frees.
      row: int64[n], the event that describes the block: its allocation, or its deallocation if that alone is recorded.
      size: int64[n], bytes.
      first, last: int64[n], the instants between which it is allocated, both included; `last` is that of the last event
        if it is never freed.
      freed: int64[n], the event that frees it, -1 without one.
    """

    rows: Allocations
    freeing: TextColumn
    row: I64
    size: I64
    first: I64
    last: I64
    freed: I64

    def __len__(self) -> int:
        return len(self.row)

    @cached_property
    def rest(self) -> I64:
        """Memory in use at each instant beyond the recorded blocks; 0 if these are more than the allocator counts."""
        rest: I64 = np.maximum(self.rows.in_use - self._blocks, 0)
        return rest

    @property
    def reserved(self) -> I64:
        """The part of `rest` that the allocator counts as stack."""
        reserved: I64 = np.clip(self.rows.stack, 0, self.rest)
        return reserved

    @cached_property
    def heap(self) -> I64:
        """Memory in use at each instant: as the allocator counts it, or the recorded blocks if they are more."""
        return self._blocks + self.rest

    @cached_property
    def _blocks(self) -> I64:
        none = np.zeros(len(self), np.int64)
        blocks: I64 = stacked(none, 1, self.first, self.last, self.size, len(self.rows))[0]
        return blocks

    @property
    def peak(self) -> int:
        """The first instant with most memory in use."""
        return int(self.heap.argmax())

    def live(self, instant: int) -> I64:
        """The blocks at an instant, the largest first."""
        blocks = np.flatnonzero((self.first <= instant) & (instant <= self.last))
        return blocks[np.argsort(-self.size[blocks], kind="stable")]

    def stacks(self, by: str) -> Mapping[str, I64]:
        """Bytes at each instant by region, op or step: the largest at the peak, then the others and the rest.

        They add up to `heap`.
        """
        codes, texts = self._codes(by)
        live = self.live(self.peak)
        at_peak = np.bincount(codes[live], self.size[live], minlength=len(texts))
        ever = np.bincount(codes, self.size, minlength=len(texts))
        order = np.lexsort((-ever, -at_peak))[:MOST_PARTS] if len(texts) else np.zeros(0, np.int64)
        group = np.full(len(texts) + 1, len(order), np.int64)
        group[order] = np.arange(len(order))
        series = stacked(group[codes], len(order) + 1, self.first, self.last, self.size, len(self.rows))
        names = [*(texts[at] for at in order.tolist()), OTHERS]
        parts = dict(zip(names, series, strict=True)) | {STACK: self.reserved, REST: self.rest - self.reserved}
        return {name: values for name, values in parts.items() if values.any()}

    def _codes(self, by: str) -> tuple[I64, list[str]]:
        """A number of each block, and the texts of the numbers."""
        if by == STEP:
            steps, codes = np.unique(self.rows.step[self.row], return_inverse=True)
            return codes, [f"step {step}" for step in steps.tolist()]
        column = self.rows.region if by == REGION else self.rows.op
        present, codes = np.unique(column.code[self.row], return_inverse=True)
        return codes, [column.texts[code] or f"no {by} recorded" for code in present.tolist()]


def recorded_memory(recorded: Allocations) -> RecordedMemory:
    """The blocks of one allocator, given its events in file order."""
    own = by_time(recorded)
    rows = with_matches(own)
    order, begin = runs_by_address(own)
    frees = ~own.allocates[order]
    starts = begin == np.arange(len(order))
    freed = np.full(len(rows), -1, np.int64)
    matched = frees & ~starts
    freed[order[begin[matched]]] = order[matched]
    allocated, before = np.sort(order[starts & ~frees]), np.sort(order[starts & frees])
    end = freed[allocated]
    row = np.concatenate([allocated, before])
    first = np.concatenate([allocated, np.zeros(len(before), np.int64)])
    last = np.concatenate([np.where(end >= 0, end - 1, len(rows) - 1), before - 1])
    kept = last >= first  # a block that the first event frees was in use at no instant
    return RecordedMemory(
        rows=rows,
        freeing=own.op,
        row=row[kept],
        size=np.maximum(own.allocated[row], 0)[kept],
        first=first[kept],
        last=last[kept],
        freed=np.concatenate([end, before])[kept],
    )
