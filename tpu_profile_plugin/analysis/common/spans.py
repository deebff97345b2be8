"""Sets of time: unions, intersections and differences of spans, and how much of a window they cover.

A set is a pair of int64 arrays: begins and ends of half-open spans that are disjoint, not empty and ascending.
"""

from __future__ import annotations

from typing import TypeAlias

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
    sets = tuple(one for one in sets if len(one[0]))
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
