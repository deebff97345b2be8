"""How evenly the work of a host's devices is divided, by the ops that they run and not by how long these take.

An op counts for its median duration over all devices, so that a device whose cores are taken or that is slow has no
more work than the others; for that of its own runs on the CPU that is its host's only device. Between two collectives,
in which all devices meet, the one with most work decides how long the others wait.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.analysis.communication.host_collectives import HostCommunication
from tpu_profile_plugin.analysis.devices.model import Device, Work
from tpu_profile_plugin.analysis.hlo.ops import HloOps
from tpu_profile_plugin.columns.arrays import F64, I64

FEWEST_DEVICES = 3
"""Of two devices neither tells which of them is as it should be."""
FEWEST_OPS = 5
"""Fewer ops that are slower on one device may have more to do there."""
_NOTABLE = 0.05
"""Devices whose waits and differences are a smaller part of their work are not looked at, which would take time."""


@dataclass(frozen=True, slots=True)
class UnevenOp:
    """An op that devices run unequally often, its place ("" if unknown), and runs; `busiest`: the device with most."""

    name: str
    place: str
    fewest: int
    most: int
    busiest: str


@dataclass(frozen=True, slots=True)
class Balance:
    """The work of a host's devices in its steps; times in ps.

    Attributes:
      devices: their names; kind: of the first.
      work_ps: of each, every op counted with its median duration over all devices.
      lockstep_ps: sum, over the stretches between collectives, of the work of the device that has most in each.
      uneven: the op whose number of runs differs most; None if all run each op equally often.
      slow: per device, its durations over the median of the devices: the median over ops, weighted by time.
      agree: per device, share of the time in ops that it runs at least half as much slower as `slow` says.
    """

    devices: tuple[str, ...]
    kind: str
    work_ps: tuple[float, ...]
    lockstep_ps: float
    uneven: UnevenOp | None
    slow: tuple[float, ...]
    agree: tuple[float, ...]

    @property
    def most_ps(self) -> float:
        """Work of the device with most."""
        return max(self.work_ps)

    @property
    def mean_ps(self) -> float:
        """Mean work of the devices."""
        return sum(self.work_ps) / len(self.work_ps)

    @property
    def unevenly(self) -> float:
        """Waits because some devices have more work, 0 to 1 of the time that all take together at their ops' pace."""
        return (self.most_ps - self.mean_ps) / max(self.lockstep_ps, 1.0)

    @property
    def in_turns(self) -> float:
        """The same of waits because devices do not work at the same time."""
        return (self.lockstep_ps - self.most_ps) / max(self.lockstep_ps, 1.0)


def host_balance(
    communication: HostCommunication, devices_of: Callable[[], Sequence[Device]], hlo: HloOps
) -> Balance | None:
    """The balance of a host with several devices whose work or waits differ, and of a CPU; None of others.

    Args:
      communication: of the host, which tells whether its devices need be looked at.
      devices_of: gives them.
      hlo: its programs.
    """
    work, waits = communication.work_ps.sum(axis=0), int(communication.wait_ps.sum())
    alone = len(work) == 1 and communication.devices[0][1] == "cpu"
    if not work.all() or (len(work) < 2 and not alone):
        return None
    if not alone and waits < _NOTABLE * int(work.sum()) and int(work.max()) < (1 + _NOTABLE) * int(work.min()):
        return None
    steps, devices = communication.steps, devices_of()
    if steps is None or len(devices) != len(work):
        return None
    numbers: dict[tuple[int, str], int] = {}
    parts, cuts = [], []
    for at, device in enumerate(devices):
        rows, op, within = _runs(device, numbers, int(steps.begin_ps[0, at]), int(steps.end_ps[-1, at]))
        parts.append((np.full(len(rows), at), op, device.runs.begin_ps[rows], device.runs.end_ps[rows]))
        cuts.append(within)
    if len({len(one) for one in cuts}) > 1:
        cuts = [steps.begin_ps[1:, at] for at in range(len(devices))]
    on, op, begin, end = (np.concatenate(column) for column in zip(*parts, strict=True))
    if not len(op):
        return None
    duration = (end - begin).astype(np.float64)
    runs = np.zeros((len(devices), len(numbers)), np.int64)
    spent = np.zeros((len(devices), len(numbers)))
    np.add.at(runs, (on, op), 1)
    np.add.at(spent, (on, op), duration)
    median = _medians(op, duration, len(numbers))
    stretch = np.concatenate(
        [np.searchsorted(cut, part[2], side="right") for cut, part in zip(cuts, parts, strict=True)]
    )
    met = np.zeros((len(devices), len(cuts[0]) + 1))
    np.add.at(met, (on, stretch), median[op])
    slow, agree = _slowness(runs, spent)
    names = tuple(device.name for device in devices)
    return Balance(
        names,
        devices[0].kind,
        tuple(met.sum(axis=1).tolist()),
        float(met.max(axis=0).sum()),
        _most_uneven(hlo, names, runs, (runs.max(axis=0) - runs.mean(axis=0)) * median, list(numbers)),
        slow,
        agree,
    )


def _runs(device: Device, numbers: dict[tuple[int, str], int], first: int, last: int) -> tuple[I64, I64, I64]:
    """Runs of ops that compute within steps, the numbers of their ops, and the ends of collectives there."""
    runs = device.runs
    inside = (runs.begin_ps >= first) & (runs.begin_ps < last)
    rows = np.flatnonzero(inside & ((runs.work == Work.COMPUTE) | (runs.work == Work.MOVE)))
    code = np.zeros(len(device.ops), np.int64)
    for i in np.unique(runs.op[rows]).tolist():
        code[i] = numbers.setdefault((device.ops[i].program, device.ops[i].name), len(numbers))
    meets = np.flatnonzero(inside & (runs.work == Work.COMMUNICATION))
    return rows, code[runs.op[rows]], np.sort(runs.end_ps[meets])


def _medians(op: I64, duration: F64, ops: int) -> F64:
    """The lower median duration of each op."""
    order = np.lexsort((duration, op))
    start = np.searchsorted(op[order], np.arange(ops + 1))
    medians: F64 = duration[order][(start[:-1] + start[1:] - 1) // 2]
    return medians


def _slowness(runs: I64, spent: F64) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """`Balance.slow` and `agree`, from the ops that all devices run."""
    common = (runs > 0).all(axis=0)
    if len(runs) < FEWEST_DEVICES or int(common.sum()) < FEWEST_OPS:
        return (1.0,) * len(runs), (0.0,) * len(runs)
    each = spent[:, common] / runs[:, common]
    usual = np.median(each, axis=0)
    weight = usual * np.median(runs[:, common], axis=0)
    ratio = each / np.maximum(usual, 1.0)
    slow, agree = [], []
    for one in ratio:
        order = np.argsort(one, kind="stable")
        at = int(np.searchsorted(np.cumsum(weight[order]), weight.sum() / 2))
        typical = float(one[order][at])
        slow.append(typical)
        agree.append(float(weight[one >= 1 + (typical - 1) / 2].sum() / weight.sum()) if weight.sum() else 0.0)
    return tuple(slow), tuple(agree)


def _most_uneven(
    hlo: HloOps, devices: Sequence[str], runs: I64, cost: F64, ops: Sequence[tuple[int, str]]
) -> UnevenOp | None:
    """`Balance.uneven`; `cost`: per op, of the runs that a device has more than the others."""
    most = int(cost.argmax())
    if not cost[most]:
        return None
    (number, name), of_op = ops[most], runs[:, most]
    found = hlo.located(number, name)
    place = "" if found is None else found[0].place(found[1])
    return UnevenOp(name, place, int(of_op.min()), int(of_op.max()), devices[int(of_op.argmax())])
