"""Planes, lines and events as objects."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from itertools import chain, repeat
from typing import Any, NamedTuple

import numpy as np

from tpu_profile_plugin.columns import Plane, XSpace
from tpu_profile_plugin.profile_data.columns import LineColumns
from tpu_profile_plugin.profile_data.stats import Pair, StatReader
from tpu_profile_plugin.units import PS_PER_NS

_EVENTS = 8192
"""Events made at a time, so that a line of millions costs no memory."""


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
        return self._stat_reader.of_plane()

    @functools.cached_property
    def _lines(self) -> tuple[ProfileLine, ...]:
        # Stats take as long as all the rest, and are decoded when they are asked for.
        self._space.decode_with_some_stats([self._plane], (), ())
        return tuple(ProfileLine(self, i) for i in range(len(self._plane.lines)))

    @functools.cached_property
    def _stat_reader(self) -> StatReader:
        self._space.decode_with_some_stats([self._plane], (), ())
        return StatReader(self._space, self._plane)

    @functools.cached_property
    def _names(self) -> np.ndarray[Any, np.dtype[np.object_]]:
        return np.array(self._plane.event_metadata.names, object)

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
        return chain.from_iterable(map(self._made, range(0, len(self.columns), _EVENTS)))

    def __len__(self) -> int:
        return len(self.columns)

    def _made(self, first: int) -> Iterator[ProfileEvent]:
        """Some events from this one on. Tuples are made by C code: a loop in Python would take three times as long."""
        columns = self.columns
        part = slice(first, min(first + _EVENTS, len(columns)))
        start, duration = columns.starts_ns(part), columns.durations_ns(part)
        rows = range(columns.rows.start + part.start, columns.rows.start + part.stop)
        values = zip(
            self._plane._names[columns.metadata[part]].tolist(),
            start.tolist(),
            duration.tolist(),
            (start + duration).tolist(),
            rows,
            repeat(self),
            strict=False,  # the last one has no end
        )
        return map(tuple.__new__, repeat(ProfileEvent), values)

    def __repr__(self) -> str:
        return f"<ProfileLine {self.name!r}>"


class ProfileEvent(NamedTuple):
    """An event.

    Attributes:
      name: its name.
      start_ns, duration_ns: begin and duration in nanoseconds, truncated to whole ones and rounded to doubles.
      end_ns: the sum of both.
      row: its row in the table of all events of the plane.
      line: its line.
    """

    name: str
    start_ns: float
    duration_ns: float
    end_ns: float
    row: int
    line: ProfileLine

    @property
    def start_ps(self) -> int:
        """When it begins, exact, in picoseconds."""
        return self.line.timestamp_ns * PS_PER_NS + self.line.columns.offset_of(self.row)

    @property
    def duration_ps(self) -> int:
        """How long it takes, exact, in picoseconds."""
        return int(self.line._plane._plane.events.duration_ps[self.row])

    @property
    def end_ps(self) -> int:
        """When it ends, exact, in picoseconds."""
        return self.start_ps + self.duration_ps

    @property
    def stats(self) -> Iterator[Pair]:
        """(name, value) of the event's own stats, not of its metadata; (None, None) for one without metadata.

        The first request decodes the stats of the plane.
        """
        return self.line._plane._stat_reader.of_event(self.row)

    def __repr__(self) -> str:
        return f"<ProfileEvent {self.name!r}, start_ps={self.start_ps}, duration_ps={self.duration_ps}>"
