"""Steps that wait for what happens once when a program starts: first launches that load kernels, late other ranks.

Averaged with the others, such a step would hide what those are spent on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from tpu_profile_plugin.analysis.common.planes import spans_at
from tpu_profile_plugin.analysis.common.spans import Times, covered_within, intersect, subtract, times_of
from tpu_profile_plugin.analysis.devices.collectives import CollectiveRuns
from tpu_profile_plugin.analysis.devices.model import Device, busy
from tpu_profile_plugin.analysis.devices.unrecorded import launches_of_host
from tpu_profile_plugin.analysis.devices.windows import StartUp, StepWindows
from tpu_profile_plugin.columns import Plane
from tpu_profile_plugin.columns.arrays import I64
from tpu_profile_plugin.units import PS_PER_MS

LEAST_CALLS, LEAST_PS, TIMES = 10, PS_PER_MS, 100
"""Among so many launches, a call that lasts so long, and so many times the median, does not only launch."""
MOST_CALLS = 0.05
"""More of them are no exceptions."""
LONG = 2.0
"""Least length of a step, in those of the median, to be an exception."""
MOST_OF_STEP = 0.5
"""Least share of a step that such waits take."""


def without_start_up(
    steps: StepWindows,
    devices: Sequence[Device],
    collectives: Callable[[], CollectiveRuns],
    host: Callable[[], Plane | None],
) -> StepWindows:
    """The steps without those that mostly wait for what happens once; all, if none are left.

    Args:
      steps: of a host's devices.
      devices: at least one.
      collectives: theirs, asked for if a step is far longer than others.
      host: the host plane with at least the events of launches, asked for as `collectives`.
    """
    length = (steps.end_ps - steps.begin_ps).max(axis=1)
    if len(steps) < 2 or steps.source == "dispatch":
        return steps
    long: I64 = np.flatnonzero(length >= LONG * np.sort(length)[(len(length) - 1) // 2])
    if not len(long):
        return steps
    found = [*_first_collectives(steps, collectives()), *_slow_launches(steps, devices, host())]
    longest = {row: max((one for at, one in found if at == row), key=lambda one: one.wait_ps) for row, _ in found}
    told = [row for row in long.tolist() if row in longest]
    if not told or len(told) == len(steps):
        return steps
    kept = np.ones(len(steps), np.bool_)
    kept[told] = False
    return replace(steps.where(kept), start_up=tuple(longest[row] for row in told))


def _first_collectives(steps: StepWindows, runs: CollectiveRuns) -> list[tuple[int, StartUp]]:
    """(row, why) of the steps that mostly wait for the start of other devices."""
    found = []
    starting = np.flatnonzero(runs.start_ps > 0)
    for device in np.unique(runs.device[starting]).tolist():
        rows = starting[runs.device[starting] == device]
        longest = rows[int(runs.start_ps[rows].argmax())]
        begin = runs.begin_ps[rows]
        times = times_of(begin, begin + runs.start_ps[rows])
        found += _mostly(steps, device, times, begin, runs.keys[int(runs.key[longest])].name, True)
    return found


def _slow_launches(steps: StepWindows, devices: Sequence[Device], host: Plane | None) -> list[tuple[int, StartUp]]:
    """(row, why) of the steps that devices mostly idle in while calls of the host that launch last far too long."""
    if host is None or devices[0].kind != "gpu":
        return []
    rows = launches_of_host(host)
    begin, end = spans_at(host, rows)
    lasts = end - begin
    slow = lasts >= np.maximum(LEAST_PS, TIMES * int(np.median(lasts))) if len(rows) >= LEAST_CALLS else lasts < 0
    if not slow.any() or slow.sum() > max(2, MOST_CALLS * len(rows)):
        return []
    name = host.event_metadata.names[int(host.events.metadata[rows[int(lasts.argmax())]])]
    calls = times_of(begin[slow], end[slow])
    since, until = int(steps.begin_ps.min()), int(steps.end_ps.max())
    found = []
    for number, device in enumerate(devices):
        idle = subtract((np.array([since]), np.array([until])), busy(device))
        found += _mostly(steps, number, intersect(calls, idle), begin[slow], name, False)
    return found


def _mostly(
    steps: StepWindows, device: int, times: Times, calls: I64, what: str, first_collective: bool
) -> list[tuple[int, StartUp]]:
    """(row, why) of the steps that these times of a device take most of; `calls` are when the causes begin."""
    begin, end = steps.begin_ps[:, device], steps.end_ps[:, device]
    waits = covered_within(*times, begin, end)
    calls = np.sort(calls)
    count = np.searchsorted(calls, end) - np.searchsorted(calls, begin)
    return [
        (row, StartUp(label, device, what, first_collective, max(int(count[row]), 1), wait, length))
        for row, label, wait, length in zip(
            range(len(steps)), steps.labels, waits.tolist(), (end - begin).tolist(), strict=True
        )
        if wait > MOST_OF_STEP * length
    ]
