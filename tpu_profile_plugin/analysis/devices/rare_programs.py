"""Programs that a device runs in some times and hardly in others."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tpu_profile_plugin.analysis.common.spans import Times, covered_within, no_time, times_of
from tpu_profile_plugin.analysis.devices.model import Device
from tpu_profile_plugin.analysis.hlo.programs import HloPrograms
from tpu_profile_plugin.columns.arrays import F64

RARE = 0.05
"""Largest share of a program in the devices' time in the other steps: its end may reach into the next step. A step's
own programs have more there, even if the host only waits for the devices in the selected steps."""


@dataclass(frozen=True, slots=True, eq=False)
class RarePrograms:
    """When such programs ran, and the name of the one with most time, without number; "" if it is not a program."""

    times: Times = field(default_factory=no_time)
    name: str = ""


def rare_programs(device: Device, programs: HloPrograms, chosen: Times, others: Times) -> RarePrograms:
    """What a device runs in the chosen steps and hardly in the others: programs, or ops if it runs no programs."""
    if not len(device.runs):
        return RarePrograms()
    keys: dict[int | str, int] = {}
    key = np.array([keys.setdefault(op.program or op.name, len(keys)) for op in device.ops], np.int64)[device.runs.op]
    spent, elsewhere = (_by_key(device, key, len(keys), windows) for windows in (chosen, others))
    rare = (elsewhere <= RARE * elsewhere.sum()) & (spent > elsewhere)
    if not rare.any():
        return RarePrograms()
    runs = rare[key]
    most = list(keys)[int(np.where(rare, spent, 0.0).argmax())]
    module = programs.modules.get(most) if isinstance(most, int) else None
    name = module.name.partition("(")[0] if module is not None else ""
    return RarePrograms(times_of(device.runs.begin_ps, device.runs.end_ps, runs), name)


def _by_key(device: Device, key: np.ndarray, count: int, windows: Times) -> F64:
    inside = covered_within(*windows, device.runs.begin_ps, device.runs.end_ps)
    return np.bincount(key, weights=inside, minlength=count).astype(np.float64)
