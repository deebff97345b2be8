"""What the recording itself costs a host's steps: events of the threads that devices wait for, and what each takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from tpu_profile_plugin.analysis.budget import categories as part
from tpu_profile_plugin.analysis.budget.budget import DeviceTime
from tpu_profile_plugin.analysis.budget.recorded_events import Recorded, RecordedEvents
from tpu_profile_plugin.analysis.common.op_names import PYTORCH
from tpu_profile_plugin.analysis.common.spans import Times, covered_within, times_of
from tpu_profile_plugin.analysis.devices.inventory import RUNS_WITHIN_HOST_CALLS
from tpu_profile_plugin.analysis.findings.evidence.host.calls import main_thread_of
from tpu_profile_plugin.analysis.findings.host_view import HostView, once
from tpu_profile_plugin.analysis.findings.lost import LEAST_SHARE, lost_to
from tpu_profile_plugin.columns.arrays import F64, I64, Bools
from tpu_profile_plugin.units import PS_PER_US

NEAR = 16
"""So many spans in a row share what recording costs, where a thread works itself: most of it lies around short ops."""
_BUSY = part.COMPUTE, part.DATA_MOVEMENT
_BEHIND = part.IDLE_INPUT, part.IDLE_HOST, part.IDLE_LAUNCH, part.IDLE_OTHER
"""Idle time that ends sooner if the host does anything sooner."""
_WAITS = *_BEHIND, part.IDLE_COMPILE, part.IDLE_TRANSFER
"""Idle time that ends sooner if the host does sooner what it does meanwhile."""


Costs: TypeAlias = list[tuple[int, Recorded]]
"""Events of threads with what recording one of them costs."""


@dataclass(frozen=True, slots=True)
class Kind:
    """Events that cost alike, from programs timed with and without profilers (docs/developer/findings.md).

    Attributes:
      factor: what an event costs, in units of the time from one to the next where they are close: elsewhere caches and
        branches are cold, and a runtime takes slower ways while it is recorded. least, most: the range over programs.
      apart_ps: events that are nowhere closer are too far apart to tell what they cost.
    """

    factor: float
    least: float
    most: float
    apart_ps: int

    def cost_ps(self, events: Recorded) -> int:
        """What recording an event costs: not more than the time from one to the next in the median."""
        known = events.close_ps <= self.apart_ps
        return round(min(self.factor * events.close_ps, events.typical_ps)) if known else 0


CALLS = Kind(1.3, 0.9, 2.0, PS_PER_US)
"""Calls of Python functions."""
PYTORCH_OPS = Kind(2.1, 1.3, 2.8, 3 * PS_PER_US // 2)
"""Ops of PyTorch."""
ANNOTATIONS = Kind(4.2, 2.0, 6.0, PS_PER_US // 2)
"""Events that the runtimes of JAX and TensorFlow record."""


@dataclass(frozen=True, slots=True, eq=False)
class RecordingCost:
    """What recording one host costs its steps.

    Attributes:
      cells: steps times devices that take part.
      by_part: int64[c + 1], the cost in ps by part of the time budget, summed over these; the last between steps.
      least, most: the interval that the cost lies in, as multiples of it.
      frames, others: calls of Python functions and other events of the main thread, per step.
      frame_ps, other_ps: what one of them costs.
      window: the step with most events.
    """

    cells: int
    by_part: I64
    least: float
    most: float
    frames: float
    others: float
    frame_ps: int
    other_ps: int
    window: tuple[int, int]

    @property
    def ps(self) -> float:
        """Per step and device."""
        return float(self.by_part.sum()) / self.cells

    @property
    def of_frames(self) -> bool:
        """Whether calls of Python functions cost more than other events."""
        return self.frames * self.frame_ps >= self.others * self.other_ps


@once
def recording_cost(host: HostView) -> RecordingCost | None:
    """What recording one host costs its steps; None without steps, or if devices hardly wait for the host."""
    begin, end = host.marks
    inline = bool(host.budget.devices) and host.budget.devices[0][0] in RUNS_WITHIN_HOST_CALLS
    if host.spent is None or not len(begin):
        return None
    # The cost is at most what devices wait.
    if not inline and lost_to(host.time, *(part.CATEGORIES[one] for one in _WAITS)).share < LEAST_SHARE:
        return None
    main = main_thread_of(host).recorded
    elsewhere = host.reader.launchers() if host.devices and host.devices[0].kind == "gpu" else []
    ops = PYTORCH_OPS if PYTORCH in host.summary.frameworks else ANNOTATIONS
    costs = [(kind.cost_ps(events), events) for one in (main, *elsewhere) for kind, events in _kinds(one, ops)]
    if not any(cost for cost, _ in costs):
        return None
    synced = host.reader.time.transfer[1] if host.devices and not inline else None
    by_part = np.zeros(len(part.CATEGORIES) + 1, np.int64)
    parts = (*_WAITS, *_BUSY) if inline else _WAITS
    for i, device in enumerate(host.spent.devices):
        by_part += _of_device(device, host.time.takes_part[:, i], costs, parts, synced)
    frames, others = main.frames.within(begin, end), main.others.within(begin, end)
    frame_ps, other_ps = (cost for cost, _ in costs[:2])
    of_frames, of_others = int(frames.sum()) * frame_ps, int(others.sum()) * other_ps
    share, most = of_frames / max(of_frames + of_others, 1), int((frames + others).argmax())
    return RecordingCost(
        max(host.time.cells, 1),
        by_part,
        share * CALLS.least / CALLS.factor + (1 - share) * ops.least / ops.factor,
        share * CALLS.most / CALLS.factor + (1 - share) * ops.most / ops.factor,
        float(frames.mean()),
        float(others.mean()),
        frame_ps,
        other_ps,
        (int(begin[most]), int(end[most])),
    )


def _kinds(events: RecordedEvents, ops: Kind) -> tuple[tuple[Kind, Recorded], tuple[Kind, Recorded]]:
    return (CALLS, events.frames), (ops, events.others)


def _of_device(device: DeviceTime, used: Bools, costs: Costs, parts: tuple[int, ...], synced: I64 | None) -> I64:
    """The cost for one device by part, int64[c + 1]; `synced`: when the host has waited for results, ascending.

    From one wait for results to the next, what the host does sooner makes all later launches sooner: what is recorded
    while the device works shortens the idle spans after it, down to nothing. If the thread works itself (`synced` is
    None), begins of events tell where their cost lies, but for a few spans.
    """
    chosen = [(category, times) for category, times in device.spent if category in parts and len(times[0])]
    if not chosen:
        return np.zeros(len(part.CATEGORIES) + 1, np.int64)
    begin, end = (np.concatenate([times[side] for _, times in chosen]) for side in (0, 1))
    category = np.repeat([one for one, _ in chosen], [len(times[0]) for _, times in chosen])
    order = np.argsort(begin, kind="stable")
    begin, end, category = begin[order], end[order], category[order]
    length = end - begin
    cost = np.minimum(_cost(costs, begin, end), length)
    shortens = np.isin(category, _BEHIND) if synced is not None else np.ones(len(begin), np.bool_)
    spread = _spread(costs, (begin, end), cost, np.where(shortens, length - cost, 0), synced) + cost
    inside = covered_within(*times_of(device.windows[0][used], device.windows[1][used]), begin, end)
    between = covered_within(*device.between, begin, end)
    per_ps = spread / np.maximum(length, 1)
    by_part = np.bincount(category, per_ps * inside, len(part.CATEGORIES))
    total: I64 = np.rint(np.append(by_part, (per_ps * between).sum())).astype(np.int64)
    return total


def _cost(costs: Costs, begin: I64, end: I64) -> I64:
    """What recording the events that begin in each span costs."""
    cost = np.zeros(len(begin), np.int64)
    for of_one, events in costs:
        if of_one:
            cost += of_one * events.within(begin, end)
    return cost


def _spread(costs: Costs, spans: Times, cost: I64, room: I64, synced: I64 | None) -> F64:
    """What recording costs beside the `cost` in spans, spread over their `room` from one wait to the next."""
    begin, end = spans
    waits = begin[::NEAR] if synced is None else synced
    number = np.searchsorted(waits, begin, side="right")
    first = np.flatnonzero(np.append(True, number[1:] != number[:-1]))
    since = np.minimum(np.append(begin[0], waits)[number[first]], begin[first])
    beside = _cost(costs, since, np.maximum.reduceat(end, first)) - np.add.reduceat(cost, first)
    rooms = np.add.reduceat(room, first)
    share = np.clip(beside, 0, rooms) / np.maximum(rooms, 1)
    spread: F64 = np.repeat(share, np.diff(np.append(first, len(begin)))) * room
    return spread
