"""A profile as columns: planes of read-only tables, decoded eagerly or on demand.

A lazy profile decodes a whole plane, its metadata only, or a few of its events.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from tpu_profile_plugin import _native
from tpu_profile_plugin.columns.arrays import U8, U64
from tpu_profile_plugin.columns.tables import (
    EventMetadata,
    Events,
    Lines,
    OtherStats,
    PlaneTables,
    StatMetadata,
    Stats,
    collect_arrays,
)
from tpu_profile_plugin.errors import CorruptProfile

T = TypeVar("T")


class Plane:
    """One plane: `index` is its position in the file, `stats` are the plane's own (one owner).

    A plane of a lazy profile is decoded on first access to its tables; `declared` decodes metadata only.
    """

    __slots__ = ("__weakref__", "_decoder", "_tables", "id", "index", "name")

    def __init__(
        self, id: int, name: str, index: int, tables: PlaneTables | None, decoder: LazyDecoder | None = None
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

    def once(self, key: str, make: Callable[[], T]) -> T:
        """`make()`, made of the tables once for as long as they are in memory; arrays in it count as theirs."""
        made = self.tables.made
        if key in made:
            known: T = made[key]
            return known
        value = make()
        self.tables.made[key] = value  # to read stats may have replaced the tables
        return value

    @property
    def lines(self) -> Lines:
        return self.tables.lines

    @property
    def events(self) -> Events:
        return self.tables.events

    @property
    def event_metadata(self) -> EventMetadata:
        return self.tables.event_metadata

    @property
    def stat_metadata(self) -> StatMetadata:
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
    decoder: LazyDecoder | None = field(default=None, repr=False)
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
                for value in list(plane.tables.made.values()):
                    collect_arrays(value, arrays)
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


_MAX_PARTIAL_DECODES = 32
"""After this many partial decodes, the next one decodes all remaining planes."""

_Filter: TypeAlias = tuple[
    int, list[str] | None, tuple[list[int], list[int]] | None, tuple[list[str], list[str]] | None
]
MakeTables: TypeAlias = Callable[[NDArray[np.uint8], _native.PlaneArrays], PlaneTables]


@contextmanager
def decoding(file: str = "") -> Iterator[None]:
    """Converts the native DecodeError into a CorruptProfile that names `file`."""
    try:
        yield
    except _native.DecodeError as error:
        message, offset = error.args
        corrupt = CorruptProfile(message, offset=offset)
        if file:
            corrupt.details["file"] = file
        raise corrupt from None


@dataclass(frozen=True)
class DecodeHooks:
    """Hooks of a lazy profile: errors name `file`; `on_decoded` is called after each decode."""

    file: str = ""
    on_decoded: Callable[[], None] = lambda: None


class LazyDecoder:
    """Decodes the planes of one profile on demand. Thread-safe: each plane is decoded once."""

    def __init__(
        self,
        data: NDArray[np.uint8],
        names: Sequence[str],
        threads: int,
        make: MakeTables,
        hooks: DecodeHooks,
        times: _native.PossibleTimes | None = None,
    ) -> None:
        self._data, self._names, self._threads, self._make, self._hooks = data, names, threads, make, hooks
        self._times = times
        self._moved: Mapping[int, int] = {}
        self._lock = threading.Lock()
        self._declared_planes: dict[int, Plane] | None = None
        self._decode_count = 0
        self._planes: tuple[weakref.ref[Plane], ...] = ()

    def register(self, planes: Iterable[Plane]) -> None:
        """Registers all planes of the profile.

        The references are weak because planes refer to their decoder: a cycle would hold hundreds of megabytes until
        the next garbage collection.
        """
        self._planes = tuple(weakref.ref(plane) for plane in planes)

    def move(self, moved_ps: Mapping[int, int]) -> None:
        """Adds to the times of planes, by index, whenever they are decoded from now on."""
        self._moved = moved_ps

    def decode(self, planes: Iterable[Plane]) -> None:
        """Decodes the planes that are not decoded yet, in one pass on all threads.

        Each pass walks the whole file, so after many calls the next one decodes all remaining planes.
        """
        with self._lock:
            missing = [plane for plane in planes if not plane.decoded]
            if not missing:
                return
            self._decode_count += 1
            if self._decode_count > _MAX_PARTIAL_DECODES:
                alive = (reference() for reference in self._planes)
                missing = [plane for plane in alive if plane is not None and not plane.decoded] or missing
            for plane, tables in zip(missing, self._decode([plane.index for plane in missing]), strict=True):
                plane.set_tables(tables)
        self._hooks.on_decoded()

    def decode_with_some_stats(self, planes: Iterable[Plane], lines: Sequence[str], unless: Sequence[str]) -> None:
        """Decodes the planes that are not in memory yet; see `XSpace.decode_with_some_stats`."""
        with self._lock:
            missing = [plane for plane in planes if not plane.in_memory]
            if not missing:
                return
            self._decode_count += 1
            filters: list[_Filter] = [(plane.index, None, None, (list(lines), list(unless))) for plane in missing]
            for plane, tables in zip(missing, self._decode([plane.index for plane in missing], filters), strict=True):
                plane.set_tables(tables)
        self._hooks.on_decoded()

    def _all_stats(self, index: int) -> Stats:
        """The stats of all events of a plane; they are decoded for all planes that lack some, in one pass."""
        plane = self._planes[index]()
        if plane is None:  # only the table of its events is still in use
            return self._decode([index])[0].events.stats
        alive = (reference() for reference in self._planes)
        self.decode([plane, *(other for other in alive if other not in (None, plane) and other.in_memory)])
        return plane.events.stats

    def declared(self, plane: Plane) -> Plane:
        """The plane without lines and events; decoded for all planes at once, because that is cheap."""
        with self._lock:
            if self._declared_planes is None:
                keep = [True] * len(self._names)  # the file may have planes beyond MAX_PLANES
                with decoding(self._hooks.file):
                    raw = _native.decode_space(self._data, 1, keep, False, [])
                self._declared_planes = {
                    plane.index: Plane(plane.id, self._names[plane.index], plane.index, self._make(self._data, plane))
                    for plane in raw.planes
                }
            return self._declared_planes[plane.index]

    def filtered(self, filters: Sequence[EventFilter]) -> list[Plane]:
        """The planes with at least the selected events; planes that are already decoded are returned whole."""
        missing = [selection for selection in filters if not selection.plane.decoded]
        arguments: list[_Filter] = [
            (one.plane.index, None if one.lines is None else list(one.lines), self._ids(one), None) for one in missing
        ]
        decoded = self._decode([selection.plane.index for selection in missing], arguments) if missing else []
        if missing:
            self._hooks.on_decoded()
        partial = {
            selection.plane.index: Plane(selection.plane.id, selection.plane.name, selection.plane.index, tables)
            for selection, tables in zip(missing, decoded, strict=True)
        }
        return [partial.get(selection.plane.index, selection.plane) for selection in filters]

    def _ids(self, selection: EventFilter) -> tuple[list[int], list[int]] | None:
        """The ids of the event metadata and of the stat metadata that select events; None: all events."""
        if selection.event is None:
            return None
        declared = self.declared(selection.plane)
        table, stats = declared.event_metadata, declared.stat_metadata
        events = [i for i, name in zip(table.id.tolist(), table.names, strict=True) if selection.event(name)]
        return events, [i for i, name in zip(stats.id.tolist(), stats.names, strict=True) if name in selection.stats]

    def _decode(self, indices: Sequence[int], filters: Sequence[_Filter] = ()) -> list[PlaneTables]:
        """The tables of the planes at `indices`, in that order."""
        selected = set(indices)
        keep = [index in selected for index in range(len(self._names))]
        with decoding(self._hooks.file):
            raw = _native.decode_space(self._data, self._threads, keep, True, list(filters), self._times)
        lines = {index: frozenset(stats[0]) for index, _, _, stats in filters if stats is not None}
        tables = {plane.index: self._tables(plane, lines.get(plane.index)) for plane in raw.planes}
        return [tables[index] for index in indices]

    def _tables(self, plane: _native.PlaneArrays, lines: frozenset[str] | None) -> PlaneTables:
        """The tables of a plane; stats may be limited to lines with the given names."""
        tables = self._make(self._data, plane).moved(self._moved.get(plane.index, 0))
        if not plane.partial or lines is None:
            return tables
        others = OtherStats(lines, partial(self._all_stats, plane.index))
        return replace(tables, events=replace(tables.events, others=others))
