"""Flows between the parts of collectives between slices, of one host and in a trace.

XProf never connects a recv-done, because it looks up the rendezvous of receives among those of sends. With `receives`
the recv-done is connected: it takes over from send and recv. An instant after its end takes over from the copy to the
device, which may end after the recv-done begins.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain

import numpy as np

from tpu_profile_plugin.analysis.common.planes import MODULES, OPS
from tpu_profile_plugin.analysis.common.rows import row_codes
from tpu_profile_plugin.analysis.megascale.trace import (
    FROM_DEVICE,
    FROM_HOST,
    GRAPH,
    NO_RUN,
    RECV,
    RECV_DONE,
    RUN_ID,
    SEND,
    SEND_DONE,
    TO_DEVICE,
    TO_HOST,
    Parts,
    Trace,
    by_track,
    copy_kinds,
    described,
    last_ends,
    lookup,
    pass_on,
)
from tpu_profile_plugin.columns.arrays import I64, Bools
from tpu_profile_plugin.units import PS_PER_NS

EDGES = (
    *((SEND, TO_HOST), (FROM_DEVICE, SEND_DONE), (RECV, TO_DEVICE), (FROM_HOST, RECV_DONE)),
    *((SEND, SEND_DONE), (SEND, RECV_DONE), (RECV, RECV_DONE)),
)
"""Pairs of kinds connected by flows within one run of a module: first to first, second to second."""


def flows(parts: Parts) -> tuple[I64, I64]:
    """Rows of the parts at the begin and the end of each flow, both int64[f]."""
    group, _ = row_codes(parts.device, parts.run, parts.rendezvous)
    pairs = list(_pairs(parts.kind, group))
    return (
        np.concatenate([np.zeros(0, np.int64), *(source for source, _ in pairs)]),
        np.concatenate([np.zeros(0, np.int64), *(target for _, target in pairs)]),
    )


def _pairs(kind: I64, group: I64) -> Iterator[tuple[I64, I64]]:
    for source, target in EDGES:
        sources, targets = np.flatnonzero(kind == source), np.flatnonzero(kind == target)
        rows = lookup(ranked(group[sources]), sources, ranked(group[targets]))
        yield rows[rows >= 0], targets[rows >= 0]


def ranked(group: I64) -> I64:
    """Group and position within the group, int64[n, 2]."""
    order = np.argsort(group, kind="stable")
    place = np.empty(len(group), np.int64)
    place[order] = np.arange(len(group)) - np.searchsorted(group[order], group[order], side="left")
    return np.stack([group, place], axis=1)


_QUEUES = np.array(
    [
        *((SEND, SEND_DONE), (SEND, RECV_DONE), (SEND, TO_HOST)),
        *((RECV, RECV_DONE), (RECV, TO_DEVICE), (FROM_DEVICE, SEND_DONE), (FROM_HOST, RECV_DONE)),
    ]
)
"""Pairs of kinds connected by flows, in the order in which an event assigns numbers."""
_INTO_INSTANT = len(_QUEUES) - 1
_GAP_PS = PS_PER_NS
"""Distance between the end of an event and its flow or instant, so that viewers find the right event."""


@dataclass(frozen=True, slots=True, eq=False)
class _Ends:
    """Events at either end of a flow, in the order of visits: all ops, then all copies.

    Attributes:
      track: int64[n], index of the track.
      event: int64[n], the event in it.
      kind: int64[n], index in `KINDS`.
      group: int64[n], a number per device, run and rendezvous.
    """

    track: I64
    event: I64
    kind: I64
    group: I64


def add_flows(trace: Trace, receives: bool) -> None:
    """Adds the flows, their numbers as arguments, and run ids."""
    for track in trace.tracks:
        if track.name != MODULES:
            event = np.flatnonzero((track.run != NO_RUN) & (track.row >= 0))
            trace.add(track, event, RUN_ID, track.run[event])
    ends = _ends(trace, receives)
    source, queue = np.nonzero(ends.kind[:, None] == _QUEUES[None, :, 0])
    number = np.arange(1, len(source) + 1)
    for track, mine in by_track(trace, ends.track[source]):
        trace.leave(track, ends.event[source[mine]], number[mine])
    target, taken, into_instant = _take_numbers(ends, source, queue)
    entered, entering = target[~into_instant], number[taken[~into_instant]]
    for track, mine in by_track(trace, ends.track[entered]):
        trace.enter(track, ends.event[entered[mine]], entering[mine])
    done = np.flatnonzero(ends.kind == RECV_DONE)
    copied = dict(zip(target[into_instant].tolist(), number[taken[into_instant]].tolist(), strict=True))
    _instants(trace, ends, done, len(source) + 1, copied)


def _ends(trace: Trace, receives: bool) -> _Ends:
    codes: dict[str, int] = {}
    parts = list(chain(_ops(trace, codes, receives), _copies(trace, codes)))
    columns = [np.concatenate([np.zeros(0, np.int64), *(part[i] for part in parts)]) for i in range(5)]
    device = np.array([track.device for track in trace.tracks], np.int64)
    return _Ends(columns[0], columns[1], columns[2], row_codes(device[columns[0]], columns[3], columns[4])[0])


_End = tuple[I64, I64, I64, I64, I64]


def _ops(trace: Trace, codes: dict[str, int], receives: bool) -> list[_End]:
    """Track, event, kind, run and rendezvous of the ops; a done op has the rendezvous of the op that it completes."""
    parts = []
    for index, track in enumerate(trace.tracks):
        if track.name != OPS or track.runtime:
            continue
        kind, number, rendezvous = described(track.plane, codes)
        event = np.flatnonzero((track.row >= 0) & (track.run != NO_RUN))
        metadata = track.plane.events.metadata[track.row[event]]
        chosen = np.flatnonzero(kind[metadata] >= 0)
        event, metadata = event[chosen], metadata[chosen]
        of = np.full(len(event), index)
        parts.append([of, event, kind[metadata], track.run[event], rendezvous[metadata], number[metadata]])
    columns = [np.concatenate([np.zeros(0, np.int64), *(part[i] for part in parts)]) for i in range(6)]
    of, event, kind, run, rendezvous, number = columns
    device = np.array([track.device for track in trace.tracks], np.int64)[of]
    keys = np.stack([device, run, number], axis=1)
    pass_on(rendezvous, kind, keys, ((SEND, SEND_DONE), *([(RECV, RECV_DONE)] if receives else [])))
    keep = rendezvous >= 0
    return [(of[keep], event[keep], kind[keep], run[keep], rendezvous[keep])]


def _copies(trace: Trace, codes: dict[str, int]) -> list[_End]:
    """Track, event, kind, run and rendezvous of each graph's first copy start and last copy end; marks the ends."""
    parts = []
    for track_index, track in enumerate(trace.tracks):
        if not track.runtime:
            continue
        kind_of, is_graph = trace.once(track.plane, "kinds", partial(copy_kinds, track.plane))
        kinds, graph = kind_of[track.metadata], is_graph[track.metadata]
        last = last_ends(kinds, np.zeros_like(kinds), track.begin_ps, track.begin_ps + track.duration_ps, graph)
        trace.add(track, last, "is_last_instance", np.ones(len(last), np.int64))
        index, present = trace.numbers(track.plane, "action_index")
        first = present[track.row] & (index[track.row] == 0) & np.isin(kinds, (TO_HOST, TO_DEVICE))
        name = GRAPH.search(track.name)
        wanted = first | np.isin(np.arange(len(track)), last)
        event = np.flatnonzero(wanted & (track.run != NO_RUN)) if name else np.zeros(0, np.int64)
        late = event[kinds[event] == FROM_HOST]
        track.duration_ps[late] = np.maximum(track.duration_ps[late] - _GAP_PS, 0)
        rendezvous = codes.setdefault(name[2], len(codes)) if name else 0
        of: I64 = np.full(len(event), track_index, np.int64)
        graph_name: I64 = np.full(len(event), rendezvous, np.int64)
        parts.append((of, event, kinds[event], track.run[event], graph_name))
    return parts


def _take_numbers(ends: _Ends, source: I64, queue: I64) -> tuple[I64, I64, Bools]:
    """Events that take over, the flow number that each takes, and whether its instant takes it.

    In each queue, numbers are taken in the order of their assignment.
    """
    none = np.zeros(0, np.int64)
    targets, numbers, instants = [none], [none], [none]
    for index, (_, kind) in enumerate(_QUEUES.tolist()):
        mine, takers = np.flatnonzero(queue == index), np.flatnonzero(ends.kind == kind)
        row = lookup(ranked(ends.group[source[mine]]), mine, ranked(ends.group[takers]))
        targets.append(takers[row >= 0])
        numbers.append(row[row >= 0])
        instants.append(np.full(int((row >= 0).sum()), index == _INTO_INSTANT))
    return np.concatenate(targets), np.concatenate(numbers), np.concatenate(instants).astype(np.bool_)


def _instants(trace: Trace, ends: _Ends, done: I64, next_number: int, copies: dict[int, int]) -> None:
    """Adds the instants after the ends of recv-done ops, which take over from these ops and from the copies."""
    for track, rows in by_track(trace, ends.track[done]):
        mine = done[rows]
        event = ends.event[mine]
        added = len(track) + np.arange(len(mine))
        number = next_number + np.arange(len(mine))
        next_number += len(mine)
        names = trace.labels.all()
        kinds, code = np.unique(track.label[event], return_inverse=True)
        labels = trace.labels.codes(f"{names[kind]} END" for kind in kinds.tolist())
        track.row = np.append(track.row, np.full(len(event), -1))
        track.label = np.append(track.label, labels[code.reshape(-1)])
        track.begin_ps = np.append(track.begin_ps, track.begin_ps[event] + track.duration_ps[event] + _GAP_PS)
        track.duration_ps = np.append(track.duration_ps, np.zeros(len(event), np.int64))
        track.run = np.append(track.run, track.run[event])
        trace.add(track, added, RUN_ID, track.run[event])
        trace.leave(track, event, number)
        trace.enter(track, added, number)
        taken = np.array([copies.get(end, 0) for end in mine.tolist()], np.int64)
        trace.enter(track, added[taken > 0], taken[taken > 0])
