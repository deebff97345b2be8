"""Allocator events of the host plane (allocations and deallocations) as columns, one row per event in file order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tpu_profile_plugin.analysis.common.planes import offsets_in_line
from tpu_profile_plugin.analysis.common.stat_columns import StatColumns
from tpu_profile_plugin.columns import Kind, Plane, XSpace
from tpu_profile_plugin.columns.arrays import F64, I32, I64, Bools
from tpu_profile_plugin.columns.stats import Value, items

ALLOCATION, DEALLOCATION = "MemoryAllocation", "MemoryDeallocation"
_ORDINALS = ("index_on_host", "device_ordinal")
_IDS = (*_ORDINALS, "allocator_name")
_BYTES = ("bytes_reserved", "bytes_allocated", "bytes_available")
_INTS = (*_BYTES, "peak_bytes_in_use", "requested_bytes", "allocation_bytes", "addr")
_TEXTS = ("tf_op", "region_type", "data_type", "shape")
_NAMES = (*_IDS, *_INTS, "fragmentation", *_TEXTS)
INVALID = "INVALID"
_NARROW = 1 << 16

# TensorFlow's element types by number; 100 + number is the reference type.
_TYPE_NAMES = (
    "INVALID", "float", "double", "int32", "uint8", "int16", "int8", "string", "complex64", "int64", "bool", "qint8",
    "quint8", "qint32", "bfloat16", "qint16", "quint16", "uint16", "complex128", "half", "resource", "variant",
    "uint32", "uint64", "float8_e5m2", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e4m3b11fnuz", "float8_e5m2fnuz",
    "int4", "uint4",
)  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class TextColumn:
    """A text column: per row a code into `texts`."""

    code: I32
    texts: tuple[str, ...]

    def take(self, rows: Any) -> TextColumn:
        """The rows selected by an index array, slice or mask."""
        return TextColumn(self.code[rows], self.texts)


@dataclass(frozen=True, slots=True, eq=False)
class Allocations:
    """Events of one or more allocators.

    Attributes:
      memory: the allocator: a device ordinal or an allocator name.
      event: row in the plane's event table.
      time_ps: since the start of the event's line, or of the recording.
      allocates: False for a deallocation.
      stack, heap, free: bytes reserved for programs' temporaries, allocated, and available, after the event.
      fragmentation: of the free memory, 0 to 1.
      peak: the most bytes in use so far, as counted by the allocator.
      requested, allocated: bytes of this (de)allocation.
      address: 64-bit address, reinterpreted as signed.
      step: the event's group id, -1 without a group.
      op, region, data_type, shape: the use of the memory.
    """

    memory: TextColumn
    event: I64
    time_ps: I64
    allocates: Bools
    stack: I64
    heap: I64
    free: I64
    fragmentation: F64
    peak: I64
    requested: I64
    allocated: I64
    address: I64
    step: I64
    op: TextColumn
    region: TextColumn
    data_type: TextColumn
    shape: TextColumn

    def __len__(self) -> int:
        return len(self.time_ps)

    @property
    def in_use(self) -> I64:
        """Stack and heap, in bytes."""
        total: I64 = self.stack + self.heap
        return total

    def take(self, rows: Any) -> Allocations:
        """The rows selected by an index array, slice or mask."""
        columns: dict[str, Any] = {name: getattr(self, name) for name in self.__slots__}
        for name, column in columns.items():
            columns[name] = column.take(rows) if isinstance(column, TextColumn) else column[rows]
        return Allocations(**columns)

    def by_memory(self) -> dict[str, Allocations]:
        """The rows per allocator, in order; allocators sorted by name."""
        order = np.argsort(self.memory.code, kind="stable")
        bounds = np.searchsorted(self.memory.code[order], np.arange(len(self.memory.texts) + 1))
        rows = {
            text: self.take(order[bounds[i] : bounds[i + 1]])
            for i, text in enumerate(self.memory.texts)
            if bounds[i + 1] > bounds[i]
        }
        return dict(sorted(rows.items()))


@dataclass(frozen=True, slots=True, eq=False)
class MemoryUse:
    """Bytes that one allocator has in use (stack and heap) and free after each of its events, int64[n] in order."""

    in_use: I64
    free: I64


def memory_use(space: XSpace, plane: Plane) -> dict[str, MemoryUse]:
    """Memory use of each allocator, by its name; reads fewer stats than `allocations`."""
    events = _memory_events(plane)
    stats = _Stats(space, plane, events, (*_IDS, *_BYTES))
    memory = stats.memory()
    stack, heap, free = map(stats.ints, _BYTES)
    rows = {name: np.flatnonzero(memory.code == code) for code, name in enumerate(memory.texts)}
    return {name: MemoryUse((stack + heap)[at], free[at]) for name, at in sorted(rows.items()) if len(at)}


def allocations(
    space: XSpace, plane: Plane, group_id: I64 | None = None, *, since_recording: bool = False
) -> Allocations | None:
    """Reads the memory events of a plane; None if it has none.

    Args:
      space: the profile, to decode texts.
      plane: the host's plane.
      group_id: per event of the plane, -1 for none; None if no event has a group.
      since_recording: count times from the start of the recording, as everywhere else, instead of the line's start.
    """
    events = _memory_events(plane)
    if len(events) == 0:
        return None
    stats = _Stats(space, plane, events, _NAMES)
    ints = {name: stats.ints(name) for name in _INTS}
    allocates = np.array([name == ALLOCATION for name in plane.event_metadata.names], dtype=np.bool_)
    step = np.full(len(events), -1, dtype=np.int64) if group_id is None else group_id[events]
    return Allocations(
        memory=stats.memory(),
        event=events,
        time_ps=plane.events.begin_ps[events] if since_recording else offsets_in_line(space, plane, events),
        allocates=allocates[plane.events.metadata[events]],
        stack=ints["bytes_reserved"],
        heap=ints["bytes_allocated"],
        free=ints["bytes_available"],
        fragmentation=stats.doubles("fragmentation"),
        peak=ints["peak_bytes_in_use"],
        requested=ints["requested_bytes"],
        allocated=ints["allocation_bytes"],
        address=ints["addr"],
        step=step,
        op=stats.texts("tf_op"),
        region=stats.texts("region_type"),
        data_type=stats.data_types(),
        shape=stats.texts("shape"),
    )


def may_have_allocations(plane: Plane) -> bool:
    """Whether the plane declares memory events; no event is read."""
    return not {ALLOCATION, DEALLOCATION}.isdisjoint(plane.declared.event_metadata.names)


def _memory_events(plane: Plane) -> I64:
    kinds = np.array([name in (ALLOCATION, DEALLOCATION) for name in plane.event_metadata.names], dtype=np.bool_)
    return np.flatnonzero(kinds[plane.events.metadata]) if kinds.any() else np.zeros(0, np.int64)


def _type_name(value: int) -> str:
    """Name of an element type; reference types end in `_ref`."""
    if 0 <= value < len(_TYPE_NAMES):
        return _TYPE_NAMES[value]
    if 100 < value < 100 + len(_TYPE_NAMES):
        return _TYPE_NAMES[value - 100] + "_ref"
    return f"unknown dtype enum ({value})"


def _distinct(values: I64) -> tuple[I64, I64]:
    """Like np.unique with inverse; faster for values in a narrow range."""
    low, high = (int(values.min()), int(values.max())) if len(values) else (0, 0)
    if high - low >= _NARROW:
        distinct, inverse = np.unique(values, return_inverse=True)
        return distinct, inverse.reshape(-1)
    # Ordinals and type numbers: a lookup table is faster than sorting.
    present = np.zeros(high - low + 1, dtype=np.bool_)
    present[values - low] = True
    return np.flatnonzero(present) + low, (np.cumsum(present) - 1)[values - low]


def _allocator(name: str, kind: Kind, value: Value) -> str:
    """The allocator that one stat identifies: an ordinal or a name."""
    if name in _ORDINALS:
        return str(value) if kind is Kind.INT64 else "0"
    return str(value) if kind in (Kind.STR, Kind.REF) else ""


class _Stats:
    """Stats of the memory events, of the given names."""

    def __init__(self, space: XSpace, plane: Plane, events: I64, names: tuple[str, ...]) -> None:
        self._space, self._plane, self._events = space, plane, events
        self._columns = StatColumns(space, plane, plane.events.stats, names)

    def ints(self, name: str) -> I64:
        """Values written as int64, 0 for others."""
        return self._columns.signed(name).at(self._events)[0]

    def doubles(self, name: str) -> F64:
        """Values written as doubles, 0 for others and where not finite."""
        rows, values = self._rows(*self._columns.doubles(name))
        out = np.zeros(len(self._events), dtype=np.float64)
        out[rows] = values
        out[~np.isfinite(out)] = 0
        return out

    def texts(self, name: str) -> TextColumn:
        """Texts, "" for other values."""
        code, code_of = self._none(), {"": 0}
        self._put_texts(name, code, code_of)
        return TextColumn(code, tuple(code_of))

    def data_types(self) -> TextColumn:
        """Names of the element types, "" where missing."""
        code, code_of = self._none(), {"": 0}
        self._put_numbers("data_type", _type_name, code, code_of)
        return TextColumn(code, tuple(code_of))

    def memory(self) -> TextColumn:
        """The allocator of each event, from the last of its stats that identifies one."""
        code_of = {"": 0}
        code = self._none()
        id_count = np.zeros(len(self._events), dtype=np.int8)
        for name in _ORDINALS:
            id_count[self._put_numbers(name, str, code, code_of)] += 1
        id_count[self._put_texts("allocator_name", code, code_of)] += 1
        for row in np.flatnonzero(id_count > 1).tolist():
            stats = items(self._space, self._plane, self._plane.events.stats, int(self._events[row]))
            allocator = [_allocator(*stat) for stat in stats if stat[0] in _IDS][-1]
            code[row] = code_of.setdefault(allocator, len(code_of))
        return TextColumn(code, tuple(code_of))

    def _none(self) -> I32:
        return np.zeros(len(self._events), dtype=np.int32)

    def _put_numbers(self, name: str, spell: Callable[[int], str], code: I32, code_of: dict[str, int]) -> I64:
        """Writes the codes of one stat, as numbers, to `code`; returns the rows that have it."""
        numbers = self._columns.signed(name)
        if len(numbers) == 0:
            return numbers.event
        rows, values = self._rows(numbers.event, numbers.value)
        distinct, local = _distinct(values)
        table = [code_of.setdefault(spell(number), len(code_of)) for number in distinct.tolist()]
        if len(rows):
            code[rows] = np.array(table, dtype=np.int32)[local]
        return rows

    def _put_texts(self, name: str, code: I32, code_of: dict[str, int]) -> I64:
        """Writes the codes of one stat, as text, to `code`; returns the rows that have it, with or without a text."""
        owner, text_code, texts = self._columns.texts(name)
        rows, text_code = self._rows(owner, text_code)
        if len(rows):
            codes = np.array([code_of.setdefault(text, len(code_of)) for text in texts], dtype=np.int32)
            code[rows] = codes[text_code]
        owners = self._columns.owners(name)
        return self._rows(owners, owners)[0]

    def _rows(self, owner: I64, values: Any) -> tuple[I64, Any]:
        """Restricts stats of any events to the memory events: their rows and values."""
        if owner is self._events or np.array_equal(owner, self._events):
            return np.arange(len(owner)), values
        position = np.searchsorted(self._events, owner)
        matched = self._events[np.minimum(position, len(self._events) - 1)] == owner
        return position[matched], values[matched]
