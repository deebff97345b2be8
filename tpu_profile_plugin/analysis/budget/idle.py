"""Splits the idle time of a device by its cause on the host."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.analysis.budget import categories as part
from tpu_profile_plugin.analysis.budget.host_time import HostTime, MainThread
from tpu_profile_plugin.analysis.common.spans import Times, contains, intersect, join, subtract, times_of
from tpu_profile_plugin.analysis.devices.model import NO_LAUNCH, Device
from tpu_profile_plugin.columns.arrays import I64, Bools


@dataclass(frozen=True, slots=True, eq=False)
class IdleTime:
    """Disjoint sets of time that together are the idle time; `rest` is what the names of host events do not tell.

    `within` are gaps in a run of a program, and, on the CPU backend, waits for a core that other devices use.
    """

    compile_: Times
    input: Times
    transfer: Times
    launch: Times
    within: Times
    rest: Times


def split_idle(idle: Times, device: Device, host: HostTime, others: Times | None = None) -> IdleTime:
    """The idle time by cause, where events tell it.

    Gaps within a run of a program are the program's own. Once the work that ends a gap is launched, the host is not the
    cause any more: the rest of the gap is the launch's, or that of an upload under way. Before that compilation counts
    first, then uploads, as a host that waits for results waits for what they need, then waiting for results, for input,
    and launching. What follows a wait for results until the next work
    begins belongs to that wait: with nothing left to do the device had to wait for the host to go on.

    Args:
      idle: when the device does nothing.
      device: the device.
      host: what the host does.
      others: when any device of the CPU backend is at work: those of one process use the same cores.
    """
    gaps = idle if device.programs is None or device.kind == "gpu" else subtract(idle, device.programs)
    within = subtract(idle, gaps)
    queued = _queued(gaps, device, host)
    rest = subtract(gaps, queued)
    if others is not None:
        within = join(within, intersect(queued, others))
        queued = subtract(queued, others)
    compiling = intersect(rest, host.compile_)
    rest = subtract(rest, compiling)
    feeding = intersect(join(queued, rest), host.upload)
    queued, rest = subtract(queued, feeding), subtract(rest, feeding)
    waiting = intersect(rest, host.transfer)
    rest = subtract(rest, waiting)
    fetching = intersect(rest, host.input)
    rest = subtract(rest, fetching)
    dispatching = intersect(rest, host.launch)
    after = _after_transfer(gaps, device, host)
    launching = join(queued, dispatching)
    return IdleTime(
        compile_=compiling,
        input=join(feeding, fetching),
        transfer=join(waiting, intersect(launching, after)),
        launch=subtract(launching, after),
        within=within,
        rest=_cut_at(subtract(rest, dispatching), host.handover),
    )


@dataclass(frozen=True, slots=True, eq=False)
class NamedTime:
    """Idle time by the event of the main thread that covers it.

    Attributes:
      host: spans that one event covers; other: the others.
      name, inner: per span of `host`, the names of the covering user frame (or event) and of the deepest covering
        event, as indices into `MainThread.names`.
    """

    host: Times
    other: Times
    name: I64
    inner: I64


def name_idle(rest: Times, main: MainThread, device: Device | None = None) -> NamedTime:
    """Names the host code behind idle time, span by span; of a host without devices, event by event."""
    if device is not None and device.kind == "host":
        rest = _cut(rest, main)
    inner = main.levels.covering(*rest)
    named = inner >= 0
    begin, end = rest[0][named], rest[1][named]
    user = main.levels.covering(begin, end, main.user)
    other = rest[0][~named], rest[1][~named]
    return NamedTime((begin, end), other, np.where(user >= 0, user, inner[named]), inner[named])


def idle_parts(idle: IdleTime, named: NamedTime) -> Iterator[tuple[int, Times]]:
    """Disjoint sets of idle time, each with its category; several may have the same."""
    yield part.IDLE_INPUT, idle.input
    yield part.IDLE_COMPILE, idle.compile_
    yield part.IDLE_HOST, named.host
    yield part.IDLE_TRANSFER, idle.transfer
    yield part.IDLE_LAUNCH, idle.launch
    yield part.IDLE_OTHER, idle.within
    yield part.IDLE_OTHER, named.other


def _cut_at(rest: Times, waits: Times) -> Times:
    """The same time in spans that end where a wait begins or ends: several in turn are causes one by one."""
    points = np.unique(np.concatenate(waits))
    points = points[contains(rest, points) & ~np.isin(points, rest[0])]
    return np.sort(np.concatenate([rest[0], points])), np.sort(np.concatenate([rest[1], points]))


def _cut(rest: Times, main: MainThread) -> Times:
    """The same time in spans that end where an outermost event of the main thread begins or ends."""
    ends = [side for sides in (main.levels.begin_ps, main.levels.end_ps) for side in sides[:1]]
    points = np.unique(np.concatenate([*rest, *ends]))
    begin, end = points[:-1], points[1:]
    inside = contains(rest, begin)
    return begin[inside], end[inside]


def _queued(gaps: Times, device: Device, host: HostTime) -> Times:
    """In each gap the time from the launch of the work that ends it; all of it if the work was launched before."""
    launched = _launch_of(gaps, device, host)
    known = launched != NO_LAUNCH
    return times_of(np.maximum(gaps[0], launched)[known], gaps[1][known])


def _launch_of(gaps: Times, device: Device, host: HostTime) -> I64:
    """When the work that ends each gap was launched; `NO_LAUNCH` if unknown."""
    if not len(device.starts):
        return np.full(len(gaps[0]), NO_LAUNCH)
    index = np.minimum(np.searchsorted(device.starts, gaps[1]), len(device.starts) - 1)
    launched = host.launches_of(device.launch_key[index])
    return np.where(device.starts[index] == gaps[1], launched, NO_LAUNCH)


def _after_transfer(gaps: Times, device: Device, host: HostTime) -> Times:
    """The gaps that begin while the host is blocked on a device, unless the next work was launched already."""
    blocked = contains(host.transfer, gaps[0]) & ~_launched_before(gaps, device, host)
    return gaps[0][blocked], gaps[1][blocked]


def _launched_before(gaps: Times, device: Device, host: HostTime) -> Bools:
    launched = _launch_of(gaps, device, host)
    before: Bools = (launched != NO_LAUNCH) & (launched <= gaps[0])
    return before
