"""One host's timeline: the native trace, counters, and the names of its tracks and events."""

from __future__ import annotations

import collections
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tpu_profile_plugin import _native
from tpu_profile_plugin.analysis.common.op_names import JAX, TENSORFLOW, parse_op
from tpu_profile_plugin.analysis.common.planes import (
    FRAMEWORK_OPS,
    HOST_THREADS,
    ExtraLine,
    PlaneExtras,
    Preprocessed,
    is_counter_line,
    shown_names,
)
from tpu_profile_plugin.analysis.common.rows import joined
from tpu_profile_plugin.analysis.environment.device_names import names_of_planes
from tpu_profile_plugin.analysis.timeline.tracks import (
    ASYNC,
    HIDDEN_ARGS,
    HIDDEN_EVENTS,
    LineTrack,
    Ruler,
    Section,
    line_tracks,
    ruler,
    sections,
    time_origin_ns,
    transfers,
)
from tpu_profile_plugin.columns import Kind, Plane, XSpace
from tpu_profile_plugin.columns.arrays import F64, I64, U8, U32, U64
from tpu_profile_plugin.system.process import available_cores
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


HIDDEN = 0xFFFFFFFF
THREADS = min(8, available_cores())


@dataclass(frozen=True, slots=True)
class TraceTable:
    """Events for the native core; see `_native.build_trace`."""

    begin_ps: I64
    duration_ps: I64
    metadata: U32
    names: U32
    removed: U8 | None
    group_id: I64 | None
    renamed_event: U32
    renamed_name: U32
    flow_event: U32
    flow_value: U64
    async_event: U32


@dataclass(frozen=True, slots=True)
class Track:
    """One thread of a section, or one counter (`counter`: index into the trace's counters).

    The index of the track is also that of its events in the native trace, which has none for counters.
    """

    pid: int
    tid: int
    name: str
    counter: int | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """Origin of a table: a plane of the profile, and one of its derived lines or (None) its own events."""

    plane: int
    line: ExtraLine | None


@dataclass(frozen=True, slots=True)
class HostTrace:
    """One host's timeline.

    Attributes:
      native: the events, by track and row.
      sections, tracks: ascending by process and thread; track i of `native` is `tracks[i]`.
      names: all names, ascending; name ids in `native` are indices into it.
      sources: the tables in the order in which `native` numbers their events.
      extras: the results of preprocessing.
      counters: counter samples, each series on its own track.
      sample_ps, sampled_ps: int64 times of all samples, ascending, and their extent; None without any.
      ruler: the steps.
      time_origin_ns: Unix time of ps 0; None when unknown.
    """

    native: _native.Trace
    sections: tuple[Section, ...]
    tracks: tuple[Track, ...]
    names: list[str] = field(repr=False)
    sources: tuple[Source, ...]
    extras: Preprocessed = field(repr=False)
    counters: tuple[Counter, ...]
    ruler: Ruler
    time_origin_ns: int | None
    sample_ps: I64 = field(default_factory=lambda: np.empty(0, np.int64), repr=False)
    sampled_ps: tuple[int, int] | None = None

    @property
    def has_tpu(self) -> bool:
        """True if a section shows a TPU plane."""
        return any(section.is_tpu for section in self.sections)

    def track_index(self, pid: int, tid: int) -> int | None:
        """Index of the track with the given ids; None if there is none."""
        return next((i for i, track in enumerate(self.tracks) if (track.pid, track.tid) == (pid, tid)), None)


def older_trace(space: XSpace, extras: Preprocessed) -> HostTrace | None:
    """The timeline of the older form; None where both show the same processes and threads."""
    shown, lines = _layout(space, extras, older=True)
    differs = (shown, lines) != _layout(space, extras, older=False)
    for section in () if differs else shown:  # asynchronous events may be others than those on lines of transfers
        plane, extra = space.planes[section.plane], extras.planes[section.plane]
        differs |= not np.array_equal(np.intersect1d(_async_events(plane), extra.flow_event), transfers(plane))
    return host_trace(space, extras, older=True) if differs else None


def _layout(space: XSpace, extras: Preprocessed, *, older: bool) -> tuple[tuple[Section, ...], list[LineTrack]]:
    visible = sections(space, older=older)
    lines: list[LineTrack] = []
    for index, section in enumerate(visible):
        lines += line_tracks(index, section, space.planes[section.plane], extras.planes[section.plane], older=older)
    return visible, lines


def host_trace(space: XSpace, extras: Preprocessed, *, older: bool = False) -> HostTrace:
    """Builds the timeline from the events of a profile and the results of preprocessing; `older`: see `line_tracks`."""
    visible, lines = _layout(space, extras, older=older)
    names = sorted(set(_all_names(space, extras, visible)))
    ids = {name: number for number, name in enumerate(names)}
    tables: list[TraceTable] = []
    sources: list[Source] = []
    first_table: list[int] = []
    for section in visible:
        plane, extra = space.planes[section.plane], extras.planes[section.plane]
        first_table.append(len(tables))
        tables.append(_plane_table(plane, extra, ids, older=older))
        sources.append(Source(section.plane, None))
        tables += [_line_table(line, extra, ids) for line in extra.lines]
        sources += [Source(section.plane, line) for line in extra.lines]
    counter_series = () if older else counters(space, visible)
    sampled = () if older else visible
    samples = sample_table(space, sampled, [tables[first].names for first in first_table[: len(sampled)]])
    tracks = _tracks(lines, counter_series)
    number = {(track.pid, track.tid): i for i, track in enumerate(tracks)}
    filled = [i for i, line in enumerate(lines) if line.last > line.first]
    order = sorted(filled, key=lambda i: number[lines[i].pid, lines[i].tid])
    ranges = (
        np.array([first_table[lines[i].section] + lines[i].table for i in order], np.uint32),
        np.array([lines[i].first for i in order], np.int64),
        np.array([lines[i].last for i in order], np.int64),
        np.array([number[lines[i].pid, lines[i].tid] for i in order], np.uint32),
    )
    numbers = (np.array([t.pid for t in tracks], np.uint32), np.array([t.tid for t in tracks], np.uint32))
    tpus = [section.pid for section in visible if section.is_tpu]
    sample_columns = samples.begin_ps, samples.duration_ps, samples.pid, samples.name
    native = _native.build_trace(tables, ranges, numbers, names, tpus, sample_columns, THREADS)
    return HostTrace(
        native=native,
        sections=visible,
        tracks=tracks,
        names=names,
        sources=tuple(sources),
        extras=extras,
        counters=counter_series,
        ruler=ruler(space, extras, visible),
        time_origin_ns=time_origin_ns(space),
        sample_ps=np.sort(samples.begin_ps),
        sampled_ps=samples.extent,
    )


def _tracks(lines: Iterable[LineTrack], counter_series: Iterable[Counter]) -> tuple[Track, ...]:
    """Each thread and counter once, ascending; a thread with several lines has the name of the file's last one."""
    names: dict[tuple[int, int], str] = {}
    for line in lines:
        if line.table == 0 or (line.pid, line.tid) not in names:
            names[line.pid, line.tid] = line.name
    threads = [Track(pid, tid, name) for (pid, tid), name in names.items()]
    values = [Track(counter.pid, counter.tid, counter.title, i) for i, counter in enumerate(counter_series)]
    return tuple(sorted([*threads, *values], key=lambda track: (track.pid, track.tid)))


def _all_names(space: XSpace, extras: Preprocessed, visible: Iterable[Section]) -> Iterable[str]:
    for section in visible:
        plane, extra = space.planes[section.plane], extras.planes[section.plane]
        yield from shown_names(plane.event_metadata.names, plane.event_metadata.display_names)
        yield from extra.step_names
        for line in extra.lines:
            yield from shown_names(line.names, line.display_names)


def name_ids(names: Iterable[str], display_names: Iterable[str], ids: dict[str, int]) -> U32:
    """The number of each shown name, HIDDEN for events that are not shown."""
    pairs = zip(names, display_names, strict=True)
    return np.array([HIDDEN if name in HIDDEN_EVENTS else ids[display or name] for name, display in pairs], np.uint32)


def _step_ids(extra: PlaneExtras, ids: dict[str, int]) -> U32:
    return np.array([ids[name] for name in extra.step_names], np.uint32)


def _plane_table(plane: Plane, extra: PlaneExtras, ids: dict[str, int], *, older: bool) -> TraceTable:
    """The events of the file; the older form has no asynchronous ones, but leaves out those on lines of transfers."""
    metadata = plane.event_metadata
    removed = None if extra.removed is None else extra.removed.view(np.uint8)
    if older and len(left_out := transfers(plane)):
        removed = np.zeros(len(plane.events), np.uint8) if removed is None else removed.copy()
        removed[left_out] = 1
    return TraceTable(
        begin_ps=plane.events.begin_ps,
        duration_ps=plane.events.duration_ps,
        metadata=plane.events.metadata,
        names=name_ids(metadata.names, metadata.display_names, ids),
        removed=removed,
        group_id=extra.group_id,
        renamed_event=extra.step_event,
        renamed_name=_step_ids(extra, ids)[extra.step_code] if len(extra.step_code) else np.empty(0, np.uint32),
        flow_event=extra.flow_event,
        flow_value=extra.flow_value,
        async_event=np.empty(0, np.uint32) if older else _async_events(plane),
    )


def _async_events(plane: Plane) -> U32:
    """Events marked asynchronous by the stat `_a`, on themselves or on their metadata."""
    row = plane.stat_metadata.row(ASYNC)
    if row is None:
        return np.empty(0, np.uint32)
    is_async = plane.events.stats.find(row) >= 0
    by_metadata = plane.event_metadata.stats.find(row) >= 0
    if by_metadata.any():
        is_async |= by_metadata[plane.events.metadata]
    return np.flatnonzero(is_async).astype(np.uint32)


def _line_table(line: ExtraLine, extra: PlaneExtras, ids: dict[str, int]) -> TraceTable:
    step_code = np.empty(0, np.int64) if line.step_code is None else line.step_code
    renamed = np.flatnonzero(step_code >= 0)
    return TraceTable(
        begin_ps=line.begin_ps,
        duration_ps=line.duration_ps,
        metadata=line.metadata,
        names=name_ids(line.names, line.display_names, ids),
        removed=None,
        group_id=line.group_id,
        renamed_event=renamed.astype(np.uint32),
        renamed_name=_step_ids(extra, ids)[step_code[renamed]],
        flow_event=np.empty(0, np.uint32),
        flow_value=np.empty(0, np.uint64),
        async_event=np.empty(0, np.uint32),
    )


_THREADS, _TENSORFLOW_OPS = "Host Threads", "TensorFlow Ops"


@dataclass(frozen=True, slots=True)
class Titles:
    """Displayed names: of sections by process id, of tracks by index; those without one keep the name of the file."""

    sections: dict[int, str] = field(default_factory=dict)
    tracks: dict[int, str] = field(default_factory=dict)


def titles(space: XSpace, trace: HostTrace) -> Titles:
    """Devices as everywhere, the host's threads, and TensorFlow's ops."""
    tensorflow = {
        section.pid
        for section in trace.sections
        if any(_is_tensorflow(line) for line in trace.extras.planes[section.plane].lines)
    }
    tracks = {
        i: track.name.replace(FRAMEWORK_OPS, _TENSORFLOW_OPS, 1)
        for i, track in enumerate(trace.tracks)
        if track.pid in tensorflow and track.name.startswith(FRAMEWORK_OPS)
    }
    return Titles(section_titles(space, trace.sections), tracks)


def section_titles(space: XSpace, sections: Iterable[Section]) -> dict[int, str]:
    """The displayed names of sections by process id, of those that have one of their own."""
    devices = names_of_planes(space)
    named = {
        section.pid: _THREADS if section.name == HOST_THREADS else devices.get(section.plane, "")
        for section in sections
    }
    uses = collections.Counter(named.values())
    return {pid: title for pid, title in named.items() if title and uses[title] == 1}


def _is_tensorflow(line: ExtraLine) -> bool:
    """Whether a line of framework ops has more ops of TensorFlow than of JAX."""
    if not line.name.startswith(FRAMEWORK_OPS):
        return False
    kinds = collections.Counter(parse_op(name).category for name in line.names)
    return kinds[TENSORFLOW] > kinds[JAX]
