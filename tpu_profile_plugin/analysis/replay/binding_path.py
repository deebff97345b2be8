"""The binding path of each step: at every moment the op, or the call of the main thread, that its length depends on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import IntEnum

import numpy as np

from tpu_profile_plugin import _native
from tpu_profile_plugin.analysis.budget import categories as part
from tpu_profile_plugin.analysis.budget.budget import DeviceTime, SpentTime
from tpu_profile_plugin.analysis.budget.host_time import MOST_LEVELS, MainThread
from tpu_profile_plugin.analysis.common.planes import shown_names, spans_at
from tpu_profile_plugin.analysis.common.rows import no_rows, row_codes, rows_of, sums_by
from tpu_profile_plugin.analysis.common.spans import Times, intersect, no_time, subtract, times_of, total
from tpu_profile_plugin.analysis.devices.model import Device, Work
from tpu_profile_plugin.columns import Plane
from tpu_profile_plugin.columns.arrays import I64, Bools

NOTHING = -1
OF_OPS = {
    part.COMPUTE: (Work.COMPUTE, Work.CONTROL),
    part.DATA_MOVEMENT: (Work.MOVE,),
    part.MOVE_WAIT: (Work.MOVE_WAIT,),
    part.EXPOSED_COMMUNICATION: (Work.COMMUNICATION,),
    part.PEER_TRANSFER: (Work.COMMUNICATION, Work.PEER_COPY),
    part.IDLE_PEER: (Work.COMMUNICATION,),
    part.EXPOSED_COPY: (Work.COPY,),
    part.INPUT_COPY: (Work.UPLOAD,),
    part.OUTPUT_COPY: (Work.DOWNLOAD,),
}
"""Parts of the budget in which a device works, and the work that they consist of."""
WAITING = (
    *(part.IDLE_INPUT, part.IDLE_COMPILE, part.IDLE_HOST, part.IDLE_TRANSFER, part.IDLE_LAUNCH, part.IDLE_OTHER),
    *(part.INPUT_COPY, part.OUTPUT_COPY),
)
"""Parts of a step in which devices wait for the host."""
MOST_PIECES = 20_000
"""Windows with more pieces have the small ones together."""
_LAST = np.iinfo(np.int64).max


class On(IntEnum):
    """Where a piece of the path is."""

    NOTHING = 0
    """No event is known to determine that time, or the piece stands for several."""
    OP = 1
    """An op of the device."""
    CALL = 2
    """The innermost call of the main thread."""


@dataclass(frozen=True, slots=True, eq=False)
class Path:
    """The binding path of one device, in time order; without thinning the pieces of a step add up to it.

    Attributes:
      step: int64[n], the row of the step.
      begin_ps, end_ps: int64[n], on the axis of the file; pieces do not overlap.
      part: int64[n], index in `CATEGORIES`; of several pieces that of which most is.
      on: int64[n], `On`.
      name: int64[n], index into `names`, the event as viewers show it; `NOTHING` without one.
      event: int64[n], of ops the row in the plane of the device, of calls their number in `Calls`; else `NOTHING`.
      event_begin_ps, event_ps: int64[n], begin and duration of that event; 0 without one.
      count: int64[n], how many pieces it stands for.
      names: distinct texts.
    """

    step: I64 = field(default_factory=no_rows)
    begin_ps: I64 = field(default_factory=no_rows)
    end_ps: I64 = field(default_factory=no_rows)
    part: I64 = field(default_factory=no_rows)
    on: I64 = field(default_factory=no_rows)
    name: I64 = field(default_factory=no_rows)
    event: I64 = field(default_factory=no_rows)
    event_begin_ps: I64 = field(default_factory=no_rows)
    event_ps: I64 = field(default_factory=no_rows)
    count: I64 = field(default_factory=no_rows)
    names: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.begin_ps)

    def by_part(self) -> I64:
        """Time by index in `CATEGORIES`."""
        return np.asarray(sums_by(self.part, self.end_ps - self.begin_ps, len(part.CATEGORIES)), np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Calls:
    """The calls of the main thread in a window.

    Attributes:
      begin_ps, end_ps, name: int64[m], each call; `name` is an index into the names of the thread.
      spans, innermost: disjoint ascending spans, and int64[k], the call that is the innermost in each.
      names: of calls.
      launching: when the thread launches work.
    """

    begin_ps: I64 = field(default_factory=no_rows)
    end_ps: I64 = field(default_factory=no_rows)
    name: I64 = field(default_factory=no_rows)
    spans: Times = field(default_factory=no_time)
    innermost: I64 = field(default_factory=no_rows)
    names: tuple[str, ...] = ()
    launching: Times = field(default_factory=no_time)


def calls_of(main: MainThread, launching: Times, since: int, until: int) -> Calls:
    """What the main thread did from one moment to another; `launching`: when it launches work."""
    levels, rows = main.levels, []
    for begin, end in zip(levels.begin_ps, levels.end_ps, strict=True):
        rows.append(slice(int(np.searchsorted(end, since, side="right")), int(np.searchsorted(begin, until))))
    if not rows:
        return Calls(names=main.names, launching=launching)
    columns = levels.begin_ps, levels.end_ps, levels.name
    begin, end, name = (
        np.concatenate([level[row] for level, row in zip(column, rows, strict=True)]) for column in columns
    )
    # Numbered calls have distinct names, so that each is a node of the tree.
    first, last, node, _, number = _native.thread_stacks(begin, end, np.arange(len(begin)), MOST_LEVELS)
    return Calls(begin, end, name, (first, last), number[node], main.names, launching)


def leading(spent: SpentTime) -> int:
    """The device that works most, without waits for others: the others wait for it."""
    busy = [
        total(one.work.any) - sum(total(times) for category, times in one.spent if category == part.IDLE_PEER)
        for one in spent.devices
    ]
    return busy.index(max(busy))


def device_path(device: Device, plane: Plane | None, time: DeviceTime, calls: Calls, window: tuple[int, int]) -> Path:
    """The path of a device in the steps that overlap a window, whole steps.

    Where ops run at once, the path is in the one that ends last. While a device waits for the host, it is in the call
    that is the innermost of the main thread, if there is one. Idle times between queued ops are in no event, nor is the
    time in which launched work has not begun and the thread goes on with something else.

    Args:
      device: the device.
      plane: that of its ops; None for a host without devices.
      time: how it spends its steps.
      calls: of the main thread, in all of these steps.
      window: begin and end in ps.
    """
    begin, end = time.windows
    steps = np.flatnonzero((end > window[0]) & (begin < window[1]) & (end > begin))
    steps = steps[np.argsort(begin[steps], kind="stable")]
    inside = begin[steps], end[steps]
    found = list(_pieces(device, time, times_of(*inside), calls))
    if not len(steps) or not found:
        return Path()
    columns = [np.concatenate(column) for column in zip(*found, strict=True)]
    order = np.argsort(columns[0], kind="stable")
    since, until, category, on, event = (column[order] for column in columns)
    piece, row, length = _native.overlaps((since, until), inside)
    category, on, event = category[piece], on[piece], event[piece]
    since = np.maximum(since[piece], inside[0][row])
    until = since + length
    first = _first_of_runs((until[:-1] == since[1:]), row, category, on, event)
    last = np.append(first[1:], len(since))[: len(first)] - 1
    category, on, event = category[first], on[first], event[first]
    name, names, event_begin, event_ps = _events(on, event, device, plane, calls)
    return Path(
        *(steps[row[first]], since[first], until[last], category, on, name, event, event_begin, event_ps),
        np.ones(len(first), np.int64),
        names,
    )


def _first_of_runs(touching: Bools, *columns: I64) -> I64:
    """The first of each run of rows that touch and agree in all columns."""
    same = touching
    for column in columns:
        same = same & (column[1:] == column[:-1])
    return np.flatnonzero(np.append(np.ones(1, np.bool_), ~same)) if len(columns[0]) else no_rows()


def _pieces(device: Device, time: DeviceTime, inside: Times, calls: Calls) -> Iterator[tuple[I64, I64, I64, I64, I64]]:
    """(begin, end, part, on, event) of pieces in no order; they tile a set of time."""
    for category, times in time.spent:
        rest = intersect(times, inside)
        for spans in (device.runs, device.windows, device.control) if category in OF_OPS else ():
            works = np.isin(spans.work, OF_OPS[category])
            mine = (
                np.flatnonzero(works & (spans.end_ps > inside[0][:1]) & (spans.begin_ps < inside[1][-1:]))
                if len(rest[0])
                else no_rows()
            )
            if len(mine):
                since, until, row = farthest(spans.begin_ps[mine], spans.end_ps[mine])
                yield _where(rest, (since, until), spans.event[mine][row], category, On.OP)
                rest = subtract(rest, (since, until))
        if category in WAITING:
            waits = intersect(rest, calls.launching) if category == part.IDLE_LAUNCH else rest
            yield _where(waits, calls.spans, calls.innermost, category, On.CALL)
            rest = subtract(rest, intersect(waits, calls.spans))
        if len(rest[0]):
            yield _where(rest, rest, np.full(len(rest[0]), NOTHING), category, On.NOTHING)


def _where(rest: Times, spans: Times, event: I64, category: int, on: On) -> tuple[I64, I64, I64, I64, I64]:
    """The parts of a set that spans cover, with their events."""
    left, right, length = _native.overlaps(rest, spans)
    begin = np.maximum(rest[0][left], spans[0][right])
    return begin, begin + length, np.full(len(begin), category), np.full(len(begin), int(on)), event[right]


def farthest(begin: I64, end: I64) -> tuple[I64, I64, I64]:
    """At each moment the span under way that ends last: disjoint ascending spans, and the number of each."""
    order = np.lexsort((-end, begin))
    reach = np.maximum.accumulate(end[order])
    leads = np.append(np.ones(min(len(order), 1), np.bool_), reach[1:] > reach[:-1])
    row = order[leads & (end[order] > begin[order])]
    until = np.minimum(end[row], np.append(begin[row][1:], _LAST)[: len(row)])
    return begin[row], until, row


def _events(
    on: I64, event: I64, device: Device, plane: Plane | None, calls: Calls
) -> tuple[I64, tuple[str, ...], I64, I64]:
    """Name, texts, begin and duration of events."""
    name, begin, length = np.full(len(on), NOTHING), np.zeros(len(on), np.int64), np.zeros(len(on), np.int64)
    texts: dict[str, int] = {}

    def named(rows: I64, code: I64, shown: list[str] | tuple[str, ...]) -> None:
        distinct, which = np.unique(code, return_inverse=True)
        number = [texts.setdefault(shown[one], len(texts)) for one in distinct.tolist()]
        name[rows] = np.array(number, np.int64)[which.reshape(-1)]

    ops, called = np.flatnonzero(on == On.OP), np.flatnonzero(on == On.CALL)
    if plane is not None and len(ops):
        since, until = spans_at(plane, event[ops])
        begin[ops], length[ops] = since, until - since
        shown = shown_names(plane.event_metadata.names, plane.event_metadata.display_names)
        named(ops, plane.events.metadata[event[ops]].astype(np.int64), shown)
    if len(called):
        begin[called] = calls.begin_ps[event[called]]
        length[called] = calls.end_ps[event[called]] - begin[called]
        named(called, calls.name[event[called]], calls.names)
    return name, tuple(texts), begin, length


def in_window(path: Path, window: tuple[int, int], most: int = MOST_PIECES) -> Path:
    """The pieces that overlap a window, whole; of more than `most` small neighbours in one step are together."""
    path = rows_of(path, (path.end_ps > window[0]) & (path.begin_ps < window[1]))
    if len(path) <= most:
        return path
    width = max(2 * (int(path.end_ps[-1]) - int(path.begin_ps[0])) // most, 1)
    small = path.end_ps - path.begin_ps < width
    own = np.where(small, -1, np.arange(len(path)))
    first = _first_of_runs(path.end_ps[:-1] == path.begin_ps[1:], path.step, own, path.begin_ps // width * small)
    group = np.cumsum(np.isin(np.arange(len(path)), first)) - 1
    last = np.append(first[1:], len(path)) - 1
    count = np.bincount(group, path.count, len(first)).astype(np.int64)
    code, row = row_codes(group, path.part)
    ps = sums_by(code, path.end_ps - path.begin_ps, len(row))
    order = np.lexsort((-ps, group[row]))
    most_of = path.part[row[order[np.searchsorted(group[row][order], np.arange(len(first)))]]]
    one = count == path.count[first]
    kept = rows_of(path, first)
    return replace(
        kept,
        end_ps=path.end_ps[last],
        part=np.where(one, kept.part, most_of),
        on=np.where(one, kept.on, int(On.NOTHING)),
        name=np.where(one, kept.name, NOTHING),
        event=np.where(one, kept.event, NOTHING),
        event_begin_ps=np.where(one, kept.event_begin_ps, 0),
        event_ps=np.where(one, kept.event_ps, 0),
        count=count,
    )
