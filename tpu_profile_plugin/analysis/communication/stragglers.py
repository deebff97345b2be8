"""Stragglers: the devices that others waited for, and whether they had more work than the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.analysis.common.rows import among
from tpu_profile_plugin.analysis.common.spans import exact_sum
from tpu_profile_plugin.analysis.devices.collectives import CollectiveRuns
from tpu_profile_plugin.analysis.devices.model import RunDevice, of_hosts
from tpu_profile_plugin.columns.arrays import F64, I64

LATE_SHARE = 0.8
"""Share of all waits that late devices cause: chance spreads waits evenly."""
LATE_DEVICES = 0.25
"""Largest share of the devices that are called late, if no whole host is: where more are, waits are spread."""
LEAST_WAITS = 0.1
"""Least share of the time in collectives that is waits: with less, the collectives themselves take the time."""
AS_LATE = 0.2
"""A device that waits at most so much of the others' mean comes as late as the last one."""
LEAST_RATIO = 1.5
"""Least ratio of the work of a device with clearly more of it to the median; others must also wait."""
LEAST_WAIT = 2.0
"""Least ratio of the others' time in collectives to that of a device with more work: they wait."""
LEAST_FOR_Z = 5
"""Least number of devices for z-scores."""


@dataclass(frozen=True, slots=True)
class MoreWork:
    """A device that works longer than the others, which are in collectives meanwhile.

    Attributes:
      index: its position.
      ratio: its own work over the median.
      z: modified z-score of its work among all; None if there are too few or they do not vary.
      waits: the others' mean time in collectives over its own; None if it spends none.
    """

    index: int
    ratio: float
    z: float | None
    waits: float | None


@dataclass(frozen=True, slots=True)
class Before:
    """What devices did from one collective to the next where one of them came last, on average in ps.

    Attributes:
      times: how often it came last.
      work_ps, idle_ps: of that device; others_work_ps, others_idle_ps: of the devices that waited for it.
      launched_after_ps: how much later its host launched it; None if launches are not known.
    """

    times: int
    work_ps: int
    idle_ps: int
    others_work_ps: int
    others_idle_ps: int
    launched_after_ps: int | None = None


@dataclass(frozen=True, slots=True)
class Straggler:
    """A device that others wait for.

    Attributes:
      index: its position; caused_ps: time that others waited for it; share: of all waits.
      ratio: its own work over the median; None if that is 0.
      work: how it has more work than the others; None if it has about as much.
      before: what it did before the collectives that the others waited for it in; None if that is unknown.
    """

    index: int
    caused_ps: int
    share: float
    ratio: float | None
    work: MoreWork | None
    before: Before | None = None


def stragglers(
    devices: Sequence[RunDevice], caused: I64, waits: I64, work: I64, communication: I64
) -> tuple[Straggler, ...]:
    """The devices that caused most of the waits, most first; none if waits are spread over the devices.

    Of several devices of a CPU, which share its cores, which gets one last is chance unless it has more work.

    Args:
      devices: of all hosts.
      caused, waits, work, communication: int64[d], time that others waited for a device, that it waited itself, of its
        own work, and in collectives, in ps.
    """
    total = exact_sum(caused)
    if len(devices) < 2 or not total or total < LEAST_WAITS * exact_sum(communication):
        return ()
    more = {one.index: one for one in with_more_work(work.tolist(), communication.tolist())}
    found = []
    for index in _late(devices, caused, waits):
        if _shares_cores(devices, index) and index not in more:
            continue
        usual = _usual(work.astype(np.float64), index)
        ratio = int(work[index]) / usual if usual > 0 else None
        found.append(Straggler(index, int(caused[index]), int(caused[index]) / total, ratio, more.get(index)))
    return tuple(found)


def _late(devices: Sequence[RunDevice], caused: I64, waits: I64) -> list[int]:
    """The fewest devices that caused most waits, or all devices of a host that did, most first."""
    order = np.argsort(-caused, kind="stable")
    least = LATE_SHARE * exact_sum(caused)
    few = order[: int(np.searchsorted(np.cumsum(caused[order].astype(np.float64)), least * (1 - 1e-12))) + 1]
    of_host = {host: list(range(len(devices)))[columns] for host, columns in of_hosts(devices).items()}
    on_hosts = len(of_host) > 1
    if len(few) <= max(1, int(LATE_DEVICES * len(devices))):
        siblings = of_host[devices[int(few[0])].host]
        others = np.delete(np.arange(len(devices)), few)
        as_late = set(few.tolist()) | set(others[waits[others] <= AS_LATE * waits[others].mean()].tolist())
        together = on_hosts and set(few.tolist()) <= set(siblings) <= as_late
        return sorted(siblings, key=lambda i: -int(caused[i])) if together else few.tolist()
    for own in of_host.values() if on_hosts else ():
        if len(own) > 1 and exact_sum(caused[own]) >= least:
            return sorted(own, key=lambda i: -int(caused[i]))
    return []


def before_last(runs: CollectiveRuns, work: I64, idle: I64, queued: I64, device: int) -> Before | None:
    """What a device and the others did before the collectives in which others waited for it.

    Args:
      runs: of all devices, matched.
      work, idle: int64[n], per run the work and the idle time of its device since the collective before.
      queued: int64[n], from the launch of each to its begin, -1 if that is unknown.
      device: the device that came last.
    """
    for_it = (runs.last == device) & (runs.instance >= 0)
    instances = np.unique(runs.instance[for_it & (runs.repeated_ps > 0)])
    own = for_it & among(runs.instance, instances) & (runs.device == device)
    others = for_it & among(runs.instance, instances) & (runs.device != device)
    if not own.any() or not others.any():
        return None
    launched = None
    if bool((queued[own] >= 0).all()) and bool((queued[others] >= 0).all()):
        call = runs.begin_ps - queued
        first = int(call[own | others].min())
        launched = _mean(call[own] - first) - _mean(call[others] - first)
    return Before(
        times=len(instances),
        work_ps=_mean(work[own]),
        idle_ps=_mean(idle[own]),
        others_work_ps=_mean(work[others]),
        others_idle_ps=_mean(idle[others]),
        launched_after_ps=launched,
    )


def _mean(ps: I64) -> int:
    return exact_sum(ps) // len(ps)


def _shares_cores(devices: Sequence[RunDevice], index: int) -> bool:
    device = devices[index]
    return device.kind == "cpu" and sum(other.host == device.host for other in devices) > 1


def with_more_work(work: Sequence[float], communication: Sequence[float]) -> list[MoreWork]:
    """Devices with 1.5 times the median work or more, while others spend twice their time in collectives.

    Args:
      work: own time of each, without communication, idle time and waits.
      communication: time of each in collectives.
    """
    times, talk = np.array(work, np.float64), np.array(communication, np.float64)
    if len(times) < 2 or not (times > 0).any():
        return []
    scores = modified_z(times)
    slow = []
    for i in range(len(times)):
        median = _usual(times, i)
        ratio = float(times[i]) / median if median > 0 else float("inf")
        others = float(np.delete(talk, i).mean())
        if ratio >= LEAST_RATIO and others > 0 and others >= LEAST_WAIT * talk[i]:
            z = None if scores is None else float(scores[i])
            slow.append(MoreWork(i, ratio, z, others / float(talk[i]) if talk[i] > 0 else None))
    return sorted(slow, key=lambda one: -one.ratio)


def _usual(times: F64, index: int) -> float:
    """The median of the devices; of two, the time of the other one."""
    return float(np.median(np.delete(times, index))) if len(times) == 2 else float(np.median(times))


def modified_z(values: F64) -> F64 | None:
    """0.6745 (x - median) / median absolute deviation; None for few values or if more than half are equal."""
    if len(values) < LEAST_FOR_Z:
        return None
    centred = values - np.median(values)
    spread = float(np.median(np.abs(centred)))
    return 0.6745 * centred / spread if spread > 0 else None
