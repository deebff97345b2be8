"""What runs only in the steps that are far longer than the typical one, or much longer in them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np

from tpu_profile_plugin.analysis.budget.categories import CATEGORIES, IDLE_INPUT, INPUT_COPY
from tpu_profile_plugin.analysis.budget.host_time import MainThread
from tpu_profile_plugin.analysis.common.spans import Times, covered_within, intersect, join, no_time, times_of, total
from tpu_profile_plugin.analysis.findings.evidence.device.rare_programs import RarePrograms, rare_programs
from tpu_profile_plugin.analysis.findings.evidence.host.covering import covering_event, events_of
from tpu_profile_plugin.analysis.findings.evidence.host.exceptions import Exceptions
from tpu_profile_plugin.analysis.findings.evidence.host.garbage import collections
from tpu_profile_plugin.analysis.findings.evidence.host.purpose import RUNTIME, Purpose, purpose, purposes
from tpu_profile_plugin.analysis.findings.evidence.host.spans import named_functions
from tpu_profile_plugin.analysis.findings.evidence.host.tf_calls import traced_calls
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.findings.limits import LEAST_SHARE
from tpu_profile_plugin.analysis.summary.outliers import step_outliers
from tpu_profile_plugin.columns.arrays import F64, I64, Bools

NEW = 5.0
"""How often longer something must take than in other steps: twice or three times as long is how runs vary."""
MOST_ELSEWHERE = 0.5
"""Largest share of the other steps that it may take: what encloses most of every step is the loop around them."""
EXPLAINED = 0.5
"""Least share of a step's excess that its cause explains."""
PURPOSE_SHARE = 0.3
"""Least share of the excess that calls of a known purpose take: what they are given is often made just before."""
ENCLOSED = 0.8
"""A call within another is the one to name if it takes this share of it."""
ONLY_THERE = 0.05
"""Largest share of the other steps in which something runs that is said to run in no others."""
LEAST_RECURRENT = 2
"""Steps with the same work from which it recurs; a single one may be an accident if its purpose is unknown."""
LEAST_KIND = 0.25
"""Least share of all excess that is worth another search."""
MOST_KINDS = 3
_WAITS = re.compile(r"\.py:\d+ (?:wait_until_finished|wait_for_previous_save|_?wait_for_\w*commit\w*)\Z")
"""Waits for a checkpoint that other threads write."""
_NO_ANSWER = frozenset({Purpose.UNKNOWN, Purpose.INPUT, Purpose.QUEUE, Purpose.PROFILER}) | RUNTIME
"""Purposes that do not tell what the program does in a step, or that other rules explain."""


@dataclass(frozen=True, slots=True)
class Kind:
    """Work of some steps.

    Attributes:
      purpose: what it is for.
      function, call: the program's own function, and the call in it that tells; "" if unknown.
      program: the program of the device that runs only there; "" without one.
      rows: which steps; lost_ps: what they cost, summed over steps, averaged over devices.
      only: it runs in no other steps.
      waits: most of it is a wait for a checkpoint that is written asynchronously.
      called: the program collects garbage by calling gc.collect().
    """

    purpose: Purpose
    function: str
    call: str
    program: str
    rows: tuple[int, ...]
    lost_ps: float
    only: bool
    waits: bool
    called: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class PeriodicWork:
    """The exceptions among the steps of one host, and what they do.

    Attributes:
      kinds: the most costly first; by_part: what all cost, by part of the time budget, int64[c + 1], summed over steps
        and devices.
      compiling, reading, single: exceptions because of compilation, of waits for input, and of work without a known
        purpose that does not recur.
      traced: Python functions were recorded.
      times: when that work ran on the main thread; no time if it costs too little for a finding.
    """

    kinds: tuple[Kind, ...] = ()
    by_part: I64 = field(default_factory=lambda: np.zeros(len(CATEGORIES) + 1, np.int64))
    compiling: int = 0
    reading: int = 0
    single: int = 0
    traced: bool = False
    times: Times = field(default_factory=no_time)


def periodic_work(host: HostView) -> PeriodicWork | None:
    """What the exceptions of a host do; None if there are none, or if they cost too little to look."""
    return host.once(_periodic_work)


def _periodic_work(host: HostView) -> PeriodicWork | None:
    steps = step_outliers(host.time)
    if not len(steps) or steps.excess_ps_per_step < LEAST_SHARE * host.time.base_ps:
        return None
    exceptions = Exceptions(host, steps)
    begin, end = exceptions.windows
    marks = host.shown.steps
    main = host.reader.main(int(begin[0]), int(end[-1]), None if marks is None else marks.evidence)
    return _Search(exceptions, main).work()


@dataclass(frozen=True, slots=True, eq=False)
class _Cause:
    """What explains some exceptions: as in `Kind`, with when it ran on the main thread and on the device."""

    purpose: Purpose
    function: int
    call: int
    times: Times
    rare: RarePrograms = field(default_factory=RarePrograms)


class _Search:
    """The search for what the exceptions have in common; arrays over names are those of `main.names`."""

    def __init__(self, exceptions: Exceptions, main: MainThread) -> None:
        self.of, self.main, self.events = exceptions, main, events_of(main.levels)
        self.purposes, self.user = purposes(main.names), named_functions(main)
        self.elsewhere, _ = self._time_in(exceptions.others)

    def work(self) -> PeriodicWork:
        """All kinds of work."""
        host, excess = self.of.host, self.of.excess_ps
        compiling = self._mine(join(host.reader.time.compile_, traced_calls(host)[0]))
        left = ~compiling & ~self._mine(self._times(self.purposes == Purpose.PROFILER))
        reading, single, kinds, times = 0, 0, [], []
        by_part = np.zeros(len(CATEGORIES) + 1, np.int64)
        for _ in range(MOST_KINDS):
            cause = self._largest(left) if excess[left].sum() >= LEAST_KIND * excess.sum() else None
            which = left & self._mine(cause.times, cause.rare.times) if cause is not None else left[:0]
            if cause is None or not which.any():
                break
            left = left & ~which
            lost, parts = self.of.lost(which, cause.rare.times)
            if parts[[IDLE_INPUT, INPUT_COPY]].sum() > EXPLAINED * parts.sum():
                reading += int(which.sum())
            elif cause.purpose in (Purpose.UNKNOWN, Purpose.QUEUE) and which.sum() < LEAST_RECURRENT:
                single += 1
            elif parts.sum():
                by_part += parts
                times.append(intersect(cause.times, self.of.chosen(which)))
                kinds.append(self._kind(cause, which, float(lost.sum())))
        if by_part.sum() < LEAST_SHARE * host.time.base_ps * host.time.cells:
            times = []
        kinds.sort(key=lambda one: -one.lost_ps)
        why = int(compiling.sum()), reading, single
        return PeriodicWork(tuple(kinds), by_part, *why, self.main.traced, join(*times))

    def _mine(self, *times: Times) -> Bools:
        """bool[n]: the exceptions that one of these sets explains."""
        least = EXPLAINED * self.of.excess_ps
        found: Bools = np.any([self.of.more(one) >= least for one in times], axis=0)
        return found

    def _largest(self, left: Bools) -> _Cause | None:
        """What most of the remaining exceptions' excess goes to."""
        chosen, excess = self.of.chosen(left), float(self.of.excess_ps[left].sum())
        spent, depth = self._time_in(chosen)
        each = self.elsewhere / self.of.usual.sum()
        gain = spent - each * left.sum()
        length = float((self.of.others[1] - self.of.others[0]).sum())
        new = (spent >= NEW * each * left.sum()) & (self.elsewhere <= MOST_ELSEWHERE * length) & (gain > 0)
        rare = RarePrograms()
        if self.of.host.devices:
            rare = rare_programs(self.of.host.devices[0], self.of.host.hlo.programs, chosen, self.of.others)
        return self._known(left, excess, new, gain, depth, rare) or self._unknown(left, excess, new, gain, depth, rare)

    def _known(
        self, left: Bools, excess: float, new: Bools, gain: F64, depth: I64, rare: RarePrograms
    ) -> _Cause | None:
        """Calls of a known purpose."""
        garbage = collections(self.main, self.events)
        if self.of.more(garbage)[left].sum() >= EXPLAINED * excess:
            return _Cause(Purpose.COLLECTION, self._around(garbage, self.user), self._called(garbage), garbage)
        sets = {
            what: self._times(new & (self.purposes == what))
            for what in np.unique(self.purposes[new]).tolist()
            if what not in _NO_ANSWER
        }
        most, what = max(((self.of.more(times)[left].sum(), what) for what, times in sets.items()), default=(0.0, 0))
        if not what or most < PURPOSE_SHARE * excess:
            return None
        mine = self.purposes == what
        call = int(np.where(new & mine, gain, -np.inf).argmax())
        function = (
            call
            if self.user[call] and what == Purpose.EVALUATION
            else self._around(sets[what], self.user & ~mine & (depth < depth[call]))
        )
        around = function >= 0 and new[function]
        times = join(sets[what], self._times(np.arange(len(new)) == function)) if around else sets[what]
        return _Cause(Purpose(what), function, call, times, rare)

    def _unknown(
        self, left: Bools, excess: float, new: Bools, gain: F64, depth: I64, rare: RarePrograms
    ) -> _Cause | None:
        """A function of the program, else any call, else a program of the device."""
        what = purpose(f"PjitFunction({rare.name.removeprefix('jit_')})") if rare.name else Purpose.UNKNOWN
        what = what if what == Purpose.EVALUATION else Purpose.UNKNOWN
        most = float(np.where(new, gain, 0.0).max(initial=0.0))
        if most < EXPLAINED * excess:
            enough = self.of.more(rare.times)[left].sum() >= EXPLAINED * excess
            return _Cause(what, -1, -1, no_time(), rare) if enough else None
        tells = new & (gain >= ENCLOSED * most)
        call, function = (_deepest(depth, keep) for keep in (tells, tells & self.user))
        of_call = Purpose(int(self.purposes[call]))
        if function < 0 and of_call in RUNTIME and not len(rare.times[0]):
            return None
        times = self._times(np.arange(len(new)) == (function if function >= 0 else call))
        waits = of_call == Purpose.QUEUE and what == Purpose.UNKNOWN
        return _Cause(Purpose.QUEUE if waits else what, function, call, times, rare)

    def _kind(self, cause: _Cause, which: Bools, lost_ps: float) -> Kind:
        times = cause.times if len(cause.times[0]) else cause.rare.times
        touched = covered_within(*times, *self.of.others) > 0
        gain = [self.of.more(one)[which].sum() for one in (self._times(self._waiting()), cause.times)]
        return Kind(
            cause.purpose,
            self.main.names[cause.function] if cause.function >= 0 else "",
            self.main.names[cause.call] if cause.call >= 0 and cause.call != cause.function else "",
            cause.rare.name,
            tuple(self.of.steps.rows[which].tolist()),
            lost_ps,
            float(touched.mean()) <= ONLY_THERE,
            cause.purpose == Purpose.CHECKPOINT and gain[0] >= EXPLAINED * gain[1],
            cause.purpose == Purpose.COLLECTION and cause.call >= 0,
        )

    def _called(self, garbage: Times) -> int:
        """The name of gc.collect if its calls take most of that time, else -1."""
        name = next((row for row, name in enumerate(self.main.names) if name == "$gc collect"), -1)
        calls = self._times(np.arange(len(self.main.names)) == name)
        return name if total(calls) >= EXPLAINED * total(garbage) else -1

    def _waiting(self) -> Bools:
        waiting: Bools = np.array([_WAITS.search(name) is not None for name in self.main.names], np.bool_)
        return waiting

    def _around(self, times: Times, keep: Bools) -> int:
        """The name of the deepest event around most of a set of time, -1 without one."""
        row = covering_event(self.main.levels, *times, keep)
        known = row >= 0
        if not known.any():
            return -1
        sums = np.bincount(self.events.name[row[known]], weights=(times[1] - times[0])[known])
        return int(sums.argmax())

    def _times(self, names: Bools) -> Times:
        """When events of these names ran."""
        return times_of(self.events.begin_ps, self.events.end_ps, names[self.events.name]) if names.any() else no_time()

    def _time_in(self, windows: Times) -> tuple[F64, I64]:
        """Time of each name's events within windows, and the depth at which it has most of it."""
        count = len(self.main.names)
        sums, most, depth = np.zeros(count), np.zeros(count), np.zeros(count, np.int64)
        levels = self.main.levels
        for level, (begin, end, name) in enumerate(zip(levels.begin_ps, levels.end_ps, levels.name, strict=True)):
            here = np.bincount(name, weights=covered_within(*windows, begin, end), minlength=count)
            sums += here
            depth[here > most] = level
            most = np.maximum(most, here)
        return sums, depth


def _deepest(depth: I64, keep: Bools) -> int:
    """The deepest of the kept names, -1 without any."""
    return int(np.where(keep, depth, -1).argmax()) if keep.any() else -1
