"""Idle time of devices that the main thread's code causes: waits for results, and code that runs meanwhile.

Steps last until the next one begins here: what a program does between its markers keeps the devices waiting as well.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

import numpy as np

from tpu_profile_plugin import _native
from tpu_profile_plugin.analysis.blame.stacks import NOWHERE
from tpu_profile_plugin.analysis.budget import categories as part
from tpu_profile_plugin.analysis.budget.budget import DeviceTime
from tpu_profile_plugin.analysis.budget.host_names import Activity, activity
from tpu_profile_plugin.analysis.budget.purpose import AS_CODE, RUNTIME, Purpose
from tpu_profile_plugin.analysis.common.op_names import PYTORCH, TENSORFLOW
from tpu_profile_plugin.analysis.common.rows import joined, no_rows, rows_of, sums_by
from tpu_profile_plugin.analysis.common.spans import (
    Times,
    contains,
    covered_within,
    intersect,
    join,
    no_time,
    subtract,
    times_of,
    total,
    union,
)
from tpu_profile_plugin.analysis.devices.inventory import RUNS_WITHIN_HOST_CALLS
from tpu_profile_plugin.analysis.devices.model import HOST_ALONE, NO_LAUNCH, Device
from tpu_profile_plugin.analysis.findings.evidence.host.calls import Calls, calls_of
from tpu_profile_plugin.analysis.findings.evidence.host.launched import WAITS_PER_STEP, synced
from tpu_profile_plugin.analysis.findings.evidence.host.periodic import periodic_work
from tpu_profile_plugin.analysis.findings.evidence.host.usual import usual_shares
from tpu_profile_plugin.analysis.findings.host_view import HostView, once
from tpu_profile_plugin.analysis.findings.lost import LEAST_SHARE, lost_to
from tpu_profile_plugin.columns.arrays import I64, Bools

GLUE_PS = 200_000_000
"""Shorter code between two calls into the runtime (0.2 ms) is the cost of the calls, not slow code."""
_CAUSES = ("idle_compile", "idle_host", "idle_transfer", "idle_launch", "idle_other")
_ONLY_WAITS = re.compile(r"[Bb]lock_?[Uu]ntil_?[Rr]eady")
_MAYBE_FETCH = re.compile(r"\$numpy (?:asarray|array)\Z")
"""Waits for an array of a device, or converts what is on the host; which of them, the device tells."""
_ALWAYS = np.array([np.iinfo(np.int64).min]), np.array([np.iinfo(np.int64).max])


@dataclass(frozen=True, slots=True, eq=False)
class Idle:
    """Idle spans of all devices of a host within the time from step to step.

    Attributes:
      begin_ps, end_ps, device: int64[n]; device: its number.
    """

    begin_ps: I64 = field(default_factory=no_rows)
    end_ps: I64 = field(default_factory=no_rows)
    device: I64 = field(default_factory=no_rows)

    def __len__(self) -> int:
        return len(self.begin_ps)

    @property
    def ps(self) -> I64:
        return self.end_ps - self.begin_ps

    @property
    def middle(self) -> I64:
        return self.begin_ps + self.ps // 2

    def where(self, keep: Bools) -> Idle:
        """The selected spans."""
        return rows_of(self, keep)

    def total(self) -> int:
        """Summed over devices."""
        return int(self.ps.sum())

    def of_device(self, number: int) -> Times:
        """The time that the spans of one device cover."""
        return times_of(self.begin_ps, self.end_ps, self.device == number)

    def usual(self, host: HostView) -> Idle:
        """Idle time in which exceptionally long steps count only as `usual_shares` allows."""
        steps = host.windows[0]
        if not len(steps) or not len(self):
            return self
        step = np.maximum(np.searchsorted(steps, self.begin_ps, side="right") - 1, 0)
        shares = usual_shares(host, np.asarray(sums_by(step, self.ps, len(steps)), np.int64))
        return replace(self, end_ps=self.begin_ps + (self.ps * shares[step]).astype(np.int64))

    def by_part(self, host: HostView) -> I64:
        """By part of the time budget, int64[c + 1]; see `HostView.by_part`."""
        return host.by_part([self.of_device(number) for number in range(max(len(host.devices), 1))], part.PARTS)


@dataclass(frozen=True, slots=True, eq=False)
class Fetches:
    """The outermost calls that wait for a device or its results, int64[n] each; name: index into the thread's names."""

    begin_ps: I64 = field(default_factory=no_rows)
    end_ps: I64 = field(default_factory=no_rows)
    name: I64 = field(default_factory=no_rows)

    def __len__(self) -> int:
        return len(self.begin_ps)


@dataclass(frozen=True, slots=True, eq=False)
class HostCode:
    """What devices of a host wait for on its main thread, without what only some steps do.

    Attributes:
      calls: of the main thread.
      length_ps: time from step to step, summed over steps and devices.
      fetches: calls that wait for results; fetched: how many in steps; blocked_ps: time in them, summed over steps.
      in_lockstep: the host waits several times per step, and for most of what it launches.
      after: idle spans from such a call to the next launch, without code that is known to run meanwhile.
      slow: idle spans that code covers; unknown: idle spans without any event.
      launching: short idle spans that code between two calls of the runtime covers.
      excess_ps: what is left out of these spans, without `launching`, as single steps take far longer; see `usual`.
    """

    calls: Calls
    length_ps: int
    fetches: Fetches
    fetched: int
    blocked_ps: int
    in_lockstep: bool
    after: Idle
    slow: Idle
    unknown: Idle
    launching: Idle
    excess_ps: int = 0

    def within(self, spans: Idle) -> tuple[I64, I64]:
        """The calls in spans, as nodes, and the time in each, summed over devices."""
        ps = np.zeros(len(self.calls.function), np.int64)
        for number in np.unique(spans.device).tolist():
            node, _, of_device = self.calls.stacks.within(spans.of_device(number))
            ps[node] += of_device
        node = np.flatnonzero(ps)
        return np.where(node == len(ps) - 1, NOWHERE, node), ps[node]


@once
def code_of(host: HostView) -> HostCode | None:
    """What the main thread's code costs the devices; None if they are hardly idle.

    Of a host alone only calls into TensorFlow and PyTorch tell when it computes: they return when their ops have run.
    """
    spent, devices = host.spent, host.devices or (HOST_ALONE,)
    alone, in_calls = devices[0].kind == "host", devices[0].name in RUNS_WITHIN_HOST_CALLS
    if spent is None or (alone and not {TENSORFLOW, PYTORCH} & set(host.summary.frameworks)):
        return None
    if not in_calls and lost_to(host.time, *_CAUSES).share < LEAST_SHARE:
        return None
    calls, work = calls_of(host), periodic_work(host)
    windows = [
        join(times_of(*one.windows, host.time.takes_part[:, i].copy()), one.between)
        for i, one in enumerate(spent.devices)
    ]
    whole = np.array([spent.steps.begin_ps.min()]), np.array([spent.steps.end_ps.max()])
    gaps = [subtract(whole, one.work.any) for one in spent.devices]
    stops = np.sort(np.concatenate([begin for begin, _ in gaps]))
    fetches = Fetches() if alone or in_calls else _fetches(calls, stops)
    in_steps = join(*windows)
    fetched = int(contains(in_steps, fetches.begin_ps).sum())
    lockstep = fetched >= WAITS_PER_STEP * len(spent.steps)
    lockstep = lockstep and host.steps is not None and synced(host, host.steps, fetched)
    others = None if spent.shared is None else intersect(spent.shared, _waits_for_all(fetches, calls))
    found: list[list[Idle]] = []
    for i, (device, time) in enumerate(zip(devices, spent.devices, strict=True)):
        rest = _Rest.of(time, calls, fetches, ops_in_calls=alone or in_calls)
        after = no_time()
        if len(fetches) and not (device.kind == "cpu" and not len(device.starts)):
            after = _Gaps(gaps[i], device, host, fetches).caused(time, rest, others, in_lockstep=lockstep)
        kinds = after, rest.slow, rest.unknown, subtract(rest.glue, after)
        found.append([_idle(_pieces(one, windows[i]), i) for one in kinds])
    if work is not None and len(work.times[0]):
        # The cause is that work, not a wait or call in it.
        found = [[one.where(~contains(work.times, one.middle)) for one in spans] for spans in found]
    blocked = int(covered_within(*union(fetches.begin_ps, fetches.end_ps), *in_steps).sum())
    *idle, launching = (joined([spans[kind] for spans in found]) for kind in range(len(found[0])))
    kept = [spans.usual(host) for spans in idle]
    excess_ps = sum(spans.total() for spans in idle) - sum(spans.total() for spans in kept)
    length_ps = sum(map(total, windows))
    return HostCode(
        calls, length_ps, fetches, fetched, blocked, lockstep, kept[0], kept[1], kept[2], launching, excess_ps
    )


def _idle(spans: Times, device: int) -> Idle:
    return Idle(*spans, np.full(len(spans[0]), device))


def _pieces(spans: Times, within: Times) -> Times:
    """The parts of disjoint spans within a set of time, span by span: those that touch stay apart."""
    row, of_set, _ = _native.overlaps(spans, within)
    return np.maximum(spans[0][row], within[0][of_set]), np.minimum(spans[1][row], within[1][of_set])


def _fetches(calls: Calls, stops: I64) -> Fetches:
    """The outermost calls that wait for a device or its results; `stops`: when devices became idle."""
    levels, names = calls.main.levels, calls.main.names
    if not levels.begin_ps:
        return Fetches()
    begin, end, name = (np.concatenate(column) for column in (levels.begin_ps, levels.end_ps, levels.name))
    fetches = np.array([activity(one) == Activity.TRANSFER for one in names], np.bool_)[name]
    maybe = np.array([_MAYBE_FETCH.match(one) is not None for one in names], np.bool_)[name]
    stopped = np.searchsorted(stops, end[maybe], side="right") > np.searchsorted(stops, begin[maybe])
    fetches[np.flatnonzero(maybe)[stopped]] = True
    row = np.flatnonzero(fetches)
    row = row[np.lexsort((-end[row], begin[row]))]
    before = np.append(np.iinfo(np.int64).min, np.maximum.accumulate(end[row])[:-1]) if len(row) else begin[row]
    row = row[begin[row] >= before]
    return Fetches(begin[row], end[row], name[row])


def _waits_for_all(fetches: Fetches, calls: Calls) -> Times:
    """Calls that only wait: until all devices have finished. Fetching a value is another matter."""
    waits = np.array([_ONLY_WAITS.search(name) is not None for name in calls.main.names], np.bool_)
    return times_of(fetches.begin_ps, fetches.end_ps, waits[fetches.name]) if len(fetches) else no_time()


@dataclass(frozen=True, slots=True, eq=False)
class _Rest:
    """Idle time that no call of the runtime covers: slow code, short code between calls of the runtime (`glue`), time
    without any event, and short such time (`short`); `fetching`: conversions that wait for a device.
    """

    slow: Times
    glue: Times
    unknown: Times
    short: Times
    fetching: Times

    @classmethod
    def of(cls, time: DeviceTime, calls: Calls, fetches: Fetches, *, ops_in_calls: bool) -> _Rest:
        """The rest of one device's idle time."""
        waits = union(fetches.begin_ps, fetches.end_ps)
        code, other = (_spans(time, category) for category in (part.IDLE_HOST, part.IDLE_OTHER))
        fetching = intersect(join(code, other), waits)
        code, other = _pieces(code, subtract(_ALWAYS, waits)), _pieces(other, subtract(_ALWAYS, waits))
        node = calls.stacks.at(code[0] + (code[1] - code[0]) // 2)
        function = np.where(calls.function[node] >= 0, calls.function[node], node)
        told = ~np.isin(calls.purpose, AS_CODE)
        glue = calls.runtime[function] & (code[1] - code[0] < GLUE_PS) & ~told[node]
        slow = ~glue & ~np.isin(calls.purpose[node], (Purpose.PROFILER, *RUNTIME))
        if ops_in_calls:
            # Events without a purpose are those of the framework itself.
            slow &= (calls.function[node] >= 0) | told[node]
            runs = calls.times(np.isin(calls.purpose, (Purpose.INPUT, *RUNTIME)))
            other = _pieces(other, subtract(_ALWAYS, runs))
        short = other[1] - other[0] < GLUE_PS
        # A call of the runtime may run code for another purpose, such as the making of an iterator; where ops run in
        # the host's calls of them, those that the code calls are its own.
        within = intersect(_spans(time, part.IDLE_LAUNCH), calls.times(told))
        if ops_in_calls and len(time.work.any[0]):
            within = join(within, intersect(time.work.any, calls.times(told & (calls.purpose != Purpose.EVALUATION))))
        found = tuple(np.concatenate(side) for side in zip(_where(code, slow), within, strict=True))
        order = np.argsort(found[0], kind="stable")
        long, brief = _where(other, ~short), _where(other, short)
        return cls((found[0][order], found[1][order]), _where(code, glue), long, brief, fetching)


def _spans(time: DeviceTime, category: int) -> Times:
    """The spans of a part as the budget has them, one by one."""
    spans = [times for one, times in time.spent if one == category]
    begin, end = (np.concatenate(side) for side in zip(*spans, strict=True)) if spans else no_time()
    order = np.argsort(begin, kind="stable")
    return begin[order], end[order]


def _where(times: Times, keep: Bools) -> Times:
    return times[0][keep], times[1][keep]


@dataclass(frozen=True, slots=True, eq=False)
class _Gaps:
    """Idle time of a device, gap by gap, and the calls that wait for it."""

    idle: Times
    device: Device
    host: HostView
    fetches: Fetches

    def caused(self, time: DeviceTime, rest: _Rest, others: Times | None, *, in_lockstep: bool) -> Times:
        """Idle time that calls are the cause of: in them, and in gaps that begin in one until the next work begins.

        Of the code that follows a call only short code counts, of a late start only what a launch usually takes.
        Nothing does where the next work was launched before. A wait after which no work follows costs nothing, nor does
        one for other devices on the same cores (`others`). In lockstep the next work would be launched already: all
        waits for its launch count.
        """
        begin, end = self.idle
        call = np.searchsorted(self.fetches.begin_ps, begin, side="right") - 1
        inside = (call >= 0) & (begin <= self.fetches.end_ps[np.maximum(call, 0)])
        launched = self._launched()
        inside &= ~((launched != NO_LAUNCH) & (launched <= begin))
        glue, launch = join(rest.glue, rest.short), join(_spans(time, part.IDLE_LAUNCH))
        transfer = join(intersect(join(_spans(time, part.IDLE_TRANSFER)), self.idle), rest.fetching)
        following = intersect(_where(self.idle, inside), join(launch, glue, transfer))
        blocked = intersect(transfer, times_of(self.fetches.begin_ps, self.fetches.end_ps))
        lost = subtract(join(following, blocked), self._long_launched(launched))
        if in_lockstep:
            lost = join(lost, intersect(self._from_calls(), join(launch, transfer, glue)))
        last = len(end) and int(end[-1]) > self.device.runs.end_ps.max(initial=0)
        lost = subtract(lost, (begin[-1:], end[-1:])) if last else lost
        return lost if others is None else subtract(lost, others)

    def _from_calls(self) -> Times:
        """From the begin of each call that ends while the device is idle to the end of that idle time."""
        begin, end = self.idle
        gap = np.searchsorted(begin, self.fetches.end_ps, side="right") - 1
        within = (gap >= 0) & (self.fetches.end_ps < end[np.maximum(gap, 0)])
        return union(self.fetches.begin_ps[within], end[gap[within]])

    def _launched(self) -> I64:
        """When the work that ends each gap was launched; `NO_LAUNCH` if unknown."""
        starts = self.device.starts
        if not len(starts):
            return np.full(len(self.idle[0]), NO_LAUNCH)
        start = np.minimum(np.searchsorted(starts, self.idle[1]), len(starts) - 1)
        launched, _ = self.host.reader.time.calls.times(self.device.launch_key[start])
        return np.where(starts[start] == self.idle[1], launched, NO_LAUNCH)

    def _long_launched(self, launched: I64) -> Times:
        """The end of each gap, from when a launch usually has started its work."""
        begin, _ = self.host.reader.time.launch
        if len(begin):
            # The runtime of the CPU backend does not tell which launch a run belongs to: the first one in the gap.
            position = np.searchsorted(begin, self.idle[0])
            first = begin[np.minimum(position, len(begin) - 1)]
            unknown = (launched == NO_LAUNCH) | (launched == self.idle[1])
            launched = np.where(unknown & (first >= self.idle[0]), first, launched)
        late = (launched != NO_LAUNCH) & (launched + GLUE_PS < self.idle[1])
        return np.maximum(launched[late] + GLUE_PS, self.idle[0][late]), self.idle[1][late]
