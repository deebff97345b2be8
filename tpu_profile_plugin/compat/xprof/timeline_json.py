"""The text of XProf's streaming form of the timeline."""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from typing import Any

from tpu_profile_plugin.analysis.timeline.host import HostTrace
from tpu_profile_plugin.analysis.timeline.window import Selection, Text, TraceArgs, Window, bulk_events, counter_events
from tpu_profile_plugin.tools.time.trace_viewer.timelines import pid_offset
from tpu_profile_plugin.tools.time.trace_viewer.trace_events import names_of_tracks
from tpu_profile_plugin.units import PS_PER_MS

MOST_SAMPLES = 10_000_000
LISTED_FIRST = ("pid", "tid", "name", "ts", "dur", "bind_id", "id", "cat", "flow_in", "flow_out", "ph", "args")
_TOO_MANY_SAMPLES = "There are too many counter samples to show."

Host = tuple[str, HostTrace]
"""A host's name and its timeline."""


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
    """Stack frames, names of processes and threads: equal in every window of the streaming form."""
    return _head(hosts, [part.stack for part in args])


def _head(hosts: Sequence[Host], stacks: Sequence[Sequence[str]]) -> Text:
    return head_of([names_part(host, i, stack) for i, (host, stack) in enumerate(zip(hosts, stacks, strict=True))])


def names_part(host: Host, position: int, stack: Sequence[str]) -> tuple[dict[str, dict[str, str]], list[str]]:
    """Stack frames, and the events that name processes and threads, of one host."""
    name, trace = host
    named = names_of_tracks(f"{name} ", trace, pid_offset(position), counted=True)
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
    """Switches of a viewer, and whether each is on."""
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


def _milli(time: int) -> str:
    """Picoseconds as milliseconds with six significant digits."""
    return f"{time / PS_PER_MS:.6g}"


def _dump(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
