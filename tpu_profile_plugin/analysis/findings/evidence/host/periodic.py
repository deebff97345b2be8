"""What runs only in the steps that are far longer than the typical one, or much longer in them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from tpu_profile_plugin.analysis.blame.stacks import with_callees
from tpu_profile_plugin.analysis.budget.categories import (
    CATEGORIES,
    COMPUTE,
    DATA_MOVEMENT,
    EXPOSED_COMMUNICATION,
    MOVE_WAIT,
    PARTS,
    PEER_TRANSFER,
)
from tpu_profile_plugin.analysis.budget.garbage import COLLECT, collections
from tpu_profile_plugin.analysis.budget.host_names import is_user_frame
from tpu_profile_plugin.analysis.budget.purpose import RUNTIME, Purpose, purpose
from tpu_profile_plugin.analysis.common.rows import sums_by
from tpu_profile_plugin.analysis.common.spans import Times, covered_within, intersect, join, no_time, total
from tpu_profile_plugin.analysis.devices.model import busy
from tpu_profile_plugin.analysis.devices.rare_programs import RarePrograms, rare_programs
from tpu_profile_plugin.analysis.findings.evidence.host.calls import calls_of, named_part
from tpu_profile_plugin.analysis.findings.evidence.host.tf_calls import traced_calls
from tpu_profile_plugin.analysis.findings.host_view import HostView, once, until_next
from tpu_profile_plugin.analysis.findings.lost import LEAST_SHARE
from tpu_profile_plugin.analysis.summary.outliers import StepOutliers, step_outliers
from tpu_profile_plugin.columns.arrays import F64, I64, Bools

NEW = 5.0
"""How often longer something must take than in other steps: twice or three times as long is how runs vary."""
MOST_ELSEWHERE = 0.5
"""Largest share of the other steps that it may take: what encloses most of every step is the loop around them."""
PART = 0.1
"""Least share of the excess that calls take which are looked at one by one."""
EXPLAINED = 0.5
"""Least share of the excess that a cause explains."""
PURPOSE_SHARE = 0.3
"""Least share of a function's time in calls of a known purpose: what they are given is often made just before."""
ONLY_THERE = 0.05
"""Largest share of the other steps in which something runs that is said to run in no others."""
LEAST_RECURRENT = 2
"""Steps with the same work from which it recurs; a single one may be an accident if its purpose is unknown."""
PROGRAM_SHARE = 0.2
"""Share of that time from which a program of the device that runs only there is named."""
LEAST_KIND = 0.25
"""Least share of all excess that is worth another search."""
MOST_KINDS = 3
_WAITS = re.compile(r"\.py:\d+ (?:wait_until_finished|wait_for_previous_save|_?wait_for_\w*commit\w*)\Z")
"""Waits for a checkpoint that other threads write."""
_SILENT = RUNTIME | {
    *(Purpose.UNKNOWN, Purpose.INPUT, Purpose.PROFILER),
    *(Purpose.CONVERSION, Purpose.RANDOM, Purpose.TEXT, Purpose.LOCK),
}
"""Purposes that do not tell what the program does in a step, or that other rules explain."""
_OF_DEVICES = [COMPUTE, DATA_MOVEMENT, MOVE_WAIT, EXPOSED_COMMUNICATION, PEER_TRANSFER]
"""Parts of the time budget in which devices work."""


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """Work of some steps.

    Attributes:
      purpose: what it is for.
      function, call: the program's own function, and the call in it that tells; "" if unknown.
      times: when it ran on the main thread; rare: programs that run only there.
      rows: which steps; lost_ps: what they cost, summed over steps, averaged over devices.
      program: the program of the device that runs only there, if it takes much of that; else "".
      only: it runs in no other steps.
      waits: most of it is a wait for a checkpoint that is written asynchronously.
    """

    purpose: Purpose
    function: str
    call: str
    times: Times
    rare: RarePrograms
    rows: tuple[int, ...] = ()
    lost_ps: float = 0.0
    program: str = ""
    only: bool = False
    waits: bool = False

    @property
    def called(self) -> bool:
        """The program collects garbage by calling gc.collect()."""
        return self.purpose == Purpose.COLLECTION and self.call != ""


@dataclass(frozen=True, slots=True, eq=False)
class PeriodicWork:
    """The exceptions among the steps of one host, and what they do.

    Attributes:
      steps: lengths of all steps, and which are exceptions.
      kinds: the most costly first; by_part: what all cost, by part of the time budget, int64[c + 1], summed over steps
        and devices.
      others: exceptions that other rules explain, by their reason; single: that have work without a known purpose which
        does not recur.
      times: when that work ran on the main thread; no time if it costs too little for a finding.
    """

    steps: StepOutliers
    kinds: tuple[Kind, ...]
    by_part: I64
    others: Mapping[str, int]
    single: int
    times: Times


@once
def periodic_work(host: HostView) -> PeriodicWork | None:
    """What the exceptions of a host do; None if there are none, or if they cost too little to look."""
    steps = step_outliers(host.time)
    if steps.share < LEAST_SHARE:
        return None
    found = _Exceptions(host, steps)
    excess, calls = found.excess_ps, found.calls
    compiling = found.explained(found.each(join(host.reader.time.compile_, traced_calls(host)[0])))
    left = ~compiling & ~found.explained(found.of_calls(calls.purpose == Purpose.PROFILER))
    waiting, fetching = (found.explained(found.each(it)) for it in (host.reader.time.input, host.reader.time.transfer))
    others = Counter({"compilation": int(compiling.sum())})
    single = 0
    kinds: list[Kind] = []
    times: list[Times] = []
    by_part = np.zeros(len(CATEGORIES) + 1, np.int64)
    while len(kinds) < MOST_KINDS and excess[left].sum() >= LEAST_KIND * excess.sum():
        cause = found.largest(left)
        if cause is None:
            break
        of_program = found.explained(found.each(cause.rare.times))
        which = left & (found.explained(found.each(cause.times)) | of_program)
        if not which.any():
            break
        left = left & ~which
        lost, parts = found.lost(which, found.more(found.each(cause.rare.times)))
        known = cause.purpose not in (Purpose.UNKNOWN, Purpose.QUEUE)
        if not known and waiting[which].all():
            others["waits for input"] += int(which.sum())
        elif not known and fetching[which].all() and not of_program[which].any():
            others["waits for results"] += int(which.sum())
        elif not known and which.sum() < LEAST_RECURRENT:
            single += 1
        elif parts.sum():
            by_part += parts
            times.append(intersect(cause.times, found.windows_of(steps.rows[which])))
            kinds.append(found.kind(cause, which, lost))
    if by_part.sum() < LEAST_SHARE * host.time.base_ps * host.time.cells:
        times = []
    return PeriodicWork(steps, tuple(_merged(kinds)), by_part, others, single, join(*times))


def _merged(kinds: list[Kind]) -> list[Kind]:
    """The most costly first; the same work with another call counts as one."""
    merged: dict[tuple[Purpose, str], Kind] = {}
    for kind in sorted(kinds, key=lambda one: -one.lost_ps):
        same = merged.setdefault((kind.purpose, kind.function), kind)
        if same is not kind:
            rows = tuple(sorted({*same.rows, *kind.rows}))
            merged[kind.purpose, kind.function] = replace(same, rows=rows, lost_ps=same.lost_ps + kind.lost_ps)
    return sorted(merged.values(), key=lambda one: -one.lost_ps)


class _Exceptions:
    """The exceptions (n of s steps) of one host, and how much more of something runs in them than in the others."""

    def __init__(self, host: HostView, steps: StepOutliers) -> None:
        self.host, self.steps, self.calls = host, steps, calls_of(host)
        self.excess_ps = steps.length_ps[steps.rows] - steps.median_ps
        self.usual = np.ones(len(steps.length_ps), np.bool_)
        self.usual[steps.rows] = False
        self.node, self.step, self.ps = self.calls.stacks.within(host.windows, np.arange(len(self.usual)))

    def windows_of(self, rows: I64 | Bools) -> Times:
        """The windows of some steps, each until the next begins."""
        begin, end = self.host.windows
        return begin[rows], end[rows]

    def each(self, times: Times) -> I64:
        """int64[s]: how much of a set of time is in each step."""
        return covered_within(*times, *self.host.windows)

    def of_calls(self, nodes: Bools) -> I64:
        """int64[s]: how long some calls, bool[m + 1], are the innermost ones in each step."""
        inside = nodes[self.node]
        return np.asarray(sums_by(self.step[inside], self.ps[inside], len(self.usual)), np.int64)

    def more(self, each: I64) -> F64:
        """float64[n]: how much more each exception has of something than one of the others."""
        more: F64 = np.maximum(each[self.steps.rows] - each[self.usual].mean(), 0.0)
        return more

    def explained(self, each: I64) -> Bools:
        """bool[n]: the exceptions that something explains."""
        explained: Bools = self.more(each) >= EXPLAINED * self.excess_ps
        return explained

    def largest(self, left: Bools) -> Kind | None:
        """What most of the remaining exceptions' excess goes to."""
        host, calls, excess = self.host, self.calls, float(self.excess_ps[left].sum())
        mine, rare = self.steps.rows[left], RarePrograms()
        if host.devices:
            windows = self.windows_of(mine), self.windows_of(self.usual)
            rare = rare_programs(host.devices[0], host.hlo.programs, *windows)

        def explains(times: Times) -> bool:
            return bool(self.more(self.each(times))[left].sum() >= EXPLAINED * excess)

        if explains(garbage := collections(calls.main)):
            return self._of_garbage(garbage, rare)
        own, usually = self._own(np.isin(np.arange(len(self.usual)), mine)), self._own(self.usual)
        often = len(mine) / self.usual.sum()
        whole, elsewhere = (calls.inclusive(np.arange(len(own)), ps) for ps in (own, usually))
        gain = whole - often * elsewhere
        others = self.windows_of(self.usual)
        new = (gain > 0) & (whole >= NEW * often * elsewhere)
        new &= elsewhere <= MOST_ELSEWHERE * float((others[1] - others[0]).sum())
        new[-1] = False
        broad = new & (gain >= PART * excess) & (calls.purpose != Purpose.COMPILE)
        launches = new & np.isin(calls.purpose, (Purpose.LAUNCH, Purpose.EVALUATION))
        launch = calls.name(int(np.where(launches, gain, 0.0).argmax())) if launches.any() else ""
        found = self._of_calls(own - often * usually, broad, rare, launch)
        if found is not None and (found.purpose != Purpose.UNKNOWN or explains(found.times)):
            return found
        if not explains(rare.times):
            return None
        return Kind(_evaluation(launch) or _evaluation_of(rare), "", launch, no_time(), rare)

    def _of_garbage(self, garbage: Times, rare: RarePrograms) -> Kind:
        node, _, ps = self.calls.stacks.within(garbage)
        called = 2 * total(self.calls.times(self._named(COLLECT.__eq__))) >= total(garbage)
        function, _ = self.calls.most(self.calls.function[node], ps)
        return Kind(Purpose.COLLECTION, function, COLLECT if called else "", garbage, rare)

    def _of_calls(self, own: F64, broad: Bools, rare: RarePrograms, launch: str) -> Kind | None:
        """New calls of the main thread; None without any. `own`: the excess of each; `launch`: what launches then."""
        calls = self.calls
        inside = self._with_callees(broad)
        node = np.flatnonzero(inside & (own > 0))
        if not len(node):
            return None
        most = named_part(self.host, node, np.rint(own[node]).astype(np.int64), _SILENT, PURPOSE_SHARE)
        itself = most.purpose in (Purpose.UNKNOWN, Purpose.EVALUATION) and is_user_frame(most.name)
        function = most.name if itself else most.place
        call = most.name if most.name != function else most.inner
        if call == function:
            call = "" if function else launch
        around = self._with_callees(broad & self._named(function.__eq__))
        nodes = (most.nodes | around) if function and around.any() else inside
        what = most.purpose if most.purpose != Purpose.UNKNOWN else _evaluation_of(rare)
        return Kind(what, function, call, calls.times(nodes), rare)

    def _own(self, steps: Bools) -> I64:
        """int64[m + 1]: how long each call is the innermost one in some of the steps."""
        own, inside = np.zeros(len(self.calls.function), np.int64), steps[self.step]
        np.add.at(own, self.node[inside], self.ps[inside])
        return own

    def _named(self, matches: Callable[[str], object]) -> Bools:
        """bool[m + 1]: the calls whose names match, with what they call."""
        names = np.array([bool(matches(name)) for name in self.calls.stacks.names], np.bool_)
        return self._with_callees(np.append(names[self.calls.stacks.name], np.False_))

    def _with_callees(self, nodes: Bools) -> Bools:
        return np.append(with_callees(self.calls.stacks.parent, np.flatnonzero(nodes[:-1])), np.False_)

    def lost(self, which: Bools, programs: F64) -> tuple[F64, I64]:
        """What some of them, bool[n], cost: float64[n], averaged over devices, and int64[c + 1] by part of the time
        budget, the last between steps, summed over steps and devices.

        Idle time of devices above that of the other steps, and the work of programs that run only there, float64[n].
        Other work that ends there was launched before, so it costs nothing.
        """
        time, rows, part = self.host.time, self.steps.rows, self.host.time.takes_part
        begin, end = time.begin_ps, time.begin_ps + time.duration_ps
        until, count = until_next(begin, end), part.sum(axis=1)
        idle = until - begin
        for i, device in enumerate(self.host.devices):
            idle[:, i] -= covered_within(*busy(device), begin[:, i], until[:, i])

        def more(spent: I64) -> F64:
            """[n, ...]: of time by step and device, how much more of it there is than in the others."""
            sums = np.where(part.reshape(part.shape + (1,) * (spent.ndim - 2)), spent, 0).sum(axis=1)
            usual = sums[self.usual].sum(axis=0) / max(count[self.usual].sum(), 1)
            above: F64 = np.maximum(sums[rows] - np.multiply.outer(count[rows], usual), 0.0)
            return above

        extra = more(np.concatenate([time.time_ps.stacked(PARTS), (until - end)[..., None]], axis=2))
        of_programs = programs * count[rows]
        works = extra[:, _OF_DEVICES].sum(axis=1)
        extra[:, _OF_DEVICES] *= np.minimum(1.0, of_programs / np.maximum(works, 1.0))[:, None]
        most = np.minimum(more(idle) + of_programs, self.excess_ps * count[rows])
        extra *= np.minimum(1.0, most / np.maximum(extra.sum(axis=1), 1.0))[:, None]
        extra[~which] = 0.0
        return extra.sum(axis=1) / np.maximum(count[rows], 1), np.rint(extra.sum(axis=0)).astype(np.int64)

    def kind(self, cause: Kind, which: Bools, lost: F64) -> Kind:
        """A cause as the work of some exceptions, bool[n]."""
        each, lost_ps = self.each(cause.times), float(lost.sum())
        program = self.each(cause.rare.times)
        waits = self.more(self.of_calls(self._named(_WAITS.search)))[which].sum()
        return replace(
            cause,
            rows=tuple(self.steps.rows[which].tolist()),
            lost_ps=lost_ps,
            program=cause.rare.name if self.more(program)[which].sum() >= PROGRAM_SHARE * lost_ps else "",
            only=float(((each if each.any() else program)[self.usual] > 0).mean()) <= ONLY_THERE,
            waits=cause.purpose == Purpose.CHECKPOINT and bool(waits >= EXPLAINED * self.more(each)[which].sum()),
        )


def _evaluation(call: str) -> Purpose:
    """Whether a call launches an evaluation, else unknown."""
    return Purpose.EVALUATION if purpose(call) == Purpose.EVALUATION else Purpose.UNKNOWN


def _evaluation_of(rare: RarePrograms) -> Purpose:
    return _evaluation(f"PjitFunction({rare.name.removeprefix('jit_')})") if rare.name else Purpose.UNKNOWN
