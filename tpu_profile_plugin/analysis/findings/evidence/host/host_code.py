"""Idle time of devices that the main thread's code causes: waits for results, and code that runs meanwhile.

Steps last until the next one begins here: what a program does between its markers keeps the devices waiting as well.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from tpu_profile_plugin.analysis.budget.budget import device_work
from tpu_profile_plugin.analysis.budget.host_names import Activity, activity
from tpu_profile_plugin.analysis.budget.host_time import HostTime, MainThread
from tpu_profile_plugin.analysis.budget.idle import IdleTime, split_idle
from tpu_profile_plugin.analysis.common.rows import joined
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
from tpu_profile_plugin.analysis.devices.model import NO_LAUNCH, Device, OpSpans, busy
from tpu_profile_plugin.analysis.devices.windows import StepWindows
from tpu_profile_plugin.analysis.findings.evidence.host.covering import Events, by_begin, events_of
from tpu_profile_plugin.analysis.findings.evidence.host.launched import WAITS_PER_STEP, synced
from tpu_profile_plugin.analysis.findings.evidence.host.spans import (
    GLUE_PS,
    HostCode,
    IdleSpans,
    Seen,
    clipped,
    named_functions,
    profiler,
    rows,
)
from tpu_profile_plugin.analysis.findings.evidence.host.tf_calls import traced_calls
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.findings.limits import LEAST_SHARE
from tpu_profile_plugin.analysis.findings.lost import lost_to
from tpu_profile_plugin.columns.arrays import I64, Bools

_CAUSES = ("idle_compile", "idle_host", "idle_transfer", "idle_launch", "idle_other")
_ONLY_WAITS = re.compile(r"[Bb]lock_?[Uu]ntil_?[Rr]eady")
_MAYBE_FETCH = re.compile(r"\$numpy (?:asarray|array)\Z")
"""Waits for an array of a device, or converts what is on the host; which of them, the device tells."""


def host_code(host: HostView) -> HostCode | None:
    """What the main thread's code costs the devices; None if they are hardly idle, or there are no devices."""
    steps = host.steps
    if steps is None or not len(steps):
        return None
    if lost_to(host.time, *_CAUSES).share < LEAST_SHARE:
        return None
    return _host_code(host, steps)


def _host_code(host: HostView, steps: StepWindows) -> HostCode:
    since, until = int(steps.begin_ps.min()), int(steps.end_ps.max())
    gaps = [subtract((np.array([since]), np.array([until])), device_work(one, OpSpans()).any) for one in host.devices]
    known = host.reader.time
    main = host.reader.main(since, until, steps.evidence)
    known = replace(known, compile_=join(known.compile_, traced_calls(host)[0]))
    events = events_of(main.levels)
    kind = np.array([activity(name) for name in main.names], np.uint8)
    calls = _fetching_calls(main, events, kind, np.sort(np.concatenate([begin for begin, _ in gaps])))
    known = replace(known, transfer=join(known.transfer, (calls.begin_ps, calls.end_ps)))
    windows = [union(*host.windows_of(i)) for i in range(len(gaps))]
    runtime = events.where(~np.isin(kind, (Activity.INPUT, Activity.HANDOVER, Activity.OTHER))[events.name])
    seen = Seen(main.levels, events, named_functions(main), profiler(main), np.sort(runtime.begin_ps))
    sharing = join(*map(busy, host.devices)) if host.devices[0].kind == "cpu" and len(gaps) > 1 else None
    others = None if sharing is None else intersect(sharing, _waits_for_all(calls, main.names))
    used = union(*(np.concatenate(column) for column in zip(*windows, strict=True)))
    waits = int(contains(used, calls.begin_ps).sum())
    in_lockstep = waits >= WAITS_PER_STEP * len(steps) and synced(host, steps, waits)
    spans: list[tuple[IdleSpans, IdleSpans, IdleSpans, IdleSpans, IdleSpans]] = []
    for number, (device, idle, window) in enumerate(zip(host.devices, gaps, windows, strict=True)):
        parts = split_idle(idle, device, known, sharing)
        spans.append(_of_device(_Gaps(idle, device, known, parts, calls, others, in_lockstep), seen, window, number))
    in_steps = covered_within(*union(calls.begin_ps, calls.end_ps), *used)
    return HostCode(
        cells=host.time.cells,
        length_ps=sum(map(total, windows)),
        names=main.names,
        traced=main.traced,
        events=events,
        calls=calls,
        caller=_named(events, seen.covering((calls.begin_ps, calls.end_ps), seen.user)),
        in_lockstep=in_lockstep,
        blocked_ps=int(in_steps.sum()),
        call_count=waits,
        compiling=joined([one[3] for one in spans]),
        after_calls=joined([one[0] for one in spans]),
        slow=joined([one[1] for one in spans]),
        unknown=joined([one[2] for one in spans]),
        launching=joined([one[4] for one in spans]),
    )


def _named(events: Events, rows: I64) -> I64:
    """The name of each row of `events`, -1 for -1."""
    return np.where(rows >= 0, events.name[rows], -1) if len(events) else rows


def _fetching_calls(main: MainThread, events: Events, kind: np.ndarray, stops: I64) -> Events:
    """The outermost calls that wait for a device or its results; `stops`: when devices became idle."""
    fetches = (kind == Activity.TRANSFER)[events.name]
    maybe = np.array([_MAYBE_FETCH.match(name) is not None for name in main.names], np.bool_)
    if maybe.any():
        stopped = np.searchsorted(stops, events.end_ps, side="right") > np.searchsorted(stops, events.begin_ps)
        fetches = fetches | (maybe[events.name] & stopped)
    calls = by_begin(events.where(fetches))
    if not len(calls):
        return calls
    before = np.append(np.iinfo(np.int64).min, np.maximum.accumulate(calls.end_ps)[:-1])
    return calls.where(calls.begin_ps >= before)


def _waits_for_all(calls: Events, names: tuple[str, ...]) -> Times:
    """Calls that only wait: until all devices have finished. Fetching a value is another matter."""
    waits = np.array([_ONLY_WAITS.search(name) is not None for name in names], np.bool_)
    waiting = calls.where(waits[calls.name]) if len(calls) else calls
    return union(waiting.begin_ps, waiting.end_ps)


@dataclass(frozen=True, eq=False)
class _Gaps:
    """Idle time of a device, with what the names of host events tell about it."""

    idle: Times
    device: Device
    host: HostTime
    parts: IdleTime
    calls: Events
    others: Times | None
    in_lockstep: bool

    def of_calls(self, glue: Times) -> Times:
        """Idle time that calls are the cause of: in them, and in gaps that begin in one until the next work begins.

        Of the code that follows a call only `glue` counts, of a late start only what a launch usually takes. Nothing
        does where the next work was launched before, or if the CPU's runs of programs are unknown: then each call of a
        program waits for its end. A wait after which no work follows costs nothing, nor does one for other devices on
        the same cores (`others`). In lockstep the next work would be launched already: all waits for its launch count.
        """
        if not len(self.calls) or (self.device.kind == "cpu" and not len(self.device.starts)):
            return no_time()
        begin, end = self.idle
        call = np.searchsorted(self.calls.begin_ps, begin, side="right") - 1
        inside = (call >= 0) & (begin <= self.calls.end_ps[np.maximum(call, 0)])
        inside &= ~((self.launched != NO_LAUNCH) & (self.launched <= begin))
        following = intersect((begin[inside], end[inside]), join(self.parts.launch, glue))
        blocked = intersect(self.parts.transfer, times_of(self.calls.begin_ps, self.calls.end_ps))
        lost = subtract(join(following, blocked, self._after(inside)), self.long_launched())
        if self.in_lockstep:
            lost = join(lost, intersect(self._from_calls(), join(self.parts.launch, self.parts.transfer, glue)))
        last = len(end) and int(end[-1]) > self.device.runs.end_ps.max(initial=0)
        lost = subtract(lost, (begin[-1:], end[-1:])) if last else lost
        return lost if self.others is None else subtract(lost, self.others)

    def _from_calls(self) -> Times:
        """From the begin of each call that ends while the device is idle to the end of that idle time."""
        begin, end = self.idle
        gap = np.searchsorted(begin, self.calls.end_ps, side="right") - 1
        within = (gap >= 0) & (self.calls.end_ps < end[np.maximum(gap, 0)])
        return union(self.calls.begin_ps[within], end[gap[within]])

    def _after(self, gaps: Bools) -> Times:
        """What the time budget takes for waits in the selected gaps."""
        return intersect((self.idle[0][gaps], self.idle[1][gaps]), self.parts.transfer)

    @cached_property
    def launched(self) -> I64:
        """When the work that ends each gap was launched; `NO_LAUNCH` if unknown."""
        starts = self.device.starts
        if not len(starts):
            return np.full(len(self.idle[0]), NO_LAUNCH)
        start = np.minimum(np.searchsorted(starts, self.idle[1]), len(starts) - 1)
        launched, _ = self.host.calls.times(self.device.launch_key[start])
        return np.where(starts[start] == self.idle[1], launched, NO_LAUNCH)

    def long_launched(self) -> Times:
        """The end of each gap, from when a launch usually has started its work."""
        launched = self.launched
        begin, _ = self.host.launch
        if len(begin):
            # The runtime of the CPU backend does not tell which launch a run belongs to: the first one in the gap.
            position = np.searchsorted(begin, self.idle[0])
            first = begin[np.minimum(position, len(begin) - 1)]
            unknown = (launched == NO_LAUNCH) | (launched == self.idle[1])
            launched = np.where(unknown & (first >= self.idle[0]), first, launched)
        late = (launched != NO_LAUNCH) & (launched + GLUE_PS < self.idle[1])
        return np.maximum(launched[late] + GLUE_PS, self.idle[0][late]), self.idle[1][late]

    def launched_later(self) -> Times:
        """Gaps of which it is known that their next work was launched after they began."""
        later = (self.launched != NO_LAUNCH) & (self.launched > self.idle[0])
        return self.idle[0][later], self.idle[1][later]


def _of_device(
    gaps: _Gaps, seen: Seen, window: Times, number: int
) -> tuple[IdleSpans, IdleSpans, IdleSpans, IdleSpans, IdleSpans]:
    """Spans after calls, that code covers, without any event, during compilation, and between launches, of a device."""
    rest = gaps.parts.rest
    event, user = seen.covering(rest), seen.covering(rest, seen.user)
    short = rest[1] - rest[0] < GLUE_PS
    covered = event >= 0
    glue = covered.copy()
    glue[covered] = seen.is_glue(rows(rest, covered), event[covered], user[covered])
    slow = covered & ~glue
    slow[slow] &= ~seen.profiler[seen.events.name[event[slow]]]
    following = gaps.of_calls(rows(rest, glue | (~covered & short)))
    call = np.maximum(np.searchsorted(gaps.calls.begin_ps, following[0], side="right") - 1, 0)
    nothing = intersect(rows(rest, ~covered & ~short), gaps.launched_later())
    compiling = intersect(gaps.idle, gaps.host.compile_)
    launching = subtract(rows(rest, glue), following)
    none, unnamed, plain = np.full(len(nothing[0]), -1), np.full(len(compiling[0]), -1), np.full(len(launching[0]), -1)
    return (
        clipped(following, window, call, np.full(len(call), -1), number),
        clipped(rows(rest, slow), window, event[slow], user[slow], number),
        clipped(nothing, window, none, none, number),
        clipped(compiling, window, unnamed, unnamed, number),
        clipped(launching, window, plain, plain, number),
    )
