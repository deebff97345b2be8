"""Steps of a recording that marks none: numbered marks, else parts alike of the work, or an event the user names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.ma

from tpu_profile_plugin.analysis.attribution import hlo_runs, names_hlo_ops
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
    recorded_span,
    rows_named,
    spans_at,
)
from tpu_profile_plugin.analysis.common.spans import covered_within, times_of, total, union
from tpu_profile_plugin.columns import EventFilter, Plane, XSpace
from tpu_profile_plugin.columns import stats as read
from tpu_profile_plugin.columns.arrays import F64, I64, Bools
from tpu_profile_plugin.units import PS_PER_MS

KERAS = "Profiled batch"
"""Keras encloses each batch of a profile in this event; with JAX the batch's number is a part of the name."""
LEAST = 3
"""Fewer numbers in a row may be anything."""
_KERAS_NUMBER = re.compile(rf"{KERAS} (\d+)\Z")
_NUMBER = "step_num"


@dataclass(frozen=True, slots=True, eq=False)
class NumberedSteps:
    """Steps of one name on one thread in time order: int64[s] each; times in ps on the axis of the file."""

    name: str
    line: str
    number: I64
    begin_ps: I64
    end_ps: I64


def numbered_steps(space: XSpace) -> NumberedSteps | None:
    """The events with step numbers that ascend in time, of the name and thread with most of them; None without any."""
    plane = host_plane(space)
    if plane is None:
        return None
    declared = plane.declared
    if declared.stat_metadata.row(_NUMBER) is None and not any(map(_KERAS_NUMBER.match, declared.event_metadata.names)):
        return None
    rows, name, number = _numbers(plane, space)
    line = line_of(plane, rows)
    keep = recorded_lines(plane)[line] & (plane.events.duration_ps[rows] > 0)
    rows, name, number, line = rows[keep], name[keep], number[keep], line[keep]
    best: NumberedSteps | None = None
    for thread, kind in np.unique(np.column_stack([line, name]), axis=0).tolist():
        same = np.flatnonzero((line == thread) & (name == kind))
        same = same[np.argsort(plane.events.begin_ps[rows[same]], kind="stable")]
        begin, end = spans_at(plane, rows[same])
        apart = bool((np.diff(number[same]) > 0).all() and (begin[1:] >= end[:-1]).all())
        if apart and len(same) >= LEAST and (best is None or len(same) > len(best.number)):
            text = KERAS if kind < 0 else plane.event_metadata.names[kind]
            best = NumberedSteps(text, plane.lines.name[thread], number[same], begin, end)
    return best


def _numbers(plane: Plane, space: XSpace) -> tuple[I64, I64, I64]:
    """The events with a step's number, their names' rows (-1 where Keras has the number in the name), and numbers."""
    number, numbered = read.ints(space, plane, plane.events.stats, _NUMBER)
    in_name = np.full(len(plane.event_metadata), -1, np.int64)
    for row, name in enumerate(plane.event_metadata.names):
        if match := _KERAS_NUMBER.match(name):
            in_name[row] = int(match[1])
    named = in_name[plane.events.metadata]
    rows = np.flatnonzero(numbered | (named >= 0))
    has_stat, names = numbered[rows], plane.events.metadata[rows].astype(np.int64)
    return rows, np.where(has_stat, names, -1), np.where(has_stat, number[rows], named[rows])


MIN_RUNS, MAX_RUNS = 3, 10_000
FOREIGN, TRACE = 0.01, 0.002
"""Most work, of all, that is in few of the parts; less than a trace of it, as of a log line, is not a part of steps."""
IN_MOST = 0.9
"""Least share of the parts that hold what is not in few of them."""
UNEVEN = 0.1
"""Most work, of all, by which parts have more or less of the same."""
MAX_VARIATION = 0.5
"""Most relative variation of the distance between begins: interquartile range over median."""
COMPLETE = 0.9
"""Least share of the usual work in the part behind the last begin for it to be one as the others."""
_WARM = 4
"""Fewest parts of which the first may differ."""
_DENSE = 8
"""Keys up to so many times their number are counted by a table instead of being sorted."""
_PER_COUNT, _MOST_TRIED = 3, 60
"""Events that are tried of those which run equally often, and of all."""


@dataclass(frozen=True, eq=False)
class Track:
    """Events in order of begin.

    Attributes:
      name: int64[n], what ran, as small numbers.
      begin_ps, end_ps: int64[n].
      self_ps: int64[n], its time without what ran inside.
      warms_up: the first part may differ from the others, as on a host that compiles, if there are some more.
    """

    name: I64
    begin_ps: I64
    end_ps: I64
    self_ps: I64
    warms_up: bool = False

    def __len__(self) -> int:
        return len(self.name)

    @cached_property
    def count(self) -> I64:
        return np.bincount(self.name)

    @cached_property
    def mean_ps(self) -> F64:
        """Mean time of each name: runs are compared by what they are, not by how long they last."""
        return np.bincount(self.name, weights=self.self_ps) / np.maximum(self.count, 1)

    @cached_property
    def done_ps(self) -> F64:
        """float64[n + 1], the work before each event, and all."""
        return np.concatenate([[0.0], np.cumsum(self.mean_ps[self.name])])

    @property
    def total_ps(self) -> float:
        """All work."""
        return float(self.done_ps[-1])

    @cached_property
    def _by_name(self) -> tuple[I64, I64]:
        # Numbers of few bits are sorted by digits, several times as fast.
        name = self.name.astype(np.min_scalar_type(len(self.count)))
        return np.argsort(name, kind="stable"), np.concatenate([[0], np.cumsum(self.count)])

    def time_of(self, name: int) -> int:
        runs = self.runs_of(name)
        return int((self.end_ps[runs] - self.begin_ps[runs]).sum())

    def runs_of(self, name: int) -> I64:
        """The events of a name, ascending."""
        order, start = self._by_name
        return order[start[name] : start[name + 1]]


@dataclass(frozen=True, slots=True, eq=False)
class Periods:
    """Parts alike of all work.

    Attributes:
      once: what runs once in each: at least what begins them.
      begin_ps, end_ps: int64[s]; what follows the last begin is no part if it is not complete.
      foreign: share of the work that few parts have.
    """

    once: I64
    begin_ps: I64
    end_ps: I64
    foreign: float


def longest_periods(track: Track) -> Periods | None:
    """The longest parts alike; None if nothing divides the work into such.

    Parts of which several are alike in turn are taken apart, unless that leaves more than a trace of work that only few
    of the smaller ones have.
    """
    best: Periods | None = None
    for names in _candidates(track):
        found = next((periods for name in names if (periods := _periods(track, name)) is not None), None)
        if found is not None and (best is None or found.foreign <= TRACE):
            best = found
    return best


def divides(track: Track, count: int) -> bool:
    """Whether so many parts alike can hold all of the work, wherever they begin."""
    each = np.round(track.count / count)
    rest = np.maximum(np.abs(track.count - count * each) - each, 0) * track.mean_ps
    foreign = float(rest[each == 0].sum())
    return foreign <= FOREIGN * track.total_ps and float(rest.sum()) <= UNEVEN * track.total_ps


def variation(distance: F64) -> float | None:
    """Interquartile range over median, robust to pauses such as evaluation; None if the median is not positive."""
    if len(distance) < 2:
        return 0.0
    low, middle, high = np.quantile(distance, (0.25, 0.5, 0.75))
    return float((high - low) / middle) if middle > 0 else None


def _candidates(track: Track) -> Iterator[list[int]]:
    """Names that may begin parts, those together that run equally often, seldom first; the first in time first."""
    count, order = track.count, np.argsort(track.count, kind="stable")
    seldom = np.cumsum((count * track.mean_ps)[order])
    # Events that run in fewer than half of the parts are foreign to them.
    few = order[: int(np.searchsorted(seldom, FOREIGN * track.total_ps, side="right"))]
    most = MAX_RUNS if track.warms_up else min(MAX_RUNS, 2 * int(count[order[len(few)]]))
    names = np.flatnonzero((count >= MIN_RUNS) & (count <= most))
    names = names[[_may_begin(track, name) for name in names.tolist()]] if len(names) else names
    first = np.array([track.runs_of(name)[0] for name in names.tolist()], np.int64)
    names = names[np.lexsort((first, count[names]))]
    tried = 0
    for number in np.unique(count[names]).tolist():
        chosen = names[count[names] == number][:_PER_COUNT].tolist()
        tried += len(chosen)
        if tried > _MOST_TRIED:
            return
        yield chosen


def _may_begin(track: Track, name: int) -> bool:
    """Whether the parts between runs have about the same work: what is quick to tell."""
    runs = track.runs_of(name)
    spread = variation(np.diff(track.begin_ps[runs]).astype(np.float64))
    if spread is None or spread > MAX_VARIATION:
        return False
    done = track.done_ps
    parts, before, behind = np.diff(done[runs]), done[runs[0]], done[-1] - done[runs[-1]]
    usual, allowed = float(np.median(parts)), (UNEVEN + FOREIGN) * track.total_ps
    if track.warms_up and len(parts) >= _WARM:
        parts = parts[1:]
    return bool(np.abs(parts - usual).sum() <= allowed and before + behind <= 2 * usual + allowed)


def _periods(track: Track, name: int) -> Periods | None:
    """The parts that begin with the runs of a name, if they are alike."""
    runs, names = track.runs_of(name), len(track.count)
    inner = len(runs) - 1
    part = np.zeros(len(track), np.int64)
    part[runs] = 1
    part = np.cumsum(part)  # 0: before the first run; from 1 on the parts, of which the last may be cut
    key, times = _counted(part * names + track.name)
    part, what = key // names, key % names
    usual = _usual(part, what, times, inner, names)
    work = times * track.mean_ps[what]
    counted = part != (1 if track.warms_up and inner >= _WARM else -1)
    foreign = float(work[counted & (usual[what] == 0)].sum()) / track.total_ps
    if foreign > FOREIGN:
        return None
    known = usual[what] > 0
    within = known & (part >= 1) & (part <= inner)
    off = np.abs(times - usual[what]) * track.mean_ps[what]
    present = np.bincount(what[within], minlength=names)
    uneven = float(off[within & counted].sum()) + float(((inner - present) * usual * track.mean_ps).sum())
    first, last = np.zeros(names), np.zeros(names)
    first[what[part == 0]], last[what[part == inner + 1]] = times[part == 0], times[part == inner + 1]
    uneven += float((np.maximum(first + last - 2 * usual, 0) * track.mean_ps)[usual > 0].sum())
    if uneven > UNEVEN * track.total_ps:
        return None
    first[name] += 1
    whole = float((usual * track.mean_ps).sum())
    ends, begins = (float((np.minimum(usual, has) * track.mean_ps).sum()) >= COMPLETE * whole for has in (first, last))
    inside: I64 = np.bincount(what[part > 0], weights=times[part > 0], minlength=names).astype(np.int64)
    once = np.flatnonzero((usual == 1) & (track.count == len(runs)) & (inside == len(runs)))
    return Periods(once, *_spans(track, runs, usual, begins, ends), foreign)


def _counted(key: I64) -> tuple[I64, I64]:
    """The distinct keys, ascending, and how often each is there."""
    if int(key.max()) > _DENSE * len(key):
        return np.unique(key, return_counts=True)
    counts = np.bincount(key)
    distinct = np.flatnonzero(counts)
    return distinct, counts[distinct]


def _usual(part: I64, what: I64, times: I64, inner: int, names: int) -> F64:
    """How often each name runs in a part, the median over the inner ones; 0 if it is in few of them."""
    within = (part >= 1) & (part <= inner)
    what, times = what[within], times[within]
    order = np.lexsort((times, what))
    what, times = what[order], times[order]
    present = np.bincount(what, minlength=names)
    usual = np.zeros(names)
    often: Bools = present >= np.maximum(IN_MOST * inner, 1)
    start = np.concatenate([[0], np.cumsum(present)[:-1]])
    usual[often] = times[start[often] + np.maximum((inner - 1) // 2 - (inner - present[often]), 0)]
    return usual


def _spans(track: Track, runs: I64, usual: F64, begins: bool, ends: bool) -> tuple[I64, I64]:
    """Begin and end of the parts that begin with the runs; of those that end with them if only so the first is whole.

    Args:
      track, runs, usual: what ran, what divides it, and how often each name runs in a part.
      begins, ends: what follows the last run is a whole part, and what precedes the first.
    """
    expected = np.flatnonzero(usual[track.name] > 0)
    begin, end = track.begin_ps[runs], track.end_ps[runs]
    longest = int(np.diff(begin).max())
    if ends and not begins:
        first = max(int(track.begin_ps[expected[0]]), int(end[0]) - longest)
        begin = np.append(first, track.begin_ps[runs[:-1] + 1])
        return begin, np.append(begin[1:], end[-1])
    last = track.end_ps[expected[expected >= runs[-1]]].max()
    end = np.append(begin[1:], np.minimum(last, begin[-1] + longest))
    return (begin, end) if begins else (begin[:-1], end[:-1])


_OPTIMIZER = re.compile(r"Optimizer\.step#[^/:]+\Z")
"""PyTorch records the calls of an optimizer."""
MIN_FILLED = 0.3
"""Least share of steps that events of their thread fill, if it is not known to run the program."""
_CALL = re.compile(
    r"PjitFunction|TFE_Py_|EagerExecute|(?:cu|cuda|hip)(?:Ext)?(?:Module)?(?:Graph)?Launch|aten::|Optimizer\.step#"
)
"""Calls that run work: the thread with most time in them, or else in Python frames, runs the program."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Evidence for inferred steps.

    Attributes:
      source: "step number" (marks, see `numbered`), "device program", "device kernel", "host event" or "named event".
      event: the repeating event.
      line: the line that has it.
      plane: the plane of the line.
      occurrences: number of repetitions.
      period_ms: mean distance between begins.
      variation: relative variation of the distance (0: regular; None: unknown).
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

    @property
    def of_host(self) -> bool:
        """Whether they are times of the host, which devices may be behind."""
        return self.number is not None or self.evidence.source == "host event"


@dataclass(frozen=True, slots=True, eq=False)
class _Work:
    """A track with its events, int64[n] of a plane; its names are these rows of the plane's event metadata.

    `runs_program`: it is the thread that calls what runs.
    """

    source: str
    plane: Plane
    events: I64
    names: I64
    track: Track
    runs_program: bool = False


def infer_steps(space: XSpace, *, busy: bool = True) -> InferredSteps | None:
    """Numbered marks, else the longest parts alike of what devices do and of what the host does; None without any.

    Without `busy` the device time in steps is not computed.
    """
    span = _recorded_span(space)
    if span is None:
        return None
    numbered = numbered_steps(space)
    steps = _marked(numbered, span) if numbered is not None else _longest(space, span)
    return with_busy(space, steps) if busy and steps is not None else steps


def _longest(space: XSpace, span: tuple[int, int]) -> InferredSteps | None:
    """The longest steps of those that the device shows, calls of an optimizer, and threads of the host."""
    device = _device_work(space)
    candidates = [None if device is None else _alike(device, span)]
    thread = _main_thread(space, only_calls=candidates[0] is not None)
    if thread is not None:
        candidates += [_optimizer_steps(thread, span), _of_host(space, device, thread, span)]
    longest: InferredSteps | None = None
    for steps in candidates:
        # One less may only be cut off: steps are longer if they are twice as long.
        if steps is not None and (longest is None or 2 * len(steps.begin_ps) <= len(longest.begin_ps)):
            longest = steps
    return None if longest is None or len(longest.begin_ps) < 2 else longest


def _alike(work: _Work, span: tuple[int, int]) -> InferredSteps | None:
    """Steps as the longest parts alike of some work."""
    periods = longest_periods(work.track)
    if periods is None:
        return None
    name = max(periods.once.tolist(), key=work.track.time_of)
    runs = work.events[work.track.runs_of(name)]
    evidence = _evidence(work.source, work.plane, int(work.names[name]), runs, span)
    return InferredSteps(evidence, periods.begin_ps, periods.end_ps - periods.begin_ps, None)


def _of_host(space: XSpace, device: _Work | None, thread: _Work, span: tuple[int, int]) -> InferredSteps | None:
    """Steps of a thread that can hold the work of devices."""
    steps = _alike(thread, span)
    work = device or _xla_on_host(space, thread.plane)
    if steps is None or (work is not None and not divides(work.track, len(steps.begin_ps))):
        return None
    return steps if thread.runs_program or _filled(steps, thread.track) else None


def _filled(steps: InferredSteps, thread: Track) -> bool:
    """Whether a thread is busy for much of its steps."""
    begin, end = steps.begin_ps, steps.begin_ps + steps.duration_ps
    busy = covered_within(*times_of(thread.begin_ps, thread.end_ps), begin, end)
    return int(busy.sum()) >= MIN_FILLED * int(steps.duration_ps.sum())


def _optimizer_steps(thread: _Work, span: tuple[int, int]) -> InferredSteps | None:
    """Steps that end with the calls of an optimizer, a single one included; None without any."""
    names = thread.plane.event_metadata.names
    rows = [i for i, row in enumerate(thread.names.tolist()) if _OPTIMIZER.match(names[row])]
    if not rows:
        return None
    row = max(rows, key=lambda row: int(thread.track.count[row]))
    runs = thread.track.runs_of(row)
    end = thread.track.end_ps[runs]
    first = int(thread.track.begin_ps[0])
    if len(end) > 1:
        first = max(first, int(end[0] - np.diff(end).max()))
    begin = np.append(first, end[:-1])
    evidence = _evidence("host event", thread.plane, int(thread.names[row]), thread.events[runs], span)
    return InferredSteps(evidence, begin, end - begin, None)


def _device_work(space: XSpace) -> _Work | None:
    """Programs of a TensorCore or kernels of the busiest GPU; None without devices or events."""
    planes = device_planes(space)
    if not planes:
        return None
    if is_tpu(planes[0]):
        plane = next((plane for plane in planes if is_tensor_core(plane)), planes[0])
        return _work("device program", plane, events_of_lines(plane, lines_named(plane, MODULES)))
    plane = max(planes, key=lambda plane: int(plane.events.duration_ps.sum()))
    return _work("device kernel", plane, events_of_lines(plane, np.flatnonzero(recorded_lines(plane)).tolist()))


def _main_thread(space: XSpace, *, only_calls: bool) -> _Work | None:
    """The thread that runs the program, from its first call to its last; without any, the one that is busy longest.

    With `only_calls` a plane that is not decoded yet is read for no more, and no other thread counts.
    """
    host = host_plane(space)
    if host is None:
        return None
    if only_calls and not host.decoded:
        (host,) = space.filtered(EventFilter(host, event=_is_call))
    threads = [events_of_lines(host, [line]) for line in np.flatnonzero(recorded_lines(host)).tolist()]
    for test in (_is_call, lambda name: name.startswith("$"), None)[: 1 if only_calls else None]:
        chosen = threads
        if test is not None:
            passes = rows_named(host, test)
            chosen = [rows[passes[host.events.metadata[rows]]] for rows in threads]
        busy = [total(times_of(*spans_at(host, rows))) for rows in chosen]
        if max(busy, default=0) > 0:
            longest = busy.index(max(busy))
            # The same events, whether or not the plane was decoded for another question before.
            rows = chosen[longest] if only_calls else threads[longest]
            begin, end = spans_at(host, chosen[longest])
            begins, ends = spans_at(host, rows)
            work = _work("host event", host, rows[(begins < end.max()) & (ends > begin.min())])
            return None if work is None else replace(work, runs_program=test is not None)
    return None


def _is_call(name: str) -> bool:
    return _CALL.match(name) is not None


def _xla_on_host(space: XSpace, host: Plane) -> _Work | None:
    """The ops of the CPU backend; None if it ran none."""
    return _work("op", host, hlo_runs(space, host)[1]) if names_hlo_ops(host) else None


def _work(source: str, plane: Plane, events: I64) -> _Work | None:
    """The track of some events; None without any.

    What a thread does is compared by how often it does it: how long that takes depends on what it waits for.
    """
    if not len(events):
        return None
    begin, end = spans_at(plane, events)
    later, same = begin[1:] > begin[:-1], begin[1:] == begin[:-1]
    if not bool((later | (same & (end[1:] <= end[:-1]))).all()):
        order = np.lexsort((-end, begin))
        events, begin, end = events[order], begin[order], end[order]
    row = plane.events.metadata[events].astype(np.int64)
    names = np.flatnonzero(np.bincount(row))
    name = np.zeros(int(row.max()) + 1, np.int64)
    name[names] = np.arange(len(names))
    on_host = source == "host event"
    weight = np.ones(len(events), np.int64) if on_host else np.maximum(end - begin, 1)
    track = Track(name[row], begin, end, weight, warms_up=on_host)
    return _Work(source, plane, events, names, track)


def _marked(steps: NumberedSteps, span: tuple[int, int]) -> InferredSteps:
    named = ("step number", steps.name, steps.line, HOST_THREADS)
    evidence = _repetition(*named, steps.begin_ps, steps.end_ps, span)
    return InferredSteps(evidence, steps.begin_ps, steps.end_ps - steps.begin_ps, None, steps.number)


def named_steps(space: XSpace, name: str) -> InferredSteps | None:
    """Steps given by the events named `name`, on the line with most of them; None if there is no such event."""
    span = _recorded_span(space)
    best: tuple[Plane, int, I64] | None = None
    for plane in space.planes:
        metadata = plane.declared.event_metadata
        for row in [i for i, text in enumerate(metadata.names) if name in (text, metadata.display_names[i])]:
            rows = np.flatnonzero(plane.events.metadata == row)
            line, recorded = line_of(plane, rows), recorded_lines(plane)
            for i in np.unique(line).tolist():
                if recorded[i] and (best is None or int((line == i).sum()) > len(best[2])):
                    best = plane, row, rows[line == i]
    if best is None or span is None:
        return None
    plane, row, rows = best
    rows = rows[np.argsort(plane.events.begin_ps[rows], kind="stable")]
    begin, end = spans_at(plane, rows)
    if not (end > begin).all():
        end = np.append(begin[1:], end[-1])  # they only mark where steps begin
    return InferredSteps(_evidence("named event", plane, row, rows, span), begin, end - begin, None)


def _recorded_span(space: XSpace) -> tuple[int, int] | None:
    """First begin and last end of the device events, or of the host events without devices; None without events."""
    host = host_plane(space)
    return recorded_span(device_planes(space) or ([] if host is None else [host]))


def _evidence(source: str, plane: Plane, row: int, runs: I64, span: tuple[int, int]) -> Evidence:
    """Evidence of runs of an event, in order of begin."""
    line, lines, metadata = int(line_of(plane, runs[:1])[0]), plane.lines, plane.event_metadata
    event = metadata.display_names[row] or metadata.names[row]
    named = (source, event, lines.display_name[line] or lines.name[line], plane.name)
    return _repetition(*named, *spans_at(plane, runs), span)


def _repetition(
    source: str, event: str, line: str, plane: str, begin: I64, end: I64, span: tuple[int, int]
) -> Evidence:
    """Evidence of spans in order of begin, in a recording from `span[0]` to `span[1]`."""
    distance, length = np.diff(begin).astype(np.float64), span[1] - span[0]
    return Evidence(
        source=source,
        event=event,
        line=line,
        plane=plane,
        occurrences=len(begin),
        period_ms=float(distance.mean()) / PS_PER_MS if len(distance) else 0.0,
        variation=variation(distance),
        coverage=min(1.0, float(int(end.max()) - int(begin[0])) / length) if length > 0 else 0.0,
    )


def with_busy(space: XSpace, steps: InferredSteps) -> InferredSteps:
    return replace(steps, busy_ps=device_busy(space, steps.begin_ps, steps.begin_ps + steps.duration_ps))


def device_busy(space: XSpace, begin: I64, end: I64) -> I64 | None:
    """Per interval, the time during which the first device ran an op; None without devices."""
    planes = device_planes(space)
    if not planes:
        return None
    plane = next((p for p in planes if is_tensor_core(p)), planes[0])
    lines = lines_named(plane, OPS) if is_tpu(plane) else np.flatnonzero(recorded_lines(plane)).tolist()
    events = events_of_lines(plane, lines)
    return covered_within(*union(*spans_at(plane, events)), begin, end)
