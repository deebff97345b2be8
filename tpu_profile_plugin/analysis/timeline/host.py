"""One host's timeline: the native trace and the names of its tracks and events."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from tpu_profile_plugin import _native
from tpu_profile_plugin.analysis.common.planes import ExtraLine, PlaneExtras, Preprocessed, shown_names
from tpu_profile_plugin.analysis.timeline.counters import Counter, counters, sample_table
from tpu_profile_plugin.analysis.timeline.hidden import ASYNC, HIDDEN_EVENTS
from tpu_profile_plugin.analysis.timeline.sections import LineTrack, Section, line_tracks, sections, transfers
from tpu_profile_plugin.analysis.timeline.steps import Ruler, ruler, time_origin_ns
from tpu_profile_plugin.columns import Plane, XSpace
from tpu_profile_plugin.columns.arrays import I64, U8, U32, U64
from tpu_profile_plugin.system.process import available_cores

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
    same = (shown, lines) == _layout(space, extras, older=False) and all(
        _are_transfers(space.planes[section.plane], extras.planes[section.plane]) for section in shown
    )
    return None if same else host_trace(space, extras, older=True)


def _are_transfers(plane: Plane, extra: PlaneExtras) -> bool:
    """Whether the asynchronous events are those on lines of transfers."""
    return np.array_equal(np.intersect1d(_async_events(plane), extra.flow_event), transfers(plane))


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
