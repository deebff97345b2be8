"""Planes and lines as objects; those of events are made by the native core."""

from __future__ import annotations

import functools
from collections.abc import Iterator

from tpu_profile_plugin import _native
from tpu_profile_plugin.columns import Plane, XSpace
from tpu_profile_plugin.profile_data.columns import LineColumns
from tpu_profile_plugin.profile_data.stats import Pair, StatReader

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
