"""The events of a window by line and name, as a timeline shows them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin import _native
from tpu_profile_plugin.analysis.common.planes import (
    ASYNC_OPS,
    HOST_THREADS,
    MODULES,
    SPARSE_MODULES,
    enclosing_span,
    is_counter_line,
    is_derived_line,
    is_device,
    is_step_line,
    line_of,
    rows_named,
    shown_names,
)
from tpu_profile_plugin.analysis.environment.device_names import names_of_planes
from tpu_profile_plugin.analysis.timeline.tracks import HIDDEN_EVENTS, sections
from tpu_profile_plugin.columns import Plane, XSpace
from tpu_profile_plugin.columns.arrays import I64, Bools

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
_AROUND_OPS = (MODULES, SPARSE_MODULES, ASYNC_OPS)
"""Lines of devices that are busy whatever the ops do."""


@dataclass(frozen=True, slots=True, eq=False)
class InWindow:
    """The events of a window in groups of one name on one line; times in ps.

    Attributes:
      line: the line of each group, such as "TPU 0/XLA Ops" or "CPU/main".
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
    return enclosing_span(spans)


def in_window(space: XSpace, begin_ps: int, end_ps: int, wanted: Callable[[str], bool]) -> InWindow:
    """The events of wanted names that overlap the window, without steps, counters and records of the profiler.

    Lines that the profiler derives from others, such as framework ops, are left out.
    """
    lines: list[str] = []
    busy: list[bool] = []
    names: list[str] = []
    numbers: list[list[int]] = []
    main = ""
    devices = names_of_planes(space)
    for section in sections(space):
        plane = space.planes[section.plane]
        place = devices.get(plane.index) or plane.name.removeprefix(_DEVICE).removeprefix(_HOST)
        titles, important = _titles(place, plane), _important(plane)
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
    name = rows_named(plane, lambda name: name not in HIDDEN_EVENTS)
    shown: Bools = np.repeat(line, np.diff(lines.event_start))
    return shown if name.all() else shown & name[plane.events.metadata]


def _titles(place: str, plane: Plane) -> Sequence[str]:
    """The lines of a plane with its displayed name; those of equal names with their ids."""
    names = shown_names(plane.lines.name, plane.lines.display_name)
    uses = Counter(names)
    return [
        f"{place}/{name}" + (f" ({number})" if uses[name] > 1 else "")
        for name, number in zip(names, plane.lines.id.tolist(), strict=True)
    ]
