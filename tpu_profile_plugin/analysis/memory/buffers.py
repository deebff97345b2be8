"""Memory of HLO programs: buffer assignment, use of a memory space, and what it holds at each instant."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tpu_profile_plugin import _native
from tpu_profile_plugin.analysis.hlo.graph import Links
from tpu_profile_plugin.analysis.hlo.programs import Program
from tpu_profile_plugin.analysis.hlo.shapes import LaidOut, read_shape
from tpu_profile_plugin.columns.arrays import I64, U8, U64, Bools
from tpu_profile_plugin.errors import CorruptProfile

_THREAD_LOCAL, _PARAMETER, _LIVE_OUT, _CONSTANT, _TUPLE = 1, 2, 4, 8, 16
_UNKNOWN_SHAPE = LaidOut("")


@dataclass(frozen=True, slots=True)
class HloPosition:
    """Defining position of a buffer: an instruction (row of the program, None if unknown) and its shape index."""

    name: str
    row: int | None
    index: tuple[int, ...]

    @property
    def full_name(self) -> str:
        """The instruction's name, followed by the shape index if there is one."""
        return self.name + ("{" + ",".join(map(str, self.index)) + "}" if self.index else "")


@dataclass(frozen=True, slots=True, eq=False)
class HeapTrace:
    """Events of the heap simulator: `kind` 0 allocates a buffer, 1 frees it, 2 shares with `canonical`."""

    kind: U8
    buffer: I64
    canonical: I64
    instruction: U64


class Buffers:
    """One program's buffer assignment. Rows are in file order; ids are arbitrary.

    Attributes:
      program: the program it belongs to.
      columns: id, size, color, instruction, instruction_name, index_start/index of logical buffers; allocation_index,
        allocation_size, allocation_color, allocation_flags, assigned_start, assigned_buffer/_offset/_size of
        allocations; trace_allocation, event_start, event_kind/_buffer/_canonical/_instruction of heap traces.
    """

    def __init__(self, program: Program) -> None:
        """Decodes the assignment; raises CorruptProfile."""
        self.program = program
        try:
            self.columns: Mapping[str, Any] = _native.hlo_buffers(program.space.data, program.module.proto)
        except _native.DecodeError as error:
            message, offset = error.args
            raise CorruptProfile(f"The buffer assignment of {program.module.name}: {message}", offset=offset) from None
        self._positions: dict[int, HloPosition] = {}
        self._shapes: dict[bytes, LaidOut] = {}

    @property
    def allocations(self) -> int:
        """Number of allocations."""
        return len(self.columns["allocation_index"])

    @cached_property
    def row_of(self) -> Mapping[int, int]:
        """Row of each logical buffer by id."""
        return dict(zip(self.columns["id"].tolist(), range(len(self.columns["id"])), strict=True))

    def rows(self, ids: I64) -> I64:
        """Row of the logical buffer with each id, the last if several have it; -1 for unknown ids."""
        order, sorted_ids = self._by_id
        if not len(sorted_ids):
            return np.full(len(ids), -1)
        position = np.maximum(np.searchsorted(sorted_ids, ids, side="right") - 1, 0)
        return np.where(sorted_ids[position] == ids, order[position], -1)

    @cached_property
    def _by_id(self) -> tuple[I64, I64]:
        ids = self.columns["id"]
        order = np.argsort(ids, kind="stable")
        return order, ids[order]

    def unpadded(self, rows: I64) -> I64:
        """Unpadded bytes of all logical buffers, by row; 0 for those not in `rows`."""
        sizes = np.zeros(max(1, len(self.columns["id"])), dtype=np.int64)
        for row in rows.tolist():
            sizes[row] = self.shape(row).unpadded
        return sizes

    def _flag(self, bits: int) -> Bools:
        mask: Bools = (self.columns["allocation_flags"] & bits) != 0
        return mask

    @cached_property
    def thread_local(self) -> Bools:
        """Per allocation: thread-local scratch space."""
        return self._flag(_THREAD_LOCAL)

    @cached_property
    def parameter(self) -> Bools:
        """Per allocation: an argument of the program."""
        return self._flag(_PARAMETER)

    @cached_property
    def live_out(self) -> Bools:
        """Per allocation: may live out of the program, as part of the result."""
        return self._flag(_LIVE_OUT)

    @cached_property
    def constant(self) -> Bools:
        """Per allocation: holds a constant."""
        return self._flag(_CONSTANT)

    @cached_property
    def tuple(self) -> Bools:
        """Per allocation: a tuple's pointer table."""
        return self._flag(_TUPLE)

    @cached_property
    def indefinite(self) -> Bools:
        """Per allocation: in use during the whole run of the program."""
        return self._flag(_PARAMETER | _CONSTANT | _LIVE_OUT) & ~self.thread_local

    def category(self, allocation: int) -> str:
        """Display name of an allocation's kind."""
        if self.parameter[allocation]:
            return "Parameter"
        if self.live_out[allocation]:
            return "Output"
        if self.thread_local[allocation]:
            return "Thread-local"
        return "Constant" if self.constant[allocation] else "Temporary"

    def assigned(self, allocation: int) -> range:
        """Rows of an allocation's buffers in the assigned_* columns."""
        start = self.columns["assigned_start"]
        return range(int(start[allocation]), int(start[allocation + 1]))

    @cached_property
    def allocation_of(self) -> Mapping[int, int]:
        """Allocation (row) of each logical buffer (id); the last if there are several."""
        start = self.columns["assigned_start"].astype(np.int64)
        rows = np.repeat(np.arange(self.allocations), np.diff(start))
        return dict(zip(self.columns["assigned_buffer"].tolist(), rows.tolist(), strict=True))

    @property
    def traces(self) -> int:
        """Number of heap traces."""
        return len(self.columns["trace_allocation"])

    def trace(self, number: int) -> HeapTrace:
        """The heap trace with the given index."""
        start = self.columns["event_start"]
        events = slice(int(start[number]), int(start[number + 1]))
        columns = (self.columns[f"event_{name}"][events] for name in ("kind", "buffer", "canonical", "instruction"))
        return HeapTrace(*columns)

    @cached_property
    def trace_of(self) -> Mapping[int, int]:
        """Heap trace of each allocation (row): the one whose first event concerns a buffer in it."""
        start = self.columns["event_start"]
        traces: dict[int, int] = {}
        for number in range(self.traces):
            first = int(start[number])
            if first < int(start[number + 1]):
                allocation = self.allocation_of.get(int(self.columns["event_buffer"][first]))
                if allocation is not None:
                    traces[allocation] = number
        return traces

    def position(self, row: int) -> HloPosition:
        """Defining position of the logical buffer in a row."""
        if row not in self._positions:
            start, index = self.columns["index_start"], self.columns["index"]
            instruction = self.program.row_of_id.get(int(self.columns["instruction"][row]))
            if instruction is None:
                name = self.program.space.texts(self.columns["instruction_name"][row : row + 1])[0]
                instruction = self.program.row_of.get(name)
            else:
                name = self.program.names[instruction]
            path = tuple(index[int(start[row]) : int(start[row + 1])].tolist())
            self._positions[row] = HloPosition(name, instruction, path)
        return self._positions[row]

    def shape(self, row: int) -> LaidOut:
        """Shape of the logical buffer in a row; an empty one if it is unknown."""
        position = self.position(row)
        if position.row is None:
            return _UNKNOWN_SHAPE
        data = self.program.shape(position.row)
        if data not in self._shapes:
            self._shapes[data] = read_shape(data)
        return self._shapes[data].at(position.index)


# Replays a heap simulator trace: bytes in use after each event, and the buffers live at the peak.


@dataclass(frozen=True, slots=True, eq=False)
class Replay:
    """Result of a replay; buffers are given by id.

    Attributes:
      heap, unpadded: bytes in use before each event, and after the last one, without allocations in use throughout.
      peak: the first event that reaches the peak; 0 if no memory is ever in use.
      peak_bytes, peak_unpadded: bytes in use at the peak.
      live: the buffers in use at the peak, in allocation order; for storage reused after it was freed, the buffer that
        reused it.
      span: first and last event between which each buffer's storage is in use.
      pieces: int64[n] each, of storage that several buffers use in turn one piece per use: row of the buffer, bytes of
        the storage, and the events between which it is in use.
    """

    heap: I64
    unpadded: I64
    peak: int
    peak_bytes: int
    peak_unpadded: int
    live: tuple[int, ...]
    span: dict[int, tuple[int, int]]
    pieces: tuple[I64, I64, I64, I64]


def replay(buffers: Buffers, trace: HeapTrace) -> Replay:
    """Replays one trace; events that refer to unknown buffers have no effect."""
    ids = buffers.columns["id"]
    replayed = _native.heap_replay(len(ids), trace.kind, buffers.rows(trace.buffer), buffers.rows(trace.canonical))
    storage, change, held, (buffer, first, last) = replayed
    shown, begin, end = (column.astype(np.int64) for column in held)
    sizes = buffers.columns["size"] if len(ids) else np.zeros(1, np.int64)
    unpadded_sizes = buffers.unpadded(np.unique(storage[change != 0]).astype(np.int64))
    heap, unpadded = (np.concatenate(([0], np.cumsum(change * of[storage]))) for of in (sizes, unpadded_sizes))
    peak = int(np.argmax(heap))
    peak_event = max(0, peak - 1)
    live = shown[(begin <= peak_event) & (peak_event < end)] if heap[peak] > 0 else shown[:0]
    spans = zip(first.tolist(), last.tolist(), strict=True)
    return Replay(
        heap=heap,
        unpadded=unpadded,
        peak=peak_event,
        peak_bytes=int(heap[peak]),
        peak_unpadded=int(unpadded[peak]),
        live=tuple(ids[live].tolist()),
        span=dict(zip(ids[buffer].tolist(), spans, strict=True)),
        # A piece has the size of its storage, whatever the buffer that took it over needs.
        pieces=(shown, sizes[storage[begin]].astype(np.int64), begin, end),
    )


SMALL_BYTES = 16384
"""Buffers at the peak smaller than this are aggregated."""
DEFAULT_SPACE, VECTOR_SPACE = 0, 1
_DRAWING_PIXELS = 2048
_SCOPED = re.compile(rb'"used_scoped_memory_configs"\s*:\s*\[([^][]*)\]')
_CONFIG = re.compile(rb'"(memory_space|size)"\s*:\s*"?(\d{1,18})"?')


@dataclass(frozen=True, slots=True)
class PeakBuffer:
    """A buffer in use at the peak: rows of its logical buffer and its allocation; sizes in bytes."""

    row: int
    allocation: int
    size: int
    unpadded: int


@dataclass(frozen=True, slots=True)
class Block:
    """A rectangle in the drawing of memory over time: `size` bytes at `offset`, from event `begin` to `end`.

    `row` is None for a whole allocation. `color` is the colour index of blocks that are not part of the peak.
    """

    row: int | None
    allocation: int
    offset: int
    size: int
    begin: int
    end: int
    color: int


class MemoryLayout:
    """One program in one memory space ("color" in HLO)."""

    def __init__(self, program: Program, space: int) -> None:
        """Decodes the buffer assignment; raises CorruptProfile."""
        self.program, self.space = program, space
        self.buffers = Buffers(program)

    @cached_property
    def in_space(self) -> Bools:
        """Per allocation: whether it is in this memory space."""
        mask: Bools = self.buffers.columns["allocation_color"] == self.space
        return mask

    def bytes_of(self, mask: Bools) -> int:
        """Total size of the allocations in this space that `mask` selects."""
        return int(self.buffers.columns["allocation_size"][mask & self.in_space].sum())

    @property
    def spaces(self) -> list[int]:
        """The memory spaces in which the program has allocations, ascending."""
        colors: list[int] = np.unique(self.buffers.columns["allocation_color"]).tolist()
        return colors

    @cached_property
    def indefinite_bytes(self) -> int:
        """Bytes in use during the whole run of the program."""
        return self.bytes_of(self.buffers.indefinite)

    @cached_property
    def trace(self) -> int | None:
        """The heap trace to replay: that of the first allocation with one, else the one with most events here."""
        buffers = self.buffers
        for allocation in np.flatnonzero(self.in_space & ~buffers.indefinite).tolist():
            if allocation in buffers.trace_of:
                return buffers.trace_of[allocation]
        local = buffers.columns["id"][buffers.columns["color"] == self.space]
        before = np.concatenate(([0], np.cumsum(np.isin(buffers.columns["event_buffer"], local))))
        counts = np.diff(before[buffers.columns["event_start"]])
        return int(counts.argmax()) if len(counts) and counts.max() else None

    @cached_property
    def replay(self) -> Replay | None:
        """The replayed trace; None without a trace."""
        return None if self.trace is None else replay(self.buffers, self.buffers.trace(self.trace))

    @cached_property
    def instruction_names(self) -> list[str]:
        """The instruction name of each event of the trace."""
        if self.trace is None:
            return []
        return self.program.space.texts(self.buffers.trace(self.trace).instruction)

    @property
    def peak_bytes(self) -> int:
        """The most bytes in use."""
        return self.indefinite_bytes + (self.replay.peak_bytes if self.replay else 0)

    @property
    def peak_unpadded(self) -> int:
        """Peak bytes without the padding of temporary buffers."""
        return self.indefinite_bytes + (self.replay.peak_unpadded if self.replay else 0)

    @cached_property
    def at_peak(self) -> tuple[list[PeakBuffer], int]:
        """The buffers at the peak of at least SMALL_BYTES, and the total size of the smaller ones."""
        buffers = self.buffers
        at_peak = []
        if self.space == DEFAULT_SPACE:
            for allocation in np.flatnonzero(self.in_space & buffers.indefinite).tolist():
                row = self.largest(allocation)
                if row is not None:
                    at_peak.append(self._peak_buffer(row, allocation))
        for id_ in self.replay.live if self.replay else ():
            row = buffers.row_of[id_]
            at_peak.append(self._peak_buffer(row, buffers.allocation_of.get(id_, -1)))
        small = sum(buffer.size for buffer in at_peak if buffer.size < SMALL_BYTES)
        return [buffer for buffer in at_peak if buffer.size >= SMALL_BYTES], small

    def _peak_buffer(self, row: int, allocation: int) -> PeakBuffer:
        size = int(self.buffers.columns["size"][row])
        unpadded = self.buffers.shape(row).unpadded if size >= SMALL_BYTES else 0
        return PeakBuffer(row, allocation, size, unpadded)

    def largest(self, allocation: int) -> int | None:
        """The largest logical buffer of an allocation, the first among equals."""
        ids = self.buffers.columns["assigned_buffer"]
        rows = (self.buffers.row_of.get(int(ids[i])) for i in self.buffers.assigned(allocation))
        held = [row for row in rows if row is not None]
        return max(held, key=lambda row: int(self.buffers.columns["size"][row]), default=None)

    def blocks(self) -> list[Block]:
        """Blocks of temporary allocations, stacked, each followed by the blocks of its buffers."""
        buffers, spans = self.buffers, self.replay.span if self.replay else {}
        columns = buffers.columns
        start = columns["event_start"]
        traced = [
            (allocation, buffers.trace_of[allocation])
            for allocation in np.flatnonzero(self.in_space & ~buffers.indefinite).tolist()
            if allocation in buffers.trace_of
        ]
        height = sum(int(columns["allocation_size"][allocation]) for allocation, _ in traced)
        width = max((int(start[trace + 1]) - int(start[trace]) for _, trace in traced), default=0)
        if height <= 0 or not width:
            return []
        out: list[Block] = []
        base = color = 0
        for allocation, trace in traced:
            size = int(columns["allocation_size"][allocation])
            out.append(Block(None, allocation, base, size, 0, int(start[trace + 1]) - int(start[trace]), color))
            color += 1
            for assigned in buffers.assigned(allocation):
                buffer = int(columns["assigned_buffer"][assigned])
                row = buffers.row_of.get(buffer)
                if row is None or buffer not in spans:
                    continue
                (begin, end), bytes_ = spans[buffer], int(columns["size"][row])
                offset = base + int(columns["assigned_offset"][assigned])
                out.append(Block(row, allocation, offset, bytes_, begin, end, color))
                # Only blocks visible in a drawing of 2048 by 2048 pixels use up a colour.
                columns_wide = (end - begin + 1) * _DRAWING_PIXELS / width
                color += int(columns_wide >= 0.5 and bytes_ * _DRAWING_PIXELS / height >= 0.5)
            base += size
        return out

    def scoped(self) -> tuple[int, str]:
        """The largest scoped memory of one instruction in bytes, and the instruction's name."""
        best, name = 0, ""
        for row in range(len(self.program)):
            for config in _SCOPED.findall(self.program.message(row)):
                for entry in config.split(b"}"):
                    values = {key: int(value) for key, value in _CONFIG.findall(entry)}
                    if values.get(b"memory_space") == self.space and values.get(b"size", 0) > best:
                        best, name = values[b"size"], self.program.names[row]
        return best, name


def by_size(sizes: list[int]) -> I64:
    """Indices by size descending; ties are ordered as by XProf's unstable sort."""
    key = -np.array(sizes, dtype=np.int64)
    return _native.walk_order(key, np.zeros(len(key), dtype=np.int64), np.arange(len(key)))


PARAMETER, OUTPUT, CONSTANT, TEMPORARY, UNKNOWN = "parameter", "output", "constant", "temporary", "unknown"


@dataclass(frozen=True, eq=False, kw_only=True)
class Pieces:
    """Pieces of memory that are in use between two instants.

    Attributes:
      row: int64[n], the row that describes the piece.
      size: int64[n], bytes.
      first, last: int64[n], the instants between which it is in use, both included.
    """

    row: I64
    size: I64
    first: I64
    last: I64

    def __len__(self) -> int:
        return len(self.row)

    @property
    def heap(self) -> I64:
        """Bytes in use at each instant."""
        raise NotImplementedError

    @property
    def peak(self) -> int:
        """The first instant with most bytes in use."""
        return int(self.heap.argmax())

    def live(self, instant: int) -> I64:
        """The pieces in use at an instant, the largest first."""
        pieces = np.flatnonzero((self.first <= instant) & (instant <= self.last))
        return pieces[np.argsort(-self.size[pieces], kind="stable")]


@dataclass(frozen=True, eq=False, kw_only=True)
class MemoryHistory(Pieces):
    """The pieces of storage of a program; instant i is before event i of the heap, the last one after all events.

    Attributes:
      layout: the program in a memory space.
      row: int64[n], row of the logical buffer that the piece holds, of several in an allocation the largest; -1 if
        unknown.
      result: int64[n], `row`, but of an allocation that holds a result of the program in the end that result.
      allocation: int64[n], row of its allocation; -1 if unknown.
      instants: their number, at least 1.
    """

    layout: MemoryLayout
    result: I64
    allocation: I64
    instants: int

    def series(self, group: I64, groups: int) -> I64:
        """Bytes in use by group and instant, int64[groups, instants]; their sum is the heap at every instant."""
        return stacked(group, groups, self.first, self.last, self.size, self.instants)

    @cached_property
    def heap(self) -> I64:
        """Bytes in use at each instant."""
        heap: I64 = self.series(np.zeros(len(self), np.int64), 1)[0]
        return heap

    @cached_property
    def categories(self) -> tuple[str, ...]:
        """Kind of each piece: of its allocation, of temporaries without a known instruction `UNKNOWN`."""
        buffers = self.layout.buffers
        kinds = []
        for row, allocation in zip(self.row.tolist(), self.allocation.tolist(), strict=True):
            kind = buffers.category(allocation) if allocation >= 0 else ""
            has_instruction = row >= 0 and buffers.position(row).row is not None
            kinds.append(_KINDS.get(kind, TEMPORARY if has_instruction else UNKNOWN))
        return tuple(kinds)


_KINDS = {"Parameter": PARAMETER, "Output": OUTPUT, "Constant": CONSTANT}


def stacked(group: I64, groups: int, first: I64, last: I64, size: I64, instants: int) -> I64:
    """Bytes in use by group and instant, int64[groups, instants]; pieces live from `first` to `last`, both included."""
    change: I64 = np.zeros((groups, instants + 1), np.int64)
    np.add.at(change, (group, first), size)
    np.subtract.at(change, (group, last + 1), size)
    np.cumsum(change, axis=1, out=change)
    return change[:, :-1]


def memory_history(layout: MemoryLayout) -> MemoryHistory:
    """The pieces of a program: allocations in use throughout, then storage of the heap in the order of its events."""
    buffers = layout.buffers
    permanent = np.flatnonzero(layout.in_space & buffers.indefinite)
    returned = _returned(layout.program)
    held, held_in, held_size, held_first, held_last = _held(layout)
    largest = _rows([layout.largest(allocation) for allocation in permanent.tolist()])
    results = _rows([_result(layout, allocation, returned) for allocation in permanent.tolist()])
    instants = 1 if layout.replay is None else len(layout.replay.heap)
    none = np.zeros(len(permanent), np.int64)
    return MemoryHistory(
        layout=layout,
        row=np.concatenate([largest, held]),
        result=np.concatenate([np.where(results >= 0, results, largest), held]),
        allocation=np.concatenate([permanent, held_in]).astype(np.int64),
        size=np.concatenate([buffers.columns["allocation_size"][permanent].astype(np.int64), held_size]),
        first=np.concatenate([none, held_first]),
        last=np.concatenate([none + instants - 1, held_last]),
        instants=instants,
    )


def _rows(rows: Sequence[int | None]) -> I64:
    return np.array([-1 if row is None else row for row in rows], np.int64)


def _result(layout: MemoryLayout, allocation: int, returned: frozenset[int]) -> int | None:
    """The result that an allocation holds in the end; None if it holds none, or several."""
    buffers = layout.buffers
    if not buffers.live_out[allocation] or buffers.parameter[allocation]:
        return None
    ids = (int(buffers.columns["assigned_buffer"][i]) for i in buffers.assigned(allocation))
    rows = [row for row in map(buffers.row_of.get, ids) if row is not None]
    results = [row for row in rows if buffers.position(row).row in returned and not buffers.position(row).index]
    return results[0] if len(results) == 1 else None


def _returned(program: Program) -> frozenset[int]:
    """The instructions of the entry computation whose values are results of the program."""
    links, returned = Links(program), set[int]()
    root = None if program.entry is None else links.root(program.entry)
    waiting = [] if root is None else [root]
    while waiting:
        row = waiting.pop()
        if row >= 0 and row not in returned:
            returned.add(row)
            waiting += links.operands(row) if program.opcodes[row] in ("tuple", "bitcast") else []
    return frozenset(returned)


def _held(layout: MemoryLayout) -> tuple[I64, I64, I64, I64, I64]:
    """Storage of the heap: row, allocation, size, first and last instant."""
    none = np.zeros(0, np.int64)
    if layout.replay is None:
        return none, none, none, none, none
    shown, size, begin, end = layout.replay.pieces
    ids = layout.buffers.columns["id"][shown].tolist()
    allocation = np.array([layout.buffers.allocation_of.get(id_, -1) for id_ in ids], np.int64)
    return shown, allocation, size, begin + 1, end


ALL_THE_TIME = 0.995
"""From this share of the time of all programs on, one ran all the time."""


@dataclass(frozen=True, slots=True)
class ProgramRan:
    """A program that devices ran.

    Attributes:
      name: `module(program id)`, or the id if its name was not recorded.
      time_ps: time of its ops on all devices; share: of the time of all programs.
      known: its HLO is in the profile.
    """

    name: str
    time_ps: int
    known: bool
    share: float = 0.0


def programs_ran(parts: Iterable[Sequence[ProgramRan]]) -> tuple[ProgramRan, ...]:
    """The programs of several hosts, most time first, with their shares; HLO of one host is enough."""
    time, with_hlo = Counter[str](), set[str]()
    for program in (program for part in parts for program in part):
        time[program.name] += program.time_ps
        with_hlo |= {program.name} if program.known else set()
    total = max(sum(time.values()), 1)
    return tuple(ProgramRan(name, ps, name in with_hlo, ps / total) for name, ps in time.most_common())


def unknown_memory(ran: Sequence[ProgramRan]) -> str:
    """Why the recording does not tell the memory that it needed; "" if it has the HLO of the program with most time."""
    if not ran or ran[0].known:
        return ""
    most = ran[0]
    when = "all the time" if most.share >= ALL_THE_TIME else f"{most.share:.1%} of the time"
    return f"The program that ran {when}, {most.name}, has no HLO in this recording: its memory is unknown."
