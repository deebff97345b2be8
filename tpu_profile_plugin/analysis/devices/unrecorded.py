"""Work of devices that the host launched and the recording lacks: when it ran is not idle time, but unknown."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from tpu_profile_plugin.analysis.common.planes import events_named, line_of, recorded_lines, rows_named, spans_at
from tpu_profile_plugin.analysis.common.rows import among
from tpu_profile_plugin.analysis.common.spans import Times, no_time, times_of
from tpu_profile_plugin.analysis.devices.launches import KEYS, host_calls
from tpu_profile_plugin.analysis.devices.model import NO_LAUNCH, Device
from tpu_profile_plugin.columns import Plane, XSpace
from tpu_profile_plugin.columns import stats as read
from tpu_profile_plugin.columns.arrays import I64, Bools

_LAUNCH = re.compile(r"(?:cu|cuda|hip)(?:Ext)?(?:Module)?(?:Graph)?Launch")
_GRAPH = re.compile(r"(?:cu|cuda|hip)GraphLaunch")
_CAPTURE = re.compile(r"(?:cu|cuda|hip)Stream(?P<which>Begin|End)Capture")
"""Launches between these two are put into a graph and run nothing."""
_AT_END = 0.9
"""Share of the launches without kernels that lie behind or before all others, where the device's events are cut."""


@dataclass(frozen=True, slots=True, eq=False)
class Unrecorded:
    """Launches of one device without an event of it.

    Attributes:
      launch_ps: int64[n], when they were called, ascending.
      graphs: how many launch a graph.
      recorded: how many other launches there are.
      after, before: how many were called behind all launches with events, and before them.
      share: of the time from the first launch to the last, the part in which launches have events, up to the first at
        the end that has none, 0 to 1.
    """

    launch_ps: I64 = field(default_factory=lambda: np.zeros(0, np.int64))
    graphs: int = 0
    recorded: int = 0
    after: int = 0
    before: int = 0
    share: float = 1.0

    def __len__(self) -> int:
        return len(self.launch_ps)

    @property
    def ends_early(self) -> bool:
        """Whether the device's events end while the host goes on."""
        return bool(len(self)) and self.after >= _AT_END * len(self)

    @property
    def begins_late(self) -> bool:
        """Whether the device's events begin late."""
        return bool(len(self)) and self.before >= _AT_END * len(self)


def unrecorded(space: XSpace, host: Plane | None, devices: Sequence[Device]) -> list[Unrecorded]:
    """Launches without a device event, by device.

    Of several GPUs, a launch is of the one that its thread launches most on. Of TPUs, those that none of them ran are
    told for the first.

    Args:
      space: the profile.
      host: the host plane with at least the events of launches.
      devices: of one host.
    """
    made = [Unrecorded() for _ in devices]
    if host is None or not devices or devices[0].kind == "cpu":
        return made
    if devices[0].kind == "tpu":
        calls = host_calls(space, (KEYS["tpu"],), host)
        kept = among(calls.key, np.unique(np.concatenate([device.launch_key for device in devices])))
        if kept.any():
            made[0] = _of_device(calls.begin_ps, ~kept, kept, np.zeros(len(calls), np.bool_))
        return made
    rows = launches_of_host(host)
    graph = rows_named(host, _GRAPH.match)[host.events.metadata[rows]]
    value, has_key = read.ints(space, host, host.events.stats, KEYS["gpu"])
    key = np.where(has_key[rows], value[rows], NO_LAUNCH)
    owner = np.full(len(rows), -1)
    for number, device in enumerate(devices):
        owner[among(key, np.unique(device.launch_key)) & (key != NO_LAUNCH)] = number
    begin, end = spans_at(host, rows)
    line = line_of(host, rows)
    missing = ~_around(line, begin, end, owner >= 0)
    of_thread = np.zeros(len(host.lines), np.int64) if len(devices) == 1 else _most(line, owner, len(host.lines))
    for number in range(len(devices)):
        lost, kept = missing & (of_thread[line] == number), owner == number
        made[number] = _of_device(begin, lost, kept, graph)
    return made


def may_launch(host: Plane) -> bool:
    """Whether the host declares an event that launches kernels or graphs; reads metadata alone."""
    return any(_LAUNCH.match(name) for name in host.declared.event_metadata.names)


def launches_of_host(host: Plane) -> I64:
    """The events that launch kernels or graphs; what a thread only captures into a graph is no launch."""
    rows = events_named(host, _LAUNCH.match)
    rows = rows[recorded_lines(host)[line_of(host, rows)]]
    return rows[~_captured(host, rows)]


def _captured(host: Plane, rows: I64) -> Bools:
    """Which events lie between the begin and the end of a capture on their thread."""
    matches = [_CAPTURE.match(name) for name in host.event_metadata.names]
    kind = np.array([0 if match is None else 1 if match["which"] == "Begin" else -1 for match in matches], np.int8)
    marks = np.flatnonzero(kind[host.events.metadata])
    inside = np.zeros(len(rows), np.bool_)
    if not len(marks):
        return inside
    line, begin = line_of(host, marks), host.events.begin_ps[marks]
    order = np.lexsort((begin, line))
    line, begin, opens = line[order], begin[order], kind[host.events.metadata[marks[order]]] == 1
    own = line_of(host, rows)
    for thread in np.unique(line).tolist():
        of_thread = line == thread
        at = np.searchsorted(begin[of_thread], host.events.begin_ps[rows[own == thread]], side="right") - 1
        inside[own == thread] = (at >= 0) & opens[of_thread][np.maximum(at, 0)]
    return inside


def _around(line: I64, begin: I64, end: I64, matched: Bools) -> Bools:
    """Which calls enclose a matched one on their thread, or are enclosed: runtime and driver record the same launch."""
    near: Bools = matched.copy()
    for thread in np.unique(line).tolist():
        rows = np.flatnonzero(line == thread)
        rows = rows[np.lexsort((-end[rows], begin[rows]))]
        outer = np.cumsum(np.append(True, begin[rows][1:] >= np.maximum.accumulate(end[rows])[:-1]))
        near[rows] = (np.bincount(outer, weights=matched[rows]) > 0)[outer]
    return near


def _most(line: I64, owner: I64, lines: int) -> I64:
    """Per line the device that it launches most on, -1 for none."""
    owned = owner >= 0
    counts = np.zeros((lines, int(owner.max(initial=0)) + 1), np.int64)
    np.add.at(counts, (line[owned], owner[owned]), 1)
    return np.where(counts.any(axis=1), counts.argmax(axis=1), -1)


def _of_device(begin: I64, lost: Bools, kept: Bools, graph: Bools) -> Unrecorded:
    if not lost.any():
        return Unrecorded(recorded=int(kept.sum()))
    calls = np.sort(begin[lost])
    if not kept.any():
        return Unrecorded(calls, int((graph & lost).sum()), after=len(calls), share=0.0)
    first, last = int(begin[kept].min()), int(begin[kept].max())
    until = int(calls[calls > last].min(initial=max(last, int(calls[-1]))))  # the first that is missing at the end
    whole = max(last, int(calls[-1])) - min(first, int(calls[0]))
    return Unrecorded(
        calls,
        int((graph & lost).sum()),
        int(kept.sum()),
        int((calls > last).sum()),
        int((calls < first).sum()),
        (until - first) / max(whole, 1),
    )


def unknown_time(idle: Times, device: Device, lost: Unrecorded, launched_ps: I64, waits: Times) -> Times:
    """The part of the idle time in which work without events may have run.

    The device runs its work in the order of the launches: what was launched between the work before a gap and that
    behind it ran in the gap, and is over when the host has waited for it.

    Args:
      idle: when the device does nothing that was recorded.
      device: the device.
      lost: its launches without events.
      launched_ps: int64[n], when each of the device's `starts` was launched, `NO_LAUNCH` if that is unknown.
      waits: when the host waits for the device.
    """
    begin, end = idle
    if not len(lost) or not len(begin):
        return no_time()
    latest = np.concatenate([[NO_LAUNCH], np.maximum.accumulate(launched_ps)])  # of the first n starts
    following = np.searchsorted(device.starts, end)
    since = latest[np.searchsorted(device.starts, begin, side="left")]
    launched = np.append(launched_ps, NO_LAUNCH)[following]
    starts = np.append(device.starts, np.iinfo(np.int64).max)[following] == end
    until = np.where(starts & (launched != NO_LAUNCH), launched, end)
    first, last = np.searchsorted(lost.launch_ps, since, side="right"), np.searchsorted(lost.launch_ps, until) - 1
    some = first <= last
    gap = np.flatnonzero(some)
    called = np.maximum(begin[gap], lost.launch_ps[first[gap]])
    wait = np.searchsorted(waits[0], lost.launch_ps[last[gap]])
    over = np.append(waits[1], np.iinfo(np.int64).max)[wait]
    return times_of(called, np.minimum(end[gap], np.maximum(over, called)))
