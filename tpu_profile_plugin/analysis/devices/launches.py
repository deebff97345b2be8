"""Launches: which call of the host started what a device ran, how long before, and how many were waiting."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from tpu_profile_plugin.analysis.common.planes import host_plane, spans_at
from tpu_profile_plugin.analysis.common.spans import contains, covered_within, join, subtract, times_of, total
from tpu_profile_plugin.analysis.devices.model import NO_LAUNCH, Device, busy
from tpu_profile_plugin.columns import EventFilter, Plane, XSpace
from tpu_profile_plugin.columns import stats as read
from tpu_profile_plugin.columns.arrays import I64
from tpu_profile_plugin.units import PS_PER_US

KEYS = {"gpu": "correlation_id", "tpu": "run_id", "cpu": "run_id"}
"""The stat that a launch on the host and what it starts on a device have in common."""


@dataclass(frozen=True, slots=True, eq=False)
class HostCalls:
    """The calls of a host that launch work of devices; of several with one key the first counts.

    Attributes:
      key: int64[n], correlation or run id, ascending.
      event: int64[n], row in the event table of the host's plane, if that is decoded.
      begin_ps, end_ps: int64[n].
    """

    key: I64 = field(default_factory=lambda: np.zeros(0, np.int64))
    event: I64 = field(default_factory=lambda: np.zeros(0, np.int64))
    begin_ps: I64 = field(default_factory=lambda: np.zeros(0, np.int64))
    end_ps: I64 = field(default_factory=lambda: np.zeros(0, np.int64))

    def __len__(self) -> int:
        return len(self.key)

    def launching(self, launch_key: I64) -> I64:
        """The call that launched what has each key (`Device.launch_key`), an index; -1 if that is unknown."""
        if not len(self.key):
            return np.full(len(launch_key), -1)
        call = np.minimum(np.searchsorted(self.key, launch_key), len(self.key) - 1)
        return np.where((self.key[call] == launch_key) & (launch_key != NO_LAUNCH), call, -1)

    def times(self, launch_key: I64) -> tuple[I64, I64]:
        """Begin and end of the call that launched what has each key; `NO_LAUNCH` if that is unknown."""
        call = self.launching(launch_key)
        begin, end = (np.append(times, NO_LAUNCH)[call] for times in (self.begin_ps, self.end_ps))
        return begin, end


def host_calls(space: XSpace, stats: Iterable[str], plane: Plane | None = None) -> HostCalls:
    """The calls with the first of the `stats` that events of the host have.

    `plane` is the host's with at least the events of launches; it is read from the profile by default.
    """
    plane = plane or host_plane(space)
    if plane is None:
        return HostCalls()
    for stat in stats:
        if plane.declared.stat_metadata.row(stat) is None:
            continue
        (having,) = space.filtered(EventFilter(plane, event=lambda _: False, stats=(stat,)))
        key, has_key = read.ints(space, having, having.events.stats, stat)
        events = np.flatnonzero(has_key & (key != NO_LAUNCH))
        if len(events):
            events = events[np.lexsort((having.events.begin_ps[events], key[events]))]
            events = events[np.append(True, np.diff(key[events]) != 0)]
            return HostCalls(key[events], events, *spans_at(having, events))
    return HostCalls()


@dataclass(frozen=True, slots=True, eq=False)
class Launches:
    """Launches and what they started on one device, by begin on the device; times in picoseconds.

    Attributes:
      call_ps, called_ps: begin and end of the call on the host.
      begin_ps, end_ps: of the kernel, or of the run of a program (`end_ps` is its begin if the end is unknown).
    """

    call_ps: I64
    called_ps: I64
    begin_ps: I64
    end_ps: I64

    def __len__(self) -> int:
        return len(self.begin_ps)

    @property
    def delay_ps(self) -> I64:
        """From the begin of the call to the begin on the device; negative where clocks disagree."""
        return self.begin_ps - self.call_ps


def launches_of(space: XSpace, devices: Sequence[Device], host: Plane | None = None) -> list[Launches]:
    """The launches of each device; devices of the CPU backend have none. `host` as of `host_calls`."""
    none = np.zeros(0, np.int64)
    if not devices or devices[0].kind == "cpu":
        return [Launches(none, none, none, none) for _ in devices]
    calls = host_calls(space, (KEYS[devices[0].kind],), host)
    launches = []
    for device in devices:
        call = calls.launching(device.launch_key)
        launched = np.flatnonzero(call >= 0)
        call, starts = call[launched], device.starts[launched]
        # The begins of a GPU's launches are those of its kernels, in the same order.
        ends = device.runs.end_ps[launched] if device.kind == "gpu" else starts
        launches.append(Launches(calls.begin_ps[call], calls.end_ps[call], starts, ends))
    return launches


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
