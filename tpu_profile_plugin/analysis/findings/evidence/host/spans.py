"""Spans of time that devices lose to the main thread's code, and the events that cover them."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.analysis.budget.host_time import Levels, MainThread
from tpu_profile_plugin.analysis.common.rows import rows_of
from tpu_profile_plugin.analysis.common.spans import Times, covered_within, union
from tpu_profile_plugin.analysis.findings.evidence.host.covering import Events, covering_event
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.columns.arrays import I64, Bools

GLUE_PS = 200_000_000
"""Shorter code between two calls into the runtime (0.2 ms) is the cost of the calls, not slow code."""

_PROFILER = re.compile(r"\$profiler\w*\.py:\d+ (?:start|stop|trace|__enter__|__exit__)")


@dataclass(frozen=True, slots=True, eq=False)
class IdleSpans:
    """Idle spans of all devices of a host, clipped to the steps.

    Attributes:
      begin_ps, end_ps: int64[n]; ps: the part of each within the steps.
      event: int64[n], the call (of `HostCode.calls`) or the covering event (of `HostCode.events`); -1 without one.
      user: int64[n], the event that is a frame of the program's own code; -1 without one.
      device: int64[n], number of the device.
    """

    begin_ps: I64
    end_ps: I64
    ps: I64
    event: I64
    user: I64
    device: I64

    def where(self, keep: Bools) -> IdleSpans:
        """The selected spans."""
        return rows_of(self, keep)

    def total(self) -> int:
        """Summed over devices and steps."""
        return int(self.ps.sum())

    def by_part(self, host: HostView) -> I64:
        """The same by part of the time budget, int64[c + 1]; see `HostView.by_part`."""
        rows = [self.device == number for number in range(max(len(host.devices), 1))]
        return host.by_part([union(self.begin_ps[row], self.end_ps[row]) for row in rows])


@dataclass(frozen=True, slots=True, eq=False)
class HostCode:
    """What devices of a host wait for on its main thread.

    Attributes:
      cells: steps times devices that take part; length_ps: time from step to step, summed over both.
      names: of the events; traced: Python functions were recorded.
      events: of the main thread; calls: the outermost that wait for results.
      caller: per call, the name of the program's function around it, -1 without one.
      in_lockstep: the host waits several times per step, and for most of what it launches.
      blocked_ps: time in such calls, summed over steps; call_count: calls in steps.
      compiling: idle spans during compilation and tracing.
      after_calls: idle spans from such a call to the next launch, without code that is known to run meanwhile.
      slow: idle spans that code covers; unknown: idle spans without any event, whose next launch is known.
      launching: short idle spans that code between two calls of the runtime covers.
    """

    cells: int
    length_ps: int
    names: tuple[str, ...]
    traced: bool
    events: Events
    calls: Events
    caller: I64
    in_lockstep: bool
    blocked_ps: int
    call_count: int
    compiling: IdleSpans
    after_calls: IdleSpans
    slow: IdleSpans
    unknown: IdleSpans
    launching: IdleSpans


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """The main thread's events.

    Attributes:
      levels, events: by depth, and as a table.
      user, profiler: per name, whether it is a function of the program, or one that starts or ends the recording.
      runtime: begins of calls into the runtime, ascending.
    """

    levels: Levels
    events: Events
    user: Bools
    profiler: Bools
    runtime: I64

    def covering(self, spans: Times, keep: Bools | None = None) -> I64:
        """Per span the deepest event that covers most of it, -1 without one."""
        return covering_event(self.levels, *spans, keep)

    def is_glue(self, spans: Times, event: I64, user: I64) -> Bools:
        """Short spans within code that also calls the runtime, such as the loop around it."""
        caller = np.where(user >= 0, user, event)
        begin, end = self.events.begin_ps[caller], self.events.end_ps[caller]
        calls = np.searchsorted(self.runtime, end) > np.searchsorted(self.runtime, begin, side="right")
        glue: Bools = calls & (spans[1] - spans[0] < GLUE_PS)
        return glue


def profiler(main: MainThread) -> Bools:
    """Per name, whether it is a function that starts or ends the recording."""
    matches: Bools = np.array([_PROFILER.match(name) is not None for name in main.names], np.bool_)
    return matches


def named_functions(main: MainThread) -> Bools:
    """Per name, whether it is a function of the program; comprehensions are left out: what is around them says more."""
    named: Bools = main.user & ~np.array([name.endswith(">") for name in main.names], np.bool_)
    return named


def rows(times: Times, keep: Bools) -> Times:
    """The selected spans."""
    return times[0][keep], times[1][keep]


def clipped(spans: Times, window: Times, event: I64, user: I64, device: int) -> IdleSpans:
    """The spans that are at least partly in a window."""
    ps = covered_within(*window, *spans)
    keep = ps > 0
    count = int(keep.sum())
    return IdleSpans(spans[0][keep], spans[1][keep], ps[keep], event[keep], user[keep], np.full(count, device))


def no_spans() -> IdleSpans:
    """No spans."""
    none = np.zeros(0, np.int64)
    return IdleSpans(none, none, none, none, none, none)
