"""A program's memory use in one memory space: permanent and temporary allocations, and the buffers at the peak."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tpu_profile_plugin import _native
from tpu_profile_plugin.analysis.hlo.programs import Program
from tpu_profile_plugin.analysis.memory.buffers import Buffers, HeapTrace
from tpu_profile_plugin.columns.arrays import I64, Bools

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
    """

    heap: I64
    unpadded: I64
    peak: int
    peak_bytes: int
    peak_unpadded: int
    live: tuple[int, ...]
    span: dict[int, tuple[int, int]]


def replay(buffers: Buffers, trace: HeapTrace) -> Replay:
    """Replays one trace; events that refer to unknown buffers have no effect."""
    ids = buffers.columns["id"]
    replayed = _native.heap_replay(len(ids), trace.kind, buffers.rows(trace.buffer), buffers.rows(trace.canonical))
    storage, change, (live_candidates, begin, end), (buffer, first, last) = replayed
    sizes = buffers.columns["size"] if len(ids) else np.zeros(1, np.int64)
    unpadded_sizes = buffers.unpadded(np.unique(storage[change != 0]).astype(np.int64))
    heap, unpadded = (np.concatenate(([0], np.cumsum(change * of[storage]))) for of in (sizes, unpadded_sizes))
    peak = int(np.argmax(heap))
    peak_event = max(0, peak - 1)
    live = live_candidates[(begin <= peak_event) & (peak_event < end)] if heap[peak] > 0 else live_candidates[:0]
    spans = zip(first.tolist(), last.tolist(), strict=True)
    return Replay(
        heap=heap,
        unpadded=unpadded,
        peak=peak_event,
        peak_bytes=int(heap[peak]),
        peak_unpadded=int(unpadded[peak]),
        live=tuple(ids[live].tolist()),
        span=dict(zip(ids[buffer].tolist(), spans, strict=True)),
    )


SMALL_BYTES = 16384
"""Buffers at the peak smaller than this are aggregated."""
DEFAULT_SPACE, VECTOR_SPACE = 0, 1
_DRAWING_PIXELS = 2048
_SCOPED = re.compile(rb'"used_scoped_memory_configs"\s*:\s*\[([^\]]*)\]')
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
        known = [row for row in rows if row is not None]
        return max(known, key=lambda row: int(self.buffers.columns["size"][row])) if known else None

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
                is_visible = (
                    end - begin + 1
                ) * _DRAWING_PIXELS / width >= 0.5 and bytes_ * _DRAWING_PIXELS / height >= 0.5
                color += int(is_visible)
            base += size
        return out

    def scoped(self) -> tuple[int, str]:
        """The largest scoped memory of one instruction in bytes, and the instruction's name."""
        best, name = 0, ""
        messages = self.program.columns["message"]
        for row in range(len(self.program)):
            for config in _SCOPED.findall(self.program.space.blob(int(messages[row]))):
                for entry in config.split(b"}"):
                    values = {key: int(value) for key, value in _CONFIG.findall(entry)}
                    if values.get(b"memory_space") == self.space and values.get(b"size", 0) > best:
                        best, name = values[b"size"], self.program.names[row]
        return best, name


def by_size(sizes: list[int]) -> I64:
    """Indices by size descending; ties are ordered as by XProf's unstable sort."""
    key = -np.array(sizes, dtype=np.int64)
    return _native.walk_order(key, np.zeros(len(key), dtype=np.int64), np.arange(len(key)))
