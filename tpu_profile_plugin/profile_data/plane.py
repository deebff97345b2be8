"""Planes and lines as objects; those of events are made by the native core."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np

from tpu_profile_plugin import _native
from tpu_profile_plugin.columns import Kind, Plane, Stats, XSpace
from tpu_profile_plugin.profile_data.columns import LineColumns
from tpu_profile_plugin.protos import message
from tpu_profile_plugin.protos.wire import fields

# Stats of a plane's events as (name, value) pairs, decoded for a block of neighbouring events at a time.

Value: TypeAlias = int | float | str | bytes
Pair: TypeAlias = tuple[str, Value] | tuple[None, None]

_NOTHING = (None, None)
_BLOCK = 256
"""Events per block: enough that NumPy's calls cost little per event, few enough that one event alone is quick."""


class StatReader:
    """Reads the stats of one plane."""

    def __init__(self, space: XSpace, plane: Plane) -> None:
        self._space, self._plane = space, plane
        self._block: tuple[int, list[int], list[Pair]] = (-1, [], [])

    def of_plane(self) -> Iterator[Pair]:
        """The plane's own stats."""
        return iter(self._pairs(self._plane.stats, 0, len(self._plane.stats.key)))

    def of_event(self, row: int) -> Iterator[Pair]:
        """The stats of the event in this row of the plane's table, without those of its metadata."""
        number, at = divmod(row, _BLOCK)
        block = self._block
        if block[0] != number:
            stats = self._plane.events.stats
            bounds = stats.start[number * _BLOCK : (number + 1) * _BLOCK + 1].astype(np.int64)
            starts = (bounds - bounds[0]).tolist()
            # Replaced as a whole, so that threads may race.
            block = self._block = (number, starts, self._pairs(stats, int(bounds[0]), int(bounds[-1])))
        return iter(block[2][block[1][at] : block[1][at + 1]])

    def _pairs(self, stats: Stats, first: int, last: int) -> list[Pair]:
        """A pair per stat; JAX gives nothing where the metadata is missing or no value is set."""
        kind, bits = stats.kind[first:last], stats.value[first:last]
        values = np.empty(last - first, object)
        for one in np.unique(kind).tolist():
            where = np.flatnonzero(kind == one)
            values[where] = self._values(one, bits[where])
        keys = stats.key[first:last].tolist()
        names = self._plane.stat_metadata.names
        pairs: list[Pair] = list(zip(map(names.__getitem__, keys), values.tolist(), strict=True))
        for i in np.flatnonzero((kind == Kind.UNSET) | (kind == Kind.COMPRESSED_STR)).tolist():
            pairs[i] = _NOTHING
        if not all(names):
            for i, key in enumerate(keys):
                if not names[key] and int(self._plane.stat_metadata.id[key]) not in self._declared:
                    pairs[i] = _NOTHING
        return pairs

    def _values(self, kind: int, bits: np.ndarray[Any, np.dtype[np.uint64]]) -> list[Any]:
        match kind:
            case Kind.DOUBLE:
                return list(bits.view(np.float64).tolist())
            case Kind.UINT64:
                return list(bits.tolist())
            case Kind.INT64:
                return list(bits.view(np.int64).tolist())
            case Kind.REF:
                names = self._plane.stat_metadata.names
                return [names[row] for row in bits.tolist()]
            case Kind.STR:
                return self._space.texts(bits)
            case Kind.BYTES:
                return [_text(self._space.blob(value)) for value in bits.tolist()]
            case _:
                return [None] * len(bits)

    @functools.cached_property
    def _declared(self) -> frozenset[int]:
        """The ids of the plane's stat metadata. Columns have rows without a name for the others that are used."""
        space, plane = (message(f"tensorflow.profiler.{name}").DESCRIPTOR for name in ("XSpace", "XPlane"))
        metadata = plane.fields_by_name["stat_metadata"]
        view = self._space.data.data
        planes = [one for one in fields(view) if one[0] == space.fields_by_name["planes"].number]
        _, _, _, begin, end = planes[self._plane.index]
        entry = message(metadata.message_type.full_name)
        found = (one for one in fields(view, begin, end) if one[0] == metadata.number)
        ids = (entry.FromString(bytes(view[start:stop])).key for _, _, _, start, stop in found)
        return frozenset(ids)


def _text(value: bytes) -> str | bytes:
    """Bytes as JAX gives them: as a text; bytes that are none, on which JAX raises an error, as they are."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value


ProfileEvent = _native.ProfileEvent
"""An event; in native code, because there are millions of them."""


class ProfilePlane:
    """A plane: a device, the host, or a part of them.

    Attributes:
      name: its name, such as "/device:TPU:0".
      id: its id in the file.
    """

    def __init__(self, space: XSpace, plane: Plane) -> None:
        self.name, self.id = plane.name, plane.id
        self._space, self._plane = space, plane

    @property
    def lines(self) -> Iterator[ProfileLine]:
        """The lines in the order of the file; the first request decodes the plane. Raises CorruptProfile."""
        return iter(self._lines)

    @property
    def stats(self) -> Iterator[Pair]:
        """(name, value) of the plane's own stats; (None, None) for one without metadata."""
        return StatReader(self._space, self._plane.declared).of_plane()  # needs no lines

    @functools.cached_property
    def _lines(self) -> tuple[ProfileLine, ...]:
        # Stats take as long as all the rest, and are decoded when they are asked for.
        self._space.decode_with_some_stats([self._plane], (), ())
        return tuple(ProfileLine(self, i) for i in range(len(self._plane.lines)))

    @functools.cached_property
    def _stat_reader(self) -> StatReader:
        return StatReader(self._space, self._plane)

    def _stats_of(self, row: int) -> Iterator[Pair]:
        """The stats of an event; the first request decodes those of the plane."""
        return self._stat_reader.of_event(row)

    def __repr__(self) -> str:
        return f"<ProfilePlane {self.name!r}>"


class ProfileLine:
    """A line of a plane, such as a stream of a device or a thread of the host.

    Attributes:
      name: its name.
      id: its id in the file.
    """

    def __init__(self, plane: ProfilePlane, line: int) -> None:
        lines = plane._plane.lines
        self.name, self.id = lines.name[line], int(lines.id[line])
        self._plane, self._line = plane, line

    @functools.cached_property
    def columns(self) -> LineColumns:
        """The events as arrays, without an object per event."""
        return LineColumns(self._plane._space, self._plane._plane, self._line)

    @property
    def timestamp_ns(self) -> int:
        """When the line begins: what offsets of its events count from, ns."""
        return self.columns.timestamp_ns

    @property
    def events(self) -> Iterator[ProfileEvent]:
        """The events in the order of the file."""
        columns, plane = self.columns, self._plane._plane
        rows, events = columns.rows, plane.events
        return _native.profile_events(
            (events.begin_ps[rows], events.duration_ps[rows], events.metadata[rows]),
            columns.base_ps,
            columns.timestamp_ns,
            rows.start,
            plane.event_metadata.names,
            self._plane._stats_of,
        )

    def __len__(self) -> int:
        return len(self.columns)

    def __repr__(self) -> str:
        return f"<ProfileLine {self.name!r}>"
