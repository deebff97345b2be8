"""Questions to one or several timelines: which events a window shows, their arguments and sums, a preview."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from tpu_profile_plugin import _native
from tpu_profile_plugin.analysis.common.planes import ABSENT, PlaneExtras, enclosing_span, is_counter_line, shown_names
from tpu_profile_plugin.analysis.timeline.host import (
    HIDDEN,
    THREADS,
    Counter,
    HostTrace,
    Source,
    Track,
    name_ids,
    sampled,
    section_titles,
)
from tpu_profile_plugin.analysis.timeline.tracks import (
    FLOW,
    FOLDED_ARGS,
    GROUP_ID,
    HIDDEN_ARGS,
    IS_EAGER,
    LONG_NAME,
    RUN_ID,
    STEP_NAME,
    Section,
    sections,
    time_origin_ns,
)
from tpu_profile_plugin.columns import EventFilter, Plane, Stats, XSpace
from tpu_profile_plugin.columns.arrays import I64, U8, U32
from tpu_profile_plugin.columns.stats import strings

SHORTEST_FRAME = 16
"""Full names longer than this are written as stack frames."""

_FRAMED = (LONG_NAME, "hlo_text")
_SPECIAL = (LONG_NAME, GROUP_ID, FLOW, STEP_NAME, IS_EAGER, RUN_ID)
_NO_STATS = Stats(np.zeros(1, np.uint32), np.empty(0, np.uint32), np.empty(0, np.uint8), np.empty(0, np.uint64))


@dataclass(frozen=True, slots=True)
class ArgSheet:
    """Arguments of one table of events; see `native/src/trace/args.rs`."""

    metadata: U32
    long_name: U32
    metadata_stats: Stats
    metadata_row: I64 | None
    event_stats: Stats
    event_row: I64 | None
    keys: U32
    refs: U32
    integers: list[tuple[int, U32, I64]]
    texts: list[tuple[int, U32, U32]]


@dataclass(frozen=True, slots=True)
class TraceArgs:
    """Arguments of a whole trace.

    Attributes:
      sheets: in the order of the trace's sources.
      keys: all argument names, ascending.
      texts: all texts that values may refer to.
      frames: uint32 per text: number of its stack frame, 0 if it is not a frame.
      stack: texts of the frames, starting with number 1.
    """

    data: U8
    sheets: list[ArgSheet]
    keys: _native.TraceNames
    texts: _native.TraceNames
    long_name: int
    group_id: int
    flow: int
    frames: U32
    stack: tuple[str, ...]


class _Pool:
    """Collects texts in one list."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def add(self, texts: Sequence[str]) -> int:
        first = len(self.texts)
        self.texts += texts
        return first


def trace_args(space: XSpace, trace: HostTrace, *, folded: bool, hidden: frozenset[str] = HIDDEN_ARGS) -> TraceArgs:
    """The arguments of a trace's events.

    Args:
      space: the profile.
      trace: the timeline of the profile.
      folded: omit arguments that the streaming viewer shows as properties of the event (group, flow, asynchronous).
      hidden: stats that are no arguments.
    """
    planes = {source.plane: space.planes[source.plane] for source in trace.sources}
    names = {name for plane in planes.values() for name in plane.stat_metadata.names}
    names |= {name for source in trace.sources if source.line for name in source.line.extra_args}
    keys = sorted(names | set(_SPECIAL))
    ids = {name: number for number, name in enumerate(keys)}
    hidden = hidden | FOLDED_ARGS if folded else hidden
    pool = _Pool()
    columns = {
        index: (
            np.array([HIDDEN if name in hidden else ids[name] for name in plane.stat_metadata.names], np.uint32),
            _numbered(pool.add(plane.stat_metadata.names), len(plane.stat_metadata)),
        )
        for index, plane in planes.items()
    }
    sheets = []
    for source in trace.sources:
        plane, extra = space.planes[source.plane], trace.extras.planes[source.plane]
        if source.line is None:
            sheets.append(_plane_sheet(plane, extra, ids, columns[source.plane], pool, space if folded else None))
        else:
            sheets.append(_line_sheet(plane, extra, source, ids, columns[source.plane], pool, hidden))
    frames, stack = _frames(sheets, [ids[name] for name in _FRAMED if name in ids], pool.texts)
    return TraceArgs(
        data=space.data,
        sheets=sheets,
        keys=_native.TraceNames(keys),
        texts=_native.TraceNames(pool.texts),
        long_name=ids[LONG_NAME],
        group_id=ids[GROUP_ID],
        flow=ids[FLOW],
        frames=frames,
        stack=stack,
    )


def _numbered(first: int, count: int) -> U32:
    return np.arange(first, first + count, dtype=np.uint32)


def _long_names(names: Sequence[str], display_names: Sequence[str], pool: _Pool) -> U32:
    """Text of the full name per metadata row, HIDDEN if it is also the displayed name."""
    first = pool.add(names)
    has = np.array([bool(display) for display in display_names], np.bool_)
    return np.where(has, _numbered(first, len(names)), np.uint32(HIDDEN)).astype(np.uint32)


def _plane_sheet(
    plane: Plane, extra: PlaneExtras, ids: dict[str, int], columns: tuple[U32, U32], pool: _Pool, framed: XSpace | None
) -> ArgSheet:
    """Arguments of a plane's own events; `framed`: the profile, for texts that become stack frames."""
    steps = pool.add(extra.step_names)
    metadata = plane.event_metadata
    texts = [(ids[STEP_NAME], extra.step_event, (extra.step_code + steps).astype(np.uint32))]
    return ArgSheet(
        metadata=plane.events.metadata,
        long_name=_long_names(metadata.names, metadata.display_names, pool),
        metadata_stats=metadata.stats,
        metadata_row=None,
        event_stats=plane.events.stats,
        event_row=None,
        keys=columns[0],
        refs=columns[1],
        integers=[
            (ids[IS_EAGER], extra.eager_event, extra.eager_value.astype(np.int64)),
            (ids[RUN_ID], extra.run_id_event, extra.run_id_value),
        ],
        texts=texts if framed is None else [*texts, *_long_texts(framed, plane, ids, pool)],
    )


def _long_texts(space: XSpace, plane: Plane, ids: dict[str, int], pool: _Pool) -> list[tuple[int, U32, U32]]:
    """Stats of events that become stack frames when they are long; those of an event win over those of its metadata."""
    long_texts = []
    for name in _FRAMED:
        if plane.stat_metadata.row(name) is None:
            continue
        shared, texts = strings(space, plane, plane.event_metadata.stats, name)
        event_codes, more = strings(space, plane, plane.events.stats, name)
        codes = np.where(event_codes >= 0, event_codes + len(texts), shared[plane.events.metadata])
        is_long = np.array([len(text) > SHORTEST_FRAME for text in [*texts, *more]], np.bool_)
        events = np.flatnonzero((codes >= 0) & np.append(is_long, False)[codes])
        long_texts.append(
            (ids[name], events.astype(np.uint32), (codes[events] + pool.add([*texts, *more])).astype(np.uint32))
        )
    return long_texts


def _line_sheet(
    plane: Plane,
    extra: PlaneExtras,
    source: Source,
    ids: dict[str, int],
    columns: tuple[U32, U32],
    pool: _Pool,
    hidden: frozenset[str],
) -> ArgSheet:
    line = source.line
    assert line is not None
    integers: list[tuple[int, U32, I64]] = []
    texts: list[tuple[int, U32, U32]] = []
    for name, values in line.extra_args.items():
        if name in hidden:
            continue
        if isinstance(values, tuple):
            texts.append((ids[name], *_coded(values[0], pool.add(values[1]))))
        else:
            present = np.flatnonzero(values != ABSENT)
            integers.append((ids[name], present.astype(np.uint32), values[present]))
    if line.step_code is not None:
        texts.append((ids[STEP_NAME], *_coded(line.step_code, pool.add(extra.step_names))))
    return ArgSheet(
        metadata=line.metadata,
        long_name=_long_names(line.names, line.display_names, pool),
        metadata_stats=_NO_STATS if line.metadata_source is None else plane.event_metadata.stats,
        metadata_row=line.metadata_source,
        event_stats=_NO_STATS if line.event_source is None else plane.events.stats,
        event_row=line.event_source,
        keys=columns[0],
        refs=columns[1],
        integers=integers,
        texts=texts,
    )


def _coded(codes: NDArray[np.int32], first: int) -> tuple[U32, U32]:
    present = np.flatnonzero(codes != ABSENT)
    return present.astype(np.uint32), (codes[present] + first).astype(np.uint32)


def _frames(sheets: Sequence[ArgSheet], keys: Sequence[int], texts: Sequence[str]) -> tuple[U32, tuple[str, ...]]:
    """Assigns a frame number to each distinct long full name and to the long texts of these arguments."""
    numbers: dict[str, int] = {}
    frames = np.zeros(len(texts), np.uint32)
    for sheet in sheets:
        used = [sheet.long_name[sheet.long_name != HIDDEN]]
        used += [np.unique(values) for key, _, values in sheet.texts if key in keys]
        for text in np.concatenate(used).tolist():
            name = texts[text]
            if len(name) > SHORTEST_FRAME:
                frames[text] = numbers.setdefault(name, len(numbers) + 1)
    return frames, tuple(numbers)


@dataclass(frozen=True, slots=True)
class Preview:
    """The preview of a host while its timeline is made; attributes as those of `HostTrace`.

    Events have the numbers that they have in the whole timeline, unless derived ones join their track there.
    `titles`: displayed names of sections by process id.
    """

    native: _native.TracePreview
    sections: tuple[Section, ...]
    tracks: tuple[Track, ...]
    time_origin_ns: int | None
    titles: dict[int, str] = field(repr=False)
    sampled_ps: None = None


def preview(space: XSpace) -> Preview | None:
    """Reads the lines of a lazy profile once, without keeping events; None if there is nothing to show so soon.

    Nothing is, if not all times are as in the file.
    """
    if space.decoder is None or space.impossible or space.clocks:
        return None
    outline = replace(space, planes=tuple(space.filtered(*(EventFilter(plane, ()) for plane in space.planes))))
    visible = sections(outline)
    tables = [outline.planes[section.plane].event_metadata for section in visible]
    names = sorted({name for table in tables for name in shown_names(table.names, table.display_names)})
    ids = {name: number for number, name in enumerate(names)}
    lines = [line for table, section in enumerate(visible) for line in _filled_lines(outline, table, section)]
    tracks = tuple(sorted({(pid, tid): Track(pid, tid, name) for *_, pid, tid, name in lines}.values(), key=_track_key))
    number = {_track_key(track): i for i, track in enumerate(tracks)}
    order = sorted((number[pid, tid], table, line) for table, line, pid, tid, _ in lines)
    columns = np.array(order, np.uint32).reshape(-1, 3).T.copy()
    native = _native.TracePreview(
        space.data,
        [
            (section.plane, table.id, name_ids(table.names, table.display_names, ids))
            for section, table in zip(visible, tables, strict=True)
        ],
        (columns[1], columns[2], columns[0]),
        (np.array([t.pid for t in tracks], np.uint32), np.array([t.tid for t in tracks], np.uint32)),
        names,
        THREADS,
    )
    if not len(native):
        return None
    return Preview(native, visible, tracks, time_origin_ns(outline), section_titles(outline, visible))


def _track_key(track: Track) -> tuple[int, int]:
    return track.pid, track.tid


def _filled_lines(space: XSpace, table: int, section: Section) -> list[tuple[int, int, int, int, str]]:
    """Table, number, process, thread and name of the lines with events, without counters."""
    lines = space.planes[section.plane].lines
    shown = [i for i in np.flatnonzero(lines.filled).tolist() if not is_counter_line(lines.name[i])]
    threads = [int(lines.display_id[i] or lines.id[i]) & 0xFFFFFFFF for i in shown]
    titles = [lines.display_name[i] or lines.name[i] for i in shown]
    return [(table, i, section.pid, tid, name) for i, tid, name in zip(shown, threads, titles, strict=True)]


def preview_boxes(previews: Sequence[Preview], window: tuple[int, int], columns: int, limit: int, head: bytes) -> bytes:
    """The binary answer for a canvas, of previews; see `boxes`."""
    return _native.preview_columns([preview.native for preview in previews], window, columns, limit, head, THREADS)


FEW_EVENTS = 500_000
"""A timeline with fewer events is shown whole; of several hosts, each with fewer than its share."""

_ALL = 0xFFFFFFFF
_PART = 1 << 16
"""Events of the older form that are made at once."""

Window = tuple[int, int]
"""Begin and end in ps, both inside."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Events of one host's timeline.

    Attributes:
      pid_offset: what is added to process ids in the answer.
      counters: counters with the selected samples, of several values the first, which is the one that viewers read.
      samples: number of selected samples, those without a number included.
    """

    trace: HostTrace
    events: _native.TraceSelection
    pid_offset: int
    counters: tuple[Counter, ...] = ()
    samples: int = 0

    def __len__(self) -> int:
        return len(self.events) + self.samples


def whole(traces: Sequence[HostTrace | Preview]) -> Window:
    """From the first begin to the last end over all hosts, counters included; (0, 0) when there is no event."""
    spans = [trace.native.span for trace in traces if len(trace.native)]
    spans += [trace.sampled_ps for trace in traces if trace.sampled_ps is not None]
    return enclosing_span(spans) or (0, 0)


def recording(traces: Sequence[HostTrace | Preview]) -> Window:
    """From time 0, where the recording began, to the last end.

    Without a recorded start, times may count from anything, such as the start of the machine: then only if the first
    event is not further from 0 than the last one is from the first.
    """
    begin, end = whole(traces)
    counts_from_start = any(trace.time_origin_ns for trace in traces) or begin <= end - begin
    return (min(begin, 0), end) if counts_from_start else (begin, end)


def clip(window: Window, limits: Window) -> Window:
    """The part of a window that lies within the limits; one that lies outside stays outside."""
    return max(window[0], limits[0]), min(window[1], limits[1])


def visible(
    trace: HostTrace, window: Window, resolution: float, pid_offset: int, *, full_dma: bool, hosts: int = 1
) -> Selection:
    """Events of a window of which short neighbours are left out when there are many.

    Args:
      hosts: number of hosts that the answer shows.
      resolution: units across the window; 0 leaves nothing out.
      full_dma: events in the middle of flows on TPUs as well, which most transfers are.
    """
    begin, end = clip(window, whole([trace]))
    step = resolution_ps((begin, end), resolution, hosts * (trace.native.on_tracks(THREADS) + len(trace.sample_ps)))
    events = trace.native.select(begin, end, step, full_dma, THREADS)
    counters = tuple(_cut(counter, (begin, end), step) for counter in trace.counters if counter.is_first)
    first, last = np.searchsorted(trace.sample_ps, begin), np.searchsorted(trace.sample_ps, end, side="right")
    shown = sum(len(counter.begin_ps) for counter in counters) if step else max(int(last - first), 0)
    return Selection(trace, events, pid_offset, tuple(counter for counter in counters if len(counter.begin_ps)), shown)


def _cut(counter: Counter, window: Window, step: int) -> Counter:
    """The samples that a window shows, at least `step` ps apart."""
    shown = _native.visible_samples(counter.begin_ps, window, step)
    if len(shown) == len(counter.begin_ps):
        return counter
    return replace(counter, begin_ps=counter.begin_ps[shown], value=counter.value[shown])


def resolution_ps(window: Window, units: float, events: int) -> int:
    """Time that must lie between two short events when a window is cut into units; 0 leaves nothing out."""
    if events < FEW_EVENTS or not units > 0:
        return 0
    return math.floor(max(window[1] - window[0], 0) / units + 0.5)


def named(trace: HostTrace, wanted: Callable[[str], object], pid_offset: int, *, full_dma: bool) -> Selection:
    """All events and samples whose name is wanted."""
    events = trace.native.select_named(name_flags(trace, wanted), full_dma, THREADS)
    counters = tuple(counter for counter in trace.counters if counter.is_first and wanted(counter.name))
    return Selection(trace, events, pid_offset, counters, sum(len(counter.begin_ps) for counter in counters))


def exactly(
    trace: HostTrace, name: str, begin_ps: int, duration_ps: int, serial: int, pid_offset: int
) -> Selection | None:
    """The one event with this name, begin, duration (at least 1 ps) and serial, if there is one; else the samples.

    Samples have no duration, and viewers do not know their serial.
    """
    place = int(np.searchsorted(np.array(trace.names, object), name)) if trace.names else 0
    if place >= len(trace.names) or trace.names[place] != name or not 0 <= serial < 256:
        return None
    events = trace.native.select_one(place, begin_ps, max(duration_ps, 1), serial, THREADS)
    if len(events):
        return Selection(trace, events, pid_offset)
    counters = [counter for counter in trace.counters if counter.is_first and counter.name == name]
    cut = [_cut(counter, (begin_ps, begin_ps), 0) for counter in counters] if duration_ps <= 1 else []
    sampled = tuple(counter for counter in cut if len(counter.begin_ps))
    samples = sum(len(counter.begin_ps) for counter in sampled)
    return Selection(trace, events, pid_offset, sampled, samples) if sampled else None


def name_flags(trace: HostTrace, wanted: Callable[[str], object]) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    """One flag per name of the trace."""
    return np.fromiter((bool(wanted(name)) for name in trace.names), np.uint8, len(trace.names))


Text = tuple[bytes, bytes]
"""A text, and raw deflate blocks of it that end at a byte."""


Packed = tuple[bytes, int, int]
"""Raw deflate blocks that end at a byte, CRC-32 and length of their text."""


def packed_events(selection: Selection) -> Packed:
    """JSON of the events of one host without their arguments, each behind a comma."""
    return _native.trace_json_part((selection.trace.native, selection.events, selection.pid_offset), THREADS)


def gzip_file(parts: Sequence[Packed]) -> bytes:
    """The parts, one after the other, as a gzip file."""
    return _native.gzip_of(parts)


def bulk_events(selections: Sequence[Selection], head: Sequence[Text], tail: Text) -> bytes:
    """JSON of events without their arguments as a gzip file: `head`, the events, each behind a comma, and `tail`."""
    hosts = [(part.trace.native, part.events, part.pid_offset) for part in selections]
    return _native.trace_json(hosts, head, tail, THREADS)


def typed_events(selection: Selection, args: TraceArgs) -> bytes:
    """JSON of the selected events with all arguments, each behind a comma."""
    return _native.trace_typed(
        selection.trace.native, selection.events, selection.pid_offset, args, args.frames, THREADS
    )


def counter_events(selection: Selection) -> bytes:
    """JSON of the selected samples: one event per counter behind a comma."""
    parts = []
    for counter in selection.counters:
        place = counter.pid + selection.pid_offset, counter.name, counter.series
        parts.append(_native.trace_counter(*place, counter.begin_ps, counter.value, False))
    return b"".join(parts)


def series_fields(selections: Sequence[Selection]) -> bytes:
    """Fields of a `TraceDataResponse` with the selected events and samples, and the texts that they refer to."""
    hosts = [(part.trace.native, part.events, part.pid_offset) for part in selections]
    counters = [
        (samples.pid + part.pid_offset, samples.name, samples.series, samples.begin_ps, samples.value, samples.whole)
        for part in selections
        for samples in part.counters
    ]
    return _native.trace_series(hosts, counters, THREADS)


def event_args(args: TraceArgs, source: int) -> bytes:
    """JSON object of the arguments of one event."""
    return _native.trace_args(args, source)


def legacy_events(trace: HostTrace, args: TraceArgs, pid_offset: int, cap: int, head: bytes, tail: bytes) -> bytes:
    """JSON of at most `cap` events in the older form, each with a comma behind it."""
    events = trace.native.select_older(cap, THREADS)
    return _native.trace_legacy(trace.native, events, args, pid_offset, (0, _ALL), head, tail, THREADS)[0]


def legacy_parts(trace: HostTrace, args: TraceArgs, pid_offset: int) -> Iterator[bytes]:
    """JSON of all events in the older form, each with a comma behind it, in parts of some megabytes."""
    events = trace.native.select_older(_ALL, THREADS)
    chunk = 0
    while True:
        place = trace.native, events, args, pid_offset, (chunk, _PART)
        part, chunk = _native.trace_legacy(*place, b"", b"", THREADS)
        yield part
        if not chunk:
            return


MOST_STEPS = 2000
"""A ruler with more steps is left out."""


def boxes(traces: Sequence[HostTrace], window: Window, columns: int, limit: int, head: bytes) -> bytes:
    """The binary answer for a canvas: boxes, and where there are any the steps and the samples of counters.

    Args:
      head: further members of its header, each followed by a comma.
    """
    floats: list[tuple[str, NDArray[np.float64]]] = []
    words: list[tuple[str, NDArray[np.uint32]]] = []
    labels: list[tuple[str, list[str]]] = []
    steps = next((trace.ruler for trace in traces if trace.ruler.names), None)
    if steps is not None:
        steps = steps.within(*window)
        if 0 < len(steps.names) <= MOST_STEPS:
            floats.append(("step_begin_ps", steps.begin_ps.astype(np.float64)))
            floats.append(("step_duration_ps", steps.duration_ps.astype(np.float64)))
            labels.append(("step_name", list(steps.names)))
    if any(trace.counters for trace in traces):
        _add_samples(traces, window, columns, floats, words)
    natives = [trace.native for trace in traces]
    return _native.trace_columns(natives, window, columns, limit, head, (floats, words, labels), THREADS)


def _add_samples(
    traces: Sequence[HostTrace],
    window: Window,
    columns: int,
    floats: list[tuple[str, NDArray[np.float64]]],
    words: list[tuple[str, NDArray[np.uint32]]],
) -> None:
    parts, sizes = [], []
    for trace in traces:
        for track in trace.tracks:
            if track.counter is not None:
                parts.append(sampled(trace.counters[track.counter], *window, columns))
            sizes.append(0 if track.counter is None else len(parts[-1].value))
    words.append(("counter_start", np.cumsum([0, *sizes]).astype(np.uint32)))
    floats.append(("counter_begin_ps", np.concatenate([part.begin_ps for part in parts]).astype(np.float64)))
    floats.append(("counter_value", np.concatenate([part.value for part in parts])))
    floats.append(("counter_low", np.concatenate([part.low for part in parts])))
    words.append(("counter_count", np.concatenate([part.count for part in parts])))


def hits(
    traces: Sequence[HostTrace],
    wanted: Callable[[str], object],
    args: Sequence[tuple[TraceArgs, str, bool]],
    limit: int,
    head: bytes,
) -> bytes:
    """The binary answer of a search.

    Args:
      wanted: tells whether a name is a hit.
      args: per trace its arguments, the text to look for in them and whether case does not matter; or empty.
    """
    none = np.empty(0, np.uint8)
    parts = []
    for i, trace in enumerate(traces):
        sources = none
        if args:
            trace_args, text, fold = args[i]
            sources = _native.trace_args_matching(trace.native, trace_args, text.lower() if fold else text, fold)
        parts.append((trace.native, name_flags(trace, wanted), sources))
    return _native.trace_search(parts, limit, head)


@dataclass(frozen=True, slots=True)
class Area:
    """Rows `first` to `last` (inclusive) of a track, which is an index into the tracks of its trace."""

    track: int
    first: int
    last: int


@dataclass(slots=True)
class NameSum:
    """Events of one name: their number, summed durations, the same without direct children, shortest and longest (ps).

    Children of an event are the events of the row below that lie within it.
    """

    name: str
    count: int
    wall_ps: int
    self_ps: int
    min_ps: int
    max_ps: int


def sums(parts: Sequence[tuple[HostTrace, Sequence[Area]]], window: Window) -> list[NameSum]:
    """Sums over the events that touch the window in these areas, each event whole; longest first, then by name."""
    by_name: dict[str, NameSum] = {}
    for trace, areas in parts:
        columns = [np.array([getattr(area, key) for area in areas], np.uint32) for key in ("track", "first", "last")]
        ids, *numbers = trace.native.sums((columns[0], columns[1], columns[2]), *window)
        for name_id, *values in zip(ids.tolist(), *(column.tolist() for column in numbers), strict=True):
            entry = NameSum(trace.names[name_id], *values)
            total = by_name.setdefault(entry.name, entry)
            if total is not entry:
                total.count += entry.count
                total.wall_ps += entry.wall_ps
                total.self_ps += entry.self_ps
                total.min_ps, total.max_ps = min(total.min_ps, entry.min_ps), max(total.max_ps, entry.max_ps)
    return sorted(by_name.values(), key=lambda entry: (-entry.wall_ps, entry.name))
