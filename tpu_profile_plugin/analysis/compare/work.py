"""The work of an average step by op: every moment of a device's computation counts for exactly one op."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from tpu_profile_plugin import _native
from tpu_profile_plugin.analysis.common.spans import Times, no_time, subtract, times_of, times_of_all
from tpu_profile_plugin.analysis.devices.model import ASYNCHRONOUS, Device, Work, ordered
from tpu_profile_plugin.analysis.devices.windows import StepWindows
from tpu_profile_plugin.columns.arrays import F64, I64

MOST_STEPS = 500
"""How far times vary is known from as many steps; it takes memory for each."""

OpKey = tuple[int, str]
"""Program id and instruction; (0, "") for loops, calls and conditionals by themselves."""


@dataclass(frozen=True, slots=True)
class HostWork:
    """The computation in the steps of one host's devices.

    Attributes:
      keys: the ops that computed in steps.
      time_ps: int64[n], time in steps over all devices, disjoint between ops: its sum is the devices' computation
        with data movement.
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

    def within(self, rows: I64) -> tuple[F64, F64]:
        """Time and runs in some of the steps, which another host of the run has as well.

        If not in all, they are extrapolated: runs from all steps, times from those among the first `MOST_STEPS`.
        """
        if len(rows) == self.steps:
            return self.time_ps.astype(np.float64), self.runs.astype(np.float64)
        known = rows[rows < self.by_step.shape[1]]
        time: F64 = self.by_step[:, known].sum(axis=1) * (len(rows) / max(len(known), 1))
        return time, self.runs.astype(np.float64) * (len(rows) / max(self.steps, 1))


def host_work(devices: Sequence[Device], steps: StepWindows) -> HostWork:
    """The work of a host's devices; where ops overlap, the one that began first counts."""
    number: dict[OpKey, int] = {}
    parts = []
    for i, device in enumerate(devices):
        window = np.ascontiguousarray(steps.begin_ps[:, i]), np.ascontiguousarray(steps.end_ps[:, i])
        # Numbers of the device's ops, then of the time of containers.
        numbers = np.array([number.setdefault((op.program, op.name), len(number)) for op in device.ops], np.int64)
        rest = np.array([number.setdefault((0, ""), len(number))])
        runs, (begin, end) = ordered(device.runs), _containers(device)
        work = np.where(runs.work == Work.MOVE, np.uint8(Work.COMPUTE), runs.work)
        parts.append((runs.begin_ps, runs.end_ps, runs.op, work, numbers, window))
        parts.append((begin, end, np.zeros(len(begin), np.int32), np.zeros(len(begin), np.uint8), rest, window))
    few = min(len(steps), MOST_STEPS)
    total, by_step, count = _native.step_work(parts, Work.COMPUTE, len(number), few)
    count[number[0, ""]] = 0  # containers are no runs
    kept = np.flatnonzero((total > 0) | (count > 0))
    keys = tuple(number)
    return HostWork(
        tuple(keys[i] for i in kept.tolist()),
        *(total[kept], by_step.reshape(len(keys), few)[kept], count[kept], len(steps), len(devices)),
    )


def _containers(device: Device) -> Times:
    """When only loops, calls and conditionals were under way."""
    control, runs, windows = device.control, device.runs, device.windows
    if not len(control):
        return no_time()
    waits = np.isin(windows.work, ASYNCHRONOUS)
    others = times_of_all((runs.begin_ps, runs.end_ps, None), (windows.begin_ps, windows.end_ps, waits))
    return subtract(times_of(control.begin_ps, control.end_ps), others)
