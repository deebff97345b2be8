"""What a program's memory holds at each instant: pieces of storage with their size, life and buffer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tpu_profile_plugin import _native
from tpu_profile_plugin.analysis.hlo.graph import Links
from tpu_profile_plugin.analysis.hlo.programs import Program
from tpu_profile_plugin.analysis.memory.layout import MemoryLayout
from tpu_profile_plugin.columns.arrays import I64

PARAMETER, OUTPUT, CONSTANT, TEMPORARY, UNKNOWN = "parameter", "output", "constant", "temporary", "unknown"


@dataclass(frozen=True, eq=False)
class MemoryHistory:
    """The pieces of storage of a program; instant i is before event i of the heap, the last one after all events.

    Attributes:
      layout: the program in a memory space.
      row: int64[n], row of the logical buffer that the piece holds, of several in an allocation the largest; -1 if
        unknown.
      result: int64[n], the same, but of an allocation that holds a result of the program in the end that result.
      allocation: int64[n], row of its allocation; -1 if unknown.
      size: int64[n], bytes.
      first, last: int64[n], the instants between which it is in use, both included.
      instants: their number, at least 1.
    """

    layout: MemoryLayout
    row: I64
    result: I64
    allocation: I64
    size: I64
    first: I64
    last: I64
    instants: int

    def __len__(self) -> int:
        return len(self.row)

    def series(self, group: I64, groups: int) -> I64:
        """Bytes in use by group and instant, int64[groups, instants]; their sum is the heap at every instant."""
        return stacked(group, groups, self.first, self.last, self.size, self.instants)

    @cached_property
    def heap(self) -> I64:
        """Bytes in use at each instant."""
        heap: I64 = self.series(np.zeros(len(self), np.int64), 1)[0]
        return heap

    @property
    def peak(self) -> int:
        """The first instant with most bytes in use."""
        return int(self.heap.argmax())

    def live(self, instant: int) -> I64:
        """The pieces in use at an instant, the largest first."""
        pieces = np.flatnonzero((self.first <= instant) & (instant <= self.last))
        return pieces[np.argsort(-self.size[pieces], kind="stable")]

    @cached_property
    def categories(self) -> tuple[str, ...]:
        """Kind of each piece: of its allocation, of temporaries without a known instruction `UNKNOWN`."""
        buffers = self.layout.buffers
        kinds = []
        for row, allocation in zip(self.row.tolist(), self.allocation.tolist(), strict=True):
            kind = buffers.category(allocation) if allocation >= 0 else ""
            known = row >= 0 and buffers.position(row).row is not None
            kinds.append(_KINDS.get(kind, TEMPORARY if known else UNKNOWN))
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
    held, largest = _held(layout), _rows([layout.largest(one) for one in permanent.tolist()])
    results = _rows([_result(layout, one, returned) for one in permanent.tolist()])
    instants = 1 if layout.replay is None else len(layout.replay.heap)
    none = np.zeros(len(permanent), np.int64)
    return MemoryHistory(
        layout=layout,
        row=np.concatenate([largest, held.row]),
        result=np.concatenate([np.where(results >= 0, results, largest), held.row]),
        allocation=np.concatenate([permanent, held.allocation]).astype(np.int64),
        size=np.concatenate([buffers.columns["allocation_size"][permanent].astype(np.int64), held.size]),
        first=np.concatenate([none, held.first]),
        last=np.concatenate([none + instants - 1, held.last]),
        instants=instants,
    )


def _rows(rows: Sequence[int | None]) -> I64:
    return np.array([-1 if row is None else row for row in rows], np.int64)


def _result(layout: MemoryLayout, allocation: int, returned: frozenset[int]) -> int | None:
    """The result that an allocation holds in the end; None if it holds none, or several."""
    buffers = layout.buffers
    if not buffers.live_out[allocation] or buffers.parameter[allocation]:
        return None
    ids = (int(buffers.columns["assigned_buffer"][at]) for at in buffers.assigned(allocation))
    rows = [row for row in map(buffers.row_of.get, ids) if row is not None]
    results = [row for row in rows if buffers.position(row).row in returned and not buffers.position(row).index]
    return results[0] if len(results) == 1 else None


def _returned(program: Program) -> frozenset[int]:
    """The instructions of the entry computation whose values are results of the program."""
    links, found = Links(program), set[int]()
    root = None if program.entry is None else links.root(program.entry)
    waiting = [] if root is None else [root]
    while waiting:
        row = waiting.pop()
        if row >= 0 and row not in found:
            found.add(row)
            waiting += links.operands(row) if program.opcodes[row] in _PASSED_ON else []
    return frozenset(found)


_PASSED_ON = frozenset(("tuple", "bitcast"))


@dataclass(frozen=True, slots=True, eq=False)
class _Held:
    row: I64
    allocation: I64
    size: I64
    first: I64
    last: I64


def _held(layout: MemoryLayout) -> _Held:
    """Storage of the heap; storage that another buffer takes over after it was freed is another piece."""
    none = np.zeros(0, np.int64)
    if layout.trace is None:
        return _Held(none, none, none, none, none)
    buffers = layout.buffers
    trace, ids = buffers.trace(layout.trace), buffers.columns["id"]
    rows = buffers.rows(trace.buffer), buffers.rows(trace.canonical)
    storage, _, held, _ = _native.heap_replay(len(ids), trace.kind, *rows)
    shown, begin, end = (column.astype(np.int64) for column in held)
    of = buffers.allocation_of
    allocation = np.array([of.get(id_, -1) for id_ in ids[shown].tolist()], np.int64)
    # A piece has the size of its storage, whatever the buffer that took it over needs.
    return _Held(shown, allocation, buffers.columns["size"][storage[begin]].astype(np.int64), begin + 1, end)
