"""A profile as columns: planes of read-only tables, decoded eagerly or on demand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tpu_profile_plugin import _native
from tpu_profile_plugin.columns.arrays import U8, U64
from tpu_profile_plugin.columns.tables import (
    EventMetadata,
    Events,
    Lines,
    PlaneTables,
    StatMetadata,
    Stats,
    collect_arrays,
)


class PlaneDecoder(Protocol):
    """Decodes the planes of a lazy profile on demand; see `columns.lazy`."""

    def decode(self, planes: Iterable[Plane]) -> None:
        """Decodes the planes that are not decoded yet."""

    def decode_with_some_stats(self, planes: Iterable[Plane], lines: Sequence[str], unless: Sequence[str]) -> None:
        """Decodes the planes that are not in memory yet, with the stats of some lines only if these suffice."""

    def declared(self, plane: Plane) -> Plane:
        """The plane without lines and events."""

    def filtered(self, filters: Sequence[EventFilter]) -> list[Plane]:
        """The plane of each filter with at least the events that it selects."""


class Plane:
    """One plane: `index` is its position in the file, `stats` are the plane's own (one owner).

    A plane of a lazy profile is decoded on first access to its tables; `declared` decodes metadata only.
    """

    __slots__ = ("__weakref__", "_decoder", "_tables", "id", "index", "name")

    def __init__(
        self, id: int, name: str, index: int, tables: PlaneTables | None, decoder: PlaneDecoder | None = None
    ) -> None:
        """Takes the tables, or None and the decoder that makes them on demand."""
        self.id, self.name, self.index = id, name, index
        self._tables, self._decoder = tables, decoder

    @property
    def decoded(self) -> bool:
        """Whether the tables are in memory, with all stats."""
        tables = self._tables
        return tables is not None and tables.events.others is None

    @property
    def in_memory(self) -> bool:
        """Whether the tables are in memory; they may lack stats, which are decoded on first access."""
        return self._tables is not None

    @property
    def tables(self) -> PlaneTables:
        """The tables, decoded on first access; raises CorruptProfile."""
        while (tables := self._tables) is None:
            assert self._decoder is not None
            self._decoder.decode([self])
        return tables

    def unload(self) -> None:
        """Drops the tables of a lazy profile; the next access decodes them again."""
        if self._decoder is not None:
            self._tables = None

    def set_tables(self, tables: PlaneTables) -> None:
        """Stores the tables; called by the decoder."""
        self._tables = tables

    @property
    def declared(self) -> Plane:
        """This plane if it is decoded, else a copy with metadata tables but without lines and events.

        The copy's metadata tables lack the rows of ids that only events use; those rows have no name.
        """
        return self if self.in_memory or self._decoder is None else self._decoder.declared(self)

    @property
    def lines(self) -> Lines:
        """The lines."""
        return self.tables.lines

    @property
    def events(self) -> Events:
        """The events of all lines."""
        return self.tables.events

    @property
    def event_metadata(self) -> EventMetadata:
        """The metadata that events refer to."""
        return self.tables.event_metadata

    @property
    def stat_metadata(self) -> StatMetadata:
        """The metadata that stats refer to."""
        return self.tables.stat_metadata

    @property
    def stats(self) -> Stats:
        """The plane's own stats."""
        return self.tables.stats

    def shifted(self, shift_ps: int) -> Plane:
        """The plane with `shift_ps` added to the begin of all events."""
        return Plane(self.id, self.name, self.index, self.tables.moved(shift_ps))

    @property
    def nbytes(self) -> int:
        """Bytes held by the columns; 0 while the plane is not decoded."""
        return 0 if self._tables is None else self._tables.nbytes


@dataclass(frozen=True, slots=True)
class EventFilter:
    """Selects events of a plane: those on lines with one of the names (None: all lines) whose metadata name satisfies
    `event` or that have one of the `stats` (`event` None: all events).
    """

    plane: Plane
    lines: tuple[str, ...] | None = None
    event: Callable[[str], bool] | None = None
    stats: tuple[str, ...] = ()

    def line_names(self) -> list[str] | None:
        """The names of the lines as a list; None: all lines."""
        return None if self.lines is None else list(self.lines)


@dataclass(frozen=True, slots=True)
class ImpossibleTimes:
    """Events of a line with impossible times.

    Attributes:
      plane, line: names of both.
      left_out, shortened: how many are left out, and how many end earlier than recorded.
      kept: the columns have all of them as recorded.
    """

    plane: str
    line: str
    left_out: int
    shortened: int
    kept: bool = False


@dataclass(frozen=True, slots=True)
class DeviceClock:
    """A clock of a device that disagrees with its host's.

    Attributes:
      device: begin of the names of its planes.
      offset_ps: what is added to its times; 0 if no offset makes the two agree.
      pairs: launches and waits that were compared; impossible: those that cannot have been as recorded.
    """

    device: str
    offset_ps: int
    pairs: int
    impossible: int


@dataclass(frozen=True, slots=True, eq=False)
class XSpace:
    """A decoded profile, or a lazy one whose planes are decoded on first access.

    Attributes:
      planes: the selected planes, in file order.
      errors, warnings, hostnames: as the profiler recorded them.
      origin_ns: 0, unless some line's timestamp in ps does not fit int64; then the smallest such timestamp, and the
        events of those lines count from it.
      data: uint8, the bytes of the profile, which text values refer to.
      decoder: decodes the planes of a lazy profile; None when all are decoded.
      impossible: the lines with events of impossible times, if these were looked for.
      clocks: devices whose clocks disagreed with their host's, if these were looked for.
    """

    planes: tuple[Plane, ...]
    errors: tuple[str, ...]
    warnings: tuple[str, ...]
    hostnames: tuple[str, ...]
    origin_ns: int
    data: U8 = field(repr=False)
    decoder: PlaneDecoder | None = field(default=None, repr=False)
    impossible: tuple[ImpossibleTimes, ...] = ()
    clocks: tuple[DeviceClock, ...] = ()

    def decode(self, planes: Iterable[Plane] | None = None) -> None:
        """Decodes planes (None: all) in one pass, which is faster than one by one."""
        if self.decoder is not None:
            self.decoder.decode(self.planes if planes is None else planes)

    def decode_with_some_stats(self, planes: Iterable[Plane], lines: Sequence[str], unless: Sequence[str]) -> None:
        """Decodes planes in one pass, with stats of events on some lines only, to save time and memory.

        Reading other stats decodes the planes in full; `Events.stats_on` does not as long as the lines suffice.

        Args:
          planes: the planes to decode.
          lines: names of the lines whose stats are decoded.
          unless: if a plane has events on a line with one of these names, all of its stats are decoded.
        """
        if self.decoder is not None:
            self.decoder.decode_with_some_stats(planes, lines, unless)

    def filtered(self, *filters: EventFilter) -> list[Plane]:
        """The plane of each filter with at least the selected events, in the order of the filters; not cached."""
        return [selection.plane for selection in filters] if self.decoder is None else self.decoder.filtered(filters)

    def shifted(self, shift_ps: int) -> XSpace:
        """The profile on another clock: `shift_ps` is added to the begin of all events; the rest is shared."""
        self.decode()
        return replace(self, planes=tuple(plane.shifted(shift_ps) for plane in self.planes), decoder=None)

    def unload(self) -> None:
        """Drops all columns of a lazy profile; see `Plane.unload`."""
        for plane in self.planes:
            plane.unload()

    def arrays(self) -> list[NDArray[Any]]:
        """The arrays that `nbytes` counts."""
        arrays: list[NDArray[Any]] = []
        for plane in self.planes:
            if plane.in_memory:
                collect_arrays(plane.tables, arrays)
        return arrays

    def texts(self, values: U64) -> list[str]:
        """One str per text value; bytes that are not UTF-8 are replaced."""
        return _native.texts(self.data, np.ascontiguousarray(values, np.uint64))

    def blob(self, value: int) -> bytes:
        """The raw bytes of one text value."""
        return _native.blob(self.data, int(value))

    @property
    def nbytes(self) -> int:
        """Bytes held by the columns (without `data`, which may be a mapped file)."""
        return sum(plane.nbytes for plane in self.planes)
