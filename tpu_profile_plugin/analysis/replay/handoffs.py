"""What threads hand to each other: items of queues and results of futures, where Python functions show both sides."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.analysis.budget.host_names import Activity, activity
from tpu_profile_plugin.analysis.common.planes import line_of, recorded_lines, rows_named, spans_at
from tpu_profile_plugin.columns import Plane
from tpu_profile_plugin.columns.arrays import I64, Bools
from tpu_profile_plugin.units import PS_PER_US

_GIVES = re.compile(
    r"\$(?:queues?\.py:\d+|_queue|multiprocessing\.\S+) put\Z|\$_base\.py:\d+ set_(?:result|exception)\Z"
)
_SIGNALS = re.compile(r"\$threading\.py:\d+ (?:release|set|notify(?:_all)?)\Z")
_BLOCKS = re.compile(r"\$threading\.py:\d+ (?:acquire|wait)\Z")
_LEAST_PS = 10 * PS_PER_US
"""A call that takes less does not wait."""
_MOST_TURN_PS = 10_000 * PS_PER_US
"""A call that ends later after a signal waited for something else: threads of Python take turns every 5 ms."""


@dataclass(frozen=True, slots=True, eq=False)
class Handoffs:
    """Waits of one thread for another, each int64[n].

    Attributes:
      line, begin_ps, end_ps: row of the waiting thread's line, and its wait; without length if nothing was to wait for.
      source, source_ps: row of the other thread's line, and when it gave or took; not after `end_ps`.
    """

    line: I64
    begin_ps: I64
    end_ps: I64
    source: I64
    source_ps: I64

    @property
    def lines(self) -> list[int]:
        """The threads that hand something over, or wait for it."""
        return sorted({*self.line.tolist(), *self.source.tolist()})


_NONE = np.zeros(0, np.int64)
NO_HANDOFFS = Handoffs(_NONE, _NONE, _NONE, _NONE, _NONE)


def handoffs(plane: Plane) -> Handoffs:
    """Waits for items, room, and signals of semaphores, conditions and events, until another thread gives them."""
    gives = np.flatnonzero(rows_named(plane, _GIVES.match)[plane.events.metadata])
    takes = np.flatnonzero(rows_named(plane, lambda name: activity(name) == Activity.HANDOVER)[plane.events.metadata])
    recorded = recorded_lines(plane)
    gives, takes = (events[recorded[line_of(plane, events)]] for events in (gives, takes))
    pairs = [_awaited(plane, takes, gives), _awaited(plane, gives, takes)]
    pairs.append(_signalled(plane, np.concatenate([takes, gives]), recorded))
    pairs.append(_ready(plane, takes[~np.isin(spans_at(plane, takes)[1], pairs[0][2])], gives))
    return Handoffs(*(np.concatenate(column) for column in zip(*pairs, strict=True)))


def _signalled(plane: Plane, queues: I64, recorded: Bools) -> tuple[I64, ...]:
    """The calls that wait for a signal of another thread, without those inside calls of queues or of each other."""
    names = plane.events.metadata
    signals, waits = (np.flatnonzero(rows_named(plane, name.match)[names]) for name in (_SIGNALS, _BLOCKS))
    signals, waits = (events[recorded[line_of(plane, events)]] for events in (signals, waits))
    calls = np.concatenate([waits, queues])
    begin, end = spans_at(plane, calls)
    of_call, inside = line_of(plane, calls), np.zeros(len(calls), np.bool_)
    for number in np.unique(of_call).tolist():
        mine = np.flatnonzero(of_call == number)
        mine = mine[np.lexsort((-end[mine], begin[mine]))]
        until = np.maximum.accumulate(end[mine])
        inside[mine[1:]] = until[:-1] >= end[mine[1:]]
    line, begin, end, source, gave = _awaited(plane, waits[~inside[: len(waits)]], signals)
    soon = end - gave <= _MOST_TURN_PS
    return line[soon], begin[soon], end[soon], source[soon], gave[soon]


def _awaited(plane: Plane, waits: I64, others: I64) -> tuple[I64, ...]:
    """The calls that wait for a call of another thread, the last that begins within them, as columns of `Handoffs`."""
    begin, end = spans_at(plane, waits)
    line = line_of(plane, waits)
    best, source = np.full(len(waits), np.iinfo(np.int64).min), np.full(len(waits), -1)
    of_other = line_of(plane, others)
    for number in np.unique(of_other).tolist():
        since, until = spans_at(plane, others[of_other == number])
        order = np.argsort(since, kind="stable")
        since, until = since[order], until[order]
        last = np.searchsorted(since, end) - 1
        # The other call may return a moment after this one.
        call = np.maximum(last, 0)
        gave = np.minimum(until[call], end)
        better = (line != number) & (last >= 0) & (since[call] >= begin) & (gave > begin) & (gave > best)
        best[better], source[better] = gave[better], number
    keep = (source >= 0) & (end - begin >= _LEAST_PS)
    return line[keep], begin[keep], end[keep], source[keep], best[keep]


def _ready(plane: Plane, takes: I64, gives: I64) -> tuple[I64, ...]:
    """The calls that need not wait, and the last item that another thread put before, as columns of `Handoffs`."""
    begin, end = spans_at(plane, takes)
    line, of_other = line_of(plane, takes), line_of(plane, gives)
    best, source = np.full(len(takes), np.iinfo(np.int64).min), np.full(len(takes), -1)
    for number in np.unique(of_other).tolist():
        until = np.sort(spans_at(plane, gives[of_other == number])[1])
        last = np.searchsorted(until, begin, side="right") - 1
        gave = until[np.maximum(last, 0)]
        better = (line != number) & (last >= 0) & (gave > best)
        best[better], source[better] = gave[better], number
    keep = source >= 0
    return line[keep], end[keep], end[keep], source[keep], best[keep]
