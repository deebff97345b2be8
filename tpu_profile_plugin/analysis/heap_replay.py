"""Replays the heap simulator of the compiler: how much memory a program has in use at each point, and for what."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.analysis.buffers import Buffers, HeapTrace
from tpu_profile_plugin.analysis.derived import Ints

ALLOCATE, FREE, SHARE = 0, 1, 2


@dataclass(frozen=True, slots=True, eq=False)
class Replay:
    """What a replay found; buffers are ids.

    Attributes:
      heap, unpadded: bytes in use before each event, and after the last one; without what is in use all the time.
      peak: the event that first reaches the most memory; 0 when nothing is ever in use.
      peak_bytes, peak_unpadded: then in use.
      live: the buffers then in use, in the order in which they were allocated; where storage was taken over after it
        had been freed, the buffer that took it over.
      span: first and last event between which a buffer's storage is in use.
    """

    heap: Ints
    unpadded: Ints
    peak: int
    peak_bytes: int
    peak_unpadded: int
    live: tuple[int, ...]
    span: dict[int, tuple[int, int]]


@dataclass(slots=True)
class _Held:
    """Storage while it is in use."""

    buffer: int
    shown: int
    begin: int
    end: int


class _State:
    """The simulator's books."""

    def __init__(self, events: int) -> None:
        self.last = events - 1
        self.uses: dict[int, int] = {}
        self.canonical: dict[int, int] = {}
        self.shown: dict[int, int] = {}
        self.held: dict[int, _Held] = {}
        self.ever: list[_Held] = []
        self.span: dict[int, tuple[int, int]] = {}
        self.freed: set[int] = set()

    def root(self, buffer: int) -> int:
        """Whose storage a buffer uses; the path is shortened, so that long chains are walked once."""
        path = []
        while buffer in self.canonical:
            path.append(buffer)
            buffer = self.canonical[buffer]
        for step in path:
            self.canonical[step] = buffer
        return buffer

    def hold(self, buffer: int, shown: int, at: int) -> bool:
        """Storage comes into use; False when it is in use already."""
        self.span[shown] = (at, self.last)
        if buffer in self.held:
            return False
        self.held[buffer] = held = _Held(buffer, shown, at, self.last + 1)
        self.ever.append(held)
        return True

    def allocate(self, buffer: int, at: int) -> tuple[int, int]:
        """Storage whose use goes up, and by how many times its size."""
        self.uses[buffer] = self.uses.get(buffer, 0) + 1
        return buffer, int(self.hold(buffer, self.shown.get(buffer, buffer), at))

    def share(self, buffer: int, canonical: int, at: int) -> tuple[int, int]:
        """As `allocate`, for a buffer that uses another's storage; that may have been freed before."""
        root = self.root(canonical)
        if root != buffer:  # a ring would have no root
            self.canonical[buffer] = root
        self.uses[root] = self.uses.get(root, 0) + 1
        if self.uses[root] != 1:
            return root, 0
        self.shown[root] = buffer
        return root, int(self.hold(root, buffer, at))

    def free(self, buffer: int, at: int) -> tuple[int, int]:
        """Storage whose use goes down when nobody uses it any more, by how many times its size."""
        root = self.root(buffer)
        if buffer != root and buffer in self.span:
            self.span[buffer] = (self.span[buffer][0], at)
        self.uses[root] = self.uses.get(root, 0) - 1
        if self.uses[root] != 0:
            return root, 0
        held = self.held.pop(root, None)
        if held is None:
            return root, 0
        held.end = at
        if root not in self.freed and root in self.span:
            self.freed.add(root)
            self.span[root] = (self.span[root][0], at)
        return root, -1


def replay(buffers: Buffers, trace: HeapTrace) -> Replay:
    """Replays one trace; events about buffers that do not exist move no memory."""
    count = len(trace.kind)
    state = _State(count)
    storage = np.zeros(count, dtype=np.int64)
    change = np.zeros(count, dtype=np.int64)
    events = zip(trace.kind.tolist(), trace.buffer.tolist(), trace.canonical.tolist(), strict=True)
    row_of = buffers.row_of
    for at, (kind, buffer, canonical) in enumerate(events):
        if buffer not in row_of:
            continue
        if kind == ALLOCATE:
            root, times = state.allocate(buffer, at)
        elif kind == FREE:
            root, times = state.free(buffer, at)
        elif kind == SHARE and canonical in row_of:
            root, times = state.share(buffer, canonical, at)
        else:
            continue
        storage[at], change[at] = row_of[root], times
    sizes, bare = _sizes(buffers, np.unique(storage[change != 0]))
    moved, moved_bare = change * sizes[storage], change * bare[storage]
    heap, unpadded = (np.concatenate(([0], np.cumsum(steps))) for steps in (moved, moved_bare))
    peak = int(np.argmax(heap))
    peak_event = max(0, peak - 1)
    live = tuple(one.shown for one in state.ever if one.begin <= peak_event < one.end) if heap[peak] > 0 else ()
    return Replay(
        heap=heap,
        unpadded=unpadded,
        peak=peak_event,
        peak_bytes=int(heap[peak]),
        peak_unpadded=int(unpadded[peak]),
        live=live,
        span=state.span,
    )


def _sizes(buffers: Buffers, rows: Ints) -> tuple[Ints, Ints]:
    """Bytes of every logical buffer; unpadded only of the given rows."""
    bare = np.zeros(max(1, len(buffers.columns["size"])), dtype=np.int64)
    for row in rows.tolist():
        bare[row] = buffers.shape(row).unpadded
    size = buffers.columns["size"]
    return (size if len(size) else bare), bare
