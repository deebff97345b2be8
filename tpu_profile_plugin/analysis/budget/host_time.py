"""Events of a host over time by kind; no more of them are read than an answer needs."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from tpu_profile_plugin import _native
from tpu_profile_plugin.analysis.budget import host_names
from tpu_profile_plugin.analysis.budget.host_names import NO_FILES, SourceFiles, source_files
from tpu_profile_plugin.analysis.budget.recorded_events import RecordedEvents, recorded_events
from tpu_profile_plugin.analysis.common.planes import (
    events_named,
    host_plane,
    line_of,
    lines_named,
    recorded_lines,
    rows_named,
    rows_of_lines,
    spans_at,
)
from tpu_profile_plugin.analysis.common.rows import members, row_codes, sums_by
from tpu_profile_plugin.analysis.common.spans import Times, join, no_time, subtract, times_of
from tpu_profile_plugin.analysis.common.stat_columns import StatColumns
from tpu_profile_plugin.analysis.devices.launches import KEYS, HostCalls, host_calls
from tpu_profile_plugin.analysis.hlo.programs import HloPrograms, hlo_programs, source_paths
from tpu_profile_plugin.analysis.ops.thread_ops import FUNCTION_CALL
from tpu_profile_plugin.analysis.steps.host_steps import is_explicit_marker
from tpu_profile_plugin.analysis.steps.inferred import Evidence
from tpu_profile_plugin.columns import EventFilter, Plane, XSpace
from tpu_profile_plugin.columns import stats as read
from tpu_profile_plugin.columns.arrays import I64, U8, U32, Bools

# Waits of the main thread for other threads: for input, requests of a batch, or any other result.

LEAST_OF_BATCH = 1.5
"""Waits for results before each launch, on average, from which they collect a batch."""


def handed_over(waits: Times, sent: I64, launches: I64, limits: I64) -> tuple[Times, Times]:
    """Of waits for other threads on the main thread: those for input, and those that collect a batch.

    Waits without a launch in between belong together. They are for input if something is sent to a device before the
    next ones begin. A server that collects requests does so as well, but waits several times with a time limit.

    Args:
      waits: when the main thread waits.
      sent, launches: begins of copies to devices on any thread, and of launches, ascending.
      limits: when the main thread reads the clock, as a wait with a time limit does, ascending.
    """
    begin, end = waits
    if not len(begin):
        return waits, waits
    group = np.searchsorted(launches, begin)
    first = np.append(True, group[1:] != group[:-1])
    number, since = np.cumsum(first) - 1, begin[first]
    until = np.append(since[1:], np.iinfo(np.int64).max)
    fed = np.searchsorted(sent, until) > np.searchsorted(sent, since)
    limited = np.searchsorted(limits, end) > np.searchsorted(limits, begin)
    batch = np.zeros(len(since), np.bool_)
    if len(begin) >= LEAST_OF_BATCH * len(since):
        batch[number[limited]] = True
    return times_of(begin, end, (fed & ~batch)[number]), times_of(begin, end, batch[number])


COVERING = 0.8
"""Share of an idle time that an event of the main thread must cover to be named as its cause."""
MOST_LEVELS = 200
LAUNCH_STATS = tuple(dict.fromkeys(KEYS.values()))
_TELLING_STATS = (*LAUNCH_STATS, FUNCTION_CALL)
_MARKER_STATS = ("_r", "step_num")
_TORCH_STEP = "ProfilerStep"
"""Range of a step of PyTorch's profiler."""


def _marks_step(name: str) -> bool:
    """Whether the thread of an event runs the steps."""
    return name == _TORCH_STEP or is_explicit_marker(name)


_TELLING = host_names.is_recognised, _marks_step, host_names.is_copy, host_names.is_clock


@dataclass(frozen=True, slots=True, eq=False)
class Levels:
    """Events of one thread by depth; those of one level do not overlap if the thread's events nest.

    Attributes:
      begin_ps, end_ps, name: per level, ascending; `name` is an index into `MainThread.names`.
    """

    begin_ps: tuple[I64, ...] = ()
    end_ps: tuple[I64, ...] = ()
    name: tuple[I64, ...] = ()

    def covering(self, begin: I64, end: I64, keep: Bools | None = None) -> I64:
        """Per span the name of the deepest event that covers at least `COVERING` of it, -1 without one.

        `keep` says which names count; all by default.
        """
        deepest = np.full(len(begin), -1, np.int64)
        middle = begin + (end - begin) // 2
        for level in range(len(self.begin_ps) - 1, -1, -1):
            open_ = np.flatnonzero(deepest < 0)
            if not len(open_):
                break
            since, until, name = self.begin_ps[level], self.end_ps[level], self.name[level]
            index = np.searchsorted(since, middle[open_], side="right") - 1
            inside = np.maximum(index, 0)
            covered = np.minimum(end[open_], until[inside]) - np.maximum(begin[open_], since[inside])
            hit = (index >= 0) & (covered >= COVERING * (end - begin)[open_])
            if keep is not None:
                hit &= keep[name[inside]]
            deepest[open_[hit]] = name[inside[hit]]
        return deepest

    def covering_together(self, begin: I64, end: I64, keep: Bools) -> I64:
        """The same by name: per span the deepest of the names whose events together cover `COVERING` of it."""
        deepest = np.full(len(begin), -1, np.int64)
        for level in range(len(self.begin_ps) - 1, -1, -1):
            open_ = np.flatnonzero(deepest < 0)
            if not len(open_):
                break
            since, until = begin[open_], end[open_]
            first = np.searchsorted(self.end_ps[level], since, side="right")
            count = np.maximum(np.searchsorted(self.begin_ps[level], until, side="left") - first, 0)
            span, event = members(first, count)
            span, event = (rows[keep[self.name[level][event]]] for rows in (span, event))
            first, last = self.begin_ps[level][event], self.end_ps[level][event]
            ps = np.minimum(until[span], last) - np.maximum(since[span], first)
            code, at = row_codes(span, self.name[level][event])
            whole = sums_by(code, ps, len(at)) >= COVERING * (until - since)[span[at]]
            deepest[open_[span[at[whole]]]] = self.name[level][event[at[whole]]]
        return deepest


@dataclass(frozen=True, slots=True, eq=False)
class HostTime:
    """Activities of a host, by the names of its events.

    Attributes:
      compile_, upload, transfer, input, launch: when the host did what: compilation, calls that trace a tf.function and
        uploads to a device on any thread, the rest on the main thread.
      handover: when the main thread waited for another thread or process, but not for input; batching: the part of it
        that are waits with a time limit for several results in turn before the next launch.
      calls: what launches work of devices.
      main: id and name of the main thread's line; None without any.
      launchers: those of other threads with at least `LAUNCHER` of the time in launches.
    """

    compile_: Times = field(default_factory=no_time)
    upload: Times = field(default_factory=no_time)
    transfer: Times = field(default_factory=no_time)
    input: Times = field(default_factory=no_time)
    launch: Times = field(default_factory=no_time)
    handover: Times = field(default_factory=no_time)
    batching: Times = field(default_factory=no_time)
    calls: HostCalls = field(default_factory=HostCalls)
    main: tuple[int, str] | None = None
    launchers: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class MainThread:
    """The events of the main thread, without markers of steps and events that last through all of the steps.

    Attributes:
      levels: the events by depth.
      names: of all events.
      user: per name, whether it is a frame of the user's code.
      traced: Python functions were recorded.
      around: the innermost frame of the user's code among those that last through all of the steps; "" without one.
      recorded: all of its events, and what recording them costs.
      library: per name, whether it is a call of Python that is not the user's code.
      named: per name, whether it is no function without a name of its own.
      tells: per name, whether it also says what the thread does: no method that Python calls, none of a library that
        only calls others.
    """

    levels: Levels = field(default_factory=Levels)
    names: tuple[str, ...] = ()
    user: Bools = field(default_factory=lambda: np.zeros(0, np.bool_))
    traced: bool = False
    around: str = ""
    recorded: RecordedEvents = field(default_factory=RecordedEvents)
    library: Bools = field(default_factory=lambda: np.zeros(0, np.bool_))
    named: Bools = field(default_factory=lambda: np.zeros(0, np.bool_))
    tells: Bools = field(default_factory=lambda: np.zeros(0, np.bool_))


def telling_events(space: XSpace) -> Plane | None:
    """The host plane with the events that tell what the host does, mark steps or launch work; None without the plane.

    If the plane is not decoded yet, it has no others.
    """
    plane = host_plane(space)
    if plane is None or plane.decoded:
        return plane
    wanted = EventFilter(plane, event=lambda name: any(test(name) for test in _TELLING), stats=_TELLING_STATS)
    return space.filtered(wanted)[0]


def host_time(space: XSpace, plane: Plane | None) -> HostTime:
    """Activities of a host, from its `telling_events`."""
    if plane is None:
        return HostTime()
    kind = _activities(plane)
    # The main thread runs the program: it has the step markers, else the launches, else Python frames, else any events.
    main = _main_line(plane, (rows_named(plane, _marks_step), kind == host_names.Activity.LAUNCH))
    if main is None:
        plane = host_plane(space) or plane
        kind = _activities(plane)
        main = _main_line(plane, (rows_named(plane, lambda name: name.startswith("$")), np.ones(len(kind), np.bool_)))
    events = plane.events
    if not len(events):
        return HostTime()
    main = main or 0
    rows = np.flatnonzero((kind != host_names.Activity.OTHER)[events.metadata])
    first, last = plane.lines.event_start[main : main + 2].tolist()
    what, on_main = kind[events.metadata[rows]], (rows >= first) & (rows < last)
    begin, end = spans_at(plane, rows)

    def when(wanted: host_names.Activity, *, anywhere: bool = False) -> Times:
        return times_of(begin, end, what == wanted if anywhere else (what == wanted) & on_main)

    upload, launch = when(host_names.Activity.UPLOAD, anywhere=True), when(host_names.Activity.LAUNCH)
    handover = when(host_names.Activity.HANDOVER)
    limits = _begins(plane, host_names.is_clock, (first, last))
    sent = np.sort(np.concatenate([upload[0], _begins(plane, host_names.is_copy)]))
    fed, batching = handed_over(handover, sent, launch[0], limits)
    return HostTime(
        join(when(host_names.Activity.COMPILE, anywhere=True), _traced_calls(space, plane)),
        upload,
        when(host_names.Activity.TRANSFER),
        join(when(host_names.Activity.INPUT), fed),
        launch,
        subtract(handover, fed),
        batching,
        host_calls(space, LAUNCH_STATS, plane),
        (int(plane.lines.id[main]), plane.lines.name[main]),
        _launchers(plane, kind == host_names.Activity.LAUNCH, main),
    )


def _traced_calls(space: XSpace, plane: Plane) -> Times:
    """Calls that trace a tf.function: what runs in them waits for the trace, and for the graph that is made of it."""
    if plane.stat_metadata.row(FUNCTION_CALL) is None:
        return no_time()
    event, code, modes = StatColumns(space, plane, plane.events.stats, (FUNCTION_CALL,)).texts(FUNCTION_CALL)
    traced = event[np.array([mode.startswith("traced") for mode in modes], np.bool_)[code]]
    return times_of(*spans_at(plane, traced))


def main_thread(
    space: XSpace,
    host: HostTime,
    since: int,
    until: int,
    evidence: Evidence | None = None,
    files: Callable[[], SourceFiles] = lambda: NO_FILES,
) -> MainThread:
    """The events of the main thread that may be causes.

    Args:
      space: the profile; of a host plane that is not decoded yet only this thread is.
      host: tells which thread it is.
      since, until: first begin and last end of the steps.
      evidence: the event that steps were inferred from: a marker, not a cause, unless it is a Python function.
      files: that programs were traced from; asked only if Python functions were recorded.
    """
    plane = host_plane(space)
    if plane is None or host.main is None:
        return MainThread()
    plane, rows = _thread(space, plane, host.main)
    (begin, end), metadata = spans_at(plane, rows), plane.events.metadata[rows]
    names = plane.event_metadata.names
    usable, user, frame, maybe, python, named, tells = (np.zeros(len(names), np.bool_) for _ in range(7))
    present = np.flatnonzero(np.bincount(metadata, minlength=len(names))).tolist()
    sources = files() if any(host_names.is_frame(names[row]) for row in present) else NO_FILES
    for row in present:
        inferred = evidence is not None and names[row] == evidence.event and not names[row].startswith("$")
        marker = is_explicit_marker(names[row]) or inferred
        usable[row] = host_names.is_telling(names[row]) and not marker
        user[row], frame[row] = host_names.is_user_frame(names[row], sources), host_names.is_frame(names[row])
        maybe[row] = host_names.may_be_user_frame(names[row], sources)
        python[row] = host_names.is_python(names[row])
        named[row] = not host_names.is_unnamed(names[row])
        tells[row] = named[row] and not (host_names.is_protocol(names[row]) or host_names.passes_on(names[row]))
    through = (begin <= since) & (end >= until)
    keep = usable[metadata] & (end > begin) & ~through
    for stat in _MARKER_STATS:
        if plane.stat_metadata.row(stat) is not None:
            keep &= ~read.ints(space, plane, plane.events.stats, stat)[1][rows]
    nested = levels(begin[keep], end[keep], metadata[keep])
    user |= outside_of(nested, maybe, frame & ~user & ~maybe)
    outer = np.flatnonzero(through & user[metadata])
    around = names[metadata[outer[begin[outer].argmax()]]] if len(outer) else ""
    recorded = _recorded(plane, begin, end, metadata)
    return MainThread(nested, tuple(names), user, bool(frame.any()), around, recorded, python & ~user, named, tells)


def _thread(space: XSpace, plane: Plane, thread: tuple[int, str]) -> tuple[Plane, slice | I64]:
    """The host plane with at least the events of a thread, and their rows."""
    number, name = thread
    if not plane.decoded:
        (plane,) = space.filtered(EventFilter(plane, lines=(name,)))
    return plane, rows_of_lines(plane, [at for at in lines_named(plane, name) if int(plane.lines.id[at]) == number])


def _recorded(plane: Plane, begin: I64, end: I64, metadata: U32) -> RecordedEvents:
    """The events of a thread."""
    python = np.array([host_names.is_python(name) for name in plane.event_metadata.names], np.bool_)
    return recorded_events(begin, end, python[metadata])


def outside_of(nested: Levels, chosen: Bools, others: Bools) -> Bools:
    """Per name whether it is one of the chosen, and most of its events are in no event of the others.

    A package calls its own functions; the user's function of a file that has the name of a package's is called by the
    user's.
    """
    if not chosen.any():
        return chosen
    total, free = np.zeros(len(chosen), np.int64), np.zeros(len(chosen), np.int64)
    before, until, within = np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.bool_)
    for begin, end, name in zip(nested.begin_ps, nested.end_ps, nested.name, strict=True):
        around = np.searchsorted(before, begin, side="right") - 1
        inside = np.zeros(len(begin), np.bool_)
        some = around >= 0
        inside[some] = within[around[some]] & (begin[some] < until[around[some]])
        total += np.bincount(name, minlength=len(chosen))
        free += np.bincount(name[~inside], minlength=len(chosen))
        before, until, within = begin, end, inside | others[name]
    return chosen & (2 * free > total)


def levels(begin: I64, end: I64, name: I64 | U32) -> Levels:
    """The events of one thread, none of them without length, by depth: by how many others they are enclosed."""
    order, start = _native.thread_levels(np.ascontiguousarray(begin), np.ascontiguousarray(end), MOST_LEVELS)
    cuts = list(pairwise(start.tolist()))
    # `take` is quicker than an index in brackets; names are widened last, so that less memory is touched.
    columns = begin.take(order), end.take(order), name.take(order).astype(np.int64, copy=False)
    return Levels(*(tuple(column[since:until] for since, until in cuts) for column in columns))


LAUNCHER = 0.1
"""Least share of the launches' time in which a thread is another that the steps run on, as that of backward passes."""


def _launchers(plane: Plane, launches: Bools, main: int) -> tuple[tuple[int, str], ...]:
    """Id and name of the threads with much of the time in launches, without the main thread."""
    rows = np.flatnonzero(launches[plane.events.metadata])
    time = np.bincount(line_of(plane, rows), weights=plane.events.duration_ps[rows], minlength=len(plane.lines.id))
    most = np.flatnonzero((time > 0) & (time >= LAUNCHER * time.sum()) & (np.arange(len(time)) != main))
    return tuple((int(plane.lines.id[line]), plane.lines.name[line]) for line in most)


def _main_line(plane: Plane, tests: Sequence[Bools]) -> int | None:
    """The thread with most time in the events that the first test selects, else those of the next; None without any."""
    recorded = recorded_lines(plane)
    for test in tests:
        rows = np.flatnonzero(test[plane.events.metadata])
        line = line_of(plane, rows)
        time = np.where(recorded[line], plane.events.duration_ps[rows], 0)
        weight = np.bincount(line, weights=time, minlength=len(recorded))
        if weight.max(initial=0) > 0:
            return int(weight.argmax())
    return None


def _activities(plane: Plane) -> U8:
    """The `Activity` of events, per row of the event metadata."""
    return np.array([host_names.activity(name) for name in plane.event_metadata.names], np.uint8)


def _begins(plane: Plane, test: Callable[[str], bool], within: tuple[int, int] | None = None) -> I64:
    """When events whose names pass a test begin, ascending; `within` are the first row of a line and that after it."""
    rows = events_named(plane, test)
    rows = rows if within is None else rows[(rows >= within[0]) & (rows < within[1])]
    begins: I64 = np.sort(spans_at(plane, rows)[0])
    return begins


Keep: TypeAlias = Callable[[Hashable, Callable[[], Any]], Any]
"""(key, make) -> what `make` returns, made once per key."""
EVENTS, TIME, MAIN = "telling_events", "host_time", "main_thread"
"""Keys of the parts; that of a main thread is a tuple which begins with `MAIN`."""


class HostReader:
    """Reads the events of one host.

    `keep` stores the parts, by default in this object; `programs` are the profile's, which tell files of the user's.
    """

    def __init__(
        self, space: XSpace, keep: Keep | None = None, programs: Callable[[], HloPrograms] | None = None
    ) -> None:
        self.space = space
        self._programs = programs or (lambda: hlo_programs(space))
        self._keep = _memory() if keep is None else keep

    @property
    def events(self) -> Plane | None:
        """The host plane with at least the events that tell what the host does, and all that launch work."""
        plane = host_plane(self.space)
        if plane is None or plane.decoded:
            return plane
        read: Plane | None = self._keep(EVENTS, lambda: telling_events(self.space))
        return read

    @property
    def time(self) -> HostTime:
        time: HostTime = self._keep(TIME, lambda: host_time(self.space, self.events))
        return time

    def launchers(self) -> list[RecordedEvents]:
        """The events of other threads that launch much of the work, as PyTorch's backward pass does."""
        plane, found = host_plane(self.space), []
        for thread in self.time.launchers:
            assert plane is not None
            known, rows = _thread(self.space, plane, thread)
            found.append(_recorded(known, *spans_at(known, rows), known.events.metadata[rows]))
        return found

    def main(self, since: int, until: int, evidence: Evidence | None = None) -> MainThread:
        def files() -> SourceFiles:
            return source_files(source_paths(self._programs()))

        main: MainThread = self._keep(
            (MAIN, since, until, evidence), lambda: main_thread(self.space, self.time, since, until, evidence, files)
        )
        return main


def _memory() -> Keep:
    kept: dict[Hashable, Any] = {}

    def keep(key: Hashable, make: Callable[[], Any]) -> Any:
        if key not in kept:
            kept[key] = make()
        return kept[key]

    return keep
