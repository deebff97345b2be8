"""Launches of a GPU: their delay and queue, tiny kernels, and time in which the GPU waits for its host."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.analysis.common.spans import contains, covered_within, join, subtract, times_of, total
from tpu_profile_plugin.analysis.devices.launches import Launches
from tpu_profile_plugin.analysis.devices.model import Device, busy
from tpu_profile_plugin.columns.arrays import I64
from tpu_profile_plugin.units import PS_PER_US

TINY_PS = 10 * PS_PER_US
"""Kernels shorter than this are tiny: launching one takes the host about as long."""


@dataclass(frozen=True, slots=True)
class LaunchSummary:
    """Launches of one GPU over the steps; times in picoseconds.

    Attributes:
      launches: kernels with a known launch in the steps; per_step: their number per step.
      delay_ps: median time from the launch to the begin of the kernel; late_delay_ps: its 90th percentile.
      call_ps: median duration of the call on the host.
      most_queued: largest number of kernels that were launched and had not begun.
      mean_queued: that number averaged over the time of the steps.
      tiny: kernels shorter than `TINY_PS`.
      starved_ps: time with an idle GPU and an empty queue: the host was too slow.
      step_ps: time of the steps.
    """

    launches: int
    per_step: float
    delay_ps: int
    late_delay_ps: int
    call_ps: int
    most_queued: int
    mean_queued: float
    tiny: int
    starved_ps: int
    step_ps: int


def launch_summary(device: Device, launches: Launches, begin_ps: I64, end_ps: I64) -> LaunchSummary | None:
    """Summary over the steps from `begin_ps` to `end_ps`; None for devices without known launches."""
    steps = times_of(begin_ps, end_ps)
    inside = np.flatnonzero(contains(steps, launches.begin_ps))
    if device.kind != "gpu" or not len(inside):
        return None
    call, called, begin, end = (
        column[inside] for column in (launches.call_ps, launches.called_ps, launches.begin_ps, launches.end_ps)
    )
    delay = begin - call
    queued = times_of(call, begin)
    free = subtract(steps, join(busy(device), queued))
    step_ps = total(steps)
    waiting_ps = int(covered_within(*steps, call, np.maximum(call, begin)).sum())
    return LaunchSummary(
        launches=len(inside),
        per_step=len(inside) / len(begin_ps),
        delay_ps=int(np.quantile(delay, 0.5, method="nearest")),
        late_delay_ps=int(np.quantile(delay, 0.9, method="nearest")),
        call_ps=int(np.quantile(called - call, 0.5, method="nearest")),
        most_queued=most_at_once(call, begin),
        mean_queued=waiting_ps / step_ps if step_ps else 0.0,
        tiny=int((end - begin < TINY_PS).sum()),
        starved_ps=total(free),
        step_ps=step_ps,
    )


def most_at_once(call: I64, begin: I64) -> int:
    """Largest number of launches between their call and their begin."""
    waits = begin > call
    points = np.concatenate([call[waits], begin[waits]])
    change = np.repeat([1, -1], int(waits.sum()))
    order = np.lexsort((change, points))
    return int(np.cumsum(change[order]).max(initial=0))
