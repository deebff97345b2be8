"""Decodes the bytes of an XSpace into columns (`load`, `load_lazily`), or summarises it without its events (`peek`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from tpu_profile_plugin import _native
from tpu_profile_plugin.columns.arrays import Bytes, byte_array
from tpu_profile_plugin.columns.clocks import device_clocks, moved_planes
from tpu_profile_plugin.columns.hlo import HloModule, broken_modules, hlo_modules, is_metadata_plane
from tpu_profile_plugin.columns.space import DecodeHooks, ImpossibleTimes, LazyDecoder, Plane, XSpace, decoding
from tpu_profile_plugin.columns.tables import EventMetadata, Events, Lines, PlaneTables, StatMetadata, Stats, Texts
from tpu_profile_plugin.system.process import available_cores

_T = TypeVar("_T", bound=np.generic)
PlaneFilter: TypeAlias = Callable[[str], bool] | Sequence[str] | None
Reading = Literal["raw", "recorded", "mended"]


MAX_PLANES, MAX_DEVICES = 4096, 256
"""Nothing behind so many planes or planes of devices is read: no host has as many, and each costs every tool time."""

_DEVICES = ("/device:", "#Chip ")


@dataclass(frozen=True, slots=True)
class PlaneSummary:
    """A plane without its contents; `index` is its position in the file, `bytes` its size there."""

    name: str
    id: int
    index: int
    lines: int
    bytes: int


@dataclass(frozen=True, slots=True)
class SpaceSummary:
    """What a profile holds: its planes, the profiler's messages, and the HLO modules of its metadata planes."""

    planes: tuple[PlaneSummary, ...]
    errors: tuple[str, ...]
    warnings: tuple[str, ...]
    hostnames: tuple[str, ...]
    hlo_modules: tuple[HloModule, ...]
    broken_modules: tuple[tuple[str, str, int], ...] = ()
    """(name, message, byte offset) of modules that do not decode."""
    excess: tuple[str, ...] = ()
    """Sentences about planes and lines beyond the limits, which are not read; `warnings` has them as well."""


def load(data: Bytes, *, threads: int = 0, planes: PlaneFilter = None, events: bool = True) -> XSpace:
    """Decodes the bytes of an XSpace; `formats.unpack` makes them of a file.

    Args:
      data: the bytes; the result refers to them, so they must not change during its lifetime.
      threads: the most threads to use; 0: one per core that this process may use.
      planes: the planes to decode, by a predicate on their name or by prefixes; None: all.
      events: False decodes metadata and plane stats only; the planes then have no lines.

    Raises:
      CorruptProfile: the bytes are not an XSpace; `details["offset"]` is the byte offset.
    """
    array = byte_array(data)
    with decoding():
        outline = _outline(array)
        keep = _selection((name for name, _ in outline.planes), planes)
        return _space(array, _native.decode_space(array, threads or available_cores(), keep, events, []), outline)


def load_lazily(data: Bytes, *, threads: int = 0, hooks: DecodeHooks | None = None, reading: Reading = "raw") -> XSpace:
    """A profile whose planes are decoded on first access; see `load`.

    Only the extents of the planes and the bytes outside of them are checked here.

    Args:
      data, threads: as for `load`.
      hooks: see `DecodeHooks`.
      reading: times are as in the file. A pass over it finds events with impossible times unless the reading is "raw":
        those that are far from the bulk of all events, or end before they begin. If it is "mended", they are not in the
        columns, an event on a stream of a GPU that would have lasted over many later ones ends where the next begins,
        and clocks of devices agree with their host's (`columns.clocks`).
    """
    array = byte_array(data)
    hooks, threads = hooks or DecodeHooks(), threads or available_cores()
    with decoding(hooks.file):
        outline = _outline(array)
        times = None if reading == "raw" else _native.possible_times(array, threads)
        lines = () if times is None else tuple(_impossible(array, times, kept=reading == "recorded"))
        times = times if reading == "mended" else None
        decoder = LazyDecoder(array, [name for name, _ in outline.planes], threads, _tables, hooks, times)
        if _native.has_far_line(array):
            # The origin of event times then depends on all lines: rare, and not worth decoding lazily.
            raw = _native.decode_space(array, threads, None, True, [], times)
            space = replace(_space(array, raw, outline), impossible=lines)
            clocks = device_clocks(space) if reading == "mended" else ()
            moved = moved_planes(clocks, space.planes)
            planes = tuple(
                plane.shifted(moved[plane.index]) if plane.index in moved else plane for plane in space.planes
            )
            return replace(space, planes=planes, clocks=clocks)
        space = _space(array, _native.decode_space(array, 1, [], False, []), outline)
        listed = enumerate(outline.planes)
        planes = tuple(Plane(plane.id, name, index, None, decoder) for index, (name, plane) in listed)
        decoder.register(planes)
        space = replace(space, planes=planes, decoder=decoder, impossible=lines)
        clocks = device_clocks(space) if reading == "mended" else ()
        decoder.move(moved_planes(clocks, planes))
        return replace(space, clocks=clocks)


def _impossible(array: NDArray[np.uint8], times: _native.PossibleTimes, *, kept: bool) -> Iterator[ImpossibleTimes]:
    planes, lines, left_out, shortened = zip(*times.losses, strict=True)
    names = [_native.texts(array, np.array(values, np.uint64)) for values in (planes, lines)]
    for plane, line, lost, cut in zip(*names, left_out, shortened, strict=True):
        yield ImpossibleTimes(plane, line, lost, cut, kept)


def give_back_memory() -> None:
    """Returns freed memory to the operating system, which the allocator would otherwise retain."""
    _native.give_back_memory()


def load_metadata(data: Bytes) -> XSpace:
    """The planes that carry HLO modules, without events; see `load`."""
    return load(data, threads=1, planes=is_metadata_plane, events=False)


def peek(data: Bytes) -> SpaceSummary:
    """Summarises a profile without decoding lines.

    Raises:
      CorruptProfile: the bytes are not an XSpace; `details["offset"]` is the byte offset.
    """
    array = byte_array(data)
    with decoding():
        outline = _outline(array)
        keep = _selection((name for name, _ in outline.planes), is_metadata_plane)
        space = _space(array, _native.decode_space(array, 1, keep, False, []), outline)
        summaries = tuple(
            PlaneSummary(name, plane.id, index, plane.lines, plane.bytes)
            for index, (name, plane) in enumerate(outline.planes)
        )
        modules = hlo_modules(space)
        broken = tuple(broken_modules(space, modules))
        excess = tuple(_excess(outline))
        return SpaceSummary(summaries, space.errors, space.warnings, space.hostnames, modules, broken, excess)


def _excess(outline: _Outline) -> Iterator[str]:
    """Sentences about planes and lines beyond the limits."""
    if outline.total > len(outline.planes):
        yield f"The file has {outline.total} planes; the first {len(outline.planes)} are read."
    lines = sum(plane.lines for _, plane in outline.planes)
    if lines > _native.MOST_LINES:
        yield f"The file has {lines} lines; the first {_native.MOST_LINES} are read."


class _Outline(NamedTuple):
    """Names and summaries of the planes that are read, and the number of planes in the file."""

    planes: list[tuple[str, _native.PlaneSummary]]
    total: int


def _outline(array: NDArray[np.uint8]) -> _Outline:
    planes = _native.outline_space(array)
    total, planes = len(planes), planes[:MAX_PLANES]
    names = _native.texts(array, np.array([plane.name for plane in planes], np.uint64))
    devices = np.cumsum([name.startswith(_DEVICES) for name in names])
    read = int(np.searchsorted(devices, MAX_DEVICES, side="right"))
    return _Outline(list(zip(names, planes, strict=True))[:read], total)


def _selection(names: Iterable[str], planes: PlaneFilter) -> list[bool]:
    if planes is None:
        return [True for _ in names]
    if callable(planes):
        return [bool(planes(name)) for name in names]
    prefixes = tuple(planes)
    return [name.startswith(prefixes) for name in names]


def _read_only(array: NDArray[_T]) -> NDArray[_T]:
    array.flags.writeable = False
    return array


def _space(data: NDArray[np.uint8], raw: _native.SpaceColumns, outline: _Outline) -> XSpace:
    names = _native.texts(data, np.array([plane.name for plane in raw.planes], np.uint64))
    return XSpace(
        planes=tuple(
            Plane(plane.id, name, plane.index, _tables(data, plane))
            for name, plane in zip(names, raw.planes, strict=True)
        ),
        errors=tuple(_native.texts(data, raw.errors)),
        warnings=(*_native.texts(data, raw.warnings), *_excess(outline)),
        hostnames=tuple(_native.texts(data, raw.hostnames)),
        origin_ns=raw.origin_ns,
        data=data,
    )


def _tables(data: NDArray[np.uint8], raw: _native.PlaneArrays) -> PlaneTables:
    return PlaneTables(
        lines=_lines(data, raw.lines),
        events=_events(raw.events),
        event_metadata=_event_metadata(data, raw.event_metadata),
        stat_metadata=StatMetadata(
            id=_read_only(raw.stat_metadata.id),
            name_texts=Texts(data, _read_only(raw.stat_metadata.name)),
            description_texts=Texts(data, _read_only(raw.stat_metadata.description)),
        ),
        stats=_stats(raw.stats),
    )


def _lines(data: NDArray[np.uint8], raw: _native.LineArrays) -> Lines:
    return Lines(
        id=_read_only(raw.id),
        display_id=_read_only(raw.display_id),
        name=tuple(_native.texts(data, raw.name)),
        display_name=tuple(_native.texts(data, raw.display_name)),
        timestamp_ns=_read_only(raw.timestamp_ns),
        duration_ps=_read_only(raw.duration_ps),
        filled=_read_only(raw.filled),
        event_start=_read_only(raw.event_start),
    )


def _events(raw: _native.EventArrays) -> Events:
    occurrences = raw.occurrences
    return Events(
        metadata=_read_only(raw.metadata),
        begin_ps=_read_only(raw.begin_ps),
        duration_ps=_read_only(raw.duration_ps),
        occurrences=None if occurrences is None else _read_only(occurrences),
        decoded_stats=_stats(raw.stats),
    )


def _event_metadata(data: NDArray[np.uint8], raw: _native.EventMetadataArrays) -> EventMetadata:
    return EventMetadata(
        id=_read_only(raw.id),
        metadata=_read_only(raw.bytes),
        stats=_stats(raw.stats),
        child_start=_read_only(raw.child_start),
        child_id=_read_only(raw.child_id),
        name_texts=Texts(data, _read_only(raw.name)),
        display_name_texts=Texts(data, _read_only(raw.display_name)),
    )


def _stats(raw: _native.StatArrays) -> Stats:
    return Stats(_read_only(raw.start), _read_only(raw.key), _read_only(raw.kind), _read_only(raw.value))
