"""What explains most of the time of steps far above the median: calls of the main thread, or programs of the device."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np

from tpu_profile_plugin.analysis.blame.stacks import depths, with_callees
from tpu_profile_plugin.analysis.common.spans import Times, join, no_time, total
from tpu_profile_plugin.analysis.findings.evidence.device.rare_programs import RarePrograms, rare_programs
from tpu_profile_plugin.analysis.findings.evidence.host.calls import Calls
from tpu_profile_plugin.analysis.findings.evidence.host.exceptions import Exceptions
from tpu_profile_plugin.analysis.findings.evidence.host.garbage import COLLECT, collections
from tpu_profile_plugin.analysis.findings.evidence.host.purpose import RUNTIME, Purpose, purpose
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
_NO_ANSWER = RUNTIME | {
    *(Purpose.UNKNOWN, Purpose.INPUT, Purpose.QUEUE, Purpose.PROFILER),
    *(Purpose.CONVERSION, Purpose.RANDOM, Purpose.TEXT, Purpose.LOCK),
}
"""Purposes that do not tell what the program does in a step, or that other rules explain."""


@dataclass(frozen=True, slots=True, eq=False)
class Cause:
    """What explains some exceptions.

    Attributes:
      purpose: what it is for.
      function, call: nodes of the program's own function, and of the call in it that tells; -1 if unknown.
      times: when they ran on the main thread.
      rare: programs of the device that run only there.
    """

    purpose: Purpose
    function: int
    call: int
    times: Times
    rare: RarePrograms = field(default_factory=RarePrograms)


class Causes:
    """The search for what exceptions have in common; arrays are by node of the main thread's calls."""

    def __init__(self, exceptions: Exceptions, calls: Calls) -> None:
        self.of, self.calls = exceptions, calls
        self.depth = np.append(depths(calls.stacks.parent), -1)
        self.user = calls.function == np.arange(len(calls.function))
        self.elsewhere = self._time_in(exceptions.others)

    def explained(self, *times: Times) -> Bools:
        """bool[n]: the exceptions that one of these sets explains."""
        least = EXPLAINED * self.of.excess_ps
        found: Bools = np.any([self.of.more(one) >= least for one in times], axis=0)
        return found

    def largest(self, left: Bools) -> Cause | None:
        """What most of the remaining exceptions' excess goes to."""
        chosen, excess = self.of.chosen(left), float(self.of.excess_ps[left].sum())
        spent = self._time_in(chosen)
        each = self.elsewhere / self.of.usual.sum()
        gain = spent - each * left.sum()
        length = float((self.of.others[1] - self.of.others[0]).sum())
        new = (spent >= NEW * each * left.sum()) & (self.elsewhere <= MOST_ELSEWHERE * length) & (gain > 0)
        new[-1] = False
        rare = RarePrograms()
        if self.of.host.devices:
            rare = rare_programs(self.of.host.devices[0], self.of.host.hlo.programs, chosen, self.of.others)
        return self._known(left, excess, new, gain, rare) or self._unknown(left, excess, new, gain, rare)

    def _known(self, left: Bools, excess: float, new: Bools, gain: F64, rare: RarePrograms) -> Cause | None:
        """Calls of a known purpose."""
        calls = self.calls
        garbage = collections(calls.main)
        if self.of.more(garbage)[left].sum() >= EXPLAINED * excess:
            return Cause(Purpose.COLLECTION, self._around(garbage), self._called(garbage), garbage)
        tells = new & (calls.tells == np.arange(len(new)))
        sets = {
            what: self.times(tells & (calls.purpose == what))
            for what in np.unique(calls.purpose[tells]).tolist()
            if what not in _NO_ANSWER
        }
        most, what = max(((self.of.more(times)[left].sum(), what) for what, times in sets.items()), default=(0.0, 0))
        broad = self._broad(new, gain, excess)
        if not what or most < (PURPOSE_SHARE if (broad & self.user).any() else PART) * excess:
            return None
        call = int(np.where(tells & (calls.purpose == what), gain, -np.inf).argmax())
        evaluates = self.user[call] and what == Purpose.EVALUATION
        function = call if evaluates else int(calls.function[calls.parent(np.array([call]))[0]])
        around = function >= 0 and bool(new[function])
        times = join(sets[what], self.times(np.arange(len(new)) == function if around else broad))
        return Cause(Purpose(what), function, call, times, rare)

    def _unknown(self, left: Bools, excess: float, new: Bools, gain: F64, rare: RarePrograms) -> Cause | None:
        """A function of the program, else any call, else a program of the device."""
        what = purpose(f"PjitFunction({rare.name.removeprefix('jit_')})") if rare.name else Purpose.UNKNOWN
        what = what if what == Purpose.EVALUATION else Purpose.UNKNOWN
        broad = self._broad(new, gain, excess)
        times, of_node = self.times(broad), self.calls.purpose
        if self.of.more(times)[left].sum() < EXPLAINED * excess:
            if self.of.more(rare.times)[left].sum() < EXPLAINED * excess:
                return None
            launches = new & np.isin(of_node, (Purpose.LAUNCH, Purpose.EVALUATION))
            call = int(np.where(launches, gain, 0.0).argmax()) if launches.any() else -1
            evaluates = call >= 0 and of_node[call] == Purpose.EVALUATION
            return Cause(Purpose.EVALUATION if evaluates else what, -1, call, no_time(), rare)
        tells = broad & (gain >= ENCLOSED * gain[broad].max())
        call, function = (self._deepest(keep) for keep in (tells, tells & self.user))
        waits = of_node[call] == Purpose.QUEUE and what == Purpose.UNKNOWN
        return Cause(Purpose.QUEUE if waits else what, function, call, times, rare)

    def _broad(self, new: Bools, gain: F64, excess: float) -> Bools:
        """The new calls that are worth a look."""
        broad: Bools = new & (gain >= PART * excess) & (self.calls.purpose != Purpose.COMPILE)
        return broad

    def _called(self, garbage: Times) -> int:
        """The node of gc.collect if its calls take most of that time, else -1."""
        found = self.named(COLLECT)
        return int(found.argmax()) if total(self.times(found)) >= EXPLAINED * total(garbage) else -1

    def _around(self, times: Times) -> int:
        """The program's function around most of a set of time, -1 without one."""
        node, _, ps = self.calls.stacks.within(times)
        around = self.calls.function[node]
        sums = np.bincount(around[around >= 0], weights=ps[around >= 0]) if (around >= 0).any() else np.zeros(0)
        return int(sums.argmax()) if len(sums) else -1

    def named(self, pattern: re.Pattern[str]) -> Bools:
        """The calls whose names match."""
        names = np.array([pattern.search(name) is not None for name in self.calls.stacks.names], np.bool_)
        return np.append(names[self.calls.stacks.name], np.False_)

    def times(self, nodes: Bools) -> Times:
        """When these calls ran."""
        inside = with_callees(self.calls.stacks.parent, np.flatnonzero(nodes[:-1]))
        return self.calls.times(np.append(inside, np.False_))

    def _time_in(self, windows: Times) -> I64:
        """Time of each call, with all that it calls, within windows."""
        node, _, ps = self.calls.stacks.within(windows)
        return self.calls.inclusive(node, ps)

    def _deepest(self, keep: Bools) -> int:
        """The deepest of some nodes, -1 without any."""
        return int(np.where(keep, self.depth, -1).argmax()) if keep.any() else -1
