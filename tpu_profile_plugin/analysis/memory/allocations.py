"""Allocator events of the host: as columns, use and size of a device's memory, the peak, and blocks over time."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np

from tpu_profile_plugin import _native
from tpu_profile_plugin.analysis.common.planes import (
    GPU_PREFIX,
    events_named,
    host_plane,
    is_tensor_core,
    offsets_in_line,
    rows_named,
)
from tpu_profile_plugin.analysis.common.rows import row_codes
from tpu_profile_plugin.analysis.common.stat_columns import StatColumns
from tpu_profile_plugin.analysis.environment.environment import Hardware, plane_int, plane_text
from tpu_profile_plugin.analysis.memory.buffers import Pieces, stacked
from tpu_profile_plugin.columns import EventFilter, Kind, Plane, XSpace
from tpu_profile_plugin.columns import stats as read
from tpu_profile_plugin.columns.arrays import F64, I32, I64, Bools
from tpu_profile_plugin.columns.stats import Value, items
from tpu_profile_plugin.units import GIB

ALLOCATION, DEALLOCATION = "MemoryAllocation", "MemoryDeallocation"
_OF_SNAPSHOTS = frozenset(
    (
        *(ALLOCATION, DEALLOCATION, "snapshot", "out of memory"),
        *("segment allocated", "segment mapped", "segment freed", "segment unmapped"),
    )
)
"""Events of memory snapshots."""
_ORDINALS = ("index_on_host", "device_ordinal")
_IDS = (*_ORDINALS, "allocator_name")
_BYTES = ("bytes_reserved", "bytes_allocated", "bytes_available")
_INTS = (*_BYTES, "peak_bytes_in_use", "requested_bytes", "allocation_bytes", "addr")
_SEGMENTS = ("segment_bytes", "largest_free_block_bytes")
"""Of allocators that divide segments into blocks, as PyTorch's for CUDA does."""
_TEXTS = ("tf_op", "region_type", "data_type", "shape", "source", "source_stack")
_NAMES = (*_IDS, *_INTS, *_SEGMENTS, "fragmentation", *_TEXTS)
INVALID = "INVALID"


def has_allocations(plane: Plane) -> bool:
    """Whether the host plane declares events of allocators."""
    return not {ALLOCATION, DEALLOCATION}.isdisjoint(plane.event_metadata.names)


def has_only_allocations(plane: Plane) -> bool:
    """Whether the host plane declares events of allocators, as a memory snapshot has, and no others."""
    return has_allocations(plane) and _OF_SNAPSHOTS.issuperset(plane.event_metadata.names)


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
      source, stack_of_calls: `file:line` that asks for it, and the calls that lead there, innermost first, one a line.
      segments, largest_free: bytes of the segments that blocks are cut from, and of the largest free block in them; -1
        if the allocator has none.
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
    source: TextColumn
    stack_of_calls: TextColumn
    segments: I64
    largest_free: I64

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
    events = events_named(plane, (ALLOCATION, DEALLOCATION).__contains__)
    stats = _Stats(space, plane, events, (*_IDS, *_BYTES))
    memory = stats.memory()
    stack, heap, free = map(stats.ints, _BYTES)
    rows = {name: np.flatnonzero(memory.code == code) for code, name in enumerate(memory.texts)}
    return {name: MemoryUse((stack + heap)[used], free[used]) for name, used in sorted(rows.items()) if len(used)}


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
    events = events_named(plane, (ALLOCATION, DEALLOCATION).__contains__)
    if len(events) == 0:
        return None
    stats = _Stats(space, plane, events, _NAMES)
    ints = {name: stats.ints(name) for name in _INTS}
    allocates = rows_named(plane, ALLOCATION.__eq__)
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
        source=stats.texts("source"),
        stack_of_calls=stats.texts("source_stack"),
        segments=stats.ints(_SEGMENTS[0], absent=-1),
        largest_free=stats.ints(_SEGMENTS[1], absent=-1),
    )


def may_have_allocations(plane: Plane) -> bool:
    """Whether the plane declares memory events; no event is read."""
    return not {ALLOCATION, DEALLOCATION}.isdisjoint(plane.declared.event_metadata.names)


def _type_name(value: int) -> str:
    """Name of an element type; reference types end in `_ref`."""
    if 0 <= value < len(_TYPE_NAMES):
        return _TYPE_NAMES[value]
    if 100 < value < 100 + len(_TYPE_NAMES):
        return _TYPE_NAMES[value - 100] + "_ref"
    return f"unknown dtype enum ({value})"


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

    def ints(self, name: str, absent: int = 0) -> I64:
        """Values written as int64, 0 for others; `absent` where missing."""
        values, present = self._columns.signed(name).at(self._events)
        return np.where(present, values, absent) if absent else values

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
        local, first = row_codes(values)
        table = [code_of.setdefault(spell(number), len(code_of)) for number in values[first].tolist()]
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


# Model -> (HBM of a chip in GiB, devices of a chip). Source: Google Cloud's pages on the TPU versions.
_TPU_CHIPS = {
    "v2": (16, 2), "v3": (32, 2), "v4 lite": (8, 1), "v4": (32, 2), "v5 lite": (16, 1), "v5": (95, 2),
    "v6 lite": (32, 1), "7x": (192, 2),
}  # fmt: skip
_ALIASES = {
    "v4i": "v4 lite", "v5e": "v5 lite", "v5litepod": "v5 lite", "v5p": "v5", "v6e": "v6 lite", "v7": "7x", "v7x": "7x",
}  # fmt: skip
ALLOCATORS = "device_allocators"
"""Cache key of the result of `device_allocators`."""
_MEGACORE = ("v4", "v5")
"""Models whose two cores are one device, unless the profile says otherwise."""


@dataclass(frozen=True, slots=True)
class DeviceMemory:
    """The devices of a host, and the main memory of one of them.

    Attributes:
      hardware: kind of device.
      model: e.g. "TPU v6 Lite"; "" if unknown.
      bytes: its memory; 0 if unknown, and for CPUs, whose programs share the host's memory.
      source: "allocator": size of the smallest allocator of a device; "device": size reported by the device; "model":
        specification of the product, of which the runtime reserves a part; "" if unknown.
    """

    hardware: Hardware
    model: str = ""
    bytes: int = 0
    source: str = ""


def device_memory(space: XSpace) -> DeviceMemory:
    """The memory of a host's devices; reads allocator events and the devices' properties only."""
    gpus = [plane.declared for plane in space.planes if plane.name.startswith(GPU_PREFIX)]
    cores = [plane.declared for plane in space.planes if is_tensor_core(plane)]
    if not gpus and not cores:
        return DeviceMemory(Hardware.CPU_ONLY)
    hardware = Hardware.GPU if gpus else Hardware.TPU
    device = (gpus or cores)[0]
    model = plane_text(space, device, "gpu_device_name" if gpus else "device_type_string")
    # Stack, heap and free memory of the smallest allocator of a device.
    sizes = [int((rows.in_use + rows.free).max()) for rows in device_allocators(space).values() if rows.free.any()]
    if (managed := min(sizes, default=0)) > 0:
        return DeviceMemory(hardware, model, managed, "allocator")
    if reported := plane_int(space, device, "memory_size"):
        return DeviceMemory(hardware, model, reported, "device")
    size = 0 if gpus else _of_model(space, device, model)
    return DeviceMemory(hardware, model, size, "model" if size else "")


def device_allocators(space: XSpace) -> dict[str, MemoryUse]:
    """The bytes that the allocators of a host's devices have in use and free, by the allocator's name."""
    plane = host_plane(space)
    if plane is None or ALLOCATION not in plane.declared.event_metadata.names:
        return {}
    (host,) = space.filtered(EventFilter(plane, event=(ALLOCATION, DEALLOCATION).__contains__))
    # TPU runtimes name an allocator by its device's number, those of GPUs by kind and number, such as GPU_0_bfc.
    gpus = any(plane.name.startswith(GPU_PREFIX) for plane in space.planes)
    of_device = re.compile(r"\d+|GPU_\d+.*" if gpus else r"\d+", re.IGNORECASE)
    return {name: rows for name, rows in memory_use(space, host).items() if of_device.fullmatch(name)}


def _of_model(space: XSpace, device: Plane, model: str) -> int:
    """HBM of a TPU by its name, such as "TPU v6 Lite" or "TPU v5p"; 0 for unknown ones."""
    name = model.lower().removeprefix("tpu").strip()
    name = _ALIASES.get(name, name)
    if name not in _TPU_CHIPS:
        return 0
    gib, devices = _TPU_CHIPS[name]
    is_joined, recorded = read.ints(space, device, device.stats, "has_megacore")
    if name in _MEGACORE and (is_joined[0] or not recorded[0]):
        devices = 1
    return gib * GIB // devices


TIMELINE_SNAPSHOTS = 1000


@dataclass(frozen=True, slots=True)
class SpecialAllocation:
    """Memory at the peak that is not covered by recorded allocations."""

    name: str
    region: str
    bytes: int


@dataclass(frozen=True, slots=True, eq=False)
class MemoryPeak:
    """Analysis of one allocator.

    Attributes:
      rows: its events by time, with missing steps filled in; deallocations have the op etc. of their allocation.
      lifetime_peak: the most bytes ever in use, as the allocator counted at the last event of the file.
      peak: the row with most memory in use in the profile (the last in the file among equals); None if always 0.
      step: the step of the peak.
      live: rows of the allocations that are live at the peak, made in its step.
      active: per line of the breakdown the row of `rows`, or -1 - i for `special[i]`; largest first.
      count: per line of the breakdown the number of identical allocations it stands for.
      timeline: rows to draw, at most TIMELINE_SNAPSHOTS.
    """

    rows: Allocations
    lifetime_peak: int
    peak: int | None
    step: int
    active: tuple[int, ...]
    count: tuple[int, ...]
    special: tuple[SpecialAllocation, ...]
    timeline: I64
    live: I64


def memory_peak(recorded: Allocations) -> MemoryPeak:
    """Analyses the events of one allocator (at least one), given in file order."""
    in_use = recorded.in_use
    last_highest = len(in_use) - 1 - int(np.argmax(in_use[::-1]))
    order, ordered = by_time(recorded)
    rows = with_matches(ordered)
    if in_use[last_highest] < 0:
        none = np.zeros(0, dtype=np.int64)
        return MemoryPeak(rows, int(recorded.peak[-1]), None, 0, (), (), (), timeline(rows.in_use), none)
    peak = int(np.flatnonzero(order == last_highest)[0])
    step = int(rows.step[np.flatnonzero(rows.in_use == rows.in_use[peak])[-1]])
    active, special = _active(rows, peak, step)
    lines, counts = _breakdown(rows, active, special)
    return MemoryPeak(
        rows=rows,
        lifetime_peak=int(recorded.peak[-1]),
        peak=peak,
        step=step,
        active=lines,
        count=counts,
        special=special,
        timeline=timeline(rows.in_use),
        live=active,
    )


def by_time(recorded: Allocations) -> tuple[I64, Allocations]:
    """The order of one allocator's events by time, and the events in it, with missing steps filled in.

    An event outside of steps belongs to the step after the last step so far, or to step 0.
    """
    order = _native.walk_order(recorded.time_ps, np.zeros(len(recorded), dtype=np.int64), np.arange(len(recorded)))
    rows = recorded.take(order)
    has_step = rows.step >= 0
    last = np.maximum.accumulate(np.where(has_step, np.arange(len(rows)), -1))
    before = np.where(last >= 0, rows.step[np.maximum(last, 0)], -1)
    return order, replace(rows, step=np.where(has_step, rows.step, before + 1))


def runs_by_address(rows: Allocations) -> tuple[I64, I64]:
    """(rows ordered by address and then time, per position the position where its run begins).

    A run is the sequence of events at one address that ends with a deallocation: the first allocation holds the address
    until then; further allocations at the address are ignored.
    """
    order = np.argsort(rows.address, kind="stable")
    address, allocates = rows.address[order], rows.allocates[order]
    begins = np.ones(len(order), dtype=np.bool_)
    begins[1:] = (address[1:] != address[:-1]) | ~allocates[:-1]
    return order, np.maximum.accumulate(np.where(begins, np.arange(len(order)), 0))


_USE = ("op", "region", "data_type", "shape", "source", "stack_of_calls")


def with_matches(rows: Allocations) -> Allocations:
    """Copies op, region, type, shape and source of each allocation to the matching deallocation."""
    order, begin = runs_by_address(rows)
    freeing = ~rows.allocates[order]
    frees, allocations = order[freeing], order[begin[freeing]]  # a deallocation without allocation begins a run

    def matched(column: TextColumn) -> TextColumn:
        code = column.code.copy()
        code[frees] = column.code[allocations]
        return TextColumn(code, column.texts)

    texts: dict[str, Any] = {name: matched(getattr(rows, name)) for name in _USE}
    return replace(rows, **texts)


def _active(rows: Allocations, peak: int, step: int) -> tuple[I64, tuple[SpecialAllocation, ...]]:
    """Allocations of the peak's step that are live at the peak, and the remaining memory in use."""
    before = np.flatnonzero((rows.time_ps <= rows.time_ps[peak]) & (rows.step == step))
    until_peak = rows.take(before)
    order, begin = runs_by_address(until_peak)
    allocates = until_peak.allocates[order]
    is_last = np.ones(len(order), dtype=np.bool_)
    is_last[:-1] = until_peak.address[order[1:]] != until_peak.address[order[:-1]]
    live = before[np.sort(order[is_last & allocates])]
    unmatched = ~allocates & (begin == np.arange(len(order)))
    # Allocated before the step began, or freed without a recorded allocation.
    size = until_peak.allocated
    unmapped = int(rows.heap[peak]) - int(size[until_peak.allocates].sum()) + int(size[~until_peak.allocates].sum())
    unmapped -= int(size[order[unmatched]].sum())
    special = []
    if unmapped > 0:
        special.append(SpecialAllocation("unused preallocated device memory", "persist/dynamic", unmapped))
    if rows.stack[peak] > 0:
        special.append(SpecialAllocation("stack", "stack", int(rows.stack[peak])))
    return live, tuple(special)


def _breakdown(
    rows: Allocations, active: I64, special: tuple[SpecialAllocation, ...]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Lines of the breakdown, largest first, identical ones merged: (row or -1 - index of special, count)."""
    live = rows.take(active)
    columns = (live.allocated, live.requested, live.op.code, live.region.code, live.data_type.code, live.shape.code)
    code, first = row_codes(*columns, live.source.code)
    counts = np.bincount(code, minlength=len(first))
    lines: list[tuple[tuple[object, ...], int, int]] = []
    for row, count in zip(first.tolist(), counts.tolist(), strict=True):
        texts = (column.texts[int(column.code[row])] for column in (live.op, live.region, live.data_type, live.shape))
        key = (-int(live.allocated[row]), -int(live.requested[row]), *texts)
        lines.append((key, int(active[row]), count))
    for number, extra in enumerate(special):
        lines.append(((-extra.bytes, -extra.bytes, extra.name, extra.region, "INVALID", "unknown"), -1 - number, 1))
    lines.sort(key=lambda line: line[0])
    return tuple(line[1] for line in lines), tuple(line[2] for line in lines)


def timeline(in_use: I64, limit: int = TIMELINE_SNAPSHOTS) -> I64:
    """Indices of at most `limit` values: the first maximum of each of `limit` buckets of almost equal length."""
    count = len(in_use)
    if count <= limit:
        return np.arange(count)
    bucket_size = count // limit
    smaller_buckets = limit * (bucket_size + 1) - count
    split = smaller_buckets * bucket_size
    highest = []
    for begin, values, size in ((0, in_use[:split], bucket_size), (split, in_use[split:], bucket_size + 1)):
        buckets = values.reshape(-1, size)
        highest.append(begin + np.arange(len(buckets)) * size + buckets.argmax(axis=1))
    return np.concatenate(highest)


STACK, REST, OTHERS = "stack of programs", "allocated before or not recorded", "others"
REGION: Final = "region"
OP: Final = "op"
STEP: Final = "step"
LINE: Final = "line"
MOST_PARTS = 6
"""As many as have a colour of their own, beside the others and the rest."""


@dataclass(frozen=True, eq=False, kw_only=True)
class RecordedMemory(Pieces):
    """The blocks of one allocator; instant i is after event i.

    Attributes:
      rows: its events by time, with steps; deallocations have the op etc. of their allocation.
      freeing: the op that each event was recorded in, of deallocations that which frees.
      row: int64[n], the event that describes the block: its allocation, or its deallocation if that alone is recorded.
      last: int64[n], the instant of the last event for a block that is never freed.
      freed: int64[n], the event that frees it, -1 without one.
    """

    rows: Allocations
    freeing: TextColumn
    freed: I64

    @cached_property
    def rest(self) -> I64:
        """Memory in use at each instant beyond the recorded blocks; 0 if these are more than the allocator counts."""
        rest: I64 = np.maximum(self.rows.in_use - self._blocks, 0)
        return rest

    @property
    def reserved(self) -> I64:
        """The part of `rest` that the allocator counts as stack."""
        reserved: I64 = np.clip(self.rows.stack, 0, self.rest)
        return reserved

    @cached_property
    def heap(self) -> I64:
        """Memory in use at each instant: as the allocator counts it, or the recorded blocks if they are more."""
        return self._blocks + self.rest

    @cached_property
    def _blocks(self) -> I64:
        none = np.zeros(len(self), np.int64)
        blocks: I64 = stacked(none, 1, self.first, self.last, self.size, len(self.rows))[0]
        return blocks

    def stacks(self, by: str) -> Mapping[str, I64]:
        """Bytes at each instant by region, op, step or line: the largest at the peak, then the others and the rest.

        They add up to `heap`.
        """
        codes, texts = self._codes(by)
        live = self.live(self.peak)
        at_peak = np.bincount(codes[live], self.size[live], minlength=len(texts))
        ever = np.bincount(codes, self.size, minlength=len(texts))
        order = np.lexsort((-ever, -at_peak))[:MOST_PARTS] if len(texts) else np.zeros(0, np.int64)
        group = np.full(len(texts) + 1, len(order), np.int64)
        group[order] = np.arange(len(order))
        series = stacked(group[codes], len(order) + 1, self.first, self.last, self.size, len(self.rows))
        names = [*(texts[code] for code in order.tolist()), OTHERS]
        parts = dict(zip(names, series, strict=True)) | {STACK: self.reserved, REST: self.rest - self.reserved}
        return {name: values for name, values in parts.items() if values.any()}

    def _codes(self, by: str) -> tuple[I64, list[str]]:
        """A number of each block, and the texts of the numbers."""
        if by == STEP:
            steps, codes = np.unique(self.rows.step[self.row], return_inverse=True)
            return codes, [f"step {step}" for step in steps.tolist()]
        column = {REGION: self.rows.region, LINE: self.rows.source}.get(by, self.rows.op)
        present, codes = np.unique(column.code[self.row], return_inverse=True)
        return codes, [column.texts[code] or f"no {by} recorded" for code in present.tolist()]


def recorded_memory(recorded: Allocations) -> RecordedMemory:
    """The blocks of one allocator, given its events in file order."""
    _, ordered = by_time(recorded)
    rows = with_matches(ordered)
    order, begin = runs_by_address(ordered)
    frees = ~ordered.allocates[order]
    starts = begin == np.arange(len(order))
    freed = np.full(len(rows), -1, np.int64)
    matched = frees & ~starts
    freed[order[begin[matched]]] = order[matched]
    allocated, before = np.sort(order[starts & ~frees]), np.sort(order[starts & frees])
    end = freed[allocated]
    row = np.concatenate([allocated, before])
    first = np.concatenate([allocated, np.zeros(len(before), np.int64)])
    last = np.concatenate([np.where(end >= 0, end - 1, len(rows) - 1), before - 1])
    kept = last >= first  # a block that the first event frees was in use at no instant
    return RecordedMemory(
        rows=rows,
        freeing=ordered.op,
        row=row[kept],
        size=np.maximum(ordered.allocated[row], 0)[kept],
        first=first[kept],
        last=last[kept],
        freed=np.concatenate([end, before])[kept],
    )
