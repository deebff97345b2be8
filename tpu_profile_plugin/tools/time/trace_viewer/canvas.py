"""Answers to the timeline page: boxes of a window, one event, hits of a search, sums over a rectangle."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tpu_profile_plugin.analysis.common.op_names import searcher
from tpu_profile_plugin.analysis.timeline.host import THREADS, HostTrace, Titles, Track
from tpu_profile_plugin.analysis.timeline.listing import main_thread
from tpu_profile_plugin.analysis.timeline.tracks import HOST_STRIDE
from tpu_profile_plugin.analysis.timeline.window import (
    Area,
    Preview,
    TraceArgs,
    Window,
    boxes,
    event_args,
    hits,
    preview_boxes,
    recording,
    sums,
)
from tpu_profile_plugin.errors import BadRequest, NoData

Host = tuple[str, HostTrace]
"""A host's name and its timeline."""

MOST_BOXES = 100_000
"""A window ships at most about this many boxes."""

MOST_FLOW_ENDS = 200
MOST_ANCESTORS = 64
"""The nearest are listed; stacks are rarely as deep, and damaged profiles nest thousands of events."""

MOST_AREAS = 10_000
"""A rectangle covers at most this many tracks."""

_HOST = "/host:"
_DTYPES = {"f64": "<f8", "u32": "<u4", "u16": "<u2", "u8": "u1", "i32": "<i4"}


def columns(hosts: Sequence[Host], window: Window, resolution: int, fixed: Sequence[bytes]) -> bytes:
    """Boxes of a window; `fixed` are the parts of the header that do not depend on it, one per host."""
    traces = [trace for _, trace in hosts]
    return boxes(traces, window, resolution, MOST_BOXES, _head(traces, window, fixed))


def preview(previews: Sequence[Preview], window: Window, resolution: int, fixed: Sequence[bytes]) -> bytes:
    """As `columns`, before the timelines are made: `partial` says so."""
    head = b'"partial":true,' + _head(previews, window, fixed)
    return preview_boxes(previews, window, resolution, MOST_BOXES, head)


def _head(traces: Sequence[HostTrace | Preview], window: Window, fixed: Sequence[bytes]) -> bytes:
    full = recording(traces)
    total = sum(len(trace.native) for trace in traces)
    head = (
        f'"version":2,"full_timespan_ps":[{full[0]},{full[1]}],"window_ps":[{window[0]},{window[1]}],'
        f'"total_events":{total},"truncated":false,'
    )
    origin = next((trace.time_origin_ns for trace in traces if trace.time_origin_ns), None)
    if origin is not None:
        head += f'"time_origin_ns":{origin},'
    return head.encode() + _members(traces, fixed)


def fixed_header(name: str, trace: HostTrace | Preview, titles: Titles, pid_offset: int) -> bytes:
    """The sections and tracks of one host as two JSON lists without brackets, NUL between them.

    `title` is what the page shows in the place of a name.
    """
    sizes, rows = trace.native.track_sizes().tolist(), trace.native.track_rows().tolist()
    first: dict[int, int] = {}
    for i, track in enumerate(trace.tracks):
        first.setdefault(track.pid, i)
    sections: list[dict[str, Any]] = []
    main: set[int] = set()
    for section in trace.sections:
        begin = first.get(section.pid, len(trace.tracks))
        end = begin + sum(track.pid == section.pid for track in trace.tracks)
        if section.name.startswith(_HOST):
            main_track = main_thread([track.name for track in trace.tracks[begin:end]], sizes[begin:end])
            main |= set() if main_track is None else {begin + main_track}
        pid = section.pid + pid_offset
        facts = {"pid": pid, "name": section.name, "host": name, "sort_index": pid}
        if section.pid in titles.sections:
            facts["title"] = titles.sections[section.pid]
        sections.append({**facts, "track_begin": begin, "track_end": end})
    tracks = [
        {
            "pid": track.pid + pid_offset,
            "tid": track.tid,
            "name": track.name,
            "sort_index": track.tid,
            "rows": rows[i],
            "events": sizes[i],
            "kind": "async" if trace.native.is_async(i) else "events",
            **({"main": True} if i in main else {}),
            **({"title": titles.tracks[i]} if i in titles.tracks else {}),
            **_counter_facts(trace, track),
        }
        for i, track in enumerate(trace.tracks)
    ]
    return b"\0".join(_inner(part) for part in (sections, tracks))


def _counter_facts(trace: HostTrace | Preview, track: Track) -> dict[str, Any]:
    if track.counter is None or isinstance(trace, Preview):
        return {}
    counter = trace.counters[track.counter]
    extent = {"min": float(counter.value.min()), "max": float(counter.value.max())}
    return {"kind": "counter", "events": len(counter.value), "unit": counter.unit, **extent}


def _members(traces: Sequence[HostTrace | Preview], fixed: Sequence[bytes]) -> bytes:
    sections, tracks, base = [], [], 0
    for trace, part in zip(traces, fixed, strict=True):
        sections_of, tracks_of = part.split(b"\0")
        if sections_of:
            sections.append(_shifted(sections_of, base) if base else sections_of)
        if tracks_of:
            tracks.append(tracks_of)
        base += len(trace.tracks)
    return b'"sections":[' + b",".join(sections) + b'],"tracks":[' + b",".join(tracks) + b"],"


def _shifted(sections: bytes, base: int) -> bytes:
    """The sections of a further host: their tracks are numbered behind those of the hosts before."""
    parts = json.loads(b"[" + sections + b"]")
    for part in parts:
        part["track_begin"] += base
        part["track_end"] += base
    return _inner(parts)


def _inner(parts: list[dict[str, Any]]) -> bytes:
    return json.dumps(parts, separators=(",", ":"), ensure_ascii=False).encode()[1:-1]


def event(host: Host, args: TraceArgs, pid: int, tid: int, index: int) -> dict[str, Any]:
    """One event with everything that is known about it. Raises NoData when there is no such event."""
    name, trace = host
    track = track_of(trace, pid, tid)
    facts = trace.native.event(track, index) if track is not None and 0 <= index <= 0xFFFFFFFF else None
    if track is None or facts is None:
        message = f"Host {name} has no event {index} on thread {tid} of process {pid}."
        raise NoData(message, pid=pid, tid=tid, event=index)
    name_id, begin, duration, source, group, row = facts
    values = json.loads(event_args(args, source))
    place = trace.tracks[track]
    section = next(section.name for section in trace.sections if section.pid == place.pid)
    listed = [{"key": key, "value": value, "kind": _kind(value)} for key, value in values.items()]
    return {
        "name": trace.names[name_id],
        "long_name": values.get("long_name", trace.names[name_id]),
        "section": section,
        "track": place.name,
        "host": name,
        "pid": pid,
        "tid": tid,
        "event": index,
        "row": row,
        "begin_ps": begin,
        "duration_ps": duration,
        "args": [entry for entry in listed if entry["key"] != "long_name"],
        "group_id": None if group < 0 else group,
        "group_name": trace.extras.group_names.get(group),
        "stack": _stack(values),
        "ancestors": _ancestors(trace, track, index),
        "flows": _flows(trace, track, index, pid - place.pid),
    }


def details(host: Host, args: TraceArgs, body: bytes, limit: int) -> dict[str, Any]:
    """Events as `event` gives them, by `PID.TID.EVENT`: the longest of each name, then the longest of all.

    Args:
      body: the answer of `columns` for this host; merged boxes are left out.
    """
    columns = unpacked(body)
    track = np.repeat(np.arange(len(columns["track_start"]) - 1), np.diff(columns["track_start"]))
    single = np.flatnonzero(columns["count"] == 1)
    longest = single[np.argsort(-columns["duration_ps"][single], kind="stable")]
    _, first = np.unique(columns["name"][longest], return_index=True)
    rows = longest[np.concatenate([np.sort(first), np.setdiff1d(np.arange(len(longest)), first)])[:limit]]
    places = [host[1].tracks[at] for at in track[rows].tolist()]
    numbers = columns["event"][rows].tolist()
    return {
        f"{place.pid}.{place.tid}.{number}": event(host, args, place.pid, place.tid, number)
        for place, number in zip(places, numbers, strict=True)
    }


def unpacked(body: bytes) -> dict[str, np.ndarray[Any, np.dtype[Any]]]:
    """The arrays of an answer of `columns` or `search`, as views."""
    size = int.from_bytes(body[4:8], "little")
    declared = json.loads(body[8 : 8 + size])["arrays"]
    return {
        name: np.frombuffer(body, _DTYPES[one["type"]], one["length"], 8 + size + one["offset"])
        for name, one in declared.items()
    }


def track_of(trace: HostTrace, pid: int, tid: int) -> int | None:
    """The track with these numbers, also when the process id is one of an answer with several hosts."""
    index = trace.track_index(pid, tid)
    if index is not None:
        return index
    matches = (
        i
        for i, track in enumerate(trace.tracks)
        if track.tid == tid and pid > track.pid and (pid - track.pid) % HOST_STRIDE == 0
    )
    return next(matches, None)


def _kind(value: Any) -> str:
    return "text" if isinstance(value, str) else "double" if isinstance(value, float) else "int"


def _stack(values: dict[str, Any]) -> list[str]:
    stack = values.get("source_stack", "")
    return stack.strip().split("\n") if isinstance(stack, str) and stack.strip() else []


def _ancestors(trace: HostTrace, track: int, index: int) -> list[dict[str, Any]]:
    ancestors = []
    for other, row in trace.native.ancestors(track, index)[-MOST_ANCESTORS:]:
        facts = trace.native.event(track, other)
        if facts is not None:
            times = {"begin_ps": facts[1], "duration_ps": facts[2]}
            ancestors.append({"name": trace.names[facts[0]], "row": row, "event": other, **times})
    return ancestors


def _flows(trace: HostTrace, track: int, index: int, pid_offset: int) -> list[dict[str, Any]]:
    flow = trace.native.flow(track, index)
    if flow is None:
        return []
    number, category, direction = flow
    ends = []
    for end in trace.native.flow_ends(number, MOST_FLOW_ENDS, THREADS):
        facts, towards = trace.native.event(*end), trace.native.flow(*end)
        if facts is None or towards is None:
            continue
        place = trace.tracks[end[0]]
        ends.append(
            {
                "pid": place.pid + pid_offset,
                "tid": place.tid,
                "event": end[1],
                "row": facts[5],
                "begin_ps": facts[1],
                "duration_ps": facts[2],
                "name": trace.names[facts[0]],
                "direction": towards[2],
            }
        )
    return [{"id": str(number), "category": category, "direction": direction, "ends": ends}]


def name_sums(hosts: Sequence[Host], offsets: Sequence[int], areas: str, window: Window, limit: int) -> dict[str, Any]:
    """Sums per name over the events of a rectangle.

    Args:
      offsets: what is added to the process ids of each host.
      areas: tracks of the rectangle, each with first and last row (`PID.TID.FIRST.LAST,...`).
        Unknown ones have no events.
      limit: the most names that are listed, those with most time.
    """
    wanted = _areas(areas)
    parts = []
    for (_, trace), offset in zip(hosts, offsets, strict=True):
        numbers = {(track.pid + offset, track.tid): i for i, track in enumerate(trace.tracks)}
        covered = [Area(numbers[pid, tid], *rows) for pid, tid, *rows in wanted if (pid, tid) in numbers]
        parts.append((trace, covered))
    totals = sums(parts, window)
    return {
        "window_ps": window,
        "events": sum(one.count for one in totals),
        "self_ps": sum(one.self_ps for one in totals),
        "names": len(totals),
        "rows": [dataclasses.asdict(one) for one in totals[:limit]],
    }


def _areas(text: str) -> list[tuple[int, int, int, int]]:
    """Parses the areas of a rectangle. Raises BadRequest."""
    parts = [part.split(".") for part in text.split(",") if part]
    if len(parts) > MOST_AREAS or not all(len(part) == 4 and all(map(_is_number, part)) for part in parts):
        raise BadRequest("The parameter 'areas' is not a list of PID.TID.FIRST.LAST.", parameter="areas")
    return [(int(pid), int(tid), int(first), int(last)) for pid, tid, first, last in parts]


def _is_number(text: str) -> bool:
    return len(text) <= 10 and text.isascii() and text.isdigit() and int(text) <= 0xFFFFFFFF


def search(
    hosts: Sequence[Host],
    fixed: Sequence[bytes],
    wanted: Callable[[str], object],
    in_args: Sequence[tuple[TraceArgs, str, bool]],
    limit: int,
) -> bytes:
    """Events whose name is `wanted`, or that have an argument with a text, by begin.

    Args:
      in_args: per host the arguments to search, the text, and whether case is ignored.
    """
    traces = [trace for _, trace in hosts]
    return hits(traces, wanted, in_args, limit, b'"version":1,' + _members(traces, fixed))


def matcher(query: str, *, regex: bool, case: bool, whole: bool = False) -> Callable[[str], object]:
    """Tells whether a name contains a text or a regular expression, or `whole`: is that text. Raises BadRequest.

    The whole name is what an op is called, without its text: `copy` is that of `%copy = f32[8] copy(...)`.
    """
    if whole and not regex:
        text = _called(query, case=case)
        return lambda name: text == _called(name, case=case)
    if not regex:
        text = query if case else query.casefold()
        return lambda name: text in (name if case else name.casefold())
    try:
        return searcher(query, ignore_case=not case)
    except ValueError as error:
        raise BadRequest(f"The regular expression is not valid: {error}.") from None


def _called(name: str, *, case: bool) -> str:
    called = name.partition(" = ")[0].removeprefix("%").removeprefix("$")
    return called if case else called.casefold()
