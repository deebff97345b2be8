"""Devices of several hosts: clocks that disagree, and collectives that hosts run together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from tpu_profile_plugin.analysis.common.rows import row_codes, sums_by
from tpu_profile_plugin.analysis.devices.collectives import (
    PAIR,
    SYNCHRONIZING,
    CollectiveKey,
    CollectiveRuns,
    RecordedCollectives,
    Transfer,
    match_runs,
)
from tpu_profile_plugin.columns import DeviceClock
from tpu_profile_plugin.columns.arrays import I64, Bools

LEAST_PAIRS = 3
LastTimes = dict[CollectiveKey, tuple[I64, I64]]
"""Per collective and execution, the last begin and the last end on a host's devices."""


@dataclass(frozen=True, slots=True)
class ClockOffset:
    """Offset to be added to the times of one clock so that they agree with another.

    Attributes:
      offset_ps: median over the pairs.
      spread_ps: interquartile range of the pairs around it.
      pairs: number of pairs.
      violations: pairs that violate causality even with the offset.
    """

    offset_ps: int
    spread_ps: int
    pairs: int
    violations: int


def offset_by_ends(reference_begin: I64, reference_end: I64, begin: I64, end: I64) -> ClockOffset | None:
    """The offset of a host's clock to that of a reference, from collectives that both took part in.

    A collective in which every rank waits for all ends on all ranks at about the same time, so the offset is the median
    difference of the ends. It violates causality if, with the offset, one side ended before the other began.
    """
    if len(end) < LEAST_PAIRS:
        return None
    difference = reference_end - end
    low, middle, high = np.quantile(difference, (0.25, 0.5, 0.75), method="nearest").tolist()
    violations = (end + middle < reference_begin) | (reference_end < begin + middle)
    return ClockOffset(int(middle), int(high - low), len(end), int(violations.sum()))


def best_shift(reference_end: I64, end: I64, most: int = 64) -> int:
    """How many of the reference's collectives come before a host's first: the shift with the steadiest differences.

    Looks at shifts up to `most` in both directions; 0 if the two are equally long.
    """
    if len(end) == len(reference_end):
        return 0
    best: tuple[float, int] | None = None
    for shift in range(-min(most, len(end) - 1), min(most, len(reference_end) - 1) + 1):
        first, last = max(shift, 0), min(len(reference_end), len(end) + shift)
        if last - first < max(LEAST_PAIRS, min(len(end), len(reference_end)) // 2):
            continue
        difference = reference_end[first:last] - end[first - shift : last - shift]
        low, high = np.quantile(difference, (0.25, 0.75))
        spread = float(high - low)
        if best is None or (spread, abs(shift)) < (best[0], abs(best[1])):
            best = (spread, shift)
    return 0 if best is None else best[1]


def device_offset(delay_ps: I64, clock: DeviceClock | None) -> ClockOffset | None:
    """How far a device's clock was behind its host's, if `clock` says that it disagreed.

    Spread is that of the delays between launch and begin. Violations are counted without the offset.
    """
    if len(delay_ps) < LEAST_PAIRS:
        return None
    low, high = np.quantile(delay_ps, (0.25, 0.75), method="nearest").tolist()
    offset, violations = (0, 0) if clock is None else (clock.offset_ps, clock.impossible)
    return ClockOffset(offset, int(high - low), len(delay_ps), violations)


MOST_RUNS = 20_000
"""Runs of collectives that are kept of one host, to be matched with those of others."""


@dataclass(frozen=True, slots=True, eq=False)
class HostRuns:
    """Runs of collectives on the devices of one host, as `CollectiveRuns`; few enough to be sent to another process.

    Attributes:
      keys, transfers: the collectives and what they transfer.
      devices: number of devices.
      key, device: int64[n], indices into `keys` and the devices.
      begin_ps, end_ps: int64[n].
      exposed_ps: int64[n], the part of the run in which its device computes nothing.
      wait_ps: int64[n], for devices of the same host.
      occurrence: int64[n], number of the run among those of its collective and device.
      whole: all runs are there, not only the first of each collective.
    """

    keys: tuple[CollectiveKey, ...]
    transfers: tuple[Transfer, ...]
    devices: int
    key: I64
    device: I64
    begin_ps: I64
    end_ps: I64
    exposed_ps: I64
    wait_ps: I64
    occurrence: I64
    whole: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class MatchedHosts:
    """Runs of several hosts, matched.

    Attributes:
      numbers: per host, the index of each of its collectives in `runs.keys`.
      runs: the matched runs, on the first host's clock; `runs.device` counts over all hosts, `runs.source` over the
        rows of the matched hosts' `HostRuns`, host after host.
      first_device: per host, the number of its first device.
      alone: hosts whose clock is unknown; their runs are not in `runs`.
      moved_ps: per row of the matched hosts, what was added to its times.
      extra_ps: per row, exposed time in which it waits for devices of other hosts, beyond waits on its own host.
    """

    numbers: tuple[I64, ...]
    runs: CollectiveRuns
    first_device: I64
    alone: tuple[int, ...]
    moved_ps: I64
    extra_ps: I64


def kept_rows(runs: CollectiveRuns, devices: int) -> Bools:
    """The runs that `keep_runs` keeps."""
    if len(runs.key) <= MOST_RUNS:
        return np.ones(len(runs.key), np.bool_)
    keep: Bools = runs.occurrence < max(1, MOST_RUNS // max(1, len(runs.keys) * devices))
    return keep


def keep_runs(recorded: RecordedCollectives, devices: int) -> HostRuns:
    """All runs, or the first ones of each collective and device if there are too many."""
    runs = recorded.runs
    keep = kept_rows(runs, devices)
    whole = len(keep) <= MOST_RUNS
    key, device, begin, end = runs.key[keep], runs.device[keep], runs.begin_ps[keep], runs.end_ps[keep]
    values = recorded.exposed_ps[keep], runs.wait_ps[keep], runs.occurrence[keep]
    return HostRuns(runs.keys, runs.transfers, devices, key, device, begin, end, *values, whole)


def clock_offsets(parts: Sequence[HostRuns]) -> tuple[ClockOffset | None, ...]:
    """The clock of each host against the first one's, from collectives in which all devices of a host take part.

    Hosts that take part in none with the first one are compared with those that do, and so on. None for the first one
    and where there are too few such collectives.
    """
    times = [_last_times(part, keys) for part, keys in zip(parts, _shared_keys(parts), strict=True)]
    known = {0: ClockOffset(0, 0, 0, 0)}
    near = [0]
    while near:
        found: dict[int, ClockOffset] = {}
        for reference in near:
            for host in range(len(parts)):
                if host in known or host in found or times[host].keys().isdisjoint(times[reference]):
                    continue
                offset = _offset_between(times[reference], times[host])
                if offset is not None:
                    found[host] = replace(offset, offset_ps=offset.offset_ps + known[reference].offset_ps)
        known |= found
        near = list(found)
    return (None, *(known.get(host) for host in range(1, len(parts))))


def _offset_between(reference: LastTimes, times: LastTimes) -> ClockOffset | None:
    pairs = []
    for key in [key for key in reference if key in times]:
        (first_begin, first_end), (begin, end) = reference[key], times[key]
        shift = best_shift(first_end, end)
        first, last = max(shift, 0), min(len(first_end), len(end) + shift)
        here, there = slice(first, last), slice(first - shift, max(last - shift, 0))
        pairs.append((first_begin[here], first_end[here], begin[there], end[there]))
    return offset_by_ends(*(np.concatenate(column) for column in zip(*pairs, strict=True)))


def _shared_keys(parts: Sequence[HostRuns]) -> list[list[CollectiveKey]]:
    """Per host, the collectives by names that the hosts share: without program ids if these differ."""
    programs = [{key.program for key in part.keys} for part in parts if part.keys]
    same = bool(set.intersection(*programs)) if programs else True
    return [[key if same else replace(key, program=0) for key in part.keys] for part in parts]


def _last_times(part: HostRuns, keys: Sequence[CollectiveKey]) -> LastTimes:
    """Per collective and execution, the last begin and the last end on the host's devices."""
    times = {}
    for i, (key, transfer) in enumerate(zip(keys, part.transfers, strict=True)):
        if key.kind not in (*SYNCHRONIZING, PAIR) or (transfer.groups is not None and len(transfer.groups) > 1):
            continue
        rows = np.flatnonzero(part.key == i)
        _, where = np.unique(part.occurrence[rows], return_inverse=True)
        begin = np.full(int(where.max(initial=-1)) + 1, np.iinfo(np.int64).min)
        end = begin.copy()
        np.maximum.at(begin, where.reshape(-1), part.begin_ps[rows])
        np.maximum.at(end, where.reshape(-1), part.end_ps[rows])
        if len(end):
            times[key] = (begin, end)
    return times


def match_hosts(parts: Sequence[HostRuns], offsets: Sequence[ClockOffset | None]) -> MatchedHosts:
    """Matches the runs of the hosts whose clocks are known; `offsets` as by `clock_offsets`."""
    shared = _shared_keys(parts)
    position = {key: i for i, key in enumerate(dict.fromkeys(key for own in shared for key in own))}
    numbers = tuple(np.array([position[key] for key in own], np.int64) for own in shared)
    transfers: dict[int, Transfer] = {}
    for part, number in zip(parts, numbers, strict=True):
        for index, transfer in zip(number.tolist(), part.transfers, strict=True):
            transfers.setdefault(index, transfer)
    first = np.cumsum([0, *(part.devices for part in parts)])
    alone = tuple(i for i, offset in enumerate(offsets) if i and offset is None)
    chosen = [i for i in range(len(parts)) if i not in alone]
    shifts = [0 if (offset := offsets[i]) is None else offset.offset_ps for i in chosen]
    moved = np.repeat(np.array(shifts, np.int64), [len(parts[i].key) for i in chosen])
    begin, end, exposed, waited = (
        np.concatenate([getattr(parts[i], name) for i in chosen])
        for name in ("begin_ps", "end_ps", "exposed_ps", "wait_ps")
    )
    key = np.concatenate([numbers[i][parts[i].key] for i in chosen])
    device = np.concatenate([parts[i].device + first[i] for i in chosen])
    columns = [key, device, begin + moved, end + moved, np.arange(len(key))]
    named = [transfers[i] for i in range(len(position))]
    runs = match_runs(tuple(position), columns, named, int(first[-1]))
    extra = np.zeros(len(key), np.int64)
    row = runs.source
    extra[row] = np.minimum(runs.wait_ps, exposed[row]) - np.minimum(waited[row], exposed[row])
    return MatchedHosts(numbers, runs, first[:-1], alone, moved, np.maximum(extra, 0))


def step_of(begin_ps: I64, end_ps: I64, device: I64, time_ps: I64) -> I64:
    """The row of the step that each point in time is in; -1 outside of all steps.

    Args:
      begin_ps, end_ps: int64[s, d], the windows of the steps.
      device, time_ps: of each point.
    """
    steps = np.full(len(time_ps), -1, np.int64)
    by_device = np.argsort(device, kind="stable")
    first = np.searchsorted(device[by_device], np.arange(begin_ps.shape[1] + 1)).tolist()
    for number, bounds in enumerate(pairwise(first)):
        rows = by_device[slice(*bounds)]
        if not len(rows):
            continue
        order = np.argsort(begin_ps[:, number], kind="stable")
        since, until = begin_ps[order, number], end_ps[order, number]
        row = np.searchsorted(since, time_ps[rows], side="right") - 1
        inside = row >= 0
        inside[inside] = time_ps[rows[inside]] < until[row[inside]]
        steps[rows[inside]] = order[row[inside]]
    return steps


def sum_by_step(begin_ps: I64, end_ps: I64, device: I64, time_ps: I64, value: I64) -> I64:
    """Adds values at points in time to the steps in which they are, int64[s, d]; windows and points as in `step_of`."""
    sums = np.zeros(begin_ps.shape, np.int64)
    step, device, value = sums_of_cells(begin_ps, end_ps, device, time_ps, value)
    sums[step, device] = value
    return sums


def sums_of_cells(begin_ps: I64, end_ps: I64, device: I64, time_ps: I64, value: I64) -> tuple[I64, I64, I64]:
    """As `sum_by_step`, the step, device and sum of each pair of a step and a device that has any."""
    rows = np.flatnonzero(value > 0)
    step = step_of(begin_ps, end_ps, device[rows], time_ps[rows])
    rows, step = rows[step >= 0], step[step >= 0]
    device = device[rows]
    code, first = row_codes(step, device)
    return step[first], device[first], sums_by(code, value[rows], len(first))
