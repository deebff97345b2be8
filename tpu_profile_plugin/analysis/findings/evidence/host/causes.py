"""What explains most of the time of steps far above the median: calls of the main thread, or programs of the device."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tpu_profile_plugin.analysis.budget.host_time import MainThread
from tpu_profile_plugin.analysis.common.spans import Times, covered_within, join, no_time, times_of, total
from tpu_profile_plugin.analysis.findings.evidence.device.rare_programs import RarePrograms, rare_programs
from tpu_profile_plugin.analysis.findings.evidence.host.covering import covering_event, events_of
from tpu_profile_plugin.analysis.findings.evidence.host.exceptions import Exceptions
from tpu_profile_plugin.analysis.findings.evidence.host.garbage import collections
from tpu_profile_plugin.analysis.findings.evidence.host.purpose import RUNTIME, Purpose, purpose, purposes
from tpu_profile_plugin.analysis.findings.evidence.host.spans import named_functions
from tpu_profile_plugin.columns.arrays import F64, I64, Bools

NEW = 5.0
"""How often longer something must take than in other steps: twice or three times as long is how runs vary."""
MOST_ELSEWHERE = 0.5
"""Largest share of the other steps that it may take: what encloses most of every step is the loop around them."""
EXPLAINED = 0.5
"""Least share of the excess that a cause explains."""
PURPOSE_SHARE = 0.3
"""Least share of the excess that calls of a known purpose take: what they are given is often made just before. `PART`
is enough if no function of the program is known."""
PART = 0.1
"""Least share of the excess that calls take which are looked at one by one."""
ENCLOSED = 0.8
"""A call within another is the one to name if it takes this share of it."""
_NO_ANSWER = frozenset({Purpose.UNKNOWN, Purpose.INPUT, Purpose.QUEUE, Purpose.PROFILER}) | RUNTIME
"""Purposes that do not tell what the program does in a step, or that other rules explain."""


@dataclass(frozen=True, slots=True, eq=False)
class Cause:
    """What explains some exceptions.

    Attributes:
      purpose: what it is for.
      function, call: names of the program's own function, and of the call in it that tells; -1 if unknown.
      times: when they ran on the main thread.
      rare: programs of the device that run only there.
    """

    purpose: Purpose
    function: int
    call: int
    times: Times
    rare: RarePrograms = field(default_factory=RarePrograms)


class Causes:
    """The search for what exceptions have in common; arrays over names are those of `main.names`."""

    def __init__(self, exceptions: Exceptions, main: MainThread) -> None:
        self.of, self.main, self.events = exceptions, main, events_of(main.levels)
        self.purposes, self.user = purposes(main.names), named_functions(main)
        self.elsewhere, _ = self._time_in(exceptions.others)

    def explained(self, *times: Times) -> Bools:
        """bool[n]: the exceptions that one of these sets explains."""
        least = EXPLAINED * self.of.excess_ps
        found: Bools = np.any([self.of.more(one) >= least for one in times], axis=0)
        return found

    def largest(self, left: Bools) -> Cause | None:
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

    def _known(self, left: Bools, excess: float, new: Bools, gain: F64, depth: I64, rare: RarePrograms) -> Cause | None:
        """Calls of a known purpose."""
        garbage = collections(self.main, self.events)
        if self.of.more(garbage)[left].sum() >= EXPLAINED * excess:
            return Cause(Purpose.COLLECTION, self._around(garbage, self.user), self._called(garbage), garbage)
        sets = {
            what: self.times(new & (self.purposes == what))
            for what in np.unique(self.purposes[new]).tolist()
            if what not in _NO_ANSWER
        }
        most, what = max(((self.of.more(times)[left].sum(), what) for what, times in sets.items()), default=(0.0, 0))
        broad = self._broad(new, gain, excess)
        if not what or most < (PURPOSE_SHARE if (broad & self.user).any() else PART) * excess:
            return None
        mine = self.purposes == what
        call = int(np.where(new & mine, gain, -np.inf).argmax())
        function = (
            call
            if self.user[call] and what == Purpose.EVALUATION
            else self._around(sets[what], self.user & ~mine & (depth < depth[call]))
        )
        around = function >= 0 and bool(new[function])
        times = join(sets[what], self.times(np.arange(len(new)) == function if around else broad))
        return Cause(Purpose(what), function, call, times, rare)

    def _unknown(
        self, left: Bools, excess: float, new: Bools, gain: F64, depth: I64, rare: RarePrograms
    ) -> Cause | None:
        """A function of the program, else any call, else a program of the device."""
        what = purpose(f"PjitFunction({rare.name.removeprefix('jit_')})") if rare.name else Purpose.UNKNOWN
        what = what if what == Purpose.EVALUATION else Purpose.UNKNOWN
        broad = self._broad(new, gain, excess)
        times = self.times(broad)
        if self.of.more(times)[left].sum() < EXPLAINED * excess:
            if self.of.more(rare.times)[left].sum() < EXPLAINED * excess:
                return None
            launches = new & np.isin(self.purposes, (Purpose.LAUNCH, Purpose.EVALUATION))
            call = int(np.where(launches, gain, 0.0).argmax()) if launches.any() else -1
            evaluates = call >= 0 and self.purposes[call] == Purpose.EVALUATION
            return Cause(Purpose.EVALUATION if evaluates else what, -1, call, no_time(), rare)
        tells = broad & (gain >= ENCLOSED * gain[broad].max())
        call, function = (_deepest(depth, keep) for keep in (tells, tells & self.user))
        waits = self.purposes[call] == Purpose.QUEUE and what == Purpose.UNKNOWN
        return Cause(Purpose.QUEUE if waits else what, function, call, times, rare)

    def _broad(self, new: Bools, gain: F64, excess: float) -> Bools:
        """Names of the new calls that are worth a look."""
        broad: Bools = new & (gain >= PART * excess) & (self.purposes != Purpose.COMPILE)
        return broad

    def _called(self, garbage: Times) -> int:
        """The name of gc.collect if its calls take most of that time, else -1."""
        name = next((row for row, name in enumerate(self.main.names) if name == "$gc collect"), -1)
        calls = self.times(np.arange(len(self.main.names)) == name)
        return name if total(calls) >= EXPLAINED * total(garbage) else -1

    def _around(self, times: Times, keep: Bools) -> int:
        """The name of the deepest event around most of a set of time, -1 without one."""
        row = covering_event(self.main.levels, *times, keep)
        known = row >= 0
        if not known.any():
            return -1
        sums = np.bincount(self.events.name[row[known]], weights=(times[1] - times[0])[known])
        return int(sums.argmax())

    def times(self, names: Bools) -> Times:
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
