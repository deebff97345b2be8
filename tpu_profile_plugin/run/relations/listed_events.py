"""Queries of the relation `events`: chosen events one by one or in groups, of which each host sends only its part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tpu_profile_plugin.analysis.common.planes import nested
from tpu_profile_plugin.columns import Plane, XSpace
from tpu_profile_plugin.columns.arrays import F64, I64
from tpu_profile_plugin.columns.stats import items
from tpu_profile_plugin.run.host import HostProfile, per_host
from tpu_profile_plugin.run.relations.event_choice import Choice
from tpu_profile_plugin.run.relations.events import lines_of, names_of
from tpu_profile_plugin.tables.coded import Coded

QUANTILES = (0.5, 0.9, 0.99)


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
    """The wanted events of a plane: rows of its event table, and their cells in columns of the relation `events`."""

    plane: Plane
    rows: I64
    line: Coded
    name: Coded
    begin_ps: I64
    duration_ps: I64
    self_ps: I64


def _parts(space: XSpace, choice: Choice) -> Iterator[_Part]:
    for plane, chosen in choice.planes_of(space):
        events, rows = plane.events, np.arange(len(plane.events)) if chosen is None else chosen
        columns: tuple[Any, ...] = (
            lines_of(plane)[0],
            names_of(plane),
            events.begin_ps,
            events.duration_ps,
            nested(plane)[0],
        )
        yield _Part(plane, rows, *(column[rows] for column in columns))


@per_host()
def host_listing(
    host: HostProfile, choice: Choice, order: str, count: int, stats: bool
) -> tuple[int, tuple[Event, ...]]:
    """The number of wanted events of one host, and the first of them.

    Args:
      order: `begin`, or `duration` or `self`, longest first.
      stats: whether events have their stats and those of their metadata, as a text.
    """
    parts = list(_parts(host.space, choice))
    if not parts:
        return 0, ()
    begin, times = (np.concatenate([getattr(part, f"{name}_ps") for part in parts]) for name in ("begin", order))
    chosen = np.lexsort((begin, begin if order == "begin" else -times))[:count]
    starts = np.cumsum([0, *(len(part.rows) for part in parts)])
    places = zip(chosen.tolist(), (np.searchsorted(starts, chosen, side="right") - 1).tolist(), strict=True)
    return len(begin), tuple(
        _event(host.space, parts[number], place - int(starts[number]), stats) for place, number in places
    )


@per_host()
def host_groups(host: HostProfile, choice: Choice, by: Sequence[str]) -> tuple[Group, ...]:
    """The wanted events of one host in groups by plane, line and name, most total time first."""
    numbers: dict[tuple[str, ...], int] = {}
    codes, lengths, self_times = [], [], []
    for part in _parts(host.space, choice):
        names = len(part.name.texts)
        used, inverse = np.unique(part.line.codes * np.int64(names) + part.name.codes, return_inverse=True)
        places = ((part.line.texts[kind // names], part.name.texts[kind % names]) for kind in used.tolist())
        facts = ({"plane": part.plane.name, "line": line, "name": name} for line, name in places)
        of_kind = [numbers.setdefault(tuple(fact[key] for key in by), len(numbers)) for fact in facts]
        codes.append(np.array(of_kind, np.int64)[inverse.reshape(-1)])
        lengths.append(part.duration_ps)
        self_times.append(part.self_ps)
    if not codes:
        return ()
    groups = _groups(list(numbers), np.concatenate(codes), np.concatenate(lengths), np.concatenate(self_times))
    return tuple(sorted(groups, key=lambda group: (-group.total_ps, group.key)))


def _event(space: XSpace, part: _Part, index: int, stats: bool) -> Event:
    plane, row = part.plane, int(part.rows[index])
    metadata = int(plane.events.metadata[row])
    facts: dict[str, object] = {}
    if stats:
        if plane.event_metadata.display_names[metadata]:
            facts["long_name"] = plane.event_metadata.names[metadata]
        shared = items(space, plane, plane.event_metadata.stats, metadata)
        for name, _, value in [*shared, *items(space, plane, plane.events.stats, row)]:
            facts[name] = f"{len(value)} bytes" if isinstance(value, bytes) else value
    text = "; ".join(f"{name}={value}" for name, value in facts.items())
    times = int(part.begin_ps[index]), int(part.duration_ps[index]), int(part.self_ps[index])
    return Event(plane.name, str(part.line[index]), str(part.name[index]), *times, text)


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
