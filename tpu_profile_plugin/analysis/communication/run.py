"""Communication of a run: collectives matched between hosts on a common clock, and the devices others wait for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import repeat

import numpy as np

from tpu_profile_plugin.analysis.common.rows import extents
from tpu_profile_plugin.analysis.communication.host import CollectiveSums, HostCommunication
from tpu_profile_plugin.analysis.communication.stragglers import Straggler, before_last, stragglers
from tpu_profile_plugin.analysis.devices.across_hosts import MatchedHosts, clock_offsets, match_hosts, sum_by_step
from tpu_profile_plugin.analysis.devices.clocks import ClockOffset
from tpu_profile_plugin.analysis.devices.collectives import CollectiveRuns, FirstWait, waits_for_start
from tpu_profile_plugin.analysis.devices.model import RunDevice
from tpu_profile_plugin.analysis.devices.windows import StepWindows, common_rows
from tpu_profile_plugin.columns.arrays import I64


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
        late = {one.index for one in self.stragglers}
        hosts = {self.devices[index].host for index in late}
        if len(self.hosts) < 2 or len(hosts) != 1 or len(late) < 2:
            return None
        (host,) = hosts
        return host if sum(device.host == host for device in self.devices) == len(late) else None


@dataclass(frozen=True, slots=True, eq=False)
class _AllHosts:
    """Results that need all hosts."""

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
        names=tuple(steps[0].names[at] for at in rows[0].tolist()) if steps else (),
        begin_ps=_side_by_side([one.begin_ps[row] for one, row in zip(steps, rows, strict=True)]),
        work_ps=work,
        communication_ps=communication,
        exposed_ps=exposed,
        wait_ps=together.wait_ps,
        caused_ps=together.caused_ps,
        first_waits=together.first_waits,
        sums=tuple(sorted(together.sums, key=lambda one: (-one.own_exposed_ps, -one.exposed_ps, one.key.name))),
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
    if not late or together.runs is None:
        return late
    runs = together.runs
    matched = [part for i, part in enumerate(parts) if not i or together.offsets[i] is not None]
    before = (
        np.concatenate([getattr(part, name) for part in matched])[runs.source]
        for name in ("work_before_ps", "idle_before_ps", "queued_ps")
    )
    did, idle, queued = before
    return tuple(replace(one, before=before_last(runs, did, idle, queued, one.index)) for one in late)


def _from_one_host(parts: Sequence[HostCommunication], rows: Sequence[I64]) -> _AllHosts:
    """A single host, or none."""
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
    merged: list[list[CollectiveSums]] = [[] for _ in matched.keys]
    columns = zip(parts, matched.numbers, matched.first_device.tolist(), strict=True)
    for part, numbers, first in columns:
        for number, sums in zip(numbers.tolist(), part.sums, strict=True):
            merged[number].append(_renumbered(replace(sums, key=matched.keys[number]), first))
    caused = np.zeros(sum(len(part.devices) for part in parts), np.int64)
    known = runs.last >= 0
    np.add.at(caused, runs.last[known], runs.repeated_ps[known])
    window = (
        _side_by_side([one.begin_ps[row] for one, row in zip(steps, rows, strict=True)]),
        _side_by_side([one.end_ps[row] for one, row in zip(steps, rows, strict=True)]),
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
        starts += [replace(one, device=one.device + first) for one in parts[position].first_waits]
    early = int(runs.early.sum()) + sum(parts[position].early for position in matched.alone)
    joined = tuple(map(_joined, merged, _rows_of_keys(matched, len(merged)), repeat(matched)))
    starts.sort(key=lambda one: -one.wait_ps)
    return _AllHosts(joined, wait, caused, tuple(starts), early, offsets, runs)


def _renumbered(sums: CollectiveSums, first: int) -> CollectiveSums:
    """The sums with devices numbered from `first`."""
    return replace(sums, device=sums.device + first, last=sums.last + first if sums.last >= 0 else -1)


def _rows_of_keys(matched: MatchedHosts, keys: int) -> list[I64]:
    """The rows of the matched runs of each collective, ascending."""
    runs = matched.runs
    rows = np.flatnonzero(runs.instance >= 0)
    rows = rows[np.argsort(runs.key[rows], kind="stable")]
    return np.split(rows, np.searchsorted(runs.key[rows], np.arange(1, keys)))


def _joined(entries: Sequence[CollectiveSums], rows: I64, matched: MatchedHosts) -> CollectiveSums:
    """One collective over all hosts; waits are between hosts unless some host's clock is unknown."""
    runs = matched.runs
    longest = max(entries, key=lambda one: one.end_ps - one.begin_ps)
    waiting = max(entries, key=lambda one: one.most_wait_ps)
    stalls = [one.stall_ps for one in entries if one.stall_ps is not None]
    merged = replace(
        longest,
        count=sum(one.count for one in entries),
        instances=max(one.instances for one in entries),
        total_ps=sum(one.total_ps for one in entries),
        exposed_ps=sum(one.exposed_ps for one in entries),
        stall_ps=sum(stalls) if stalls else None,
        ranks=max(one.ranks for one in entries),
        wait_ps=sum(one.wait_ps for one in entries),
        most_wait_ps=waiting.most_wait_ps,
        last=waiting.last,
        latency_ps=min(one.latency_ps for one in entries),
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
