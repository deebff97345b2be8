"""Questions to one or several timelines: which events a window shows, and their bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin import _native
from tpu_profile_plugin.analysis.trace_args import TraceArgs
from tpu_profile_plugin.analysis.trace_host import THREADS, HostTrace

Window = tuple[int, int]
"""Begin and end in ps, both inside."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """Events of one host's timeline, and what is added to its process ids in the answer."""

    trace: HostTrace
    events: _native.TraceSelection
    pid_offset: int

    def __len__(self) -> int:
        return len(self.events)


def whole(traces: Sequence[HostTrace]) -> Window:
    """From the first begin to the last end over all hosts; (0, 0) when there is no event."""
    spans = [trace.native.span for trace in traces if len(trace.native)]
    return (min(b for b, _ in spans), max(e for _, e in spans)) if spans else (0, 0)


def clip(window: Window, limits: Window) -> Window:
    """The part of a window that lies within the limits; one that lies outside stays outside."""
    return max(window[0], limits[0]), min(window[1], limits[1])


def visible(trace: HostTrace, window: Window, resolution: float, pid_offset: int, *, full_dma: bool) -> Chosen:
    """Events of a window of which short neighbours are left out when there are many.

    Args:
      resolution: units across the window; 0 leaves nothing out.
      full_dma: asynchronous transfers as well.
    """
    limits = trace.native.span
    begin, end = clip(window, limits)
    return Chosen(trace, trace.native.select(begin, end, resolution, full_dma, THREADS), pid_offset)


def named(trace: HostTrace, wanted: Callable[[str], object], pid_offset: int) -> Chosen:
    """All events whose name is wanted."""
    return Chosen(trace, trace.native.select_named(name_flags(trace, wanted), THREADS), pid_offset)


def exactly(
    trace: HostTrace, name: str, begin_ps: int, duration_ps: int, serial: int, pid_offset: int
) -> Chosen | None:
    """The one event with this name, begin, duration (at least 1 ps) and serial, if there is one."""
    place = int(np.searchsorted(np.array(trace.names, object), name)) if trace.names else 0
    if place >= len(trace.names) or trace.names[place] != name or not 0 <= serial < 256:
        return None
    found = trace.native.select_one(place, begin_ps, max(duration_ps, 1), serial, THREADS)
    return Chosen(trace, found, pid_offset) if len(found) else None


def name_flags(trace: HostTrace, wanted: Callable[[str], object]) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    """One flag per name of the trace."""
    return np.fromiter((bool(wanted(name)) for name in trace.names), np.uint8, len(trace.names))


def streaming_body(chosen: Sequence[Chosen], head: bytes, tail: bytes) -> bytes:
    """JSON of the chosen events without their arguments, each behind a comma, between `head` and `tail`."""
    hosts = [(part.trace.native, part.events, part.pid_offset) for part in chosen]
    return _native.trace_json(hosts, head, tail, THREADS)


def typed_events(chosen: Chosen, args: TraceArgs) -> bytes:
    """JSON of the chosen events with all arguments, each behind a comma."""
    return _native.trace_typed(chosen.trace.native, chosen.events, chosen.pid_offset, args, args.frames, THREADS)


def event_args(args: TraceArgs, source: int) -> bytes:
    """JSON object of the arguments of one event."""
    return _native.trace_args(args, source)


def legacy_events(trace: HostTrace, args: TraceArgs, pid_offset: int, cap: int, head: bytes, tail: bytes) -> bytes:
    """JSON of at most `cap` events in the older form, each with a comma behind it."""
    return _native.trace_legacy(trace.native, args, pid_offset, cap, head, tail, THREADS)


def boxes(traces: Sequence[HostTrace], window: Window, columns: int, limit: int, head: bytes) -> bytes:
    """The binary answer for a canvas; `head` holds further members of its header, each followed by a comma."""
    return _native.trace_columns([trace.native for trace in traces], window, columns, limit, head, THREADS)


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
            found, text, fold = args[i]
            sources = _native.trace_args_matching(trace.native, found, text.lower() if fold else text, fold)
        parts.append((trace.native, name_flags(trace, wanted), sources))
    return _native.trace_search(parts, limit, head)
