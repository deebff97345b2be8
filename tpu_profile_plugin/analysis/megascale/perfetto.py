"""A trace of collectives as a Perfetto file: descriptors of tracks, begins and ends of events, numbered texts.

All packets form one sequence; texts precede the events that use them.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from functools import partial

import numpy as np

from tpu_profile_plugin import _native
from tpu_profile_plugin.analysis.megascale.network import Counter
from tpu_profile_plugin.analysis.megascale.trace import (
    Arguments,
    Trace,
    Track,
    arguments,
    plane_arguments,
    shown_name,
)
from tpu_profile_plugin.analysis.timeline.packets import Sequence
from tpu_profile_plugin.columns.arrays import I64, U64, Bools

_SEQUENCE = 1
_BATCH = 50_000
"""Events per batch."""
_LEVEL = 1


class TraceWriter:
    """Writes a trace as compressed bytes."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._sequence = Sequence(_SEQUENCE)
        self._uuid = 0
        self._written = {"event_names": 0, "debug_annotation_names": 0, "debug_annotation_string_values": 0}

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

    def _described(self, uuid: int, name: str, parent: int, counter: dict[str, str] | None = None) -> bytes:
        more = {} if counter is None else {"counter": counter}
        return self._sequence.packet(track_descriptor={"uuid": uuid, "name": name, "parent_uuid": parent, **more})

    def _texts(self) -> bytes:
        """A packet with the texts added since the last such packet."""
        tables = {
            "event_names": self._trace.labels,
            "debug_annotation_names": self._trace.keys,
            "debug_annotation_string_values": self._trace.texts,
        }
        data = {}
        for kind, names in tables.items():
            first = self._written[kind]
            texts = names.all()[first:]
            self._written[kind] += len(texts)
            data[kind] = [{"iid": iid, "text": text.encode()} for iid, text in enumerate(texts, first + 1)]
        return self._sequence.packet(interned_data=data)

    def _events(self, tracks: list[Track], uuids: list[int], args: Arguments) -> bytes:
        """Begin and end of every event, adjacent; instants have no end."""
        uuid = np.repeat(np.array(uuids, np.int64), [len(track) for track in tracks])
        begin, duration, label = (
            np.concatenate([getattr(track, name) for track in tracks]) for name in ("begin_ps", "duration_ps", "label")
        )
        ordered = args.event, args.key, args.kind, args.value
        origin_ns = self._trace.space.origin_ns
        return _native.perfetto_events(_SEQUENCE, origin_ns, (uuid, begin, duration, label), ordered, _flows(tracks))

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
            unit = {"unit_name": counter.unit, "y_axis_share_key": counter.scale}
            yield self._described(uuid, counter.name, parent, unit)
            value = counter.value.astype(np.float64)
            yield _native.perfetto_samples(_SEQUENCE, self._trace.space.origin_ns, uuid, counter.time_ps, value)


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


def _flows(tracks: list[Track]) -> tuple[I64, U64, Bools]:
    """Flows by event, numbered across the tracks, with their numbers; one that leaves does so at the event's end."""
    first = np.cumsum([0, *map(len, tracks)]).tolist()
    parts = [
        (first[i] + event, number, np.full(len(event), leaves))
        for i, track in enumerate(tracks)
        for leaves, flows in ((False, track.enters), (True, track.leaves))
        for event, number in flows
    ]
    none = np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.bool_)
    event, number, at_end = (np.concatenate(columns) for columns in zip(none, *parts, strict=True))
    order = np.argsort(event, kind="stable")
    return event[order], number[order].view(np.uint64), at_end[order]
