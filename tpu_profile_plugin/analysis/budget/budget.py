"""The time budget of one host: every step of every device as disjoint parts that add up to it, to the picosecond."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.analysis.budget import categories as part
from tpu_profile_plugin.analysis.budget.host_time import HostReader, HostTime, MainThread
from tpu_profile_plugin.analysis.budget.idle import NamedTime, idle_parts, name_idle, split_idle
from tpu_profile_plugin.analysis.common.rows import row_codes, sums_by
from tpu_profile_plugin.analysis.common.spans import (
    PartTimes,
    Times,
    contains,
    covered_within,
    intersect,
    join,
    no_time,
    subtract,
    times_of,
    total,
)
from tpu_profile_plugin.analysis.devices.across_hosts import HostRuns, keep_runs
from tpu_profile_plugin.analysis.devices.collectives import CollectiveRuns, RecordedCollectives, recorded_collectives
from tpu_profile_plugin.analysis.devices.kinds import async_role
from tpu_profile_plugin.analysis.devices.model import Device, OpSpans, Work, busy
from tpu_profile_plugin.analysis.devices.unrecorded import Unrecorded, unknown_time, unrecorded
from tpu_profile_plugin.analysis.devices.windows import StepWindows
from tpu_profile_plugin.analysis.environment.environment import hostname
from tpu_profile_plugin.analysis.hlo.programs import HloPrograms
from tpu_profile_plugin.columns import XSpace
from tpu_profile_plugin.columns.arrays import I64, Bools

LEAST_IDLE = 0.005
"""Host events are read if the devices are idle for more than this share of the steps."""
LEAST_UNNAMED = 0.01
"""The main thread is searched for causes if idle time is unexplained for more than this share of the steps."""
MOST_CAUSES = 50


@dataclass(frozen=True, slots=True)
class HostCause:
    """Host code that devices were idle for.

    Attributes:
      name: frame `$file.py:line function` of the program's own code, else the deepest event that covers the idle time.
      inner: that deepest event.
      time_ps: int per device of the host, summed over steps.
    """

    name: str
    inner: str
    time_ps: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class HostBudget:
    """The time budget of one host.

    Attributes:
      hostname: as recorded.
      devices: (name, kind) of each device; without any the rest is empty.
      steps: windows of the steps.
      time_ps: what the steps are spent on, by index in `CATEGORIES`, step and device.
      busy: bool[s, d], the device ran something in the step.
      between_ps, between_time_ps: int64[d] and int64[d, c], the same for the time between successive steps.
      causes, between_causes: host code by idle time in steps and between them, most first.
      runs: runs of collectives, for matching with other hosts.
      traced: Python functions were recorded; None if the main thread was not searched.
      shared_ps: exposed communication of CPU devices, summed over steps and devices, while others compute on the cores
        that they share.
      unrecorded: per device the launches without events; empty if the device is hardly idle.
    """

    hostname: str
    devices: tuple[tuple[str, str], ...]
    steps: StepWindows | None
    time_ps: PartTimes
    busy: Bools
    between_ps: I64
    between_time_ps: I64
    causes: tuple[HostCause, ...] = ()
    runs: HostRuns | None = None
    traced: bool | None = None
    shared_ps: int = 0
    between_causes: tuple[HostCause, ...] = ()
    unrecorded: tuple[Unrecorded, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class DeviceWork:
    """Disjoint sets of time of one device, by category; `any` is their union."""

    parts: Mapping[int, Times]
    any: Times


@dataclass(frozen=True, slots=True, eq=False)
class DeviceTime:
    """How one device spends the time from the begin of the first step to the end of the last.

    Attributes:
      spent: (index in `CATEGORIES`, spans), disjoint sets of time; several may have the same index.
      work: the part of it that the device works.
      named: idle time with the host code that covers it.
      windows: begin and end of the steps.
      between: the time between successive steps.
    """

    spent: tuple[tuple[int, Times], ...]
    work: DeviceWork
    named: NamedTime
    windows: Times
    between: Times


@dataclass(frozen=True, slots=True, eq=False)
class SpentTime:
    """How the devices of one host spend their steps, span by span.

    Attributes:
      devices: per device.
      steps: windows of the steps.
      collectives: runs of collectives on them.
      main: the main thread, if it was searched for causes (`searched`).
      unrecorded: per device the launches without events.
      shared: when any device of the CPU backend is at work, None for devices with cores of their own.
    """

    devices: tuple[DeviceTime, ...]
    steps: StepWindows
    collectives: RecordedCollectives
    main: MainThread
    searched: bool
    unrecorded: tuple[Unrecorded, ...]
    shared: Times | None

    def thread(self, reader: HostReader) -> MainThread:
        """The main thread, read now unless it was searched."""
        steps = self.steps
        since, until = int(steps.begin_ps.min()), int(steps.end_ps.max())
        return self.main if self.searched else reader.main(since, until, steps.evidence)


def host_budget(
    space: XSpace,
    devices: Sequence[Device],
    steps: StepWindows | None,
    programs: HloPrograms,
    reader: HostReader | None = None,
) -> HostBudget:
    """The budget of one host's devices, of their steps; empty without devices. `reader` may share what it reads."""
    return budget_of(space, devices, spent_time(devices, steps, programs, reader or HostReader(space)))


def spent_time(
    devices: Sequence[Device], steps: StepWindows | None, programs: HloPrograms, reader: HostReader
) -> SpentTime | None:
    """How one host's devices spend their steps; None without devices."""
    if not devices or steps is None:
        return None
    since, until = int(steps.begin_ps.min()), int(steps.end_ps.max())
    whole = np.array([since]), np.array([until])
    length = (until - since) * len(devices)
    collectives = recorded_collectives(devices, programs)
    work = [device_work(device, _waits(device, i, collectives.runs)) for i, device in enumerate(devices)]
    idle = [subtract(whole, done.any) for done in work]
    look = sum(map(total, idle)) > LEAST_IDLE * length or steps.without_work
    host = reader.time if look else HostTime()
    lost = [Unrecorded() for _ in devices] if not look else unrecorded(reader.space, reader.events, devices)
    unknown = [
        unknown_time(times, device, missing, host.calls.times(device.launch_key)[0], host.transfer)
        if len(missing) and device.kind == "gpu"
        else no_time()
        for times, device, missing in zip(idle, devices, lost, strict=True)
    ]
    idle = [subtract(times, missing) for times, missing in zip(idle, unknown, strict=True)]
    others = sharing(devices)
    split = [split_idle(times, device, host, others) for times, device in zip(idle, devices, strict=True)]
    unnamed = sum(total(causes.rest) for causes in split) > LEAST_UNNAMED * length
    main = reader.main(since, until, steps.evidence) if unnamed else MainThread()
    named = [name_idle(causes.rest, main, device) for causes, device in zip(split, devices, strict=True)]
    spent = []
    for i, done in enumerate(work):
        parts = (*done.parts.items(), *idle_parts(split[i], named[i]), (part.NOT_RECORDED, unknown[i]))
        windows = steps.begin_ps[:, i], steps.end_ps[:, i]
        spent.append(DeviceTime(parts, done, named[i], windows, subtract(whole, times_of(*windows))))
    return SpentTime(tuple(spent), steps, collectives, main, unnamed, tuple(lost), others)


def budget_of(space: XSpace, devices: Sequence[Device], spent: SpentTime | None) -> HostBudget:
    """The budget of one host from how its devices spend their time; empty without devices."""
    if spent is None:
        none = np.zeros(0, np.int64)
        busy = np.zeros((0, 0), np.bool_)
        return HostBudget(hostname(space), (), None, PartTimes(), busy, none, none.reshape(0, len(part.CATEGORIES)))
    steps = spent.steps
    time = np.zeros((len(part.CATEGORIES), len(steps), len(devices)), np.int64)
    between = np.zeros((len(devices), len(part.CATEGORIES)), np.int64)
    busy = np.zeros((len(steps), len(devices)), np.bool_)
    for i, one in enumerate(spent.devices):
        for category, times in one.spent:
            time[category, :, i] += covered_within(*times, *one.windows)
            between[i, category] += covered_within(*times, *one.between).sum()
        busy[:, i] = covered_within(*one.work.any, *one.windows) > 0
    named = [one.named for one in spent.devices]
    return HostBudget(
        hostname(space),
        tuple((device.name, device.kind) for device in devices),
        steps,
        PartTimes.of(part.PARTS, time),
        busy,
        np.array([total(one.between) for one in spent.devices], np.int64),
        between,
        _causes(named, [one.windows for one in spent.devices], spent.main),
        keep_runs(spent.collectives, len(devices)),
        traced=spent.main.traced if spent.searched else None,
        shared_ps=0 if spent.shared is None else _shared_ps([one.work for one in spent.devices], steps),
        between_causes=_causes(named, [one.between for one in spent.devices], spent.main),
        unrecorded=spent.unrecorded,
    )


def _shared_ps(work: Sequence[DeviceWork], steps: StepWindows) -> int:
    """Exposed communication in steps while any device computes."""
    compute = join(*(done.parts[category] for done in work for category in (part.COMPUTE, part.DATA_MOVEMENT)))
    spans = [intersect(done.parts[part.EXPOSED_COMMUNICATION], compute) for done in work]
    return sum(
        int(covered_within(*shared, steps.begin_ps[:, i], steps.end_ps[:, i]).sum()) for i, shared in enumerate(spans)
    )


_COPIES = (
    (Work.INPUT, part.IDLE_INPUT),
    (Work.OUTPUT, part.IDLE_TRANSFER),
    (Work.UPLOAD, part.INPUT_COPY),
    (Work.DOWNLOAD, part.OUTPUT_COPY),
    (Work.PEER_COPY, part.PEER_TRANSFER),
    (Work.COPY, part.EXPOSED_COPY),
    (Work.MOVE_WAIT, part.MOVE_WAIT),
)
"""Work that counts after computation and communication, in this order, and its part."""


def device_work(device: Device, waits: OpSpans) -> DeviceWork:
    """Time of a device by category: computation, then exposed communication, waits for the host, and copies.

    An asynchronous copy that is under way during a wait is not what the core waits for.

    The own time of loops and calls is computation where nothing else is under way. `waits` are the parts of collectives
    in which the device waited for others; they count as such where no other communication is under way.
    """
    compute, done = device.runs.times(Work.COMPUTE), device.compute()
    parts = {part.DATA_MOVEMENT: subtract(done, compute)}
    exposed = subtract(device.communication(), done)
    parts[part.IDLE_PEER] = peer = _waiting(device, exposed, waits)
    transfers = intersect(subtract(exposed, peer), device.sends())
    parts[part.EXPOSED_COMMUNICATION] = subtract(subtract(exposed, peer), transfers)
    parts[part.PEER_TRANSFER] = transfers
    done = join(done, exposed)
    for work, category in _COPIES:
        # A core does not wait for an asynchronous infeed or outfeed.
        times = device.runs.times(work) if work in (Work.INPUT, Work.OUTPUT) else device.copies(work)
        if len(times[0]):
            alone = subtract(times, done)
            parts[category] = join(parts[category], alone) if category in parts else alone
            done = join(done, alone)
    control = subtract(times_of(device.control.begin_ps, device.control.end_ps), done)
    parts[part.COMPUTE] = join(compute, control)
    return DeviceWork(parts, join(done, control))


def sharing(devices: Sequence[Device]) -> Times | None:
    """When any device of the CPU backend is at work; None for devices with cores of their own."""
    if devices[0].kind != "cpu" or len(devices) == 1:
        return None
    return join(*map(busy, devices))


def _waits(device: Device, number: int, collectives: CollectiveRuns) -> OpSpans:
    """The collectives of a device in which it waited: from its begin to that of the last device."""
    rows = np.flatnonzero((collectives.device == number) & (collectives.wait_ps > 0))
    begin = collectives.begin_ps[rows]
    return OpSpans(
        begin,
        begin + collectives.wait_ps[rows],
        np.zeros(len(rows), np.int32),
        np.full(len(rows), Work.COMMUNICATION, np.uint8),
        collectives.source[rows],
    )


def _waiting(device: Device, exposed: Times, waits: OpSpans) -> Times:
    """Exposed communication during which every collective under way waits for another device."""
    if not len(waits):
        return no_time()
    runs, windows = device.runs, device.windows
    begin = (runs.begin_ps.copy(), windows.begin_ps.copy())
    in_runs = waits.event >= 0
    begin[0][waits.event[in_runs]] = waits.end_ps[in_runs]
    begin[1][-1 - waits.event[~in_runs]] = waits.end_ps[~in_runs]
    talks = (runs.work == Work.COMMUNICATION, windows.work == Work.COMMUNICATION)
    # The ops that begin and end an asynchronous collective are a part of its window.
    parts = np.array([async_role(op.name) is not None for op in device.ops], np.bool_)[runs.op]
    talks[0][parts & contains(times_of(windows.begin_ps, windows.end_ps, talks[1]), runs.begin_ps)] = False
    active = times_of(
        np.concatenate([begin[0][talks[0]], begin[1][talks[1]]]),
        np.concatenate([runs.end_ps[talks[0]], windows.end_ps[talks[1]]]),
    )
    return intersect(subtract(exposed, active), times_of(waits.begin_ps, waits.end_ps))


def _causes(named: Sequence[NamedTime], windows: Sequence[Times], main: MainThread) -> tuple[HostCause, ...]:
    """The host code that most idle time within each device's windows is due to."""
    sums: dict[tuple[int, int], list[int]] = {}
    for device, named_time in enumerate(named):
        inside = covered_within(*times_of(*windows[device]), *named_time.host)
        code, first = row_codes(named_time.name, named_time.inner)
        total_ps = sums_by(code, inside, len(first))
        for name, inner, ps in zip(
            named_time.name[first].tolist(), named_time.inner[first].tolist(), total_ps.tolist(), strict=True
        ):
            sums.setdefault((name, inner), [0] * len(named))[device] += ps
    most = sorted((item for item in sums.items() if sum(item[1])), key=lambda item: -sum(item[1]))[:MOST_CAUSES]
    return tuple(HostCause(main.names[name], main.names[inner], tuple(ps)) for (name, inner), ps in most)
