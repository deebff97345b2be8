"""Trace-event JSON: the names of processes and threads, and the events of a window as other viewers read them."""

from __future__ import annotations

import json
from typing import Any

from tpu_profile_plugin.analysis.timeline.host import HostTrace, Track
from tpu_profile_plugin.analysis.timeline.window import Window, counter_events, typed_events, visible
from tpu_profile_plugin.errors import TooLarge
from tpu_profile_plugin.tools.time.trace_viewer.timelines import Timelines, pid_offset

HEAD = b'{"displayTimeUnit":"ns","metadata":{"highres-ticks":true},\n"traceEvents":[\n'
TAIL = b"{}]}\n"
MOST_EVENTS = 10_000_000
"""Of an answer without arguments, of about five bytes per event."""
MOST_WITH_ARGS = 1_000_000
"""Of an answer with arguments, of some hundred bytes per event."""


def check_size(events: int, hosts: int, *, with_args: bool = False) -> None:
    """Raises TooLarge if an answer would have too many events."""
    most = MOST_WITH_ARGS if with_args else MOST_EVENTS
    if events <= most:
        return
    fewer = "fewer hosts ('hosts'), " if hosts > 1 else ""
    without = ", or no arguments ('full_args=0')" if with_args else ""
    raise TooLarge(
        f"The timeline would have more than {most:,} events. Ask for {fewer}a shorter window ('start_time_ms', "
        f"'end_time_ms') or a coarser 'resolution'{without}; `tpu-profile export` writes all events to a file.",
        events=events,
        limit=most,
    )


def window_events(timelines: Timelines, window: Window) -> bytes:
    """All events of a window with their arguments, unmerged. Raises TooLarge."""
    hosts, parts, count = len(timelines.run.profiles), [b"{}"], 0
    read = zip(timelines.hosts, timelines.positions, timelines.args(folded=True), strict=True)
    for (name, trace), position, args in read:
        offset = pid_offset(position)
        events = visible(trace, window, 0, offset, full_dma=False, hosts=hosts)
        count += len(events)
        check_size(count, hosts, with_args=True)
        parts += [b"," + _dump(event).encode() for event in names_of_tracks(f"{name} ", trace, offset, counted=True)]
        parts += [counter_events(events), typed_events(events, args)]
    return b'{"displayTimeUnit":"ns","traceEvents":[' + b"".join(parts) + b"]}"


def _dump(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def names_of_tracks(prefix: str, trace: HostTrace, pid_offset: int, *, counted: bool) -> list[dict[str, Any]]:
    """The events that name and order processes and threads.

    `counted`: processes have their number of threads, and those without lines are left out; else all are listed, and
    threads without a name have none.
    """
    events: list[dict[str, Any]] = []
    tracks_of: dict[int, list[Track]] = {}
    for track in trace.tracks:
        if track.counter is None:
            tracks_of.setdefault(track.pid, []).append(track)
    for section in trace.sections:
        if counted and not section.has_lines:
            continue
        tracks = tracks_of.get(section.pid, [])
        pid = section.pid + pid_offset
        title = {"name": prefix + section.name}
        process: dict[str, Any] = {"args": title, "name": "process_name", "ph": "M", "pid": pid}
        if counted:
            process["thread_count"] = len(tracks)
        events.append(process)
        events.append({"args": {"sort_index": pid}, "name": "process_sort_index", "ph": "M", "pid": pid})
        for track in tracks:
            place = {"ph": "M", "pid": pid, "tid": track.tid}
            if track.name or counted:
                events.append({"args": {"name": track.name}, "name": "thread_name", **place})
            events.append({"args": {"sort_index": track.tid}, "name": "thread_sort_index", **place})
    return events


def names_as_text(prefix: str, trace: HostTrace, pid_offset: int) -> bytes:
    """The events that name the processes and threads of a host, as text between other events."""
    events = names_of_tracks(prefix, trace, pid_offset, counted=False)
    return "".join(json.dumps(event, sort_keys=True, ensure_ascii=False) + ",\n" for event in events).encode()
