"""Events of a profile by plane, line, name, time and duration: one by one, in groups, or what ran in a window."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tpu_profile_plugin import _native
from tpu_profile_plugin.analysis.common.op_names import searcher
from tpu_profile_plugin.analysis.common.planes import (
    HOST_THREADS,
    MODULES,
    SPARSE_MODULES,
    is_counter_line,
    is_derived_line,
    is_device,
    is_step_line,
    line_of,
    shown_names,
)
from tpu_profile_plugin.analysis.timeline.tracks import HIDDEN_EVENTS, sections
from tpu_profile_plugin.columns import Plane, XSpace
from tpu_profile_plugin.columns.arrays import F64, I64, Bools
from tpu_profile_plugin.columns.stats import items

KEYS = ("plane", "line", "name")
"""Keys that events can be grouped by."""

QUANTILES = (0.5, 0.9, 0.99)


@dataclass(frozen=True, slots=True)
class Wanted:
    """A choice of events.

    Attributes:
      plane, line, name: regular expressions that are searched for in the name or the displayed name; "" fits all.
      begin_ps, end_ps: window, both inside; None: open.
      inside: only events that lie in the window; otherwise they may reach beyond it.
      shortest_ps, longest_ps: bounds of the duration, both inside.
    """

    plane: str = ""
    line: str = ""
    name: str = ""
    begin_ps: int | None = None
    end_ps: int | None = None
    inside: bool = False
    shortest_ps: int | None = None
    longest_ps: int | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """One event; times in ps on the axis of the trace viewer, `self_ps` without the events that it encloses."""

    plane: str
    line: str
    name: str
    begin_ps: int
    duration_ps: int
    self_ps: int
    stats: str


@dataclass(frozen=True, slots=True)
class Group:
    """Events with the same key; times in ps, `quantiles_ps` for `QUANTILES`."""

    key: tuple[str, ...]
    count: int
    total_ps: int
    self_ps: int
    min_ps: int
    max_ps: int
    mean_ps: float
    deviation_ps: float
    quantiles_ps: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class _Part:
    """The wanted events of one line: rows in the plane's event table, and their self times."""

    plane: Plane
    line: str
    rows: I64
    self_ps: I64


def listed(
    space: XSpace, wanted: Wanted, order: str, first: int, count: int, *, stats: bool
) -> tuple[int, tuple[Event, ...]]:
    """The number of wanted events, and those from position `first` on.

    Args:
      order: `begin`, or `duration` or `self`, longest first.
      stats: whether events have their stats and those of their metadata, as a text.
    """
    parts = list(_parts(space, wanted))
    if not parts:
        return 0, ()
    begin = np.concatenate([part.plane.events.begin_ps[part.rows] for part in parts])
    sort_key = {
        "begin": begin,
        "duration": -np.concatenate([part.plane.events.duration_ps[part.rows] for part in parts]),
        "self": -np.concatenate([part.self_ps for part in parts]),
    }[order]
    chosen = np.lexsort((begin, sort_key))[first : first + count]
    starts = np.cumsum([0, *(len(part.rows) for part in parts)])
    places = zip(chosen.tolist(), (np.searchsorted(starts, chosen, side="right") - 1).tolist(), strict=True)
    return len(begin), tuple(_event(space, parts[i], place - int(starts[i]), stats) for place, i in places)


def grouped(space: XSpace, wanted: Wanted, by: Sequence[str]) -> tuple[Group, ...]:
    """The wanted events in groups by some of `KEYS`, most total time first."""
    numbers: dict[tuple[str, ...], int] = {}
    codes, lengths, self_times = [], [], []
    for part in _parts(space, wanted):
        rows = part.plane.events.metadata[part.rows]
        used, inverse = np.unique(rows, return_inverse=True)
        names = shown_names(part.plane.event_metadata.names, part.plane.event_metadata.display_names)
        facts = ({"plane": part.plane.name, "line": part.line, "name": names[row]} for row in used.tolist())
        of_row = [numbers.setdefault(tuple(fact[key] for key in by), len(numbers)) for fact in facts]
        codes.append(np.array(of_row, np.int64)[inverse.reshape(-1)])
        lengths.append(part.plane.events.duration_ps[part.rows])
        self_times.append(part.self_ps)
    if not codes:
        return ()
    groups = _groups(list(numbers), np.concatenate(codes), np.concatenate(lengths), np.concatenate(self_times))
    return tuple(sorted(groups, key=lambda group: (-group.total_ps, group.key)))


def check(pattern: str) -> None:
    """Raises ValueError, which says why, if a pattern is no regular expression."""
    try:
        searcher(pattern)
    except ValueError as error:
        raise ValueError(f"The regular expression is not valid: {error}.") from None


def _parts(space: XSpace, wanted: Wanted) -> Iterator[_Part]:
    is_plane, is_line, is_name = (searcher(pattern) for pattern in (wanted.plane, wanted.line, wanted.name))
    for plane in space.planes:
        if not is_plane(plane.name):
            continue
        names = zip(plane.event_metadata.names, plane.event_metadata.display_names, strict=True)
        fits = np.array([bool(is_name(name) or (shown and is_name(shown))) for name, shown in names], np.bool_)
        for line, (name, display) in enumerate(zip(plane.lines.name, plane.lines.display_name, strict=True)):
            if is_line(name) or (display and is_line(display)):
                events = plane.lines.events_of(line)
                chosen = np.flatnonzero(fits[plane.events.metadata[events]] & _in_time(plane, events, wanted))
                if len(chosen):
                    whole = np.array([0, events.stop - events.start], np.int64)
                    times = plane.events.begin_ps[events], plane.events.duration_ps[events]
                    self_ps = _native.nested_times(whole, *times)[0]
                    yield _Part(plane, display or name, chosen + events.start, self_ps[chosen])


def _in_time(plane: Plane, events: slice, wanted: Wanted) -> Bools:
    begin, duration = plane.events.begin_ps[events], plane.events.duration_ps[events]
    first, last = (begin, begin + duration) if wanted.inside else (begin + duration, begin)
    fits: Bools = np.ones(len(begin), np.bool_)
    if wanted.begin_ps is not None:
        fits &= first >= wanted.begin_ps
    if wanted.end_ps is not None:
        fits &= last <= wanted.end_ps
    if wanted.shortest_ps is not None:
        fits &= duration >= wanted.shortest_ps
    if wanted.longest_ps is not None:
        fits &= duration <= wanted.longest_ps
    return fits


def _event(space: XSpace, part: _Part, index: int, stats: bool) -> Event:
    plane, row = part.plane, int(part.rows[index])
    metadata = int(plane.events.metadata[row])
    full, display = plane.event_metadata.names[metadata], plane.event_metadata.display_names[metadata]
    facts: dict[str, object] = {"long_name": full} if display else {}
    if stats:
        shared = items(space, plane, plane.event_metadata.stats, metadata)
        for name, _, value in [*shared, *items(space, plane, plane.events.stats, row)]:
            facts[name] = f"{len(value)} bytes" if isinstance(value, bytes) else value
    text = "; ".join(f"{name}={value}" for name, value in facts.items()) if stats else ""
    times = int(plane.events.begin_ps[row]), int(plane.events.duration_ps[row]), int(part.self_ps[index])
    return Event(plane.name, part.line, display or full, *times, text)


def _groups(keys: Sequence[tuple[str, ...]], code: I64, length: I64, self_time: I64) -> Iterator[Group]:
    order = np.lexsort((length, code))
    code, length, self_time = code[order], length[order], self_time[order]
    start = np.searchsorted(code, np.arange(len(keys) + 1))
    first, count = start[:-1], np.diff(start)
    total, self_ps = np.add.reduceat(length, first), np.add.reduceat(self_time, first)
    mean = total / count
    square = np.add.reduceat((length - np.repeat(mean, count)) ** 2, first)
    deviation = np.sqrt(square / np.maximum(count - 1, 1))
    quantiles = [_quantile(length, first, count, share) for share in QUANTILES]
    for i, key in enumerate(keys):
        edges = int(length[first[i]]), int(length[first[i] + count[i] - 1])
        parts = tuple(float(values[i]) for values in quantiles)
        sums = int(count[i]), int(total[i]), int(self_ps[i])
        yield Group(key, *sums, *edges, float(mean[i]), float(deviation[i]), parts)


def _quantile(ordered: I64, first: I64, count: I64, share: float) -> F64:
    """Between the two values next to the place, in proportion."""
    place = (count - 1) * share
    low = np.floor(place).astype(np.int64)
    high = np.minimum(low + 1, count - 1)
    part: NDArray[np.float64] = place - low
    value: F64 = ordered[first + low] * (1 - part) + ordered[first + high] * part
    return value


_MAIN = re.compile(r"(main|mainthread)(/-?\d+)?", re.IGNORECASE)
_PYTHON = re.compile(r"python[\d.]*(/-?\d+)?", re.IGNORECASE)


def main_thread(names: Sequence[str], events: Sequence[int]) -> int | None:
    """Index of the main thread among threads given by name and number of events; None if no name tells.

    Profilers name a thread as the operating system does: the main thread is called main, or as the program, which is
    the Python interpreter. Threads that Python starts may inherit that name; the one with most events is taken.
    """
    for pattern in (_MAIN, _PYTHON):
        candidates = [i for i, name in enumerate(names) if events[i] and pattern.fullmatch(name)]
        if candidates:
            return max(candidates, key=lambda i: events[i])
    return None


_DEVICE, _HOST = "/device:", "/host:"
_AROUND_OPS = (MODULES, SPARSE_MODULES, "Async XLA Ops")
"""Lines of devices that are busy whatever the ops do."""


@dataclass(frozen=True, slots=True, eq=False)
class InWindow:
    """The events of a window in groups of one name on one line; times in ps.

    Attributes:
      line: the line of each group, such as "TPU:0/XLA Ops" or "CPU/main".
      busy: bool[n], the line is of a device's ops or kernels, or the host's main thread.
      main: the line of the main thread; "" if no name tells.
      name: of the events.
      count: int64[n], events that overlap the window.
      self_ps, total_ps: int64[n], their time within the window, without and with the events that they enclose.
      longest_ps: int64[n], the longest of them, whole.
    """

    line: tuple[str, ...]
    busy: Bools
    main: str
    name: tuple[str, ...]
    count: I64
    self_ps: I64
    total_ps: I64
    longest_ps: I64

    def __len__(self) -> int:
        return len(self.line)


def extent(space: XSpace) -> tuple[int, int] | None:
    """The first begin and the last end of the events that a timeline shows; None without any."""
    spans = []
    for section in sections(space):
        plane = space.planes[section.plane]
        shown = _shown_events(plane)
        if shown.any():
            begin = plane.events.begin_ps[shown]
            spans.append((int(begin.min()), int((begin + plane.events.duration_ps[shown]).max())))
    return (min(begin for begin, _ in spans), max(end for _, end in spans)) if spans else None


def in_window(space: XSpace, begin_ps: int, end_ps: int, wanted: Callable[[str], bool]) -> InWindow:
    """The events of wanted names that overlap the window, without steps, counters and records of the profiler.

    Lines that the profiler derives from others, such as framework ops, are left out.
    """
    lines: list[str] = []
    busy: list[bool] = []
    names: list[str] = []
    numbers: list[list[int]] = []
    main = ""
    for section in sections(space):
        plane = space.planes[section.plane]
        titles, important = _titles(plane), _important(plane)
        if plane.name == HOST_THREADS and any(important):
            main = titles[important.index(True)]
        for line, name, values in _groups_in_window(plane, (begin_ps, end_ps), wanted):
            lines.append(titles[line])
            busy.append(important[line])
            names.append(name)
            numbers.append(values)
    columns = np.array(numbers, np.int64).reshape(-1, 4).T
    return InWindow(tuple(lines), np.array(busy, np.bool_), main, tuple(names), *columns)


def _important(plane: Plane) -> list[bool]:
    """Per line, whether it limits the program: ops of devices, and the main thread, for which devices wait."""
    names = plane.lines.name
    if not is_device(plane.name):
        main = main_thread(names, np.diff(plane.lines.event_start).tolist()) if plane.name == HOST_THREADS else None
        return [line == main for line in range(len(names))]
    ids = plane.lines.id.tolist()
    return [name not in _AROUND_OPS and not is_derived_line(id_) for name, id_ in zip(names, ids, strict=True)]


def _groups_in_window(
    plane: Plane, window: tuple[int, int], wanted: Callable[[str], bool]
) -> Iterator[tuple[int, str, list[int]]]:
    """Line, name, and the numbers of `InWindow` of each group of a plane."""
    begin_ps, end_ps = window
    events = plane.events
    # Those that only touch the window took no time in it.
    inside = (events.begin_ps < end_ps) & (events.begin_ps + events.duration_ps > begin_ps)
    rows = np.flatnonzero(inside & _shown_events(plane))
    if not len(rows):
        return
    begin, end = events.begin_ps[rows], events.begin_ps[rows] + events.duration_ps[rows]
    clipped = np.maximum(begin, begin_ps)
    length = np.maximum(np.minimum(end, end_ps) - clipped, 0)
    # Self times need all events of a line; only then those of other names are left out.
    self_ps = _native.nested_times(np.searchsorted(rows, plane.lines.event_start), clipped, length)[0]
    names = shown_names(plane.event_metadata.names, plane.event_metadata.display_names)
    used, metadata = np.unique(events.metadata[rows], return_inverse=True)
    codes = {name: code for code, name in enumerate(dict.fromkeys(names[row] for row in used.tolist()))}
    distinct = list(codes)
    code = np.array([codes[names[row]] for row in used.tolist()], np.int64)[metadata.reshape(-1)]
    line = line_of(plane, rows)
    fits = np.array([wanted(name) for name in distinct], np.bool_)[code]
    key, group = np.unique((line * len(distinct) + code)[fits], return_inverse=True)
    group = group.reshape(-1)
    order = np.argsort(group, kind="stable")
    first = np.searchsorted(group[order], np.arange(len(key)))
    if not len(key):
        return
    self_ps, length, whole = (values[fits][order] for values in (self_ps, length, end - begin))
    sums = (
        np.diff(np.append(first, len(order))),
        np.add.reduceat(self_ps, first),
        np.add.reduceat(length, first),
        np.maximum.reduceat(whole, first),
    )
    for i, number in enumerate(key.tolist()):
        yield number // len(distinct), distinct[number % len(distinct)], [int(column[i]) for column in sums]


def _shown_events(plane: Plane) -> Bools:
    """Per event whether a timeline shows it, on a line that is neither of steps nor of counters."""
    lines = plane.lines
    line = np.array([not is_counter_line(name) and not is_step_line(name) for name in lines.name], np.bool_)
    metadata = plane.event_metadata
    pairs = zip(metadata.names, metadata.display_names, strict=True)
    name = np.array([full not in HIDDEN_EVENTS for full, _ in pairs], np.bool_)
    shown: Bools = np.repeat(line, np.diff(lines.event_start))
    return shown if name.all() else shown & name[plane.events.metadata]


def _titles(plane: Plane) -> Sequence[str]:
    """The lines of a plane with its name; those of equal names with their ids."""
    names = shown_names(plane.lines.name, plane.lines.display_name)
    uses = Counter(names)
    place = plane.name.removeprefix(_DEVICE).removeprefix(_HOST)
    return [
        f"{place}/{name}" + (f" ({number})" if uses[name] > 1 else "")
        for name, number in zip(names, plane.lines.id.tolist(), strict=True)
    ]
