"""Collectives of a run, and which devices are late to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import repeat

import numpy as np

from tpu_profile_plugin.analysis.common.rows import among, extents
from tpu_profile_plugin.analysis.common.spans import exact_sum
from tpu_profile_plugin.analysis.communication.host_collectives import CollectiveSums, HostCommunication
from tpu_profile_plugin.analysis.devices.across_hosts import (
    ClockOffset,
    MatchedHosts,
    clock_offsets,
    match_hosts,
    sum_by_step,
)
from tpu_profile_plugin.analysis.devices.collectives import CollectiveRuns, FirstWait, waits_for_start
from tpu_profile_plugin.analysis.devices.model import RunDevice, of_hosts
from tpu_profile_plugin.analysis.devices.windows import StepWindows, common_rows
from tpu_profile_plugin.columns.arrays import F64, I64

LATE_SHARE = 0.8
"""Share of all waits that late devices cause: chance spreads waits evenly."""
LATE_DEVICES = 0.25
"""Largest share of the devices that are called late, if no whole host is: where more are, waits are spread."""
LEAST_WAITS = 0.1
"""Least share of the time in collectives that is waits: with less, the collectives themselves take the time."""
AS_LATE = 0.2
"""A device that waits at most so much of the others' mean comes as late as the last one."""
LEAST_RATIO = 1.5
"""Least ratio of the work of a device with clearly more of it to the median; others must also wait."""
LEAST_WAIT = 2.0
"""Least ratio of the others' time in collectives to that of a device with more work: they wait."""
LEAST_FOR_Z = 5
"""Least number of devices for z-scores."""


@dataclass(frozen=True, slots=True)
class MoreWork:
    """A device that works longer than the others, which are in collectives meanwhile.

    Attributes:
      index: its position.
      ratio: its own work over the median.
      z: modified z-score of its work among all; None if there are too few or they do not vary.
      waits: the others' mean time in collectives over its own; None if it spends none.
    """

    index: int
    ratio: float
    z: float | None
    waits: float | None


@dataclass(frozen=True, slots=True)
class Before:
    """Work and idle time of devices from one collective to the next where one of them came last, on average in ps.

    Attributes:
      times: how often it came last.
      work_ps, idle_ps: of that device; others_work_ps, others_idle_ps: of the devices that waited for it.
      launched_after_ps: how much later its host launched it; None if launches are not known.
    """

    times: int
    work_ps: int
    idle_ps: int
    others_work_ps: int
    others_idle_ps: int
    launched_after_ps: int | None = None


@dataclass(frozen=True, slots=True)
class Straggler:
    """A device that others wait for.

    Attributes:
      index: its position; caused_ps: time that others waited for it; share: of all waits.
      ratio: its own work over the median; None if that is 0.
      work: how it has more work than the others; None if it has about as much.
      before: what it did before the collectives that the others waited for it in; None if that is unknown.
    """

    index: int
    caused_ps: int
    share: float
    ratio: float | None
    work: MoreWork | None
    before: Before | None = None


def stragglers(
    devices: Sequence[RunDevice], caused: I64, waits: I64, work: I64, communication: I64
) -> tuple[Straggler, ...]:
    """The devices that caused most of the waits, or have clearly more work, most first; none if waits are spread else.

    Of several devices of a CPU, which share its cores, which gets one last is chance unless it has more work.

    Args:
      devices: of all hosts.
      caused, waits, work, communication: int64[d], time that others waited for a device, that it waited itself, of its
        own work, and in collectives, in ps.
    """
    total = exact_sum(caused)
    if len(devices) < 2 or not total or total < LEAST_WAITS * exact_sum(communication):
        return ()
    more = {device.index: device for device in with_more_work(work.tolist(), communication.tolist())}
    late = []
    for index in _late(devices, caused, waits) or _few(more, len(devices)):
        of_host = [other for other in devices if other.host == devices[index].host]
        shares_cores = devices[index].kind == "cpu" and len(of_host) > 1
        if shares_cores and index not in more:
            continue
        usual = _usual(work.astype(np.float64), index)
        ratio = int(work[index]) / usual if usual > 0 else None
        late.append(Straggler(index, int(caused[index]), int(caused[index]) / total, ratio, more.get(index)))
    return tuple(late)


def _few(more: Mapping[int, MoreWork], devices: int) -> list[int]:
    """Devices with more work where waits are spread, as from stage to stage of a pipeline, all for the slow one."""
    return list(more) if len(more) <= max(1, int(LATE_DEVICES * devices)) else []


def _late(devices: Sequence[RunDevice], caused: I64, waits: I64) -> list[int]:
    """The fewest devices that caused most waits, or all devices of a host that did, most first."""
    order = np.argsort(-caused, kind="stable")
    least = LATE_SHARE * exact_sum(caused)
    few = order[: int(np.searchsorted(np.cumsum(caused[order].astype(np.float64)), least * (1 - 1e-12))) + 1]
    of_host = {host: list(range(len(devices)))[columns] for host, columns in of_hosts(devices).items()}
    on_hosts = len(of_host) > 1
    if len(few) <= max(1, int(LATE_DEVICES * len(devices))):
        siblings = of_host[devices[int(few[0])].host]
        others = np.delete(np.arange(len(devices)), few)
        as_late = set(few.tolist()) | set(others[waits[others] <= AS_LATE * waits[others].mean()].tolist())
        together = on_hosts and set(few.tolist()) <= set(siblings) <= as_late
        return sorted(siblings, key=lambda i: -int(caused[i])) if together else few.tolist()
    for own in of_host.values() if on_hosts else ():
        if exact_sum(caused[own]) >= least:
            return sorted(own, key=lambda i: -int(caused[i]))
    return []


def before_last(runs: CollectiveRuns, work: I64, idle: I64, queued: I64, device: int) -> Before | None:
    """Work and idle time of a device and the others before the collectives in which others waited for it.

    Args:
      runs: of all devices, matched.
      work, idle: int64[n], per run the work and the idle time of its device since the collective before.
      queued: int64[n], from the launch of each to its begin, -1 if that is unknown.
      device: the device that came last.
    """
    for_it = (runs.last == device) & (runs.instance >= 0)
    instances = np.unique(runs.instance[for_it & (runs.repeated_ps > 0)])
    if not len(instances):
        return None
    met = among(runs.instance, instances)
    own, others = met & (runs.device == device), met & (runs.device != device)
    launched = None
    if bool((queued[own] >= 0).all()) and bool((queued[others] >= 0).all()):
        call = runs.begin_ps - queued
        first = int(call[own | others].min())
        launched = _mean(call[own] - first) - _mean(call[others] - first)
    return Before(
        times=len(instances),
        work_ps=_mean(work[own]),
        idle_ps=_mean(idle[own]),
        others_work_ps=_mean(work[others]),
        others_idle_ps=_mean(idle[others]),
        launched_after_ps=launched,
    )


def _mean(ps: I64) -> int:
    return exact_sum(ps) // len(ps)


def with_more_work(work: Sequence[float], communication: Sequence[float]) -> list[MoreWork]:
    """Devices with 1.5 times the median work or more, while others spend twice their time in collectives.

    Args:
      work: own time of each, without communication, idle time and waits.
      communication: time of each in collectives.
    """
    times, talk = np.array(work, np.float64), np.array(communication, np.float64)
    if len(times) < 2 or not (times > 0).any():
        return []
    scores = modified_z(times)
    slow = []
    for i in range(len(times)):
        median = _usual(times, i)
        ratio = float(times[i]) / median if median > 0 else float("inf")
        others = float(np.delete(talk, i).mean())
        if ratio >= LEAST_RATIO and others > 0 and others >= LEAST_WAIT * talk[i]:
            z = None if scores is None else float(scores[i])
            slow.append(MoreWork(i, ratio, z, others / float(talk[i]) if talk[i] > 0 else None))
    return sorted(slow, key=lambda device: -device.ratio)


def _usual(times: F64, index: int) -> float:
    """The median of the devices; of two, the time of the other one."""
    return float(np.median(np.delete(times, index))) if len(times) == 2 else float(np.median(times))


def modified_z(values: F64) -> F64 | None:
    """0.6745 (x - median) / median absolute deviation; None for few values or if more than half are equal."""
    if len(values) < LEAST_FOR_Z:
        return None
    centred = values - np.median(values)
    spread = float(np.median(np.abs(centred)))
    return 0.6745 * centred / spread if spread > 0 else None


@dataclass(frozen=True, slots=True, eq=False)
class RunCommunication:
    """Communication of one or more hosts.

    Attributes:
      hosts: positions of the hosts with devices.
      devices: host after host; indices of devices in `sums` and `stragglers` refer to it.
      number, names, begin_ps: int64[s], names, int64[s, d] of the steps that all hosts have.
      work_ps, communication_ps, exposed_ps, wait_ps: int64[s, d].
      caused_ps: int64[d], time that other devices waited for this one.
      first_waits: runs in which a device waited for others to start, times on its own host's axis, longest first; no
        other time here includes those waits.
      sums: one entry per collective, most exposed time of its own (`own_exposed_ps`) first.
      stragglers: devices that others wait for, most first; the one answer to who is late.
      offsets: per host in `hosts`, its clock against the first one's; None for the first and where unknown.
      early: runs that ended before the last device began.
      whole: waits between hosts are of all runs.
    """

    hosts: tuple[int, ...]
    devices: tuple[RunDevice, ...]
    number: I64
    names: tuple[str, ...]
    begin_ps: I64
    work_ps: I64
    communication_ps: I64
    exposed_ps: I64
    wait_ps: I64
    caused_ps: I64
    first_waits: tuple[FirstWait, ...]
    sums: tuple[CollectiveSums, ...]
    stragglers: tuple[Straggler, ...]
    offsets: tuple[ClockOffset | None, ...]
    early: int
    whole: bool = True

    @property
    def late_host(self) -> int | None:
        """The position of the host whose devices, of which there are several, are all late; None without one."""
        late = {straggler.index for straggler in self.stragglers}
        hosts = {self.devices[index].host for index in late}
        if len(self.hosts) < 2 or len(hosts) != 1 or len(late) < 2:
            return None
        (host,) = hosts
        return host if sum(device.host == host for device in self.devices) == len(late) else None


@dataclass(frozen=True, slots=True, eq=False)
class _AllHosts:
    sums: tuple[CollectiveSums, ...]
    wait_ps: I64
    caused_ps: I64
    first_waits: tuple[FirstWait, ...]
    early: int
    offsets: tuple[ClockOffset | None, ...]
    runs: CollectiveRuns | None = None


def merge_communication(parts: Sequence[HostCommunication]) -> RunCommunication:
    """Merges the hosts that have devices, over their common steps."""
    hosts = [i for i, part in enumerate(parts) if part.devices and part.steps is not None]
    chosen = [parts[i] for i in hosts]
    devices = tuple(RunDevice(name, i, kind) for i in hosts for name, kind in parts[i].devices)
    steps = [part.steps for part in chosen if part.steps is not None]
    rows = common_rows(steps)
    work, communication, exposed = (
        _side_by_side([getattr(part, name)[row] for part, row in zip(chosen, rows, strict=True)])
        for name in ("work_ps", "communication_ps", "exposed_ps")
    )
    together = _from_one_host(chosen, rows) if len(chosen) < 2 else _from_hosts(chosen, steps, rows)
    return RunCommunication(
        hosts=tuple(hosts),
        devices=devices,
        number=steps[0].number[rows[0]] if steps else np.zeros(0, np.int64),
        names=tuple(steps[0].names[row] for row in rows[0].tolist()) if steps else (),
        begin_ps=_side_by_side([windows.begin_ps[row] for windows, row in zip(steps, rows, strict=True)]),
        work_ps=work,
        communication_ps=communication,
        exposed_ps=exposed,
        wait_ps=together.wait_ps,
        caused_ps=together.caused_ps,
        first_waits=together.first_waits,
        sums=tuple(sorted(together.sums, key=lambda sums: (-sums.own_exposed_ps, -sums.exposed_ps, sums.key.name))),
        stragglers=_stragglers(chosen, devices, together, work, communication),
        offsets=together.offsets,
        early=together.early,
        whole=len(chosen) < 2 or all(part.runs.whole for part in chosen),
    )


def _side_by_side(tables: Sequence[I64]) -> I64:
    return np.concatenate(tables, axis=1) if tables else np.zeros((0, 0), np.int64)


def _stragglers(
    parts: Sequence[HostCommunication],
    devices: Sequence[RunDevice],
    together: _AllHosts,
    work: I64,
    communication: I64,
) -> tuple[Straggler, ...]:
    """The devices that others wait for, with what they did before."""
    caused, waits = together.caused_ps, together.wait_ps.sum(axis=0)
    late = stragglers(devices, caused, waits, work.sum(axis=0), communication.sum(axis=0))
    runs = together.runs
    if runs is None:
        return late
    matched = [part for i, part in enumerate(parts) if not i or together.offsets[i] is not None]
    before = (
        np.concatenate([getattr(part, name) for part in matched])[runs.source]
        for name in ("work_before_ps", "idle_before_ps", "queued_ps")
    )
    did, idle, queued = before
    return tuple(replace(last, before=before_last(runs, did, idle, queued, last.index)) for last in late)


def _from_one_host(parts: Sequence[HostCommunication], rows: Sequence[I64]) -> _AllHosts:
    if not parts:
        return _AllHosts((), np.zeros((0, 0), np.int64), np.zeros(0, np.int64), (), 0, ())
    (part,) = parts
    runs = match_hosts([part.runs], (None,)).runs
    return _AllHosts(part.sums, part.wait_ps[rows[0]], part.caused_ps, part.first_waits, part.early, (None,), runs)


def _from_hosts(parts: Sequence[HostCommunication], steps: Sequence[StepWindows], rows: Sequence[I64]) -> _AllHosts:
    """Merges the collectives of all hosts; hosts with unknown clocks keep the waits among their own devices."""
    offsets = clock_offsets([part.runs for part in parts])
    matched = match_hosts([part.runs for part in parts], offsets)
    runs = matched.runs
    merged: list[list[CollectiveSums]] = [[] for _ in runs.keys]
    columns = zip(parts, matched.numbers, matched.first_device.tolist(), strict=True)
    for part, numbers, first in columns:
        for number, sums in zip(numbers.tolist(), part.sums, strict=True):
            last = sums.last + first if sums.last >= 0 else -1
            merged[number].append(replace(sums, key=runs.keys[number], device=sums.device + first, last=last))
    caused = runs.caused_ps(sum(len(part.devices) for part in parts))
    window = (
        _side_by_side([windows.begin_ps[row] for windows, row in zip(steps, rows, strict=True)]),
        _side_by_side([windows.end_ps[row] for windows, row in zip(steps, rows, strict=True)]),
    )
    own_axis = runs.begin_ps - matched.moved_ps[runs.source]
    wait = sum_by_step(*window, runs.device, own_axis, runs.repeated_ps)
    ended = runs.end_ps - matched.moved_ps[runs.source]
    starts = list(waits_for_start(replace(runs, begin_ps=own_axis, end_ps=ended)))
    for position in matched.alone:
        first = int(matched.first_device[position])
        devices = slice(first, first + len(parts[position].devices))
        caused[devices] += parts[position].caused_ps
        wait[:, devices] = parts[position].wait_ps[rows[position]]
        starts += [replace(wait, device=wait.device + first) for wait in parts[position].first_waits]
    early = int(runs.early.sum()) + sum(parts[position].early for position in matched.alone)
    joined = tuple(map(_joined, merged, _rows_of_keys(matched, len(merged)), repeat(matched)))
    starts.sort(key=lambda run: -run.wait_ps)
    return _AllHosts(joined, wait, caused, tuple(starts), early, offsets, runs)


def _rows_of_keys(matched: MatchedHosts, keys: int) -> list[I64]:
    """The rows of the matched runs of each collective, ascending."""
    runs = matched.runs
    rows = np.flatnonzero(runs.instance >= 0)
    rows = rows[np.argsort(runs.key[rows], kind="stable")]
    return np.split(rows, np.searchsorted(runs.key[rows], np.arange(1, keys)))


def _joined(entries: Sequence[CollectiveSums], rows: I64, matched: MatchedHosts) -> CollectiveSums:
    """One collective over all hosts; waits are between hosts unless some host's clock is unknown."""
    runs = matched.runs
    longest = max(entries, key=lambda sums: sums.end_ps - sums.begin_ps)
    waiting = max(entries, key=lambda sums: sums.most_wait_ps)
    stalls = [sums.stall_ps for sums in entries if sums.stall_ps is not None]
    merged = replace(
        longest,
        count=sum(sums.count for sums in entries),
        instances=max(sums.instances for sums in entries),
        total_ps=sum(sums.total_ps for sums in entries),
        exposed_ps=sum(sums.exposed_ps for sums in entries),
        stall_ps=sum(stalls) if stalls else None,
        ranks=max(sums.ranks for sums in entries),
        wait_ps=sum(sums.wait_ps for sums in entries),
        most_wait_ps=waiting.most_wait_ps,
        last=waiting.last,
        latency_ps=min(sums.latency_ps for sums in entries),
    )
    if matched.alone or not len(rows):
        return merged
    waits = runs.repeated_ps
    most = rows[int(waits[rows].argmax())]
    duration = runs.end_ps[rows] - runs.begin_ps[rows] - runs.start_ps[rows]
    _, quickest, _ = extents(runs.instance[rows], duration, duration)
    return replace(
        merged,
        instances=len(quickest),
        latency_ps=int(quickest.sum()),
        ranks=int(runs.ranks[rows].max()),
        wait_ps=int(waits[rows].sum()),
        most_wait_ps=int(waits[most]),
        last=int(runs.last[most]) if waits[most] else -1,
    )
