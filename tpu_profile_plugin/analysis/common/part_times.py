"""Times by part: an array per part that has any time, because most parts of most profiles have none."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tpu_profile_plugin.columns.arrays import I64


@dataclass(frozen=True, slots=True, eq=False)
class PartTimes:
    """What the time of each step on each device is spent on, in picoseconds.

    Attributes:
      shape: (steps, devices).
      arrays: int64[s, d] by part; parts without any time are missing.
    """

    shape: tuple[int, int] = (0, 0)
    arrays: Mapping[int, I64] = field(default_factory=dict)

    @classmethod
    def of(cls, parts: Iterable[int], times: I64) -> PartTimes:
        """The parts of int64[p, s, d]; what has time is copied."""
        _, steps, devices = times.shape
        return cls((steps, devices), {part: own.copy() for part, own in zip(parts, times, strict=True) if own.any()})

    def __getitem__(self, part: int) -> I64:
        """int64[s, d] of one part."""
        found = self.arrays.get(part)
        return np.broadcast_to(np.int64(0), self.shape) if found is None else found

    def sum(self, parts: Collection[int] | None = None) -> I64:
        """int64[s, d], the sum of these parts; of all by default."""
        chosen = [own for part, own in self.arrays.items() if parts is None or part in parts]
        return np.add.reduce(chosen) if chosen else np.zeros(self.shape, np.int64)

    def stacked(self, parts: Sequence[int]) -> I64:
        """int64[s, d, p] of these parts."""
        together = np.zeros((*self.shape, len(parts)), np.int64)
        for i, part in enumerate(parts):
            if part in self.arrays:
                together[:, :, i] = self.arrays[part]
        return together

    def where(self, steps: Any = slice(None), devices: slice | Sequence[int] = slice(None)) -> PartTimes:
        """The times of the steps that a slice, a mask or indices select, on the chosen devices."""
        rows, columns = np.arange(self.shape[0])[steps], np.arange(self.shape[1])[devices]
        return PartTimes((len(rows), len(columns)), {k: own[steps][:, devices] for k, own in self.arrays.items()})

    def moved(self, ps: I64, source: int, target: int, cells: Any = ...) -> PartTimes:
        """A copy with `ps` moved from one part to another: everywhere, or in the cells that (steps, devices) select."""
        less, more = self[source].copy(), self[target].copy()
        less[cells] -= ps
        more[cells] += ps
        return PartTimes(self.shape, {**self.arrays, source: less, target: more})


def side_by_side(tables: Sequence[PartTimes]) -> PartTimes:
    """The devices of several tables with the same steps, one after the other."""
    parts = dict.fromkeys(part for table in tables for part in table.arrays)
    shape = tables[0].shape[0], sum(table.shape[1] for table in tables)
    return PartTimes(shape, {part: np.concatenate([table[part] for table in tables], axis=1) for part in parts})
