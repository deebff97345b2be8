"""Clocks of devices that disagree with their host's.

Recordings convert times of a device to the clock of its host. Where that fails, all causes of idle time are wrong. Work
cannot begin before it is launched, nor end after a wait for it is over: that tells by how much.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np

from tpu_profile_plugin.columns import stats as read
from tpu_profile_plugin.columns.arrays import I64
from tpu_profile_plugin.columns.space import DeviceClock, EventFilter, Plane, XSpace
from tpu_profile_plugin.units import PS_PER_MS, PS_PER_US

LEAST_PAIRS = 3
LEAST_PS = 10 * PS_PER_US
"""Less may be noise: every launch takes some microseconds."""
MOST_APART_PS = PS_PER_MS
"""Bounds of an offset closer than this are taken to be equally far from it."""
_EXCEPTIONS = 200
"""One in so many pairs, but at least one, may violate causality by accident."""
_DEVICE = re.compile(r"(/device:(TPU|GPU):\d+)")
_KEY = {"GPU": "correlation_id", "TPU": "run_id"}
"""The stat that a launch and what it starts have in common."""
_PROGRAMS = ("XLA Modules",)
"""The lines where a TPU has what is launched; a GPU has it on all lines."""
_NONE = np.zeros(0, np.int64), np.zeros(0, np.int64)
_WAITS = frozenset(("cudaDeviceSynchronize", "hipDeviceSynchronize", "cuCtxSynchronize"))
"""Calls that return when all is over that was launched before."""


def device_clocks(space: XSpace) -> tuple[DeviceClock, ...]:
    """The clocks of devices that disagree with their host's; reads launches, and what they start, only."""
    host = next((plane for plane in space.planes if plane.name == "/host:CPU"), None)
    matches = [(match, plane) for plane in space.planes if (match := _DEVICE.match(plane.name))]
    if host is None or not matches:
        return ()
    kind = matches[0][0][2]
    key, lines = _KEY[kind], _PROGRAMS if kind == "TPU" else None
    devices = [(match[1], plane) for match, plane in matches if match[2] == kind and _has(plane, key)]
    if not devices or not _has(host, key):
        return ()
    host, *planes = space.filtered(
        EventFilter(host, event=_WAITS.__contains__, stats=(key,)),
        *(EventFilter(plane, lines, lambda _: False, (key,)) for _, plane in devices),
    )
    calls = _calls(space, host, key)
    parts: dict[str, list[tuple[I64, I64, I64]]] = {}
    for (name, _), plane in zip(devices, planes, strict=True):
        parts.setdefault(name, []).append(_launched(space, plane, lines, calls))
    # A wait is for one device, but does not say for which.
    waits = _waits(host) if len(parts) == 1 else _NONE
    return tuple(clock for name, part in parts.items() if (clock := _clock(name, part, waits)) is not None)


def moved_planes(clocks: Sequence[DeviceClock], planes: Iterable[Plane]) -> dict[int, int]:
    """By index of the plane what is added to its times, of planes of devices whose clocks disagreed."""
    moved = {plane.index: clock_of(clocks, plane.name) for plane in planes} if clocks else {}
    return {index: clock.offset_ps for index, clock in moved.items() if clock is not None and clock.offset_ps}


def clock_of(clocks: Sequence[DeviceClock], plane: str) -> DeviceClock | None:
    """The clock of the device that a plane is of, by its name; None if it agrees with its host's."""
    device = _DEVICE.match(plane)
    return next((clock for clock in clocks if device is not None and clock.device == device[1]), None)


def _has(plane: Plane, stat: str) -> bool:
    return plane.declared.stat_metadata.row(stat) is not None


def _calls(space: XSpace, host: Plane, key: str) -> tuple[I64, I64]:
    """Key and begin of the first event of each launch, by key."""
    value, present = read.ints(space, host, host.events.stats, key)
    begin = host.events.begin_ps[present]
    value = value[present]
    order = np.lexsort((begin, value))
    value, begin = value[order], begin[order]
    first = np.append(True, np.diff(value) != 0)[: len(value)]
    return value[first], begin[first]


def _waits(host: Plane) -> tuple[I64, I64]:
    """Begins and ends of calls that wait for a device."""
    waits = np.array([name in _WAITS for name in host.event_metadata.names], np.bool_)
    rows = np.flatnonzero(waits[host.events.metadata])
    begin = host.events.begin_ps[rows]
    return begin, begin + host.events.duration_ps[rows]


def _launched(space: XSpace, plane: Plane, lines: Sequence[str] | None, calls: tuple[I64, I64]) -> tuple[I64, I64, I64]:
    """Of what was launched on a plane: when it was called for, its begin and its end."""
    value, present = read.ints(space, plane, plane.events.stats, _KEY["TPU" if lines else "GPU"])
    for line, name in enumerate(plane.lines.name):
        present[plane.lines.events_of(line)] &= lines is None or name in lines
    rows = np.flatnonzero(present) if len(calls[0]) else np.zeros(0, np.int64)
    call = np.minimum(np.searchsorted(calls[0], value[rows]), len(calls[0]) - 1)
    same = calls[0][call] == value[rows]
    begin = plane.events.begin_ps[rows[same]]
    return calls[1][call[same]], begin, begin + plane.events.duration_ps[rows[same]]


def _over(called: I64, end: I64, waits: tuple[I64, I64]) -> I64:
    """Per wait, how long before its end all was over that had been launched when it began."""
    order = np.argsort(called, kind="stable")
    last = np.maximum.accumulate(end[order]) if len(order) else end
    launched = np.searchsorted(called[order], waits[0])
    some = launched > 0
    return waits[1][some] - last[launched[some] - 1]


def _clock(name: str, launched: Sequence[tuple[I64, I64, I64]], waits: tuple[I64, I64]) -> DeviceClock | None:
    """The clock of a device.

    Args:
      name: the device.
      launched: of its planes; int64[n], when each launch was called for, and begin and end of what it started.
      waits: int64[w], begins and ends of waits for all that had been launched.
    """
    called, begin, end = (np.concatenate(columns) for columns in zip(*launched, strict=True))
    # With the offset added to one and subtracted from the other, neither is negative.
    delay, over = np.sort(begin - called), np.sort(_over(called, end, waits))
    impossible = int((delay < -LEAST_PS).sum()), int((over < -LEAST_PS).sum())
    proven = [count > max(1, len(pairs) // _EXCEPTIONS) for count, pairs in zip(impossible, (delay, over), strict=True)]
    if len(delay) < LEAST_PAIRS or not any(proven):
        return None
    # The offset is at least `least` and at most `most`, but for exceptions.
    least = -int(delay[max(1, len(delay) // _EXCEPTIONS)])
    most = int(over[max(1, len(over) // _EXCEPTIONS)]) if len(over) >= LEAST_PAIRS else None
    offset = least if proven[0] else most or 0
    if most is not None and most < least - LEAST_PS:
        offset = 0
    elif most is not None and most - least <= MOST_APART_PS:
        offset = (least + most) // 2
    return DeviceClock(name, offset, len(delay) + len(over), sum(impossible))
