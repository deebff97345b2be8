"""Collectives of one host's devices: times, waits, bandwidths, and each as recorded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.analysis.common.rows import extents, sums_by
from tpu_profile_plugin.analysis.common.spans import covered_within, no_time, subtract, times_of
from tpu_profile_plugin.analysis.devices import cpu_tf
from tpu_profile_plugin.analysis.devices.across_hosts import (
    ClockOffset,
    HostRuns,
    clock_offsets,
    device_offset,
    keep_runs,
    kept_rows,
    match_hosts,
    sum_by_step,
)
from tpu_profile_plugin.analysis.devices.collectives import (
    CollectiveKey,
    CollectiveRuns,
    FirstWait,
    RecordedCollectives,
    Transfer,
    key_of,
    recorded_collectives,
    waits_for_start,
)
from tpu_profile_plugin.analysis.devices.kinds import async_role
from tpu_profile_plugin.analysis.devices.launches import Launches, LaunchSummary, launch_summary, launches_of
from tpu_profile_plugin.analysis.devices.model import Device, Work, busy
from tpu_profile_plugin.analysis.devices.windows import StepWindows
from tpu_profile_plugin.analysis.environment.environment import hostname
from tpu_profile_plugin.analysis.hlo.programs import HloPrograms
from tpu_profile_plugin.columns import Plane, XSpace
from tpu_profile_plugin.columns.arrays import I64
from tpu_profile_plugin.columns.clocks import clock_of
from tpu_profile_plugin.units import PS_PER_NS

_TWICE = frozenset(("all-reduce",))
_ONCE = frozenset(("all-gather", "reduce-scatter", "all-to-all", "ragged-all-to-all"))


def message_bytes(kind: str, operand_bytes: int | None, ranks: int) -> int | None:
    """Size of the message of one run; None if unknown."""
    if operand_bytes is None or (kind == "all-gather" and not ranks):
        return None
    return operand_bytes * ranks if kind == "all-gather" else operand_bytes


def bus_factor(kind: str, ranks: int) -> float:
    """Bus bandwidth over algorithm bandwidth."""
    if ranks < 1:
        return 1.0
    share = (ranks - 1) / ranks
    return 2 * share if kind in _TWICE else share if kind in _ONCE else 1.0


def gigabytes_per_second(size: int | None, time_ps: int) -> float | None:
    """1e9 bytes per second; None if either is unknown."""
    return None if size is None or time_ps <= 0 else size / time_ps * PS_PER_NS


def may_communicate(devices: Sequence[Device]) -> bool:
    """Whether there are devices that can run collectives; CPUs on which TensorFlow runs ops do not."""
    return bool(devices) and devices[0].name != cpu_tf.NAME


@dataclass(frozen=True, slots=True, eq=False)
class RunWaits:
    """Waits of the runs of one host for the devices of all hosts.

    Attributes:
      wait_ps: int64[n], per row of its `HostRuns`: from the run's begin to that of the last device.
      last: int64[n], the device that began last, counted over all hosts; -1 if unknown.
      execution: int64[n], number of the execution that devices took part in together; -1 if unknown.
      ranks: int64[k], per key of the host the most devices in one execution.
    """

    wait_ps: I64
    last: I64
    execution: I64
    ranks: I64


def waits_between_hosts(parts: Sequence[HostRuns]) -> tuple[list[RunWaits | None], int]:
    """Per host what its runs waited for, None if its clock is unknown; and the number of executions."""
    matched = match_hosts(parts, clock_offsets(parts))
    runs = matched.runs
    columns = [np.empty_like(column) for column in (runs.wait_ps, runs.last, runs.instance)]
    for ordered, column in zip(columns, (runs.wait_ps, runs.last, runs.instance), strict=True):
        ordered[runs.source] = column
    ranks = np.ones(len(runs.keys), np.int64)
    np.maximum.at(ranks, runs.key, runs.ranks)
    waits: list[RunWaits | None] = []
    first = 0
    for i, part in enumerate(parts):
        if i in matched.alone:
            waits.append(None)
            continue
        own = slice(first, first + len(part.key))
        wait, last, execution = (column[own] for column in columns)
        waits.append(RunWaits(wait, last, execution, ranks[matched.numbers[i]]))
        first = own.stop
    return waits, int(runs.instance.max(initial=-1)) + 1


@dataclass(frozen=True, slots=True)
class CollectiveSums:
    """One collective on one host, over all its runs on all devices; times in picoseconds.

    Waits for other devices to start, which happen once, are left out (`HostCommunication.first_waits`).

    Attributes:
      key, transfer: its identity, and the data it transfers.
      count: runs; instances: executions, of all devices together.
      total_ps, exposed_ps: time, and the part of it in which the device computes nothing, summed over runs.
      stall_ps: time in which the core waits: in the done op, or the whole op if it is synchronous; None on GPUs.
      latency_ps: time of the quickest device of each instance, summed: without waits for others.
      ranks: most devices of this host in one instance.
      wait_ps: waits for the last device, summed over runs; most_wait_ps: the longest, for device `last` (-1: none).
      begin_ps, end_ps, device: the longest run.
    """

    key: CollectiveKey
    transfer: Transfer
    count: int
    instances: int
    total_ps: int
    exposed_ps: int
    stall_ps: int | None
    latency_ps: int
    ranks: int
    wait_ps: int
    most_wait_ps: int
    last: int
    begin_ps: int
    end_ps: int
    device: int

    @property
    def own_exposed_ps(self) -> int:
        """Exposed time without waits for late devices: its own cost, by which pages and findings rank."""
        return self.exposed_ps - min(self.wait_ps, self.exposed_ps)


@dataclass(frozen=True, slots=True, eq=False)
class HostCommunication:
    """Communication of one host.

    Attributes:
      hostname; devices: (name, kind) of each; without any the rest is empty.
      steps: windows of the steps.
      sums: one entry per collective.
      work_ps, communication_ps, exposed_ps, wait_ps: int64[s, d], per step and device the time in which it computes, in
        which a collective is under way, in which one is and it does not compute, and its waits for other devices.
      caused_ps: int64[d], time that other devices of the host waited for this one.
      first_waits: runs in which a device waited for others to start; no other time here includes those waits.
      early: runs that ended before the last device began.
      runs: runs of collectives, for matching with other hosts, with their whole waits.
      work_before_ps, idle_before_ps: int64[n], per row of `runs` what its device did since the collective before.
      queued_ps: int64[n], from the launch of the run on the host to its begin; -1 if the launch is not known.
      clocks: per device, how far its clock is behind the host's; None if that is unknown.
      launches: per device, None if it is no GPU.
    """

    hostname: str
    devices: tuple[tuple[str, str], ...]
    steps: StepWindows | None
    sums: tuple[CollectiveSums, ...]
    work_ps: I64
    communication_ps: I64
    exposed_ps: I64
    wait_ps: I64
    caused_ps: I64
    first_waits: tuple[FirstWait, ...]
    early: int
    runs: HostRuns
    work_before_ps: I64
    idle_before_ps: I64
    queued_ps: I64
    clocks: tuple[ClockOffset | None, ...]
    launches: tuple[LaunchSummary | None, ...]


def host_communication(
    space: XSpace,
    devices: Sequence[Device],
    steps: StepWindows | None,
    programs: HloPrograms,
    host: Callable[[], Plane | None] = lambda: None,
) -> HostCommunication:
    """The communication of one host's devices, of their steps; empty without devices that could communicate.

    `host` returns the host plane with the events of launches, where it is read already.
    """
    if steps is None or not may_communicate(devices):
        none, table = np.zeros(0, np.int64), np.zeros((0, 0), np.int64)
        empty = HostRuns((), (), 0, *(none,) * 7)
        tables = table, table, table, table
        return HostCommunication(hostname(space), (), None, (), *tables, none, (), 0, empty, none, none, none, (), ())
    recorded = recorded_collectives(devices, programs)
    runs = recorded.runs
    sums = _sums(devices, recorded)
    launches = launches_of(space, devices, host())
    work, communication, shown = _per_step(devices, steps, runs)
    kept = kept_rows(runs, len(devices))
    before = _before(devices, runs)
    return HostCommunication(
        hostname=hostname(space),
        devices=tuple((device.name, device.kind) for device in devices),
        steps=steps,
        sums=sums,
        work_ps=work,
        communication_ps=communication,
        exposed_ps=shown,
        wait_ps=sum_by_step(steps.begin_ps, steps.end_ps, runs.device, runs.begin_ps, runs.repeated_ps),
        caused_ps=runs.caused_ps(len(devices)),
        first_waits=waits_for_start(runs),
        early=int(runs.early.sum()),
        runs=keep_runs(recorded, len(devices)),
        work_before_ps=before[0][kept],
        idle_before_ps=before[1][kept],
        queued_ps=_queued(launches, runs)[kept],
        clocks=tuple(
            device_offset(launched.delay_ps, clock_of(space.clocks, space.planes[device.plane].name))
            for device, launched in zip(devices, launches, strict=True)
        ),
        launches=tuple(
            launch_summary(device, launched, steps.begin_ps[:, i], steps.end_ps[:, i])
            for i, (device, launched) in enumerate(zip(devices, launches, strict=True))
        ),
    )


def _before(devices: Sequence[Device], runs: CollectiveRuns) -> tuple[I64, I64]:
    """Per run the work and the idle time of its device since all collectives that began before ended."""
    work, idle = np.zeros(len(runs.key), np.int64), np.zeros(len(runs.key), np.int64)
    for number, device in enumerate(devices):
        rows = np.flatnonzero(runs.device == number)
        if not len(rows):
            continue
        rows = rows[np.argsort(runs.begin_ps[rows], kind="stable")]
        span = device.span()
        first = runs.begin_ps[rows[0]] if span is None else min(span[0], int(runs.begin_ps[rows[0]]))
        until = runs.begin_ps[rows]
        since = np.minimum(np.append(first, np.maximum.accumulate(runs.end_ps[rows])[:-1]), until)
        work[rows] = covered_within(*device.compute(), since, until)
        idle[rows] = until - since - covered_within(*busy(device), since, until)
    return work, idle


def _queued(launches: Sequence[Launches], runs: CollectiveRuns) -> I64:
    """Per run the time from its launch to its begin, -1 if that is unknown."""
    queued = np.full(len(runs.key), -1)
    for number, launched in enumerate(launches):
        rows = np.flatnonzero(runs.device == number)
        if not len(launched) or not len(rows):
            continue
        launch = np.minimum(np.searchsorted(launched.begin_ps, runs.begin_ps[rows]), len(launched) - 1)
        same = launched.begin_ps[launch] == runs.begin_ps[rows]
        queued[rows[same]] = np.maximum(launched.delay_ps[launch[same]], 0)
    return queued


def _per_step(devices: Sequence[Device], steps: StepWindows, runs: CollectiveRuns) -> tuple[I64, I64, I64]:
    shape = len(steps), len(devices)
    work, communication, shown = (np.zeros(shape, np.int64) for _ in range(3))
    for i, device in enumerate(devices):
        window = steps.begin_ps[:, i], steps.end_ps[:, i]
        compute, talk = device.compute(), device.communication()
        starting = (runs.device == i) & (runs.start_ps > 0)
        if starting.any():
            begin = runs.begin_ps[starting]
            talk = subtract(talk, times_of(begin, begin + runs.start_ps[starting]))
        work[:, i] = covered_within(*compute, *window)
        communication[:, i] = covered_within(*talk, *window)
        shown[:, i] = covered_within(*(subtract(talk, compute) if len(talk[0]) else no_time()), *window)
    return work, communication, shown


def _sums(devices: Sequence[Device], recorded: RecordedCollectives) -> tuple[CollectiveSums, ...]:
    stalls = _stalls(devices)
    runs = recorded.runs
    order = np.argsort(runs.key, kind="stable")
    cuts = np.searchsorted(runs.key[order], np.arange(len(runs.keys) + 1)).tolist()
    sums = []
    for i, (key, transfer) in enumerate(zip(runs.keys, runs.transfers, strict=True)):
        rows = order[cuts[i] : cuts[i + 1]]
        sums.append(_sum(key, transfer, stalls.get(key), runs, recorded.exposed_ps, rows))
    return tuple(sums)


def _sum(
    key: CollectiveKey, transfer: Transfer, stall_ps: int | None, runs: CollectiveRuns, exposed: I64, rows: I64
) -> CollectiveSums:
    start, waits = runs.start_ps[rows], runs.repeated_ps[rows]
    duration = runs.end_ps[rows] - runs.begin_ps[rows] - start
    instance = runs.instance[rows]
    alone = instance < 0
    _, quickest, _ = extents(instance[~alone], duration[~alone], duration[~alone])
    waiting, longest = int(waits.argmax()), rows[int((duration - (start > 0)).argmax())]
    return CollectiveSums(
        key=key,
        transfer=transfer,
        count=len(rows),
        instances=len(quickest) + int(alone.sum()),
        total_ps=int(duration.sum()),
        exposed_ps=int(np.maximum(exposed[rows] - start, 0).sum()),
        stall_ps=stall_ps,
        latency_ps=int(quickest.sum()) + int(duration[alone].sum()),
        ranks=int(runs.ranks[rows].max()),
        wait_ps=int(waits.sum()),
        most_wait_ps=int(waits[waiting]),
        last=int(runs.last[rows[waiting]]) if waits[waiting] else -1,
        begin_ps=int(runs.begin_ps[longest]),
        end_ps=int(runs.end_ps[longest]),
        device=int(runs.device[longest]),
    )


def _stalls(devices: Sequence[Device]) -> dict[CollectiveKey, int]:
    """Time of each collective's ops on TensorCores, start ops excluded: the core does nothing else meanwhile."""
    stalls: dict[CollectiveKey, int] = {}
    for device in devices:
        if device.kind != "tpu":
            continue
        duration = sums_by(device.runs.op, device.runs.end_ps - device.runs.begin_ps, len(device.ops))
        for op, ps in zip(device.ops, duration.tolist(), strict=True):
            role = async_role(op.name)
            if op.work == Work.COMMUNICATION:
                key = key_of(op)
                stalls[key] = stalls.get(key, 0) + (0 if role and role[1] else ps)
    return stalls
