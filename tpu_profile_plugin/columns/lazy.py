"""Decodes planes on demand: a whole plane, its metadata only, or a few of its events."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tpu_profile_plugin import _native
from tpu_profile_plugin.columns.space import EventFilter, Plane
from tpu_profile_plugin.columns.tables import OtherStats, PlaneTables, Stats
from tpu_profile_plugin.errors import CorruptProfile

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
            (selection.plane.index, selection.line_names(), self._ids(selection), None) for selection in missing
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
