"""What threads hand to each other: items of queues and results of futures, where Python functions show both sides."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.analysis.budget.host_names import Activity, activity
from tpu_profile_plugin.analysis.common.planes import line_of, recorded_lines, rows_named, spans_at
from tpu_profile_plugin.columns import Plane
from tpu_profile_plugin.columns.arrays import I64
from tpu_profile_plugin.units import PS_PER_US

_GIVES = re.compile(
    r"\$(?:queues?\.py:\d+|_queue|multiprocessing\.\S+) put\Z|\$_base\.py:\d+ set_(?:result|exception)\Z"
)
_LEAST_PS = 10 * PS_PER_US
"""A call that takes less does not wait."""


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
    """Waits for items until another thread puts one, and waits for room until another thread takes one."""
    gives = np.flatnonzero(rows_named(plane, _GIVES.match)[plane.events.metadata])
    takes = np.flatnonzero(rows_named(plane, lambda name: activity(name) == Activity.HANDOVER)[plane.events.metadata])
    recorded = recorded_lines(plane)
    gives, takes = (events[recorded[line_of(plane, events)]] for events in (gives, takes))
    pairs = [_awaited(plane, takes, gives), _awaited(plane, gives, takes)]
    pairs.append(_ready(plane, takes[~np.isin(spans_at(plane, takes)[1], pairs[0][2])], gives))
    return Handoffs(*(np.concatenate(column) for column in zip(*pairs, strict=True)))


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
