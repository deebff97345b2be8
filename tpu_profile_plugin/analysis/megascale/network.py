"""Traffic between slices over time: bytes, bandwidth and collectives in flight, from the events of the runtime."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tpu_profile_plugin.analysis.common.rows import joined
from tpu_profile_plugin.analysis.megascale.trace import GRAPH, Trace, Track
from tpu_profile_plugin.columns import Plane, stats
from tpu_profile_plugin.columns.arrays import F64, I64, Bools
from tpu_profile_plugin.columns.tables import Kind
from tpu_profile_plugin.units import NS_PER_US, PS_PER_NS, PS_PER_US

_BUFFER = re.compile(r"s(\d+)->(\d+)d\|\$c\d+=(\d+)")
_RECEIVE, _SEND = "NetworkReceive END", "NetworkSend END"
_MOST_GBPS = 200.0
"""Limit of plausible bandwidth: faster transfers have a wrong duration, and their bandwidth is unknown."""
_BITS_PER_BYTE = 8.0
_LARGEST = 2**63 - 1


@dataclass(frozen=True, slots=True, eq=False)
class Counter:
    """A quantity over time; `group` is Network or Megascale, counters of one `scale` share an axis."""

    group: str
    name: str
    unit: str
    scale: str
    time_ps: I64
    value: NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class _Transfers:
    """Buffers in transfer: begin and end in ps, bytes, bandwidth in Gbit/s (0: unknown)."""

    begin_ps: I64
    end_ps: I64
    bytes: I64
    gbps: F64


def counters(trace: Trace) -> list[Counter]:
    """Counters with samples, in the order of the viewer."""
    tracks = [track for track in trace.tracks if track.runtime]
    names = trace.labels.all()
    received, sent = (
        joined([_NO_TRANSFERS, *(_transfers(trace, track, names, kind) for track in tracks)])
        for kind in (_RECEIVE, _SEND)
    )
    begin, end, size, sized = _executions(trace, tracks, names)
    in_flight, payload = _level(begin, end, np.ones_like(begin)), _level(begin[sized], end[sized], size[sized])
    made = []
    for way, of in (("RX", received), ("TX", sent)):
        level = _level(of.begin_ps, of.end_ps, of.bytes)
        made.append(Counter("Network", f"Outstanding Bytes {way}", "bytes", "outstanding_bytes", *level))
    for way, of in (("RX", received), ("TX", sent)):
        timed = of.gbps > 0
        level = _level(of.begin_ps[timed], of.end_ps[timed], of.gbps[timed])
        made.append(Counter("Network", f"Bandwidth {way} (Gbps)", "Gbps", "bandwidth", *level))
    made += (
        Counter("Megascale", "Inflight Collectives", "count", "inflight_collectives", *in_flight),
        Counter("Megascale", "Inflight Collective Payload", "bytes", "inflight_collective_payload", *payload),
    )
    return [counter for counter in made if len(counter.time_ps)]


def _level(begin: I64, end: I64, amount: NDArray[Any]) -> tuple[I64, NDArray[Any]]:
    """The total in flight after each change."""
    time, change = np.concatenate([begin, end]), np.concatenate([amount, -amount])
    order = np.lexsort((change, time))
    total = np.cumsum(change[order])
    last = np.flatnonzero(np.diff(time[order], append=time[order][-1:] + 1))
    return time[order][last], total[last]


def _executions(trace: Trace, tracks: list[Track], names: list[str]) -> tuple[I64, I64, I64, Bools]:
    """Begin, end, and size of the input of the executions of graphs, and whether the size is known."""
    graph = np.array([GRAPH.fullmatch(name) is not None for name in names] or [False], np.bool_)
    parts: list[tuple[NDArray[Any], ...]] = []
    for track in tracks:
        run = np.flatnonzero(graph[track.label])
        size, has = trace.numbers(track.plane, "input_size")
        begin, row = track.begin_ps[run], track.row[run]
        parts.append((begin, begin + track.duration_ps[run], size[row], has[row]))
    begin, end, size, has = (np.concatenate([np.zeros(0, np.int64), *(part[i] for part in parts)]) for i in range(4))
    return begin, end, size, has.astype(np.bool_)


def _transfers(trace: Trace, track: Track, names: list[str], kind: str) -> _Transfers:
    """The buffers between different slices that events of a kind name."""
    code = names.index(kind) if kind in names else -1
    event = np.flatnonzero(track.label == code)
    plane, row = track.plane, track.row[event]
    of = plane.events.stats
    took, has = trace.once(plane, kind, partial(_took_ps, trace, plane, kind))
    texts, table = trace.once(plane, "buffer_sizes", partial(stats.strings, trace.space, plane, of, "buffer_sizes"))
    described = has[row] & (texts[row] >= 0)
    event, row = event[described], row[described]
    sizes = [list(_buffers(text)) for text in table]
    count = np.array([len(buffers) for buffers in sizes] or [0], np.int64)[texts[row]]
    bytes = np.array([size for text in texts[row].tolist() for size in sizes[text]], np.int64)
    end = np.repeat(track.begin_ps[event] + track.duration_ps[event], count)
    duration = np.repeat(took[row], count)
    with np.errstate(divide="ignore", invalid="ignore"):
        if kind == _RECEIVE:
            gbps = bytes * _BITS_PER_BYTE / (duration // PS_PER_US * float(NS_PER_US))
        else:
            gbps = bytes * _BITS_PER_BYTE / (duration // PS_PER_NS)
    return _Transfers(end - duration, end, bytes, np.where((duration > 0) & (gbps <= _MOST_GBPS), gbps, 0.0))


def _took_ps(trace: Trace, plane: Plane, kind: str) -> tuple[I64, Bools]:
    """Durations of the transfers of a plane's events; of sends only the time of the action is recorded."""
    if kind == _RECEIVE:
        latency, has = trace.numbers(plane, "network_transport_latency_us", Kind.UINT64)
        return latency * PS_PER_US, has
    duration, has = trace.numbers(plane, "action_duration_ns")
    return duration * PS_PER_NS, has


def _buffers(text: str) -> Iterator[int]:
    """Bytes of the buffers sent to another slice."""
    for source, target, size in _BUFFER.findall(text):
        if max(int(source), int(target), int(size)) > _LARGEST:
            return
        if int(source) != int(target):
            yield int(size)


_NONE = np.zeros(0, np.int64)
_NO_TRANSFERS = _Transfers(_NONE, _NONE, _NONE, np.zeros(0))
