"""The work of an average step by op: every moment of a device's computation counts for exactly one op."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from tpu_profile_plugin.analysis.common.spans import subtract, times_of
from tpu_profile_plugin.analysis.devices.model import Device, OpSpans, Work, ordered
from tpu_profile_plugin.columns.arrays import F64, I64

if TYPE_CHECKING:
    from tpu_profile_plugin.analysis.devices.windows import StepWindows

NO_OP = -1
"""Stands for loops, calls and conditionals by themselves."""

MOST_STEPS = 500
"""How far times vary is known from as many steps; it takes memory for each."""

OpKey = tuple[int, str]
"""Program id and instruction; (0, "") for loops, calls and conditionals by themselves."""


@dataclass(frozen=True, slots=True)
class HostWork:
    """The computation in the steps of one host's devices.

    Attributes:
      keys: the ops that computed in steps.
      time_ps: int64[n], time in steps over all devices, disjoint between ops: its sum is the devices' computation.
      by_step: float64[n, s], that time in each of the first `MOST_STEPS` steps.
      runs: int64[n], runs that begin in steps.
      steps, devices: how many there are.
    """

    keys: tuple[OpKey, ...] = ()
    time_ps: I64 = field(default_factory=lambda: np.zeros(0, np.int64))
    by_step: F64 = field(default_factory=lambda: np.zeros((0, 0)))
    runs: I64 = field(default_factory=lambda: np.zeros(0, np.int64))
    steps: int = 0
    devices: int = 0


def host_work(devices: Sequence[Device], steps: StepWindows) -> HostWork:
    """The work of a host's devices; where ops overlap, the one that began first counts."""
    number: dict[OpKey, int] = {}
    ops, rows, times, runs = [], [], [], []
    for i, device in enumerate(devices):
        window = steps.begin_ps[:, i], steps.end_ps[:, i]
        # Numbers of the device's ops, then of the time of containers.
        own = np.array([number.setdefault((op.program, op.name), len(number)) for op in device.ops], np.int64)
        rest = number.setdefault((0, ""), len(number))
        compute = ordered(device.runs.where(device.runs.work == Work.COMPUTE))
        begin, end, at = _exclusive(compute)
        control = _containers(device)
        begin, end = np.concatenate([begin, control[0]]), np.concatenate([end, control[1]])
        op = np.concatenate([own[compute.op[at]], np.full(len(control[0]), rest)])
        row, ps, source = _by_step(begin, end, window)
        inside = _step_of(compute.begin_ps, window) >= 0
        ops.append(op[source])
        rows.append(row)
        times.append(ps)
        runs.append(own[compute.op[inside]])
    return _sums(tuple(number), (np.concatenate(ops), np.concatenate(rows), np.concatenate(times)),
                 np.concatenate(runs), len(steps), len(devices))  # fmt: skip


def _exclusive(spans: OpSpans) -> tuple[I64, I64, I64]:
    """Begin and end of the part of each run in which no earlier one is under way, and its index."""
    if not len(spans):
        return spans.begin_ps, spans.end_ps, np.zeros(0, np.int64)
    done = np.append(np.iinfo(np.int64).min, np.maximum.accumulate(spans.end_ps)[:-1])
    begin = np.maximum(spans.begin_ps, done)
    at = np.flatnonzero(spans.end_ps > begin)
    return begin[at], spans.end_ps[at], at


def _containers(device: Device) -> tuple[I64, I64]:
    """When only loops, calls and conditionals were under way."""
    runs = device.runs
    others = times_of(runs.begin_ps, runs.end_ps)
    for kind in (device.communication(), device.copies()):
        others = times_of(np.concatenate([others[0], kind[0]]), np.concatenate([others[1], kind[1]]))
    return subtract(times_of(device.control.begin_ps, device.control.end_ps), others)


def _by_step(begin: I64, end: I64, window: tuple[I64, I64]) -> tuple[I64, I64, I64]:
    """The parts of spans that lie in steps: step, length and index of the span; steps may leave gaps."""
    since, until = window
    first = np.searchsorted(until, begin, side="right")
    last = np.searchsorted(since, end, side="left") - 1
    count = np.maximum(last - first + 1, 0)
    source = np.repeat(np.arange(len(begin)), count)
    offset = np.arange(len(source)) - np.repeat(np.cumsum(count) - count, count)
    row = first[source] + offset
    length = np.minimum(end[source], until[row]) - np.maximum(begin[source], since[row])
    return row, length, source


def _step_of(time: I64, window: tuple[I64, I64]) -> I64:
    """The step that a moment lies in; -1 outside."""
    row = np.searchsorted(window[0], time, side="right") - 1
    inside = (row >= 0) & (time < window[1][np.maximum(row, 0)])
    return np.where(inside, row, -1)


def _sums(keys: tuple[OpKey, ...], parts: tuple[I64, I64, I64], runs: I64, steps: int, devices: int) -> HostWork:
    op, row, ps = parts
    total = np.zeros(len(keys), np.int64)
    np.add.at(total, op, ps)
    few = min(steps, MOST_STEPS)
    by_step = np.zeros((len(keys), few))
    seen = row < few
    np.add.at(by_step, (op[seen], row[seen]), ps[seen])
    count = np.bincount(runs, minlength=len(keys)).astype(np.int64)
    kept = np.flatnonzero((total > 0) | (count > 0))
    return HostWork(tuple(keys[i] for i in kept.tolist()), total[kept], by_step[kept], count[kept], steps, devices)
