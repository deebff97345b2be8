"""Splits the idle time of a device by its cause on the host."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.analysis.budget import categories as part
from tpu_profile_plugin.analysis.budget.host_time import HostTime, MainThread
from tpu_profile_plugin.analysis.common.spans import Times, contains, intersect, join, no_time, subtract, times_of
from tpu_profile_plugin.analysis.devices.model import NO_LAUNCH, Device, Work
from tpu_profile_plugin.columns.arrays import I64
from tpu_profile_plugin.units import PS_PER_MS

LAUNCH_PS = PS_PER_MS
"""Launched work that begins later on an idle device does not wait for its launch."""


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

    Gaps within a run of a program are the program's own. Until the work that ends a gap is launched, the host is the
    cause: compilation counts first, then uploads, as a host that waits for results waits for what they need, then
    waiting for results, for input, and launching. What follows a wait for results until the next work begins belongs to
    that wait: with nothing left to do the device had to wait for the host to go on.

    Launched work that has not begun waits for an upload under way, for a copy to the host that blocks the host, or, if
    nothing was queued before it, for its launch: while the call lasts, and a moment more. If it begins later still, a
    host that is blocked waits for results; anything else is the device's own.

    Args:
      idle: when the device does nothing.
      device: the device.
      host: what the host does.
      others: when any device of the CPU backend is at work: those of one process use the same cores.
    """
    gaps = idle if device.programs is None or device.kind == "gpu" else subtract(idle, device.programs)
    within = subtract(idle, gaps)
    index, launched, called = _launch_of(gaps, device, host)
    queued = _queued(gaps, index, launched, called, device)
    rest = subtract(gaps, queued.all)
    waiting_work = queued.all
    if others is not None:
        within = join(within, intersect(waiting_work, others))
        waiting_work = subtract(waiting_work, others)
    compiling = intersect(rest, host.compile_)
    rest = subtract(rest, compiling)
    feeding = join(intersect(join(waiting_work, rest), host.upload), intersect(waiting_work, queued.sending))
    waiting_work, rest = subtract(waiting_work, feeding), subtract(rest, feeding)
    fetches = join(host.transfer, _downloads(device, host))
    waiting = intersect(rest, fetches)
    rest = subtract(rest, waiting)
    fetching = intersect(rest, host.input)
    rest = subtract(rest, fetching)
    dispatching = intersect(rest, host.launch)
    blocked = intersect(intersect(waiting_work, join(queued.receiving, queued.late)), fetches)
    starting = intersect(subtract(waiting_work, blocked), queued.starting)
    stalled = subtract(subtract(waiting_work, blocked), starting)
    # Gaps that begin while the host is blocked on a device, unless the next work was launched already.
    blocks = contains(host.transfer, gaps[0]) & ((launched == NO_LAUNCH) | (launched > gaps[0]))
    after = gaps[0][blocks], gaps[1][blocks]
    launching = join(starting, dispatching)
    return IdleTime(
        compile_=compiling,
        input=join(feeding, fetching),
        transfer=join(join(waiting, blocked), intersect(launching, after)),
        launch=subtract(launching, after),
        within=join(within, stalled),
        rest=_cut_at(subtract(rest, dispatching), host.handover),
    )


@dataclass(frozen=True, slots=True, eq=False)
class NamedTime:
    """Idle time by the event of the main thread that covers it.

    Attributes:
      host: spans that one event covers; other: the others.
      name, inner: per span of `host`, the names of the user's function that covers it, else of the event, and of the
        deepest event that does and tells something, as indices into `MainThread.names`.
    """

    host: Times
    other: Times
    name: I64
    inner: I64


def name_idle(rest: Times, main: MainThread, device: Device | None = None) -> NamedTime:
    """Names the host code behind idle time, span by span; of a host without devices, event by event."""
    if device is not None and device.kind == "host":
        rest = _cut(rest, main)
    deepest = main.levels.covering(*rest)
    named = deepest >= 0
    (begin, end), deepest = (rest[0][named], rest[1][named]), deepest[named]
    inner = main.levels.covering(begin, end, main.user | main.tells)
    inner = np.where(inner >= 0, inner, deepest)
    user = _users(begin, end, main)
    # The user's function that calls a library's may last through all steps.
    through = main.names.index(main.around) if main.around else -1
    outside = np.where((through >= 0) & main.library[inner], through, inner)
    return NamedTime((begin, end), (rest[0][~named], rest[1][~named]), np.where(user >= 0, user, outside), inner)


def _users(begin: I64, end: I64, main: MainThread) -> I64:
    """Per span the name of the user's function that covers it and says most, -1 without one."""
    user = main.levels.covering(begin, end, main.user)
    vague = np.flatnonzero((user >= 0) & ~main.tells[user])
    if len(vague):
        span, telling = (begin[vague], end[vague]), main.user & main.tells
        called, caller = main.levels.covering_together(*span, telling), main.levels.covering(*span, telling)
        around = main.levels.covering(*span, main.user & main.named)
        user[vague] = np.where(called != caller, called, np.where(around >= 0, around, user[vague]))
    return user


def idle_parts(idle: IdleTime, named: NamedTime) -> Iterator[tuple[int, Times]]:
    """Disjoint sets of idle time, each with its category; several may have the same."""
    yield part.IDLE_INPUT, idle.input
    yield part.IDLE_COMPILE, idle.compile_
    yield part.IDLE_HOST, named.host
    yield part.IDLE_TRANSFER, idle.transfer
    yield part.IDLE_LAUNCH, idle.launch
    yield part.IDLE_GAP, idle.within
    yield part.IDLE_OTHER, named.other


def _cut_at(rest: Times, waits: Times) -> Times:
    """The rest in spans that end where a wait begins or ends: several in turn are causes one by one."""
    points = np.unique(np.concatenate(waits))
    points = points[contains(rest, points) & ~np.isin(points, rest[0])]
    return np.sort(np.concatenate([rest[0], points])), np.sort(np.concatenate([rest[1], points]))


def _cut(rest: Times, main: MainThread) -> Times:
    """The rest in spans that end where an outermost event of the main thread begins or ends."""
    ends = [side for sides in (main.levels.begin_ps, main.levels.end_ps) for side in sides[:1]]
    points = np.unique(np.concatenate([*rest, *ends]))
    begin, end = points[:-1], points[1:]
    inside = contains(rest, begin)
    return begin[inside], end[inside]


@dataclass(frozen=True, slots=True, eq=False)
class _Queued:
    """Sets of time in which the work that ends a gap is launched and has not begun.

    `all` of it; while the host sends data to the device (`sending`); if the device then sends data (`receiving`); while
    it is being launched (`starting`); and later than launches take (`late`).
    """

    all: Times
    sending: Times
    receiving: Times
    starting: Times
    late: Times


def _queued(gaps: Times, index: I64, launched: I64, called: I64, device: Device) -> _Queued:
    """In each gap the time from the launch of the work that ends it; all of it if the work was launched before.

    `index`, `launched` and `called` are those of `_launch_of`.
    """
    rows = np.flatnonzero(launched != NO_LAUNCH)
    begin, end, launched, called = (times[rows] for times in (*gaps, launched, called))
    work = device.runs.work[index[rows]] if device.kind == "gpu" else np.full(len(begin), Work.COMPUTE)
    since, until = np.maximum(begin, launched), np.minimum(called, end)
    ready = np.minimum(np.maximum(called, since + LAUNCH_PS), end)
    return _Queued(
        all=times_of(since, end),
        sending=times_of(since, until, work == Work.UPLOAD),
        receiving=times_of(since, end, work == Work.DOWNLOAD),
        starting=times_of(since, ready, launched >= begin),
        late=times_of(ready, end),
    )


def _downloads(device: Device, host: HostTime) -> Times:
    """The calls that copy from a GPU: as far as they last, the host waits for the data."""
    if device.kind != "gpu":
        return no_time()
    begin, end = host.calls.times(device.launch_key[device.runs.work == Work.DOWNLOAD])
    return times_of(begin, end, begin != NO_LAUNCH)


def _launch_of(gaps: Times, device: Device, host: HostTime) -> tuple[I64, I64, I64]:
    """The start that ends each gap, and begin and end of the call that launched it; `NO_LAUNCH` if unknown."""
    if not len(device.starts):
        unknown = np.full(len(gaps[0]), NO_LAUNCH)
        return unknown, unknown, unknown
    index = np.minimum(np.searchsorted(device.starts, gaps[1]), len(device.starts) - 1)
    launched, called = host.calls.times(device.launch_key[index])
    ends_gap = device.starts[index] == gaps[1]
    return index, np.where(ends_gap, launched, NO_LAUNCH), np.where(ends_gap, called, NO_LAUNCH)
