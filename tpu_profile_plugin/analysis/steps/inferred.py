"""Steps of a profile whose groups have none: numbered marks, else periodic events, or an event named by the user.

Inferred steps come with evidence and are never mixed with marked steps.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.ma  # numpy.quantile imports it when it is first called, which would slow the first answer down

from tpu_profile_plugin.analysis.common.planes import (
    HOST_THREADS,
    MODULES,
    OPS,
    device_planes,
    events_of_lines,
    host_plane,
    is_tensor_core,
    is_tpu,
    line_of,
    lines_named,
    recorded_lines,
    spans_at,
)
from tpu_profile_plugin.analysis.common.spans import Times, covered_within, no_time, times_of, union
from tpu_profile_plugin.analysis.steps.numbered import NumberedSteps, numbered_steps
from tpu_profile_plugin.columns import Plane, XSpace
from tpu_profile_plugin.columns.arrays import I64, U32
from tpu_profile_plugin.columns.stats import strings
from tpu_profile_plugin.units import PS_PER_MS

MIN_STEPS, MAX_STEPS = 3, 10_000
_EXECUTION = re.compile(r"Executable::Execute|Execute(?:Helper|Sharded|Replicated)|ThunkExecutor|^PjitFunction")
"""Calls into XLA's runtime that run, or wait for, one program."""
MAX_VARIATION = 0.5
"""Maximum relative variation of the period: interquartile range over median of the distances between begins."""
MIN_COVERAGE = 0.3
"""Minimum share of the recorded time that the repetitions must span."""
MIN_FILLED = 0.3
"""Minimum share of that span that host events must fill to be accepted as steps."""

LEAST_WORK = 0.5
"""Minimum share of the work of XLA's CPU backend, from the first host event to the last, that they must enclose to be
accepted as steps."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Evidence for inferred steps.

    Attributes:
      source: "step number" (marks, see `numbered`), "device program", "device kernel", "host event" or "named event".
      event, line, plane: the repeating event and its location.
      occurrences: number of repetitions.
      period_ms, variation: mean distance between begins, its relative variation (0: regular; None: unknown).
      coverage: share of the recorded time from the first begin to the last end, 0 to 1.
    """

    source: str
    event: str
    line: str
    plane: str
    occurrences: int
    period_ms: float
    variation: float | None
    coverage: float


@dataclass(frozen=True, slots=True)
class InferredSteps:
    """Steps in time order, on the plane's time axis.

    Attributes:
      busy_ps: device time in each; None if unknown.
      number: int64[s], as recorded: the events mark steps; None for inferred steps.
    """

    evidence: Evidence
    begin_ps: I64
    duration_ps: I64
    busy_ps: I64 | None
    number: I64 | None = None


@dataclass(frozen=True, slots=True)
class _Candidate:
    plane: Plane
    line: int
    row: int
    events: I64
    spans_step: bool  # the event spans the step; else a step lasts until the next one begins


def infer_steps(space: XSpace, *, busy: bool = True) -> InferredSteps | None:
    """Numbered marks, else the best candidate: a program or kernel of the device, or a host event; None without one.

    Without `busy` the device time in steps is not computed.
    """
    span = _recorded_span(space)
    if span is None:
        return None
    numbered = numbered_steps(space)
    if numbered is not None:
        marked = _marked(numbered, span)
        return _with_busy(space, marked) if busy else marked
    for source, candidates in _sources(space):
        best: tuple[float, InferredSteps] | None = None
        work = _xla_on_host(space) if source == "host event" else no_time()
        for candidate in candidates:
            steps = _steps(candidate, source, span)
            score = _score(steps, candidate)
            if score > 0 and (best is None or score > best[0]) and _holds(steps, work):
                best = (score, steps)
        if best is not None:
            return _with_busy(space, best[1]) if busy else best[1]
    return None


def _marked(steps: NumberedSteps, span: tuple[int, int]) -> InferredSteps:
    distance = np.diff(steps.begin_ps).astype(np.float64)
    covered = float(steps.end_ps[-1] - steps.begin_ps[0]) / max(span[1] - span[0], 1)
    evidence = Evidence(
        source="step number",
        event=steps.name,
        line=steps.line,
        plane=HOST_THREADS,
        occurrences=len(steps.begin_ps),
        period_ms=float(distance.mean()) / PS_PER_MS,
        variation=_variation(distance),
        coverage=min(1.0, covered),
    )
    return InferredSteps(evidence, steps.begin_ps, steps.end_ps - steps.begin_ps, None, steps.number)


def named_steps(space: XSpace, name: str) -> InferredSteps | None:
    """Steps given by the events named `name`, on the line with most of them; None if there is no such event."""
    span = _recorded_span(space)
    best: _Candidate | None = None
    for plane in space.planes:
        metadata = plane.declared.event_metadata
        rows = [i for i, text in enumerate(metadata.names) if name in (text, metadata.display_names[i])]
        for row in rows:
            for candidate in _lines_with(plane, row):
                if best is None or len(candidate.events) > len(best.events):
                    best = candidate
    if best is None or span is None:
        return None
    return _with_busy(space, _steps(best, "named event", span))


def _lines_with(plane: Plane, row: int) -> Iterator[_Candidate]:
    rows = np.flatnonzero(plane.events.metadata == row)
    line = line_of(plane, rows)
    recorded = recorded_lines(plane)
    for i in np.unique(line).tolist():
        if recorded[i]:
            events = rows[line == i]
            spans_step = bool((plane.events.duration_ps[events] > 0).all())
            yield _Candidate(plane, i, row, events, spans_step)


def _recorded_span(space: XSpace) -> tuple[int, int] | None:
    """First begin and last end of the device events, or of the host events without devices; None without events."""
    planes = device_planes(space) or tuple(p for p in (host_plane(space),) if p is not None)
    spans = [
        (int(p.events.begin_ps.min()), int((p.events.begin_ps + p.events.duration_ps).max()))
        for p in planes
        if len(p.events.begin_ps)
    ]
    return (min(s[0] for s in spans), max(s[1] for s in spans)) if spans else None


def _sources(space: XSpace) -> Iterator[tuple[str, Iterator[_Candidate]]]:
    planes = device_planes(space)
    if planes and is_tpu(planes[0]):
        core = next((plane for plane in planes if is_tensor_core(plane)), planes[0])
        yield "device program", _repeating(core, lines_named(core, MODULES), spans_step=False)
    elif planes:
        busiest = max(planes, key=lambda plane: int(plane.events.duration_ps.sum()))
        lines = np.flatnonzero(recorded_lines(busiest)).tolist()
        yield "device kernel", _repeating(busiest, lines, spans_step=False)
    host = host_plane(space)
    if host is not None:
        lines = np.flatnonzero(recorded_lines(host)).tolist()
        yield "host event", _repeating(host, lines, spans_step=True)


def _repeating(plane: Plane, lines: list[int], *, spans_step: bool) -> Iterator[_Candidate]:
    """Per line the repeating events, at most the twenty with most time; an execution is but a part of its step."""
    names = plane.event_metadata.names
    for line in lines:
        events = plane.lines.events_of(line)
        rows = plane.events.metadata[events]
        if len(rows) < MIN_STEPS:
            continue
        duration = plane.events.duration_ps[events].astype(np.float64)
        distinct, where = _numbered(rows)
        count, time = np.bincount(where), np.bincount(where, weights=duration)
        repeating = np.flatnonzero((count >= MIN_STEPS) & (count <= MAX_STEPS))
        for i in repeating[np.argsort(-time[repeating], kind="stable")][:20].tolist():
            row = int(distinct[i])
            whole = spans_step and not _EXECUTION.search(names[row])
            yield _Candidate(plane, line, row, np.flatnonzero(where == i) + events.start, whole)


def _numbered(rows: U32) -> tuple[U32 | I64, U32 | I64]:
    """Ascending rows of the metadata with those of the events, and per event the position of its own among them."""
    if int(rows.max()) < len(rows):
        return np.arange(int(rows.max()) + 1), rows  # counting all rows of the metadata is quicker than sorting events
    return np.unique(rows, return_inverse=True)


def _steps(candidate: _Candidate, source: str, span: tuple[int, int]) -> InferredSteps:
    order = candidate.events[np.argsort(candidate.plane.events.begin_ps[candidate.events], kind="stable")]
    begin, own_end = spans_at(candidate.plane, order)
    end = own_end if candidate.spans_step else np.append(begin[1:], own_end[-1])
    distance = np.diff(begin).astype(np.float64)
    metadata = candidate.plane.event_metadata
    total = span[1] - span[0]
    evidence = Evidence(
        source=source,
        event=metadata.display_names[candidate.row] or metadata.names[candidate.row],
        line=candidate.plane.lines.display_name[candidate.line] or candidate.plane.lines.name[candidate.line],
        plane=candidate.plane.name,
        occurrences=len(begin),
        period_ms=float(distance.mean()) / PS_PER_MS if len(distance) else 0.0,
        variation=_variation(distance),
        coverage=min(1.0, float(int(own_end.max()) - int(begin[0])) / total) if total > 0 else 0.0,
    )
    return InferredSteps(evidence, begin, end - begin, None)


def _with_busy(space: XSpace, steps: InferredSteps) -> InferredSteps:
    return replace(steps, busy_ps=device_busy(space, steps.begin_ps, steps.begin_ps + steps.duration_ps))


def _variation(distance: np.ndarray[Any, np.dtype[np.float64]]) -> float | None:
    """Interquartile range over median, robust to pauses such as evaluation; None if the median is not positive."""
    if len(distance) < 2:
        return 0.0
    low, middle, high = np.quantile(distance, (0.25, 0.5, 0.75))
    return float((high - low) / middle) if middle > 0 else None


def _score(steps: InferredSteps, candidate: _Candidate) -> float:
    """Score of a candidate: higher for more coverage, fill and regularity; 0 if it is rejected."""
    evidence = steps.evidence
    if evidence.variation is None or evidence.variation > MAX_VARIATION or evidence.coverage < MIN_COVERAGE:
        return 0.0
    own_ps = float(candidate.plane.events.duration_ps[candidate.events].sum())
    filled = own_ps / max(1.0, float(steps.duration_ps.sum()))
    if candidate.spans_step:
        # A host event spans the step itself, so gaps between the events lower the score.
        end = steps.begin_ps + steps.duration_ps
        filled = float(steps.duration_ps.sum()) / max(1.0, float(end.max() - steps.begin_ps[0]))
    if evidence.source == "host event" and filled < MIN_FILLED:
        return 0.0
    return evidence.coverage * filled / (1.0 + evidence.variation)


def _holds(steps: InferredSteps, work: Times) -> bool:
    """Whether steps contain their work, if that is known: a call that only recurs between them does not."""
    begin, end = union(steps.begin_ps, steps.begin_ps + steps.duration_ps)
    meanwhile = covered_within(*work, begin[:1], end[-1:])
    return int(covered_within(*work, begin, end).sum()) >= LEAST_WORK * int(meanwhile.sum())


def _xla_on_host(space: XSpace) -> Times:
    """When the CPU backend ran ops; no time if it did not."""
    host = host_plane(space)
    if host is None or host.stat_metadata.row("hlo_op") is None:
        return no_time()
    code, _ = strings(space, host, host.events.stats, "hlo_op")
    return times_of(*spans_at(host, np.flatnonzero(code >= 0)))


def device_busy(space: XSpace, begin: I64, end: I64) -> I64 | None:
    """Per interval, the time during which the first device ran an op; None without devices."""
    planes = device_planes(space)
    if not planes:
        return None
    plane = next((p for p in planes if is_tensor_core(p)), planes[0])

    lines = lines_named(plane, OPS) if is_tpu(plane) else np.flatnonzero(recorded_lines(plane)).tolist()
    events = events_of_lines(plane, lines)
    return covered_within(*union(*spans_at(plane, events)), begin, end)
