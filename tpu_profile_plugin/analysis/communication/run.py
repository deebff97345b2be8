"""Communication of a run: collectives matched between hosts on a common clock, and the devices others wait for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import repeat

import numpy as np

from tpu_profile_plugin.analysis.common.keys import extents
from tpu_profile_plugin.analysis.communication.host import CollectiveSums, HostCommunication
from tpu_profile_plugin.analysis.communication.stragglers import Straggler, outliers, stragglers
from tpu_profile_plugin.analysis.devices.across_hosts import MatchedHosts, clock_offsets, match_hosts, sum_by_step
from tpu_profile_plugin.analysis.devices.clocks import ClockOffset
from tpu_profile_plugin.analysis.devices.model import RunDevice, of_hosts
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
      sums: one entry per collective, most exposed time of its own (`own_exposed_ps`) first.
      stragglers: devices that others wait for; host_outliers: hosts (positions) with far more work, and their score.
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
    sums: tuple[CollectiveSums, ...]
    stragglers: tuple[Straggler, ...]
    host_outliers: tuple[tuple[int, float], ...]
    offsets: tuple[ClockOffset | None, ...]
    early: int
    whole: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class _AllHosts:
    """Results that need all hosts."""

    sums: tuple[CollectiveSums, ...]
    wait_ps: I64
    caused_ps: I64
    early: int
    offsets: tuple[ClockOffset | None, ...]


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
        sums=tuple(sorted(together.sums, key=lambda one: (-one.own_exposed_ps, -one.exposed_ps, one.key.name))),
        stragglers=tuple(stragglers(work.sum(axis=0).tolist(), communication.sum(axis=0).tolist())),
        host_outliers=_host_outliers(devices, hosts, work),
        offsets=together.offsets,
        early=together.early,
        whole=len(chosen) < 2 or all(part.runs.whole for part in chosen),
    )


def _side_by_side(tables: Sequence[I64]) -> I64:
    return np.concatenate(tables, axis=1) if tables else np.zeros((0, 0), np.int64)


def _host_outliers(devices: Sequence[RunDevice], hosts: Sequence[int], work: I64) -> tuple[tuple[int, float], ...]:
    """Hosts whose devices have far more work of their own than those of the others."""
    device_work, columns = work.sum(axis=0), of_hosts(devices)
    means = [float(device_work[columns[host]].mean()) for host in hosts]
    return tuple((hosts[at], score) for at, score in outliers(means))


def _from_one_host(parts: Sequence[HostCommunication], rows: Sequence[I64]) -> _AllHosts:
    """A single host, or none."""
    if not parts:
        return _AllHosts((), np.zeros((0, 0), np.int64), np.zeros(0, np.int64), 0, ())
    (part,) = parts
    return _AllHosts(part.sums, part.wait_ps[rows[0]], part.caused_ps, part.early, (None,))


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
    np.add.at(caused, runs.last[known], runs.wait_ps[known])
    window = (
        _side_by_side([one.begin_ps[row] for one, row in zip(steps, rows, strict=True)]),
        _side_by_side([one.end_ps[row] for one, row in zip(steps, rows, strict=True)]),
    )
    wait = sum_by_step(*window, runs.device, runs.begin_ps - matched.moved_ps[runs.source], runs.wait_ps)
    for position in matched.alone:
        first = int(matched.first_device[position])
        devices = slice(first, first + len(parts[position].devices))
        caused[devices], wait[:, devices] = parts[position].caused_ps, parts[position].wait_ps[rows[position]]
    early = int(runs.early.sum()) + sum(parts[position].early for position in matched.alone)
    joined = tuple(map(_joined, merged, _rows_of_keys(matched, len(merged)), repeat(matched)))
    return _AllHosts(joined, wait, caused, early, offsets)


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
    most = rows[int(runs.wait_ps[rows].argmax())]
    duration = runs.end_ps[rows] - runs.begin_ps[rows]
    _, quickest, _ = extents(runs.instance[rows], duration, duration)
    return replace(
        merged,
        instances=len(quickest),
        latency_ps=int(quickest.sum()),
        ranks=int(runs.ranks[rows].max()),
        wait_ps=int(runs.wait_ps[rows].sum()),
        most_wait_ps=int(runs.wait_ps[most]),
        last=int(runs.last[most]) if runs.wait_ps[most] else -1,
    )
