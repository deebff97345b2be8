"""Questions to one or several timelines: which events a window shows, and their bytes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tpu_profile_plugin import _native
from tpu_profile_plugin.analysis.timeline.args import TraceArgs
from tpu_profile_plugin.analysis.timeline.counters import Counter, sampled
from tpu_profile_plugin.analysis.timeline.host import THREADS, HostTrace
from tpu_profile_plugin.analysis.timeline.preview import Preview

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
    return (min(b for b, _ in spans), max(e for _, e in spans)) if spans else (0, 0)


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
    return Selection(trace, events, pid_offset, tuple(one for one in counters if len(one.begin_ps)), shown)


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
        (one.pid + part.pid_offset, one.name, one.series, one.begin_ps, one.value, one.whole)
        for part in selections
        for one in part.counters
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
