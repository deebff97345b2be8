"""The two JSON forms of a timeline: the streaming one with windows and levels of detail, and the older whole one."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from tpu_profile_plugin.analysis.timeline.host import HostTrace, Track
from tpu_profile_plugin.analysis.timeline.tracks import HOST_STRIDE
from tpu_profile_plugin.analysis.timeline.window import (
    Selection,
    Text,
    TraceArgs,
    Window,
    bulk_events,
    counter_events,
    legacy_events,
    legacy_parts,
)
from tpu_profile_plugin.units import PS_PER_MS

LEGACY_CAP = 5_000_000
"""The older form holds at most this many events, the earliest."""

_LEGACY_HEAD = b'{"displayTimeUnit":"ns","metadata":{"highres-ticks":true},\n"traceEvents":[\n'
_LEGACY_TAIL = b"{}]}\n"

MOST_SAMPLES = 10_000_000
LISTED_FIRST = ("pid", "tid", "name", "ts", "dur", "bind_id", "id", "cat", "flow_in", "flow_out", "ph", "args")
_TOO_MANY_SAMPLES = "There are too many counter samples to show."

Host = tuple[str, HostTrace]
"""A host's name and its timeline."""


def offset(index: int) -> int:
    """What is added to the process ids of the host at this position."""
    return HOST_STRIDE * (index + 1)


def streaming(
    hosts: Sequence[Host], selections: Sequence[Selection], fixed: Text, window: Window, *, full_dma: bool
) -> bytes:
    """The streaming form without arguments as a gzip file.

    Args:
      fixed: see `fixed_head`. window: the extent of the whole trace.
    """
    head = [deflated(_facts(hosts, window, full_dma=full_dma)), fixed]
    head += [deflated(text) for text in _samples(selections) if text]
    return bulk_events(selections, head, deflated(_tail(selections)))


def streaming_with(
    hosts: Sequence[Host], selections: Sequence[Selection], events: Sequence[bytes], fixed: Text, window: Window
) -> bytes:
    """The streaming form around selected events that are JSON already, each behind a comma; plain."""
    head = [_facts(hosts, window, full_dma=False), fixed[0], *_samples(selections)]
    return b"".join([*head, *events, _tail(selections)])


def _samples(selections: Sequence[Selection]) -> list[bytes]:
    too_many = sum(part.samples for part in selections) > MOST_SAMPLES
    return [] if too_many else [counter_events(part) for part in selections]


def details(
    hosts: Sequence[Host],
    selections: Sequence[Selection],
    events: Sequence[bytes],
    args: Sequence[TraceArgs],
    window: Window,
) -> bytes:
    """The streaming form of single events; `args` has the stack frames of each one's host.

    Only their stack frames are in it, numbered from 1: XProf's page shows frame 1 whatever the event refers to. Its new
    viewer lists the keys of an event in the order of the answer.
    """
    frames: list[str] = []
    parts = []
    for text, of_host in zip(events, args, strict=True):
        for event in json.loads(b"[" + text.removeprefix(b",") + b"]"):
            if "sf" in event:
                frame = of_host.stack[event["sf"] - 1]
                if frame not in frames:
                    frames.append(frame)
                event["sf"] = frames.index(frame) + 1
            in_order = {key: event[key] for key in LISTED_FIRST if key in event}
            parts.append(f",{_dump(in_order | event)}".encode())
    no_frames: list[list[str]] = [[]] * (len(hosts) - 1)
    return streaming_with(hosts, selections, parts, _head(hosts, [frames, *no_frames]), window)


def fixed_head(hosts: Sequence[Host], args: Sequence[TraceArgs]) -> Text:
    """What is the same for every window of the streaming form: stack frames, names of processes and threads."""
    return _head(hosts, [part.stack for part in args])


def _head(hosts: Sequence[Host], stacks: Sequence[Sequence[str]]) -> Text:
    return head_of([names_part(host, i, stack) for i, (host, stack) in enumerate(zip(hosts, stacks, strict=True))])


def names_part(host: Host, position: int, stack: Sequence[str]) -> tuple[dict[str, dict[str, str]], list[str]]:
    """Stack frames, and the events that name processes and threads, of one host."""
    name, trace = host
    named = _metadata(f"{name} ", trace, offset(position), counted=True)
    return {str(i): {"name": text} for i, text in enumerate(stack, 1)}, [_dump(event) for event in named]


def head_of(parts: Sequence[tuple[dict[str, dict[str, str]], list[str]]]) -> Text:
    """The fixed head of hosts by their `names_part`."""
    frames = {number: frame for part, _ in parts for number, frame in part.items()}
    events = ",".join(event for _, named in parts for event in named)
    return deflated(f'{_dump(frames)},"traceEvents":[{events}'.encode())


def deflated(text: bytes) -> Text:
    """A text with its raw deflate form."""
    packer = zlib.compressobj(1, zlib.DEFLATED, -zlib.MAX_WBITS)
    return text, packer.compress(text) + packer.flush(zlib.Z_SYNC_FLUSH)


def viewer_options(hosts: Sequence[Host], *, full_dma: bool) -> list[tuple[str, bool]]:
    """What a viewer offers to turn on, and whether it is."""
    return _options(any(trace.has_tpu for _, trace in hosts), full_dma=full_dma)


def _options(has_tpu: bool, *, full_dma: bool) -> list[tuple[str, bool]]:
    return [("mpmd_pipeline_view", False), *([("full_dma", full_dma)] if has_tpu else [])]


def _facts(hosts: Sequence[Host], window: Window, *, full_dma: bool) -> bytes:
    return facts_of(any(trace.has_tpu for _, trace in hosts), window, full_dma=full_dma)


def facts_of(has_tpu: bool, window: Window, *, full_dma: bool) -> bytes:
    """The beginning of the streaming form."""
    details = [{"name": name, "value": value} for name, value in _options(has_tpu, full_dma=full_dma)]
    return (
        '{"displayTimeUnit":"ns","metadata":{"highres-ticks":true},"codeLink":"","useNewBackend":false,'
        f'"details":{_dump(details)},"filteredByVisibility":true,'
        f'"fullTimespan":[{_milli(window[0])},{_milli(window[1])}],"stackFrames":'
    ).encode()


def _tail(selections: Sequence[Selection]) -> bytes:
    return tail_of(sum(map(len, selections)), sum(part.samples for part in selections))


def tail_of(events: int, samples: int) -> bytes:
    """The end of the streaming form."""
    message = _TOO_MANY_SAMPLES if samples > MOST_SAMPLES else ""
    counters = f'"showCounterMessage":{_dump(message)},"totalCounterEvents":{samples}'
    return f'],"returnedEventsSize":{events},{counters}}}'.encode()


def legacy_part(host: Host, args: TraceArgs, position: int, hosts: int) -> tuple[bytes, bytes]:
    """Names and events of one of so many hosts in the older form, for `legacy`."""
    several = hosts > 1
    at = offset(position) if several else 0
    events = legacy_events(host[1], args, at, LEGACY_CAP // hosts, b"", b"")
    return _legacy_names(host, position, several=several), events


def legacy(parts: Sequence[tuple[bytes, bytes]]) -> bytes:
    """The whole trace in the older form; several hosts have numbers and names of their own."""
    names, events = [part[0] for part in parts], [part[1] for part in parts]
    return b"".join([_LEGACY_HEAD, *names, *events, _LEGACY_TAIL])


def legacy_stream(hosts: Iterable[tuple[Host, TraceArgs]], *, several: bool) -> Iterator[bytes]:
    """The older form host after host, with all events; `several`: whether hosts get numbers and names of their own."""
    yield _LEGACY_HEAD
    for i, (host, args) in enumerate(hosts):
        yield _legacy_names(host, i, several=several)
        yield from legacy_parts(host[1], args, offset(i) if several else 0)
    yield _LEGACY_TAIL


def _legacy_names(host: Host, index: int, *, several: bool) -> bytes:
    name, trace = host
    events = _metadata(f"{name} " if several else "", trace, offset(index) if several else 0, counted=False)
    return "".join(json.dumps(event, sort_keys=True, ensure_ascii=False) + ",\n" for event in events).encode()


def _metadata(prefix: str, trace: HostTrace, pid_offset: int, *, counted: bool) -> list[dict[str, Any]]:
    """The events that name and order processes and threads.

    The streaming form counts threads and leaves out planes without lines; the older form lists all, and gives no name
    to threads without one.
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


def _milli(time: int) -> str:
    """Picoseconds as milliseconds with six significant digits."""
    return f"{time / PS_PER_MS:.6g}"


def _dump(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
