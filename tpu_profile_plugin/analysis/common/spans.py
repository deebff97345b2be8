"""Sets of time, and times by part of a step.

A set is a pair of int64 arrays: begins and ends of half-open spans that are disjoint, not empty and ascending.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from tpu_profile_plugin import _native
from tpu_profile_plugin.columns.arrays import I64, Bools

Times: TypeAlias = tuple[I64, I64]
"""A set of time: begins and ends."""
_INT64_MAX = int(np.iinfo(np.int64).max)


def no_time() -> Times:
    """The empty set."""
    return np.zeros(0, np.int64), np.zeros(0, np.int64)


def union(begin: I64, end: I64) -> Times:
    """The union of the spans: disjoint, ascending; empty spans stay if no other span covers them."""
    return _native.union_times([(_plain(begin), _plain(end), None)], True)


def covered_within(begin: I64, end: I64, since: I64, until: I64) -> I64:
    """Per window from `since` to `until`, the time that disjoint ascending spans cover."""
    return _native.covered_within(*map(_plain, (begin, end, since, until)))


def times_of(begin: I64, end: I64, keep: Bools | None = None) -> Times:
    """The set covered by spans in any order, or by the spans that `keep` marks; empty spans cover nothing."""
    return times_of_all((begin, end, keep))


def times_of_all(*parts: tuple[I64, I64, Bools | None]) -> Times:
    """The set covered by spans of several kinds; arguments as of `times_of`."""
    plain = [(_plain(begin), _plain(end), keep) for begin, end, keep in parts if keep is None or bool(keep.any())]
    return _native.union_times(plain, False) if plain else no_time()


def join(*sets: Times) -> Times:
    """Times in any of the sets."""
    sets = tuple(times for times in sets if len(times[0]))
    if len(sets) < 2:
        return sets[0] if sets else no_time()
    return times_of_all(*((begin, end, None) for begin, end in sets))


def intersect(first: Times, other: Times) -> Times:
    """Times in both sets."""
    if not len(first[0]) or not len(other[0]):
        return no_time()
    return _native.intersect_times((_plain(first[0]), _plain(first[1])), (_plain(other[0]), _plain(other[1])))


def subtract(first: Times, other: Times) -> Times:
    """Times in the first set and not in the second."""
    if not len(first[0]) or not len(other[0]):
        return first
    return _native.subtract_times((_plain(first[0]), _plain(first[1])), (_plain(other[0]), _plain(other[1])))


def cut(times: Times, points: I64) -> Times:
    """The same time with spans that end where others begin at each of the points that lies inside one."""
    inside = np.unique(points[contains(times, points)])
    inside = inside[times[0][np.searchsorted(times[0], inside, side="right") - 1] < inside]
    if not len(inside):
        return times
    return np.sort(np.concatenate([times[0], inside])), np.sort(np.concatenate([times[1], inside]))


def total(times: Times) -> int:
    """The length of a set in picoseconds."""
    return int((times[1] - times[0]).sum())


def exact_sum(times_ps: I64) -> int:
    """The sum of up to 2**31 times as an int; in damaged profiles an int64 sum could wrap around, even to 0."""
    if times_ps.size and max(int(times_ps.max()), -int(times_ps.min())) <= _INT64_MAX // times_ps.size:
        return int(times_ps.sum())
    return int((times_ps & 0xFFFFFFFF).sum()) + (int((times_ps >> 32).sum()) << 32)


def covered_after(point: int, *parts: tuple[I64, I64, Bools | None]) -> tuple[int, int]:
    """The time that spans of several kinds cover, and how much of it lies after a point in time."""
    return _native.covered_after([(_plain(begin), _plain(end), keep) for begin, end, keep in parts], point)


def contains(times: Times, points: I64) -> Bools:
    """Whether each point in time is in the set."""
    inside: Bools = np.searchsorted(times[0], points, side="right") > np.searchsorted(times[1], points, side="right")
    return inside


def _plain(numbers: I64) -> I64:
    """The numbers contiguous in memory, as the native core reads them."""
    return np.ascontiguousarray(numbers, np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class PartTimes:
    """Time of each step on each device by part, in picoseconds: most parts of most profiles have none.

    Attributes:
      shape: (steps, devices).
      arrays: int64[s, d] by part; parts without any time are missing.
    """

    shape: tuple[int, int] = (0, 0)
    arrays: Mapping[int, I64] = field(default_factory=dict)

    @classmethod
    def of(cls, parts: Iterable[int], times: I64) -> PartTimes:
        """The parts of int64[p, s, d]; parts with time are copied."""
        _, steps, devices = times.shape
        return cls((steps, devices), {part: ps.copy() for part, ps in zip(parts, times, strict=True) if ps.any()})

    def __getitem__(self, part: int) -> I64:
        """int64[s, d] of one part."""
        ps = self.arrays.get(part)
        return np.broadcast_to(np.int64(0), self.shape) if ps is None else ps

    def sum(self, parts: Collection[int] | None = None) -> I64:
        """int64[s, d], the sum of these parts; of all by default."""
        chosen = [ps for part, ps in self.arrays.items() if parts is None or part in parts]
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
        return PartTimes((len(rows), len(columns)), {part: ps[steps][:, devices] for part, ps in self.arrays.items()})

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
