"""What runs only in the steps that are far longer than the typical one, or much longer in them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

import numpy as np

from tpu_profile_plugin.analysis.budget.categories import CATEGORIES
from tpu_profile_plugin.analysis.common.spans import Times, covered_within, intersect, join, no_time
from tpu_profile_plugin.analysis.findings.evidence.host.calls import calls_of
from tpu_profile_plugin.analysis.findings.evidence.host.causes import EXPLAINED, Cause, Causes
from tpu_profile_plugin.analysis.findings.evidence.host.exceptions import Exceptions
from tpu_profile_plugin.analysis.findings.evidence.host.purpose import Purpose
from tpu_profile_plugin.analysis.findings.evidence.host.tf_calls import traced_calls
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.findings.limits import LEAST_SHARE
from tpu_profile_plugin.analysis.summary.outliers import step_outliers
from tpu_profile_plugin.columns.arrays import I64, Bools

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
      compiling, reading, fetching: exceptions because of compilation, and of waits for input and for results.
      single: exceptions because of work without a known purpose that does not recur.
      traced: Python functions were recorded.
      times: when that work ran on the main thread; no time if it costs too little for a finding.
    """

    kinds: tuple[Kind, ...] = ()
    by_part: I64 = field(default_factory=lambda: np.zeros(len(CATEGORIES) + 1, np.int64))
    compiling: int = 0
    reading: int = 0
    fetching: int = 0
    single: int = 0
    traced: bool = False
    times: Times = field(default_factory=no_time)


def periodic_work(host: HostView) -> PeriodicWork | None:
    """What the exceptions of a host do; None if there are none, or if they cost too little to look."""
    return host.once(_periodic_work)


def _periodic_work(host: HostView) -> PeriodicWork | None:
    steps = step_outliers(host.time)
    if steps.share < LEAST_SHARE:
        return None
    exceptions = Exceptions(host, steps)
    causes, excess = Causes(exceptions, calls_of(host)), exceptions.excess_ps
    compiling = causes.explained(join(host.reader.time.compile_, traced_calls(host)[0]))
    left = ~compiling & ~causes.explained(causes.calls.times(causes.calls.purpose == Purpose.PROFILER))
    waiting, fetching = (causes.explained(times) for times in (host.reader.time.input, host.reader.time.transfer))
    reading, fetched, single = 0, 0, 0
    kinds: list[Kind] = []
    times: list[Times] = []
    by_part = np.zeros(len(CATEGORIES) + 1, np.int64)
    while len(kinds) < MOST_KINDS and excess[left].sum() >= LEAST_KIND * excess.sum():
        cause = causes.largest(left)
        which = left & causes.explained(cause.times, cause.rare.times) if cause is not None else ~left
        if cause is None or not which.any():
            break
        left = left & ~which
        lost, parts = exceptions.lost(which, cause.rare.times)
        known = cause.purpose not in (Purpose.UNKNOWN, Purpose.QUEUE)
        if not known and waiting[which].all():
            reading += int(which.sum())
        elif not known and fetching[which].all() and not causes.explained(cause.rare.times)[which].any():
            fetched += int(which.sum())
        elif not known and which.sum() < LEAST_RECURRENT:
            single += 1
        elif parts.sum():
            by_part += parts
            times.append(intersect(cause.times, exceptions.chosen(which)))
            kinds.append(_kind(causes, cause, which, float(lost.sum())))
    if by_part.sum() < LEAST_SHARE * host.time.base_ps * host.time.cells:
        times = []
    kinds = _merged(kinds)
    why = int(compiling.sum()), reading, fetched, single
    return PeriodicWork(tuple(kinds), by_part, *why, causes.calls.main.traced, join(*times))


def _merged(kinds: list[Kind]) -> list[Kind]:
    """The most costly first; the same work with another call counts as one."""
    merged: dict[tuple[Purpose, str], Kind] = {}
    for kind in sorted(kinds, key=lambda one: -one.lost_ps):
        same = merged.setdefault((kind.purpose, kind.function), kind)
        if same is not kind:
            rows = tuple(sorted({*same.rows, *kind.rows}))
            merged[kind.purpose, kind.function] = replace(same, rows=rows, lost_ps=same.lost_ps + kind.lost_ps)
    return sorted(merged.values(), key=lambda one: -one.lost_ps)


def _kind(causes: Causes, cause: Cause, which: Bools, lost_ps: float) -> Kind:
    name, of = causes.calls.name, causes.of
    touched = covered_within(*(cause.times if len(cause.times[0]) else cause.rare.times), *of.others) > 0
    waiting = causes.times(causes.named(_WAITS))
    waits, whole = (float(of.more(times)[which].sum()) for times in (waiting, cause.times))
    in_program = float(of.more(cause.rare.times)[which].sum())
    return Kind(
        cause.purpose,
        name(cause.function),
        name(cause.call) if cause.call != cause.function else "",
        cause.rare.name if in_program >= PROGRAM_SHARE * lost_ps else "",
        tuple(of.steps.rows[which].tolist()),
        lost_ps,
        float(touched.mean()) <= ONLY_THERE,
        cause.purpose == Purpose.CHECKPOINT and waits >= EXPLAINED * whole,
        cause.purpose == Purpose.COLLECTION and cause.call >= 0,
    )
