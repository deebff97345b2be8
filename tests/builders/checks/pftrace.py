"""Reads an exported Perfetto trace with Perfetto's own messages, by the rules that its documentation gives.

A sequence begins with a packet that clears its state. Numbers of texts are known before they are used, and tracks
described before their events. Events, sorted by time with ties as in the file, open and close slices that nest.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TracePacket, TrackDescriptor, TrackEvent

_TEXTS = ("event_categories", "event_names", "debug_annotation_names", "debug_annotation_string_values")
_CLEARED = TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
_NEEDED = TracePacket.SEQ_NEEDS_INCREMENTAL_STATE


@dataclass(slots=True)
class Slice:
    """A slice or instant (`end_ns` None); `depth` on its lane."""

    begin_ns: int
    end_ns: int | None
    name: str
    category: str
    args: dict[str, Any]
    flows: tuple[int, ...]
    depth: int = 0


@dataclass(slots=True)
class Lane:
    """A track of the file: its descriptor, and that of its process."""

    descriptor: Any
    process: Any
    slices: list[Slice] = field(default_factory=list)
    samples: list[tuple[int, float]] = field(default_factory=list)


@dataclass(slots=True)
class Read:
    """The tracks by number in the order of the file, and what clocks showed at the same time."""

    lanes: dict[int, Lane]
    clocks: dict[int, int]

    def lines(self) -> dict[tuple[str, str], list[Slice]]:
        """Slices by process and track; lanes of one track are put together."""
        lines: dict[tuple[str, str], list[Slice]] = defaultdict(list)
        for lane in self.lanes.values():
            if lane.slices:
                name = lane.descriptor.name or lane.descriptor.thread.thread_name
                lines[lane.process.process.process_name, name] += lane.slices
        return dict(lines)

    def flows(self) -> dict[int, list[tuple[int, str]]]:
        """(Begin, name) of the slices of each flow, by time."""
        ends: dict[int, list[tuple[int, str]]] = defaultdict(list)
        for lane in self.lanes.values():
            for one in lane.slices:
                for flow in one.flows:
                    ends[flow].append((one.begin_ns, one.name))
        return {flow: sorted(places) for flow, places in ends.items()}


def read(path: Path) -> Read:
    """Reads a file and checks its rules."""
    trace = Trace.FromString(path.read_bytes())
    texts: dict[int, dict[str, dict[int, Any]]] = {}
    lanes: dict[int, Lane] = {}
    clocks: dict[int, int] = {}
    events = []
    for packet in trace.packet:
        sequence = packet.trusted_packet_sequence_id
        assert sequence > 0
        assert packet.sequence_flags == (_NEEDED if sequence in texts else _CLEARED)
        known = texts.setdefault(sequence, {kind: {} for kind in _TEXTS})
        if packet.HasField("clock_snapshot"):
            clocks.update((one.clock_id, one.timestamp) for one in packet.clock_snapshot.clocks)
        if packet.HasField("interned_data"):
            for kind in _TEXTS:
                for one in getattr(packet.interned_data, kind):
                    assert one.iid > 0
                    assert one.iid not in known[kind]
                    known[kind][one.iid] = one.str.decode() if kind == _TEXTS[3] else one.name
        if packet.HasField("track_descriptor"):
            _describe(lanes, packet.track_descriptor)
        if packet.HasField("track_event"):
            events.append((packet.timestamp, packet.track_event, known))
    last: dict[int, int] = defaultdict(int)
    for time, event, _ in events:
        assert time >= last[event.track_uuid]
        last[event.track_uuid] = time
    _replay(lanes, events)
    return Read(lanes, clocks)


def _describe(lanes: dict[int, Lane], track: Any) -> None:
    assert track.uuid > 0
    assert track.uuid not in lanes
    process = track
    if not track.HasField("process"):
        parent = lanes[track.parent_uuid]
        process = parent.process
        assert process.child_ordering == TrackDescriptor.EXPLICIT
    if track.HasField("thread"):
        assert track.thread.pid == process.process.pid
    lanes[track.uuid] = Lane(track, process)


def _replay(lanes: dict[int, Lane], events: list[tuple[int, Any, dict[str, dict[int, Any]]]]) -> None:
    open_slices: dict[int, list[Slice]] = defaultdict(list)
    for time, event, texts in sorted(events, key=lambda one: one[0]):
        lane, stack = lanes[event.track_uuid], open_slices[event.track_uuid]
        assert lane.descriptor.HasField("counter") == (event.type == TrackEvent.TYPE_COUNTER)
        if event.type == TrackEvent.TYPE_COUNTER:
            lane.samples.append((time, getattr(event, event.WhichOneof("counter_value_field"))))
        elif event.type == TrackEvent.TYPE_SLICE_END:
            stack.pop().end_ns = time
        else:
            category = ",".join(texts["event_categories"][iid] for iid in event.category_iids)
            name = texts["event_names"][event.name_iid]
            made = Slice(time, None, name, category, _args(event, texts), tuple(event.flow_ids), len(stack))
            assert 0 not in made.flows
            lane.slices.append(made)
            if event.type == TrackEvent.TYPE_SLICE_BEGIN:
                stack.append(made)
            else:
                assert event.type == TrackEvent.TYPE_INSTANT
    assert not any(open_slices.values())


def _args(event: Any, texts: dict[str, dict[int, Any]]) -> dict[str, Any]:
    args: dict[str, Any] = {}
    for one in event.debug_annotations:
        name, which = texts["debug_annotation_names"][one.name_iid], one.WhichOneof("value")
        assert name not in args
        is_text = which == "string_value_iid"
        args[name] = texts["debug_annotation_string_values"][one.string_value_iid] if is_text else getattr(one, which)
    return args
