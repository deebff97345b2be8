"""The work of an average step by op: every moment of a device's computation counts for exactly one op."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from tpu_profile_plugin import _native
from tpu_profile_plugin.analysis.common.spans import Times, contains, no_time, subtract, times_of, times_of_all
from tpu_profile_plugin.analysis.devices.model import ASYNCHRONOUS, Device, OpSpans, Work, ordered
from tpu_profile_plugin.analysis.devices.windows import StepWindows
from tpu_profile_plugin.columns.arrays import F64, I32, I64

MOST_STEPS = 500
"""How far times vary is known from as many steps; it takes memory for each."""

OpKey = tuple[int, str]
"""Program id and instruction; "" for a program's loops, calls and conditionals by themselves."""


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
      executions: program id -> its executions that begin in steps, over all devices; of no GPU, which records kernels.
    """

    keys: tuple[OpKey, ...] = ()
    time_ps: I64 = field(default_factory=lambda: np.zeros(0, np.int64))
    by_step: F64 = field(default_factory=lambda: np.zeros((0, 0)))
    runs: I64 = field(default_factory=lambda: np.zeros(0, np.int64))
    steps: int = 0
    devices: int = 0
    executions: Mapping[int, int] = field(default_factory=dict)

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
    executions: dict[int, int] = {}
    parts = []
    for i, device in enumerate(devices):
        window = np.ascontiguousarray(steps.begin_ps[:, i]), np.ascontiguousarray(steps.end_ps[:, i])
        # Numbers of the device's ops, then of its programs' containers.
        numbers = np.array([number.setdefault((op.program, op.name), len(number)) for op in device.ops], np.int64)
        runs, ((begin, end), op) = ordered(device.runs), _containers(device)
        rest = np.array([number.setdefault((op.program, ""), len(number)) for op in device.ops], np.int64)
        work = np.where(runs.work == Work.MOVE, np.uint8(Work.COMPUTE), runs.work)
        parts.append((runs.begin_ps, runs.end_ps, runs.op, work, numbers, window))
        parts.append((begin, end, op, np.zeros(len(begin), np.uint8), rest, window))
        for program, begun in _executions(device, runs, window).items():
            executions[program] = executions.get(program, 0) + begun
    few = min(len(steps), MOST_STEPS)
    total, by_step, count = _native.step_work(parts, Work.COMPUTE, len(number), few)
    keys = tuple(number)
    count[[i for i, (_, name) in enumerate(keys) if not name]] = 0  # containers are no runs
    kept = np.flatnonzero((total > 0) | (count > 0))
    return HostWork(
        tuple(keys[i] for i in kept.tolist()),
        *(total[kept], by_step.reshape(len(keys), few)[kept], count[kept], len(steps), len(devices)),
        executions,
    )


def _executions(device: Device, runs: OpSpans, window: Times) -> dict[int, int]:
    """Program id -> its executions that begin in the windows; the program is that of the first op from the begin on."""
    if device.kind == "gpu" or not len(runs):
        return {}
    begun = device.starts[contains(times_of(*window), device.starts)]
    first = np.searchsorted(runs.begin_ps, begun)
    programs = np.array([op.program for op in device.ops], np.uint64)
    program, count = np.unique(programs[runs.op[first[first < len(runs)]]], return_counts=True)
    return dict(zip(program.tolist(), count.tolist(), strict=True))


def _containers(device: Device) -> tuple[Times, I32]:
    """When only loops, calls and conditionals were under way, and the last of them to begin before: int32[n]."""
    control, runs, windows = ordered(device.control), device.runs, device.windows
    if not len(control):
        return no_time(), np.zeros(0, np.int32)
    waits = np.isin(windows.work, ASYNCHRONOUS)
    others = times_of_all((runs.begin_ps, runs.end_ps, None), (windows.begin_ps, windows.end_ps, waits))
    begin, end = subtract(times_of(control.begin_ps, control.end_ps), others)
    # Containers of two programs may touch: time is cut where one begins.
    cuts = np.unique(control.begin_ps)
    cuts = cuts[contains((begin, end), cuts) & ~np.isin(cuts, begin)]
    begin, end = np.sort(np.concatenate([begin, cuts])), np.sort(np.concatenate([end, cuts]))
    return (begin, end), control.op[np.searchsorted(control.begin_ps, begin, side="right") - 1]
