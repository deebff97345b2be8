"""XProf's forms of the timeline: windows with levels of detail, single events, events by prefix, the whole trace.

As JSON, or as a `TraceDataResponse` in a Zstandard frame (`format=pb`). Of several hosts each contributes what the
answer needs of it, and is dropped before the next one is read; hosts that cannot be read are left out.
"""

from __future__ import annotations

import threading
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from tpu_profile_plugin.analysis.timeline.host import THREADS, HostTrace
from tpu_profile_plugin.analysis.timeline.window import (
    FEW_EVENTS,
    Packed,
    Selection,
    Text,
    Window,
    counter_events,
    exactly,
    gzip_file,
    legacy_events,
    named,
    packed_events,
    series_fields,
    trace_args,
    typed_events,
    visible,
    whole,
)
from tpu_profile_plugin.compat.xprof import timeline_json
from tpu_profile_plugin.errors import NoData
from tpu_profile_plugin.protos import message
from tpu_profile_plugin.run.host import HostProfile, derived
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tools.params import Param
from tpu_profile_plugin.tools.payload import BINARY_TYPE, Payload, Raw
from tpu_profile_plugin.tools.query import Query
from tpu_profile_plugin.tools.time.trace_viewer import tool as trace_viewer
from tpu_profile_plugin.tools.time.trace_viewer.timelines import (
    Timelines,
    args_of,
    older_timeline_of,
    pid_offset,
    timeline_of,
)
from tpu_profile_plugin.tools.time.trace_viewer.tool import (
    FORMS,
    SWITCH,
    as_recorded,
    clock_shifts,
    is_on,
    ps,
    resolution,
    window,
)
from tpu_profile_plugin.tools.time.trace_viewer.trace_events import (
    HEAD,
    MOST_EVENTS,
    MOST_WITH_ARGS,
    TAIL,
    check_size,
    names_as_text,
)
from tpu_profile_plugin.tools.tool import HostChoice, Tool
from tpu_profile_plugin.units import MIB

_P = TypeVar("_P")

_RESOLUTION = 8000
_LARGEST_KEPT = MIB
"""Larger answers for a window are made anew each time, which takes milliseconds."""

_LARGE_COLUMNS = 32 * MIB
"""Columns of this size are dropped for windows as JSON; other tools decode what they need in some ten milliseconds."""

_KEPT_BYTES = 64 * MIB
"""Hosts stay in memory, for the next question, while their files are smaller together."""

LEGACY_CAP = 5_000_000
"""The older form holds at most this many events, the earliest."""

_MAGIC = b"\x28\xb5\x2f\xfd"
_DESCRIPTOR = b"\xc0\x38"
"""A content size of eight bytes, and a window of 128 KiB."""

_LARGEST_BLOCK = 1 << 17


@dataclass(frozen=True, slots=True)
class Events:
    """The events of a window, or all whose name begins with `prefix`.

    Attributes:
      window: in ps; None for begin or end of the trace.
      resolution: units across the window; 0: every event.
      prefix: "" for the events of the window.
      with_args: events have all their arguments.
      full_dma: also events in the middle of flows on TPUs.
    """

    window: tuple[int | None, int | None]
    resolution: float
    prefix: str
    with_args: bool
    full_dma: bool

    @classmethod
    def of(cls, query: Query) -> Events:
        """The parameters. Raises OutOfRange."""
        prefix = query.text("search_prefix")
        return cls(
            window=window(query),
            resolution=resolution(query, _RESOLUTION),
            prefix=prefix,
            with_args=is_on(query, "full_args") or (bool(prefix) and query.flag("search_metadata")),
            full_dma=query.flag("full_dma"),
        )

    def select(self, trace: HostTrace, position: int, hosts: int) -> Selection:
        """The events of the host at a position among so many."""
        at = pid_offset(position)
        if self.prefix:
            prefix = self.prefix
            return named(trace, lambda name: name.startswith(prefix), at, full_dma=self.full_dma)
        (begin, end), full = self.window, whole([trace])
        part = full[0] if begin is None else begin, full[1] if end is None else end
        return visible(trace, part, self.resolution, at, full_dma=self.full_dma, hosts=hosts)


def streaming(timelines: Timelines, query: Query) -> Raw:
    """Events as JSON: with their arguments as plain text, without as a gzip file. Raises TooLarge."""
    asked = Events.of(query)
    if len(timelines.run.profiles) > 1:
        return _of_several(timelines.run, timelines.shifts, asked)
    full, fixed = whole(timelines.traces), _fixed(timelines)
    timelines.release_columns()
    selections = [asked.select(timelines.traces[0], 0, 1)]
    check_size(len(selections[0]), 1, with_args=asked.with_args)
    if asked.with_args:
        events = [typed_events(selections[0], timelines.args(folded=True)[0])]
        return Raw(timeline_json.streaming_with(timelines.hosts, selections, events, fixed, full), disk=False)
    timelines.release_columns(_LARGE_COLUMNS)
    body = timeline_json.streaming(timelines.hosts, selections, fixed, full, full_dma=asked.full_dma)
    for host in timelines.profiles:
        _start_levels(host, timelines.shifts[0])
    closer = query.params["start_time_ms"] is not None or query.params["end_time_ms"] is not None
    return Raw(body, disk=False, encoding="gzip", memory=not closer or len(body) <= _LARGEST_KEPT)


def streaming_binary(timelines: Timelines, query: Query) -> Raw:
    """Events as a `TraceDataResponse`. Raises TooLarge."""
    asked = Events.of(query)
    hosts, selections = len(timelines.run.profiles), []
    for trace, position in zip(timelines.traces, timelines.positions, strict=True):
        selections.append(asked.select(trace, position, hosts))
        check_size(sum(map(len, selections)), hosts)
    titles = [(f"{name} ", trace) for name, trace in timelines.hosts]
    return _binary(titles, selections, timeline_json.viewer_options(titles, full_dma=asked.full_dma))


def details(timelines: Timelines, query: Query) -> Raw:
    """The events with a name, begin, duration and number, with all their arguments. Raises NoData."""
    full = whole(timelines.traces)
    timelines.release_columns()
    name, place = query.text("event_name"), (ps(query, "start_time_ms"), ps(query, "duration_ms"))
    selections, events, args = [], [], []
    for host, i, trace in zip(timelines.profiles, timelines.positions, timelines.traces, strict=True):
        event = exactly(trace, name, *place, query.integer("unique_id"), pid_offset(i))
        if event is not None:
            selections.append(event)
            args.append(args_of(host, True))
            events.append(typed_events(event, args[-1]))
    if not selections:
        raise NoData(f"There is no event {name[:200]!r} with this begin, duration and number.")
    body = timeline_json.details(timelines.hosts, selections, events, args, full)
    return Raw(body, disk=False)


def older(run: Run, query: Query) -> Raw:
    """The whole trace at once, in the older form."""
    if query.text("format") == "pb":
        timelines = Timelines(run, [0] * len(run.profiles))
        titles = [(f"{name} ", trace) for name, trace in timelines.hosts]
        numbered = zip(timelines.traces, timelines.pid_offsets, strict=True)
        return _binary(titles, [visible(trace, whole([trace]), 0, at, full_dma=False) for trace, at in numbered], [])
    return Raw(_whole(run), disk=False)


def _binary(
    titles: Sequence[timeline_json.Host], selections: Sequence[Selection], options: Sequence[tuple[str, bool]]
) -> Raw:
    traces = [trace for _, trace in titles]
    events = any(len(trace.native) + len(trace.sample_ps) for trace in traces)
    body = _response(titles, selections, whole(traces) if events else None, options)
    return Raw(body, BINARY_TYPE, memory=False)


@derived()
def _fixed_head(host: HostProfile) -> Text:
    return timeline_json.fixed_head([(host.name, timeline_of(host, 0))], [args_of(host, True)])


def _fixed(timelines: Timelines) -> Text:
    """The unchanging part of the streaming form; kept for one host, made anew for several."""
    if len(timelines.hosts) == 1:
        return _fixed_head(timelines.profiles[0])
    return timeline_json.fixed_head(timelines.hosts, timelines.args(folded=True))


@derived()
def _start_levels(host: HostProfile, shift_ps: int) -> None:
    """Computes finer levels of detail in the background: the next window is most likely a smaller one."""
    native = timeline_of(host, shift_ps).native
    if native.on_tracks(THREADS) >= FEW_EVENTS:
        threading.Thread(target=native.compute_levels, args=(1,), name="timeline-levels", daemon=True).start()


@dataclass(frozen=True, slots=True)
class _Part:
    """The part of one host; without events where it would make the answer too large."""

    count: int
    samples: int
    window: Window | None
    has_tpu: bool
    names: tuple[dict[str, dict[str, str]], list[str]]
    counters: bytes = b""
    packed: Packed | None = None
    typed: bytes = b""


def _of_several(run: Run, shifts: Sequence[int], asked: Events) -> Raw:
    """The streaming form of several hosts, one after the other: memory grows with the answer, not with the hosts."""
    hosts = len(run.profiles)
    most = MOST_WITH_ARGS if asked.with_args else MOST_EVENTS
    parts: list[_Part] = []

    def part_of(host: HostProfile, position: int) -> _Part:
        trace = timeline_of(host, shifts[position])
        selection = asked.select(trace, position, hosts)
        fits = sum(part.count for part in parts) + len(selection) <= most
        return _part(host, position, trace, selection, with_args=asked.with_args, fits=fits)

    for part in _each(run, part_of):
        parts.append(part)
        check_size(sum(part.count for part in parts), hosts, with_args=asked.with_args)
    windows = [part.window for part in parts if part.window is not None]
    window = (min(begin for begin, _ in windows), max(end for _, end in windows)) if windows else (0, 0)
    has_tpu, samples = any(part.has_tpu for part in parts), sum(part.samples for part in parts)
    facts = timeline_json.facts_of(has_tpu, window, full_dma=asked.full_dma and not asked.with_args)
    fixed = timeline_json.head_of([part.names for part in parts])
    counters = [part.counters for part in parts if part.counters] if samples <= timeline_json.MOST_SAMPLES else []
    tail = timeline_json.tail_of(sum(part.count for part in parts), samples)
    if asked.with_args:
        return Raw(b"".join([facts, fixed[0], *counters, *(part.typed for part in parts), tail]), disk=False)
    texts = [_packed(timeline_json.deflated(facts)), _packed(fixed)]
    texts += [_packed(timeline_json.deflated(text)) for text in counters]
    texts += [part.packed for part in parts if part.packed is not None]
    body = gzip_file([*texts, _packed(timeline_json.deflated(tail))])
    return Raw(body, disk=False, encoding="gzip", memory=len(body) <= _KEPT_BYTES)


def _whole(run: Run) -> bytes:
    """The whole trace in the older form, of at most `LEGACY_CAP` events; hosts have numbers and names of their own."""
    hosts = len(run.profiles)

    def part_of(host: HostProfile, position: int) -> tuple[bytes, bytes]:
        older = older_timeline_of(host)
        args = trace_args(host.space, older, folded=False) if older else args_of(host, False)
        trace, offset = older or timeline_of(host, 0), pid_offset(position) if hosts > 1 else 0
        names = names_as_text(f"{host.name} " if hosts > 1 else "", trace, offset)
        return names, legacy_events(trace, args, offset, LEGACY_CAP // hosts, b"", b"")

    parts = list(_each(run, part_of))
    return b"".join([HEAD, *(names for names, _ in parts), *(events for _, events in parts), TAIL])


def _each(run: Run, make: Callable[[HostProfile, int], _P]) -> Iterator[_P]:
    """Results of `make` for each host and its position, in order; hosts are dropped once they take up much memory."""
    position = {id(host): i for i, host in enumerate(run.profiles)}
    kept = 0
    if len(position) > 1:
        run.report_progress(len(position), run.profiles)
    for host, part in run.iterate_hosts(lambda host: make(host, position[id(host)])):
        kept += host.size
        if len(position) > 1:
            run.report_progress(len(position), run.profiles[position[id(host)] + 1 :])
            if kept > _KEPT_BYTES:
                host.drop()
        yield part


def _part(
    host: HostProfile, position: int, trace: HostTrace, selection: Selection, *, with_args: bool, fits: bool
) -> _Part:
    has_events = len(trace.native) or trace.sampled_ps is not None
    args = args_of(host, True)
    return _Part(
        count=len(selection),
        samples=selection.samples,
        window=whole([trace]) if has_events else None,
        has_tpu=trace.has_tpu,
        names=timeline_json.names_part((host.name, trace), position, args.stack),
        counters=counter_events(selection) if fits else b"",
        packed=packed_events(selection) if fits and not with_args else None,
        typed=typed_events(selection, args) if fits and with_args else b"",
    )


def _packed(text: Text) -> Packed:
    plain, blocks = text
    return blocks, zlib.crc32(plain), len(plain)


def _response(
    titles: Sequence[tuple[str, HostTrace]],
    selections: Sequence[Selection],
    window: Window | None,
    options: Sequence[tuple[str, bool]],
) -> bytes:
    """The selected events and samples.

    Args:
      titles: per host what stands in front of the names of its processes, and its timeline.
      window: extent of the whole trace in ps; None when it has no events.
      options: what the viewer can turn on, and whether it is.
    """
    head = message("xprof.TraceDataResponse")()
    for (prefix, trace), part in zip(titles, selections, strict=True):
        _name_threads(head, prefix, trace, part.pid_offset)
    for name, value in options:
        head.details.add(name=name, value=value)
    if window is not None:
        head.full_timespan_start_ps, head.full_timespan_end_ps = (max(time, 0) for time in window)
    return _framed(head.SerializeToString() + series_fields(selections))


def _name_threads(head: object, prefix: str, trace: HostTrace, pid_offset: int) -> None:
    for section in trace.sections:
        if not section.has_lines:
            continue
        pid = (section.pid + pid_offset) & 0xFFFFFFFF
        process = head.metadata.processes.add(name=prefix + section.name, id=pid, sort_index=pid)  # type: ignore[attr-defined]
        for track in trace.tracks:
            if track.pid == section.pid and track.counter is None:
                process.threads.add(name=track.name, id=track.tid, sort_index=track.tid)


def _framed(data: bytes) -> bytes:
    """A Zstandard frame (RFC 8878) around bytes that stay as they are: raw blocks, which every decoder reads."""
    blocks = [data[at : at + _LARGEST_BLOCK] for at in range(0, len(data), _LARGEST_BLOCK)] or [b""]
    out = [_MAGIC, _DESCRIPTOR, len(data).to_bytes(8, "little")]
    for number, block in enumerate(blocks, start=1):
        out += [(8 * len(block) + (number == len(blocks))).to_bytes(3, "little"), block]
    return b"".join(out)


PARAMS = (
    Param("format", "string", "json", "Form of the answer.", choices=("json", "pb", *FORMS)),
    Param("full_dma", "bool", False, "Also events in the middle of flows on TPUs, such as transfers."),
    Param("full_args", "string", "0", "Whether events have all their arguments.", choices=SWITCH),
    Param("event_name", "string", None, "Name of one event to answer with all its arguments."),
    Param("duration_ms", "float", 0.0, "Duration of that event in ms."),
    Param("unique_id", "int", 0, "Number of that event among those that begin at the same time."),
    Param("search_prefix", "string", None, "Prefix of the names of events to answer."),
    Param("search_metadata", "bool", False, "Whether the found events have their arguments."),
    *(param for param in trace_viewer.PARAMS if param.name != "format"),
)


def build(run: Run, query: Query) -> Payload:
    """The answer in the asked form, also in those of our page; XProf names a single event whatever the form."""
    form, shifts = query.text("format"), clock_shifts(query)
    if form in FORMS:
        return trace_viewer.build(run, query)
    run = run.as_recorded() if as_recorded(query) else run
    timelines = Timelines(run, [shifts.get(host, 0) for host in run.hosts])
    if query.text("event_name"):
        return details(timelines, query)
    return (streaming_binary if form == "pb" else streaming)(timelines, query)


TOOL = replace(trace_viewer.TOOL, build=build, params=PARAMS)

LEGACY = Tool(
    id="trace_viewer",
    title="Trace viewer (whole)",
    group="Time",
    summary="The whole timeline as a Chrome trace, for other programs.",
    build=older,
    hosts=HostChoice.SEVERAL,
    params=(Param("format", "string", "json", "Form of the answer.", choices=("json", "pb")),),
    offered=False,
)
