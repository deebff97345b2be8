"""A trace of collectives as a Perfetto file: descriptors of tracks, begins and ends of events, numbered texts.

All packets form one sequence; texts precede the events that use them.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from functools import partial

import numpy as np

from tpu_profile_plugin.analysis.megascale.network import Counter
from tpu_profile_plugin.analysis.megascale.trace import (
    Arguments,
    Names,
    Trace,
    Track,
    arguments,
    plane_arguments,
    shown_name,
)
from tpu_profile_plugin.columns.arrays import I64, U64
from tpu_profile_plugin.columns.tables import Kind
from tpu_profile_plugin.protos import enum_number, tag
from tpu_profile_plugin.tools.fleet.megascale_stats.messages import Packed, Rows
from tpu_profile_plugin.units import PS_PER_NS

_packet, _event, _descriptor, _annotation = (
    partial(tag, f"perfetto.protos.{name}")
    for name in ("TracePacket", "TrackEvent", "TrackDescriptor", "DebugAnnotation")
)
_SEQUENCE = 1
_BATCH = 50_000
"""Events per batch."""
_LEVEL = 1


class TraceWriter:
    """Writes a trace as compressed bytes."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._uuid = 0
        self._written = {"event_names": 0, "debug_annotation_names": 0, "debug_annotation_string_values": 0}
        self._first = True

    def compressed(self, counters: Iterable[Counter]) -> bytes:
        """The file, one gzip member."""
        packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, zlib.MAX_WBITS | 16)
        parts = [packer.compress(part) for part in self._packets(list(counters))]
        return b"".join((*parts, packer.flush()))

    def _packets(self, counters: list[Counter]) -> Iterator[bytes]:
        yield from self._counters(counters)
        if not self._trace.tracks:
            return
        tpus = self._next()
        yield self._described(tpus, "2. TPUs", 0)
        for device, tracks in _by_device(self._trace.tracks):
            plane = self._next()
            yield self._described(plane, f"/device:TPU:{device}", tpus)
            yield from self._tracks([track for track in tracks if not track.runtime], plane)
            runtime = [track for track in tracks if track.runtime]
            if runtime:
                graphs = self._next()
                yield self._described(graphs, "Megascale", plane)
                yield from self._tracks(runtime, graphs)

    def _tracks(self, tracks: list[Track], parent: int) -> Iterator[bytes]:
        uuids: dict[int, int] = {}
        for batch in _batches(tracks):
            for place in dict.fromkeys(place for place, _ in batch):
                if place not in uuids:
                    uuids[place] = self._next()
                    yield self._described(uuids[place], shown_name(tracks[place]), parent)
            parts = [part for _, part in batch]
            plane = parts[0].plane
            shared = self._trace.once(plane, "arguments", partial(plane_arguments, self._trace, plane))
            args = arguments(self._trace, shared, parts)
            events = self._events(parts, [uuids[place] for place, _ in batch], args)
            yield self._texts()
            yield events

    def _next(self) -> int:
        self._uuid += 1
        return self._uuid

    def _described(self, uuid: int, name: str, parent: int, counter: Packed | None = None) -> bytes:
        rows = Rows(1)
        rows.varint(_descriptor("uuid"), np.array([uuid]))
        rows.bytes(_descriptor("name"), Packed.of([name.encode()]))
        if parent:
            rows.varint(_descriptor("parent_uuid"), np.array([parent]))
        if counter is not None:
            rows.bytes(_descriptor("counter"), counter)
        packet = Rows(1)
        packet.bytes(_packet("track_descriptor"), rows.packed())
        return self._finished(packet, 1)

    def _finished(self, packet: Rows, count: int) -> bytes:
        """The packets with their common fields; the first packet begins the sequence."""
        flags = np.full(count, enum_number("perfetto.protos.TracePacket.SequenceFlags", "SEQ_NEEDS_INCREMENTAL_STATE"))
        if self._first:
            flags[0] |= enum_number("perfetto.protos.TracePacket.SequenceFlags", "SEQ_INCREMENTAL_STATE_CLEARED")
            self._first = False
        packet.varint(_packet("trusted_packet_sequence_id"), np.full(count, _SEQUENCE))
        packet.varint(_packet("sequence_flags"), flags)
        file = Rows(count)
        file.bytes(tag("perfetto.protos.Trace", "packet"), packet.packed())
        return file.packed().data.tobytes()

    def _texts(self) -> bytes:
        """A packet with the texts added since the last such packet."""
        tables = {
            "event_names": self._trace.labels,
            "debug_annotation_names": self._trace.keys,
            "debug_annotation_string_values": self._trace.texts,
        }
        data = Rows(1)
        for kind, names in tables.items():
            data.bytes(tag("perfetto.protos.InternedData", kind), *self._entries(kind, names))
        packet = Rows(1)
        packet.bytes(_packet("interned_data"), data.packed())
        return self._finished(packet, 1)

    def _entries(self, kind: str, names: Names) -> tuple[Packed, I64]:
        first = self._written[kind]
        texts = names.all()[first:]
        self._written[kind] += len(texts)
        entry = Rows(len(texts))
        entry.varint(tag("perfetto.protos.InternedText", "iid"), first + 1 + np.arange(len(texts)))
        entry.bytes(tag("perfetto.protos.InternedText", "text"), Packed.of([text.encode() for text in texts]))
        return entry.packed(), np.zeros(len(texts), np.int64)

    def _events(self, tracks: list[Track], uuids: list[int], args: Arguments) -> bytes:
        """Begin and end of every event, adjacent; instants have no end."""
        begin, duration, label = (
            np.concatenate([getattr(track, name) for track in tracks]) for name in ("begin_ps", "duration_ps", "label")
        )
        uuid = np.repeat(uuids, [len(track) for track in tracks])
        instant = duration == 0
        begins = np.arange(len(begin)) + np.cumsum(np.append(0, ~instant))[:-1]
        ends = begins[~instant] + 1
        count = len(begin) + len(ends)
        time, owner, kind = np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count, np.int64)
        time[begins], time[ends] = self._ns(begin), self._ns((begin + duration)[~instant])
        owner[begins], owner[ends] = uuid, uuid[~instant]
        kind[begins] = np.where(instant, _type("INSTANT"), _type("SLICE_BEGIN"))
        kind[ends] = _type("SLICE_END")
        event = Rows(count)
        event.varint(_event("track_uuid"), owner)
        event.varint(_event("type"), kind)
        event.varint(_event("name_iid"), label + 1, begins)
        event.bytes(_event("debug_annotations"), *_annotations(args, begins))
        flow, rows = _flows(tracks, begins, instant)
        event.fixed64(_event("flow_ids"), flow, rows)
        packet = Rows(count)
        packet.varint(_packet("timestamp"), time)
        packet.bytes(_packet("track_event"), event.packed())
        return self._finished(packet, count)

    def _ns(self, time_ps: I64) -> I64:
        return time_ps // PS_PER_NS + self._trace.space.origin_ns

    def _counters(self, counters: list[Counter]) -> Iterator[bytes]:
        if not counters:
            return
        top = self._next()
        yield self._described(top, "1. Global Counters", 0)
        group, parent = "", 0
        for counter in counters:
            if counter.group != group:
                group, parent = counter.group, self._next()
                yield self._described(parent, group, top)
            uuid = self._next()
            about = Rows(1)
            about.bytes(tag("perfetto.protos.CounterDescriptor", "unit_name"), Packed.of([counter.unit.encode()]))
            share = Packed.of([counter.scale.encode()])
            about.bytes(tag("perfetto.protos.CounterDescriptor", "y_axis_share_key"), share)
            yield self._described(uuid, counter.name, parent, about.packed())
            yield self._samples(counter, uuid)

    def _samples(self, counter: Counter, uuid: int) -> bytes:
        count = len(counter.time_ps)
        event = Rows(count)
        event.varint(_event("track_uuid"), np.full(count, uuid))
        event.varint(_event("type"), np.full(count, _type("COUNTER")))
        if counter.value.dtype == np.float64:
            event.fixed64(_event("double_counter_value"), counter.value.view(np.uint64))
        else:
            event.varint(_event("counter_value"), counter.value.astype(np.int64))
        packet = Rows(count)
        packet.varint(_packet("timestamp"), self._ns(counter.time_ps))
        packet.bytes(_packet("track_event"), event.packed())
        return self._finished(packet, count)


def _type(name: str) -> int:
    return enum_number("perfetto.protos.TrackEvent.Type", f"TYPE_{name}")


def _by_device(tracks: list[Track]) -> Iterator[tuple[int, list[Track]]]:
    of: dict[int, list[Track]] = {}
    for track in tracks:
        of.setdefault(track.device, []).append(track)
    yield from of.items()


def _batches(tracks: list[Track]) -> Iterator[list[tuple[int, Track]]]:
    """Index ranges of neighbouring tracks of one plane; long tracks are split."""
    batch: list[tuple[int, Track]] = []
    size = 0
    for place, track in enumerate(tracks):
        for part in track.parts(_BATCH):
            if batch and (track.plane is not batch[0][1].plane or size + len(part) > _BATCH):
                yield batch
                batch, size = [], 0
            batch.append((place, part))
            size += len(part)
    if batch:
        yield batch


def _annotations(args: Arguments, packet: I64) -> tuple[Packed, I64]:
    """The arguments of all events, and the packet of each; a repeated name has a list of values."""
    order = _by_name(args)
    event, key = args.event[order], args.key[order]
    first = _starts(event, key)
    count = np.diff(np.append(first, len(event)))
    group = np.repeat(np.arange(len(first)), count)
    several = (count > 1)[group]
    made = Rows(len(first))
    made.varint(_annotation("name_iid"), key[first] + 1)
    kind, value = args.kind[order], args.value[order]
    _values(made, kind[~several], value[~several], group[~several])
    entries = Rows(int(several.sum()))
    _values(entries, kind[several], value[several], np.arange(int(several.sum())))
    made.bytes(_annotation("array_values"), entries.packed(), group[several])
    return made.packed(), packet[event[first]]


def _by_name(args: Arguments) -> I64:
    """Order that makes equal names of an event adjacent, names in order of appearance."""
    order = np.lexsort((args.key, args.event))
    first = _starts(args.event[order], args.key[order])
    appears = np.empty(len(order), np.int64)
    appears[order] = np.repeat(order[first], np.diff(np.append(first, len(order))))
    return np.argsort(appears, kind="stable")


def _starts(event: I64, key: I64) -> I64:
    """Where the event or the key changes."""
    return np.flatnonzero(np.append(True, (np.diff(event) != 0) | (np.diff(key) != 0))[: len(event)])


def _values(made: Rows, kind: np.ndarray[tuple[int], np.dtype[np.uint8]], value: U64, rows: I64) -> None:
    for wanted, field in ((Kind.INT64, "int_value"), (Kind.UINT64, "uint_value"), (Kind.STR, "string_value_iid")):
        chosen = kind == wanted
        made.varint(_annotation(field), value[chosen] + np.uint64(wanted == Kind.STR), rows[chosen])
    chosen = kind == Kind.DOUBLE
    made.fixed64(_annotation("double_value"), value[chosen], rows[chosen])


def _flows(tracks: list[Track], packet: I64, instant: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> tuple[U64, I64]:
    """Flow numbers and their packets; a flow enters at the begin of an event and leaves at its end."""
    flows, rows = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    first = 0
    for track in tracks:
        for event, number in track.enters:
            flows.append(number)
            rows.append(packet[first + event])
        for event, number in track.leaves:
            flows.append(number)
            rows.append(packet[first + event] + ~instant[first + event])
        first += len(track)
    row, flow = np.concatenate(rows), np.concatenate(flows)
    order = np.argsort(row, kind="stable")
    return flow[order].view(np.uint64), row[order]
