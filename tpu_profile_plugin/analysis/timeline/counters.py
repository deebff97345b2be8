"""Counters of a timeline: samples by name, and their downsampling for a window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tpu_profile_plugin.analysis.common.planes import is_counter_line
from tpu_profile_plugin.analysis.common.rows import joined
from tpu_profile_plugin.analysis.timeline.hidden import HIDDEN_ARGS
from tpu_profile_plugin.analysis.timeline.sections import Section
from tpu_profile_plugin.columns import Kind, Plane, XSpace
from tpu_profile_plugin.columns.arrays import F64, I64, U32
from tpu_profile_plugin.units import PS_PER_NS

_FIRST_TID = 0xC0000000
"""First track id of counters, which have no thread."""


_NEAR_PS = PS_PER_NS
"""Samples this near follow each other: their times are rounded."""


@dataclass(frozen=True, slots=True)
class Counter:
    """Samples of one value of one counter, by time.

    Attributes:
      pid, tid: ids of its track; tid is not in the profile.
      name: name of the counter; series: name of the value; is_first: whether it is the first value of the samples.
      begin_ps: int64[k]; value: float64[k], valid until the next sample.
      whole: whether all values are unsigned integers in the profile.
      drawn: begin and value of what is drawn, where that is more than the samples: NaN from the end of a sample that
        has a duration until the next one, as nothing was measured there; None where it is not.
    """

    pid: int
    tid: int
    name: str
    series: str
    begin_ps: I64 = field(repr=False)
    value: F64 = field(repr=False)
    is_first: bool = True
    whole: bool = False
    drawn: tuple[I64, F64] | None = field(default=None, repr=False)

    @property
    def title(self) -> str:
        """The counter's name, followed by the name of the value if that is informative."""
        return self.name if self.series in ("", "value", self.name) else f"{self.name} {self.series}".strip()

    @property
    def unit(self) -> str:
        """bytes, percent, or "" when unknown."""
        text = f"{self.name} {self.series}".lower()
        if "%" in text or "percent" in text:
            return "percent"
        return "bytes" if "bytes" in text and "/sec" not in text else ""


class _Part(NamedTuple):
    """Samples of one line; `whole`: their values are unsigned integers."""

    begin_ps: I64
    duration_ps: I64
    value: F64
    whole: bool


@dataclass(frozen=True, slots=True)
class Samples:
    """Downsampled counter: per column the begin of the first sample, the maximum and minimum value, and the count.

    Columns in which nothing is measured are NaN.
    """

    begin_ps: I64
    value: F64
    low: F64
    count: NDArray[np.uint32]


def counters(space: XSpace, sections: tuple[Section, ...]) -> tuple[Counter, ...]:
    """The counters of all sections, by process, name and series."""
    collected: list[Counter] = []
    for section in sections:
        plane = space.planes[section.plane]
        series: dict[tuple[str, str], list[_Part]] = {}
        first_of: dict[str, tuple[int, str]] = {}
        for line, name in enumerate(plane.lines.name):
            if is_counter_line(name):
                _collect(plane, plane.lines.events_of(line), series, first_of)
        in_section = [counter for counter in collected if counter.pid == section.pid]
        for number, (key, parts) in enumerate(sorted(series.items(), key=lambda item: item[0])):
            begin = np.concatenate([part.begin_ps for part in parts])
            order = np.argsort(begin, kind="stable")
            value = np.concatenate([part.value for part in parts])[order]
            drawn = _with_gaps(begin[order], np.concatenate([part.duration_ps for part in parts])[order], value)
            is_first, whole = first_of[key[0]][1] == key[1], all(part.whole for part in parts)
            tid = _FIRST_TID + len(in_section) + number
            collected.append(Counter(section.pid, tid, *key, begin[order], value, is_first, whole, drawn))
    return tuple(collected)


def _with_gaps(begin: I64, duration: I64, value: F64) -> tuple[I64, F64] | None:
    """The samples, and NaN at the end of each that has a duration and is not followed at once by another."""
    end = begin + duration
    ends = np.flatnonzero((duration > 0) & (np.append(begin[1:], np.iinfo(np.int64).max) - end > _NEAR_PS))
    if not len(ends):
        return None
    places = ends + 1
    return np.insert(begin, places, end[ends]), np.insert(value, places, np.nan)


@dataclass(frozen=True, slots=True)
class SampleTable:
    """All samples of a timeline, with values or without.

    Attributes:
      begin_ps, duration_ps: int64[k]; pid: uint32[k] process; name: uint32[k] id of the counter's name.
    """

    begin_ps: I64
    duration_ps: I64
    pid: U32
    name: U32

    @property
    def extent(self) -> tuple[int, int] | None:
        """First begin and last end in ps; None without samples."""
        if not len(self.begin_ps):
            return None
        return int(self.begin_ps.min()), int((self.begin_ps + self.duration_ps).max())


def sample_table(space: XSpace, sections: Sequence[Section], names: Sequence[U32]) -> SampleTable:
    """The samples on the counter lines of all sections; `names`: per section the name id of each event metadata."""
    parts = [SampleTable(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.uint32), np.empty(0, np.uint32))]
    for section, ids in zip(sections, names, strict=True):
        plane = space.planes[section.plane]
        for line, title in enumerate(plane.lines.name):
            if is_counter_line(title):
                rows = plane.lines.events_of(line)
                begin, duration = plane.events.begin_ps[rows], plane.events.duration_ps[rows]
                pid = np.full(len(begin), section.pid, np.uint32)
                parts.append(SampleTable(begin, duration, pid, ids[plane.events.metadata[rows]]))
    return joined(parts)


def _collect(
    plane: Plane, events: slice, series: dict[tuple[str, str], list[_Part]], first_of: dict[str, tuple[int, str]]
) -> None:
    """Adds a line's samples to the series; per name the position and key of the first value that any sample has."""
    stats, metadata = plane.events.stats, plane.event_metadata
    first, last = int(stats.start[events.start]), int(stats.start[events.stop])
    bounds = stats.start[events.start : events.stop + 1].astype(np.int64)
    sizes = bounds[1:] - bounds[:-1]
    owner = np.repeat(np.arange(events.start, events.stop), sizes)
    kind, raw = stats.kind[first:last], stats.value[first:last]
    value = np.where(kind == Kind.DOUBLE, raw.view(np.float64), raw.view(np.int64).astype(np.float64))
    value = np.where(kind == Kind.UINT64, raw.astype(np.float64), value)
    names = plane.stat_metadata.names
    numeric = np.isin(kind, (Kind.DOUBLE, Kind.UINT64, Kind.INT64)) & np.isfinite(value)
    pair = plane.events.metadata[owner].astype(np.int64) * len(plane.stat_metadata) + stats.key[first:last]
    for code in np.unique(pair[numeric]).tolist():
        row, key = divmod(code, len(plane.stat_metadata))
        if names[key] in HIDDEN_ARGS:
            continue
        selected = numeric & (pair == code)
        whole = bool((kind[selected] == Kind.UINT64).all())
        rows = owner[selected]
        samples = _Part(plane.events.begin_ps[rows], plane.events.duration_ps[rows], value[selected], whole)
        name = metadata.names[row]
        series.setdefault((name, names[key]), []).append(samples)
        place = first + int(np.argmax(selected)), names[key]
        first_of[name] = min(first_of.get(name, place), place)


def sampled(counter: Counter, begin: int, end: int, columns: int) -> Samples:
    """The samples in a window and the last one before it, merged by column of the window."""
    times, values = counter.drawn or (counter.begin_ps, counter.value)
    first = max(int(np.searchsorted(times, begin, side="right")) - 1, 0)
    last = int(np.searchsorted(times, end, side="right"))
    time, value = times[first:last], values[first:last]
    if not len(time):
        none = np.empty(0, np.float64)
        return Samples(np.empty(0, np.int64), none, none, np.empty(0, np.uint32))
    column = ((time - begin) / max((end - begin) / max(columns, 1), 1.0)).astype(np.int64)
    starts = np.flatnonzero(np.r_[True, column[1:] != column[:-1]])
    count = np.diff(np.r_[starts, len(time)]).astype(np.uint32)
    return Samples(time[starts], np.fmax.reduceat(value, starts), np.fmin.reduceat(value, starts), count)
