"""Timelines of hosts as packets of Perfetto: a process per plane, a track per line, with slices, flows and counters.

Rows and names are those of the trace viewer's page. Each host is one sequence of packets. Events that overlap without
nesting are on further tracks of the same name, which Perfetto draws together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tpu_profile_plugin import _native
from tpu_profile_plugin.analysis.common.planes import is_host
from tpu_profile_plugin.analysis.timeline.host import Counter, HostTrace, Titles, Track
from tpu_profile_plugin.analysis.timeline.tracks import HOST_STRIDE, Section
from tpu_profile_plugin.analysis.timeline.window import TraceArgs
from tpu_profile_plugin.protos import enum_number, message

DAY_NS = 86_400 * 10**9
"""Time 0 of a recording whose start is unknown, as times of the file cannot be negative."""

DERIVED, DEVICE, HOST = "derived", "device", "host"
"""Categories of events without one of their own."""

_EVENTS = 1 << 16
"""Events of a part of the file."""
_PID_BITS = 0x7FFFFFFF
_UNITS = {"bytes": {"unit": "UNIT_SIZE_BYTES"}, "percent": {"unit_name": "%"}}


class Sequence:
    """Packets that share numbers of texts; the first one begins the sequence."""

    def __init__(self, number: int) -> None:
        self.number = number
        self._flag = "SEQ_INCREMENTAL_STATE_CLEARED"

    def packet(self, **fields: Any) -> bytes:
        """A packet with fields of `TracePacket`, as part of a file."""
        fields["sequence_flags"] = enum_number("perfetto.protos.TracePacket.SequenceFlags", self._flag)
        self._flag = "SEQ_NEEDS_INCREMENTAL_STATE"
        fields["trusted_packet_sequence_id"] = self.number
        packed: bytes = message("perfetto.protos.Trace")(packet=[fields]).SerializeToString()
        return packed


class Packets:
    """Packets of the hosts of a file: numbers of tracks and flows are unique in it, and all share the time of ps 0.

    Attributes:
      done: events of the host that are written.
    """

    def __init__(self) -> None:
        self.done = 0
        self._hosts = 0
        self._track = 1
        self._flow = 1
        self._origin_ns: int | None = None

    def of_host(
        self,
        name: str,
        trace: HostTrace,
        args: TraceArgs,
        titles: Titles,
        *,
        several: bool,
        shift_ps: int = 0,
        window: tuple[int, int] | None = None,
    ) -> Iterator[bytes]:
        """The packets of one host in parts.

        Args:
          name: of the host; bytes that are not UTF-8 become question marks.
          several: the file has other hosts, too.
          shift_ps: added to all times.
          window: begin and end in ps of the events that are written; None: all.
        """
        name = name.encode(errors="replace").decode()
        self._hosts += 1
        self.done = 0
        sequence = Sequence(self._hosts)
        if self._origin_ns is None:
            self._origin_ns = trace.time_origin_ns or DAY_NS
            if trace.time_origin_ns:
                yield sequence.packet(clock_snapshot=_clocks(self._origin_ns))
        writer = _native.PerfettoWriter(
            *(trace.native, self._hosts, self._origin_ns, shift_ps, self._flow, list(_categories(trace))),
            *(() if window is None else (window,)),
        )
        host = _Host(name, trace, titles, args, writer, sequence, several, window)
        tracks: dict[int, list[tuple[int, Track]]] = {}
        for i, track in enumerate(trace.tracks):
            tracks.setdefault(track.pid, []).append((i, track))
        for rank, section in enumerate(trace.sections):
            # Planes with the same id are one process, as in the trace viewer.
            yield from self._process(host, section, rank, tracks.pop(section.pid, []))
        yield from self._events(host)
        self._flow = writer.next_flow

    def _process(self, host: _Host, section: Section, rank: int, tracks: list[tuple[int, Track]]) -> Iterator[bytes]:
        """A section of the timeline with its tracks, each with its index; nothing without tracks."""
        if not tracks:
            return
        title = host.titles.sections.get(section.pid, section.name)
        name = f"{host.name} {title}" if host.several else title
        pid = (section.pid + (HOST_STRIDE * self._hosts if host.several else 0)) & _PID_BITS
        process = {"pid": pid, "process_name": name, "legacy_sort_index": rank, "process_labels": [host.name]}
        parent = self._numbers(1)
        descriptor = {"uuid": parent, "process": process, "child_ordering": "EXPLICIT"}
        yield host.sequence.packet(track_descriptor=descriptor)
        derived = {line.name for line in host.trace.extras.planes[section.plane].lines}
        waiting, sizes = 0, host.trace.native.track_sizes()
        for i, track in tracks:
            if track.counter is not None:
                yield from self._counter(host, host.trace.counters[track.counter], parent, i)
                continue
            name = host.titles.tracks.get(i, track.name)
            is_thread = is_host(section.name) and track.tid > 0 and track.name not in derived
            thread = {"thread": {"pid": pid, "tid": track.tid, "thread_name": name}} if is_thread else {}
            yield from self._lanes(host, i, name, parent, thread)
            waiting += int(sizes[i])
            if waiting >= _EVENTS:
                yield from self._events(host)
                waiting = 0

    def _lanes(self, host: _Host, index: int, name: str, parent: int, thread: dict[str, Any]) -> Iterator[bytes]:
        """Describes a track, whose events are written later; the first of its lanes is the thread if it is one."""
        lanes = host.writer.add(index, self._track)
        if not lanes:
            return
        # Lines of the same name are not the same.
        place = {"name": name, "sibling_order_rank": index, "sibling_merge_key": str(index)}
        place["sibling_merge_behavior"] = "SIBLING_MERGE_BEHAVIOR_BY_SIBLING_MERGE_KEY"
        first = self._numbers(lanes)
        yield host.sequence.packet(track_descriptor={"uuid": first, "parent_uuid": parent, **(thread or place)})
        for lane in range(1, lanes):
            further = {"uuid": first + lane, "parent_uuid": first if thread else parent, **place}
            yield host.sequence.packet(track_descriptor=further)

    def _events(self, host: _Host) -> Iterator[bytes]:
        """The events of the tracks so far."""
        while packets := host.writer.events(host.args, _EVENTS):
            self.done = min(self.done + _EVENTS, len(host.trace.native))
            yield packets

    def _counter(self, host: _Host, counter: Counter, parent: int, rank: int) -> Iterator[bytes]:
        begin, value = counter.begin_ps, counter.value
        if host.window is not None:
            shown = slice(*np.searchsorted(begin, (host.window[0], host.window[1] + 1)).tolist())
            begin, value = begin[shown], value[shown]
            if not len(begin):
                return
        uuid = self._numbers(1)
        described = {"uuid": uuid, "name": counter.title, "parent_uuid": parent, "sibling_order_rank": rank}
        yield host.sequence.packet(track_descriptor={**described, "counter": _UNITS.get(counter.unit, {})})
        yield host.writer.counter(uuid, begin, value)

    def _numbers(self, count: int) -> int:
        """The first of `count` numbers of tracks."""
        first = self._track
        self._track += count
        return first


@dataclass(frozen=True, slots=True, eq=False)
class _Host:
    """Inputs of the packets of one host."""

    name: str
    trace: HostTrace
    titles: Titles
    args: TraceArgs
    writer: _native.PerfettoWriter
    sequence: Sequence
    several: bool
    window: tuple[int, int] | None


def _categories(trace: HostTrace) -> Iterator[str]:
    """Category of the events of each source."""
    planes = {section.plane: section.name for section in trace.sections}
    for source in trace.sources:
        yield DERIVED if source.line is not None else HOST if is_host(planes[source.plane]) else DEVICE


def _clocks(time_ns: int) -> dict[str, Any]:
    """Tells that times of the file are those of the calendar."""
    kinds = (enum_number("perfetto.protos.BuiltinClock", f"BUILTIN_CLOCK_{name}") for name in ("BOOTTIME", "REALTIME"))
    return {"clocks": [{"clock_id": kind, "timestamp": time_ns} for kind in kinds]}
