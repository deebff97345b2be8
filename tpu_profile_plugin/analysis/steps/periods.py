"""Periods of work: whether the runs of an event divide all that ran into parts alike, as the begins of steps do.

A kernel that runs once per layer divides a step, too; but then some of the parts hold what runs once per step. Neither
the length nor the regularity of an event tells the two apart, only what lies between its runs, and outside of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.ma  # numpy.median imports it when it is first called, which would slow the first answer down

from tpu_profile_plugin.columns.arrays import F64, I64, Bools

MIN_RUNS, MAX_RUNS = 3, 10_000
FOREIGN, TRACE = 0.01, 0.002
"""Most work, of all, that is in few of the parts; less than a trace of it, as of a log line, is not a part of steps."""
IN_MOST = 0.9
"""Least share of the parts that hold what is not in few of them."""
UNEVEN = 0.1
"""Most work, of all, by which parts have more or less of the same."""
MAX_VARIATION = 0.5
"""Most relative variation of the distance between begins: interquartile range over median."""
COMPLETE = 0.9
"""Least share of the usual work in the part behind the last begin for it to be one as the others."""
_WARM = 4
"""Fewest parts of which the first may differ."""
_DENSE = 8
"""Keys up to so many times their number are counted by a table instead of being sorted."""
_PER_COUNT, _MOST_TRIED = 3, 60
"""Events that are tried of those which run equally often, and of all."""


@dataclass(frozen=True, eq=False)
class Track:
    """What ran, in order of begin.

    Attributes:
      name: int64[n], what ran, as small numbers.
      begin_ps, end_ps: int64[n].
      self_ps: int64[n], its time without what ran inside.
      warms_up: the first part may differ from the others, as on a host that compiles, if there are some more.
    """

    name: I64
    begin_ps: I64
    end_ps: I64
    self_ps: I64
    warms_up: bool = False

    def __len__(self) -> int:
        return len(self.name)

    @cached_property
    def count(self) -> I64:
        """How often each name runs."""
        return np.bincount(self.name)

    @cached_property
    def mean_ps(self) -> F64:
        """Mean time of each name: runs are compared by what they are, not by how long they last."""
        return np.bincount(self.name, weights=self.self_ps) / np.maximum(self.count, 1)

    @cached_property
    def done_ps(self) -> F64:
        """float64[n + 1], the work before each event, and all."""
        return np.concatenate([[0.0], np.cumsum(self.mean_ps[self.name])])

    @property
    def total_ps(self) -> float:
        """All work."""
        return float(self.done_ps[-1])

    @cached_property
    def _by_name(self) -> tuple[I64, I64]:
        small = len(self.count) <= np.iinfo(np.uint16).max  # sorted by digits, several times as fast
        name = self.name.astype(np.uint16) if small else self.name
        return np.argsort(name, kind="stable"), np.concatenate([[0], np.cumsum(self.count)])

    def time_of(self, name: int) -> int:
        """How long the runs of a name last."""
        runs = self.runs_of(name)
        return int((self.end_ps[runs] - self.begin_ps[runs]).sum())

    def runs_of(self, name: int) -> I64:
        """The events of a name, ascending."""
        order, start = self._by_name
        return order[start[name] : start[name + 1]]


@dataclass(frozen=True, slots=True, eq=False)
class Periods:
    """Parts alike of all work.

    Attributes:
      once: what runs once in each: at least what begins them.
      begin_ps, end_ps: int64[s]; what follows the last begin is no part if it is not complete.
      foreign: share of the work that few parts have.
    """

    once: I64
    begin_ps: I64
    end_ps: I64
    foreign: float


def longest_periods(track: Track) -> Periods | None:
    """The longest parts alike; None if nothing divides the work into such.

    Parts of which several are alike in turn are taken apart, unless that leaves more than a trace of work that only few
    of the smaller ones have.
    """
    best: Periods | None = None
    for names in _candidates(track):
        found = next((periods for name in names if (periods := _periods(track, name)) is not None), None)
        if found is not None and (best is None or found.foreign <= TRACE):
            best = found
    return best


def divides(track: Track, count: int) -> bool:
    """Whether so many parts alike can hold all of the work, wherever they begin."""
    each = np.round(track.count / count)
    rest = np.where(each > 0, np.maximum(np.abs(track.count - count * each) - each, 0), track.count) * track.mean_ps
    foreign = float(rest[each == 0].sum())
    return foreign <= FOREIGN * track.total_ps and float(rest.sum()) <= UNEVEN * track.total_ps


def variation(distance: F64) -> float | None:
    """Interquartile range over median, robust to pauses such as evaluation; None if the median is not positive."""
    if len(distance) < 2:
        return 0.0
    low, middle, high = np.quantile(distance, (0.25, 0.5, 0.75))
    return float((high - low) / middle) if middle > 0 else None


def _candidates(track: Track) -> Iterator[list[int]]:
    """Names that may begin parts, those together that run equally often, seldom first; the first in time first."""
    count, order = track.count, np.argsort(track.count, kind="stable")
    seldom = np.cumsum((count * track.mean_ps)[order])
    # What runs in fewer than half of the parts is foreign to them.
    few = order[: int(np.searchsorted(seldom, FOREIGN * track.total_ps, side="right"))]
    least = count[order[len(few)]] if len(few) < len(order) else MAX_RUNS
    most = MAX_RUNS if track.warms_up else min(MAX_RUNS, 2 * int(least))
    names = np.flatnonzero((count >= MIN_RUNS) & (count <= most))
    names = names[[_may_begin(track, name) for name in names.tolist()]] if len(names) else names
    first = np.array([track.runs_of(name)[0] for name in names.tolist()], np.int64)
    names = names[np.lexsort((first, count[names]))]
    tried = 0
    for number in np.unique(count[names]).tolist():
        chosen = names[count[names] == number][:_PER_COUNT].tolist()
        tried += len(chosen)
        if tried > _MOST_TRIED:
            return
        yield chosen


def _may_begin(track: Track, name: int) -> bool:
    """Whether the parts between runs have about the same work: what is quick to tell."""
    runs = track.runs_of(name)
    spread = variation(np.diff(track.begin_ps[runs]).astype(np.float64))
    if spread is None or spread > MAX_VARIATION:
        return False
    done = track.done_ps
    parts, before, behind = np.diff(done[runs]), done[runs[0]], done[-1] - done[runs[-1]]
    usual, allowed = float(np.median(parts)), (UNEVEN + FOREIGN) * track.total_ps
    if track.warms_up and len(parts) >= _WARM:
        parts = parts[1:]
    return bool(np.abs(parts - usual).sum() <= allowed and before + behind <= 2 * usual + allowed)


def _periods(track: Track, name: int) -> Periods | None:
    """The parts that begin with the runs of a name, if they are alike."""
    runs, names = track.runs_of(name), len(track.count)
    inner = len(runs) - 1
    part = np.zeros(len(track), np.int64)
    part[runs] = 1
    part = np.cumsum(part)  # 0: before the first run; from 1 on the parts, of which the last may be cut
    key, times = _counted(part * names + track.name)
    part, what = key // names, key % names
    usual = _usual(part, what, times, inner, names)
    work = times * track.mean_ps[what]
    counted = part != (1 if track.warms_up and inner >= _WARM else -1)
    foreign = float(work[counted & (usual[what] == 0)].sum()) / track.total_ps
    if foreign > FOREIGN:
        return None
    known = usual[what] > 0
    within = known & (part >= 1) & (part <= inner)
    off = np.abs(times - usual[what]) * track.mean_ps[what]
    present = np.bincount(what[within], minlength=names)
    uneven = float(off[within & counted].sum()) + float(((inner - present) * usual * track.mean_ps)[usual > 0].sum())
    first, last = np.zeros(names), np.zeros(names)
    first[what[part == 0]], last[what[part == inner + 1]] = times[part == 0], times[part == inner + 1]
    uneven += float((np.maximum(first + last - 2 * usual, 0) * track.mean_ps)[usual > 0].sum())
    if uneven > UNEVEN * track.total_ps:
        return None
    first[name] += 1
    all_but = [float((np.maximum(usual - has, 0) * track.mean_ps).sum()) for has in (first, last)]
    begins, ends = (missing <= (1 - COMPLETE) * float((usual * track.mean_ps).sum()) for missing in reversed(all_but))
    inside: I64 = np.bincount(what[part > 0], weights=times[part > 0], minlength=names).astype(np.int64)
    once = np.flatnonzero((usual == 1) & (track.count == len(runs)) & (inside == len(runs)))
    return Periods(once, *_spans(track, runs, usual, begins, ends), foreign)


def _counted(key: I64) -> tuple[I64, I64]:
    """The distinct keys, ascending, and how often each is there."""
    if int(key.max()) > _DENSE * len(key):
        return np.unique(key, return_counts=True)
    counts = np.bincount(key)
    distinct = np.flatnonzero(counts)
    return distinct, counts[distinct]


def _usual(part: I64, what: I64, times: I64, inner: int, names: int) -> F64:
    """How often each name runs in a part, the median over the inner ones; 0 if it is in few of them."""
    within = (part >= 1) & (part <= inner)
    what, times = what[within], times[within]
    order = np.lexsort((times, what))
    what, times = what[order], times[order]
    present = np.bincount(what, minlength=names)
    usual = np.zeros(names)
    often: Bools = present >= np.maximum(IN_MOST * inner, 1)
    start = np.concatenate([[0], np.cumsum(present)[:-1]])
    usual[often] = times[start[often] + np.maximum((inner - 1) // 2 - (inner - present[often]), 0)]
    return usual


def _spans(track: Track, runs: I64, usual: F64, begins: bool, ends: bool) -> tuple[I64, I64]:
    """Begin and end of the parts that begin with the runs; of those that end with them if only so the first is whole.

    Args:
      track, runs, usual: what ran, what divides it, and how often each name runs in a part.
      begins, ends: what follows the last run is a whole part, and what precedes the first.
    """
    known = np.flatnonzero(usual[track.name] > 0)
    begin, end = track.begin_ps[runs], track.end_ps[runs]
    longest = int(np.diff(begin).max())
    if ends and not begins:
        first = max(int(track.begin_ps[known[0]]), int(end[0]) - longest)
        begin = np.append(first, track.begin_ps[runs[:-1] + 1])
        return begin, np.append(begin[1:], end[-1])
    last = track.end_ps[known[known >= runs[-1]]].max()
    end = np.append(begin[1:], np.minimum(last, begin[-1] + longest))
    return (begin, end) if begins else (begin[:-1], end[:-1])
