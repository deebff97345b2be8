"""Events of the file by plane, line, name, time and duration, one by one or in groups of equal names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tpu_profile_plugin import _native
from tpu_profile_plugin.analysis.common.op_names import searcher
from tpu_profile_plugin.analysis.common.planes import shown_names
from tpu_profile_plugin.columns import Plane, XSpace
from tpu_profile_plugin.columns.arrays import F64, I64, Bools
from tpu_profile_plugin.columns.stats import items

KEYS = ("plane", "line", "name")
"""What events can be grouped by."""

QUANTILES = (0.5, 0.9, 0.99)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which events are meant.

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
    return len(begin), tuple(_event(space, parts[at], place - int(starts[at]), stats) for place, at in places)


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
        fits = _name_flags(plane, is_name)
        for line, (name, display) in enumerate(zip(plane.lines.name, plane.lines.display_name, strict=True)):
            if is_line(name) or (display and is_line(display)):
                events = plane.lines.events_of(line)
                chosen = np.flatnonzero(fits[plane.events.metadata[events]] & _in_time(plane, events, wanted))
                if len(chosen):
                    yield _Part(plane, display or name, chosen + events.start, _self_times(plane, events)[chosen])


def _name_flags(plane: Plane, is_name: Callable[[str], Any]) -> Bools:
    metadata = plane.event_metadata
    pairs = zip(metadata.names, metadata.display_names, strict=True)
    return np.array([bool(is_name(name) or (shown and is_name(shown))) for name, shown in pairs], np.bool_)


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


def _self_times(plane: Plane, events: slice) -> I64:
    line = np.array([0, events.stop - events.start], np.int64)
    return _native.nested_times(line, plane.events.begin_ps[events], plane.events.duration_ps[events])[0]


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
        parts = tuple(float(one[i]) for one in quantiles)
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
