"""Where the main thread causes what devices run."""

from __future__ import annotations

import numpy as np

from tpu_profile_plugin.analysis.common.planes import line_of
from tpu_profile_plugin.analysis.common.rows import row_codes
from tpu_profile_plugin.analysis.common.spans import Times
from tpu_profile_plugin.analysis.devices.launches import HostCalls
from tpu_profile_plugin.analysis.devices.model import NO_LAUNCH, Device
from tpu_profile_plugin.analysis.grouping.lookup import own_contexts
from tpu_profile_plugin.columns import Plane
from tpu_profile_plugin.columns.arrays import I64

_HOPS = 4
"""Threads between the main thread and the one that hands work to a device, at most."""


def launch_points(plane: Plane, device: Device, calls: HostCalls, main: int, launches: Times) -> I64:
    """int64[starts]: when the main thread caused each start of the device's work; `NO_LAUNCH` if that is unknown.

    XLA's CPU backend runs programs in the order of the calls: if there are as many, each call launches the next one.
    Calls of a GPU's runtime on other threads count as the main thread's, which waits meanwhile, as in a backward pass.
    Other calls are followed to the event that produced the context which their thread consumed.

    Args:
      plane: the host's, decoded.
      device: the device.
      calls: of this plane.
      main: row of the main thread's line.
      launches: when the main thread launches.
    """
    if device.kind == "cpu" and len(launches[0]) == len(device.starts) and bool((launches[0] <= device.starts).all()):
        return launches[0]
    call = calls.launching(device.launch_key)
    known = np.flatnonzero(call >= 0)
    when = np.full(len(call), NO_LAUNCH)
    used, place = np.unique(call[known], return_inverse=True)
    point = calls.begin_ps[used] if device.kind == "gpu" else _followed(plane, calls.event[used], main)
    when[known] = point[place.reshape(-1)]
    return np.where(when <= device.starts, when, NO_LAUNCH)


def _followed(plane: Plane, events: I64, main: int) -> I64:
    """When the main thread caused each event; `NO_LAUNCH` if no contexts lead there."""
    when, line = plane.events.begin_ps[events], line_of(plane, events)
    if bool((line == main).all()):
        return when
    produced, consumed = own_contexts(plane)
    code = np.zeros(0, np.int64)
    if len(produced) and len(consumed):
        code, _ = row_codes(np.concatenate([produced.type, consumed.type]), np.concatenate([produced.id, consumed.id]))
    of_code = np.full(int(code.max(initial=-1)) + 1, -1)
    of_code[code[: len(produced)][::-1]] = produced.event[::-1]  # of equal contexts the first producer stays
    producer = of_code[code[len(produced) :]] if len(code) else np.full(len(consumed), -1)
    consumer, producer = consumed.event[producer >= 0], producer[producer >= 0]
    consumer_line = line_of(plane, consumer)
    for _ in range(_HOPS):
        for number in np.unique(line[(line != main) & (line >= 0)]).tolist():
            rows, on_line = np.flatnonzero(line == number), np.flatnonzero(consumer_line == number)
            begin = plane.events.begin_ps[consumer[on_line]]
            order = np.argsort(begin, kind="stable")
            index = np.searchsorted(begin[order], when[rows], side="right") - 1
            found = index >= 0
            source = producer[on_line[order[index[found]]]]
            line[rows], when[rows[found]] = -1, plane.events.begin_ps[source]
            line[rows[found]] = line_of(plane, source)
    return np.where(line == main, when, NO_LAUNCH)
