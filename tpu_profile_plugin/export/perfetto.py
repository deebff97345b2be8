"""The timeline of a run for Perfetto: a process per plane, a track per line, with slices, flows and counters.

Rows and names are those of the trace viewer's page. Each host is one sequence of packets. Events that overlap without
nesting are on further tracks of the same name, which Perfetto draws together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tpu_profile_plugin import _native
from tpu_profile_plugin.analysis.common.planes import is_host
from tpu_profile_plugin.analysis.timeline.host import HostTrace, Titles, Track, host_trace, titles
from tpu_profile_plugin.analysis.timeline.tracks import CONTEXT_ARGS, HOST_STRIDE, Section, broken
from tpu_profile_plugin.analysis.timeline.window import TraceArgs, trace_args
from tpu_profile_plugin.export.timelines import clock_shifts, opened, utf8
from tpu_profile_plugin.export.write import Form, Options, Report
from tpu_profile_plugin.protos import enum_number, message
from tpu_profile_plugin.run.host import HostProfile
from tpu_profile_plugin.run.preprocessing import preprocess
from tpu_profile_plugin.run.run import Run

DAY_NS = 86_400 * 10**9
"""Time 0 of a recording whose start is unknown, as times of the file cannot be negative."""

DERIVED, DEVICE, HOST = "derived", "device", "host"
"""Categories of events without one of their own."""

_EVENTS = 1 << 16
"""Events per write."""
_PID_BITS = 0x7FFFFFFF
_UNITS = {"bytes": {"unit": "UNIT_SIZE_BYTES"}, "percent": {"unit_name": "%"}}

Write = Callable[[bytes], object]


def _write(run: Run, path: Path, options: Options, report: Report) -> None:
    shifts = clock_shifts(run) if options.align else {}
    several = len(run.readable) > 1
    numbers = _Numbers()
    with opened(path) as write:
        for host, timeline in run.iterate_hosts(_timeline):
            _Host(write, numbers, host.name, timeline, report, several=several).write(shifts.get(host.name, 0))
            del timeline
            host.release()


def _timeline(host: HostProfile) -> tuple[HostTrace, TraceArgs, Titles]:
    space = host.space
    trace = host_trace(space, broken(space, preprocess(space)))
    return trace, trace_args(space, trace, folded=True, hidden=CONTEXT_ARGS), titles(space, trace)


class _Numbers:
    """Numbers that are unique in a file, and the time of ps 0.

    Attributes:
      hosts: hosts so far.
      track, flow: the next ones.
      origin_ns: Unix time if it is known, else `DAY_NS`; None before the first host.
    """

    def __init__(self) -> None:
        self.hosts = 0
        self.track = 1
        self.flow = 1
        self.origin_ns: int | None = None


class _Host:
    """Writes the packets of one host."""

    def __init__(
        self,
        write: Write,
        numbers: _Numbers,
        name: str,
        timeline: tuple[HostTrace, TraceArgs, Titles],
        report: Report,
        *,
        several: bool,
    ) -> None:
        self._out, self._numbers, self._report, self._several = write, numbers, report, several
        self._name = utf8(name)
        self._trace, self._args, self._titles = timeline
        numbers.hosts += 1
        self._sizes = self._trace.native.track_sizes().tolist()
        self._first = True
        self._done = self._waiting = 0

    def write(self, shift_ps: int) -> None:
        """Writes everything, with its clock moved by `shift_ps`."""
        trace, numbers = self._trace, self._numbers
        if numbers.origin_ns is None:
            numbers.origin_ns = trace.time_origin_ns or DAY_NS
            if trace.time_origin_ns:
                self._clocks(numbers.origin_ns)
        self._writer = _native.PerfettoWriter(
            *(trace.native, numbers.hosts, numbers.origin_ns, shift_ps, numbers.flow, list(self._categories()))
        )
        tracks: dict[int, list[tuple[int, Track]]] = {}
        for i, track in enumerate(trace.tracks):
            tracks.setdefault(track.pid, []).append((i, track))
        for rank, section in enumerate(trace.sections):
            # Planes with the same id are one process, as in the trace viewer.
            self._process(section, rank, tracks.pop(section.pid, []))
        self._write_events()
        numbers.flow = self._writer.next_flow

    def _categories(self) -> Iterator[str]:
        """Category of the events of each source."""
        planes = {section.plane: section.name for section in self._trace.sections}
        for source in self._trace.sources:
            yield DERIVED if source.line is not None else HOST if is_host(planes[source.plane]) else DEVICE

    def _process(self, section: Section, rank: int, tracks: list[tuple[int, Track]]) -> None:
        """A section of the timeline with its tracks, each with its index; nothing without tracks."""
        if not tracks:
            return
        title = self._titles.sections.get(section.pid, section.name)
        name = f"{self._name} {title}" if self._several else title
        offset = HOST_STRIDE * self._numbers.hosts if self._several else 0
        pid = (section.pid + offset) & _PID_BITS
        process = {"pid": pid, "process_name": name, "legacy_sort_index": rank, "process_labels": [self._name]}
        parent = self._described(1, process=process, child_ordering="EXPLICIT")
        derived = {line.name for line in self._trace.extras.planes[section.plane].lines}
        for i, track in tracks:
            if track.counter is not None:
                self._counter(track.counter, parent, i)
                continue
            name = self._titles.tracks.get(i, track.name)
            is_thread = is_host(section.name) and track.tid > 0 and track.name not in derived
            thread = {"thread": {"pid": pid, "tid": track.tid, "thread_name": name}} if is_thread else {}
            self._track(i, name, parent, thread)

    def _track(self, index: int, name: str, parent: int, thread: dict[str, Any]) -> None:
        """Describes a track and has its events written later; the first of its lanes is the thread if it is one."""
        lanes = self._writer.add(index, self._numbers.track)
        if not lanes:
            return
        # Lines of the same name are not the same.
        place = {"name": name, "sibling_order_rank": index, "sibling_merge_key": str(index)}
        place["sibling_merge_behavior"] = "SIBLING_MERGE_BEHAVIOR_BY_SIBLING_MERGE_KEY"
        first = self._described(lanes, **(thread or place), parent_uuid=parent)
        for lane in range(1, lanes):
            self._described(0, uuid=first + lane, parent_uuid=first if thread else parent, **place)
        self._waiting += self._sizes[index]
        if self._waiting >= _EVENTS:
            self._write_events()

    def _write_events(self) -> None:
        """Writes the events of the tracks so far."""
        while packets := self._writer.events(self._args, _EVENTS):
            self._out(packets)
            self._report(f"{self._name}, {self._done:,} of {len(self._trace.native):,} events")
            self._done += min(self._waiting, _EVENTS)
            self._waiting = max(self._waiting - _EVENTS, 0)

    def _counter(self, number: int, parent: int, rank: int) -> None:
        counter = self._trace.counters[number]
        unit = _UNITS.get(counter.unit, {})
        track = self._described(1, name=counter.title, parent_uuid=parent, sibling_order_rank=rank, counter={**unit})
        self._out(self._writer.counter(track, counter.begin_ps, counter.value))

    def _clocks(self, time_ns: int) -> None:
        """Tells that times of the file are those of the calendar."""
        kinds = (
            enum_number("perfetto.protos.BuiltinClock", f"BUILTIN_CLOCK_{name}") for name in ("BOOTTIME", "REALTIME")
        )
        self._packet(clock_snapshot={"clocks": [{"clock_id": kind, "timestamp": time_ns} for kind in kinds]})

    def _described(self, count: int, **track: Any) -> int:
        """Writes the descriptor of a track; returns its number, the first of `count`."""
        uuid = track.setdefault("uuid", self._numbers.track)
        self._numbers.track += count
        self._packet(track_descriptor=track)
        return int(uuid)

    def _packet(self, **packet: Any) -> None:
        """Writes a packet; the first one of the host begins its sequence."""
        flag = "SEQ_INCREMENTAL_STATE_CLEARED" if self._first else "SEQ_NEEDS_INCREMENTAL_STATE"
        self._first = False
        packet["sequence_flags"] = enum_number("perfetto.protos.TracePacket.SequenceFlags", flag)
        packet["trusted_packet_sequence_id"] = self._numbers.hosts
        self._out(message("perfetto.protos.Trace")(packet=[packet]).SerializeToString())


PERFETTO = Form("perfetto", "a trace for ui.perfetto.dev", directory=False, takes=("align",), write=_write)
