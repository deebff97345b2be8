"""Utilization of kernels: each line of counters is one kernel, its units in percent of their peaks."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.analysis.common.planes import STEPS, TPU_PREFIX, lines_named
from tpu_profile_plugin.analysis.counters.units import (
    DEVICE_ID,
    WRAP,
    Chip,
    Sample,
    Work,
    chip_of,
    clock_ids,
    counted,
    declares_values,
    in_order,
    plane_integer,
    samples,
    utilization,
)
from tpu_profile_plugin.columns import Plane, XSpace
from tpu_profile_plugin.units import MEGA, NS_PER_US, PS_PER_NS

_PREFIX = "counters_"
_UNNAMED = ("_counters_", "counters", "counters_0")
_KERNEL_LINES = ("PALLAS", "Pallas", "XLA OPS", "XLA Ops"), (STEPS,)
NO_NAME = "default_kernel"
PRECISIONS = {"BF16": "MXU BF16", "FP8": "MXU E4M3 + E5M2", "Int4": "MXU I4", "Int8": "MXU I8"}
"""Types of operands, each with the row that has its cycles."""
_MXU = "Avg MXU Busy"
_MEMORY = "HBM Bandwidth Utilization"


@dataclass(frozen=True, slots=True)
class KernelChoice:
    """The wanted kernels, and the duration to relate them to.

    Attributes:
      kernel: part of the kernel's name; "" for all.
      device: a device id; None for all.
      duration_us: the duration of the kernels; 0: as recorded.
      replace_cycles: whether the duration replaces counted cycles, too, instead of missing cycles only.
    """

    kernel: str = ""
    device: int | None = None
    duration_us: float = 0.0
    replace_cycles: bool = False


@dataclass(frozen=True, slots=True)
class Kernel:
    """The utilization of one kernel; percentages have two decimals.

    Attributes:
      name: from the line's name, or the first op of the device.
      line: id of the line.
      duration_us: as chosen, or the longest event of the line.
      mxu: busy time of the matrix units, in percent of cycles.
      precisions: cycles of the matrix units by type of operand, in percent of all of them.
      others: other units, in percent of their peaks, 100 at most.
    """

    name: str
    line: int
    duration_us: float
    mxu: float
    precisions: dict[str, float]
    others: dict[str, float]


@dataclass(frozen=True, slots=True)
class DeviceKernels:
    """The kernels of one device, in the order of its lines."""

    device: int
    device_type: str
    kernels: tuple[Kernel, ...]


def kernels(space: XSpace, planes: tuple[Plane, ...], choice: KernelChoice) -> Iterator[DeviceKernels]:
    """The kernels of every device with known counters; a device without counter values has none."""
    for plane in planes:
        about = plane.declared
        chip, device = chip_of(space, about), _device(space, about)
        if chip is not None and device is not None and choice.device in (None, device):
            device_kernels = tuple(_kernels(space, plane, chip, choice)) if declares_values(plane) else ()
            yield DeviceKernels(device, chip.device_type, device_kernels)


def _device(space: XSpace, plane: Plane) -> int | None:
    """The recorded device id, else the number that ends the plane's name."""
    recorded = plane_integer(space, plane, DEVICE_ID)
    if recorded is not None and recorded != -1:
        return recorded
    rest = plane.name.removeprefix(TPU_PREFIX)
    return int(rest) if re.fullmatch(r"[0-9]{1,18}", rest, re.ASCII) else None


def _kernels(space: XSpace, plane: Plane, chip: Chip, choice: KernelChoice) -> Iterator[Kernel]:
    counters = counted(space, plane)
    first = _first_op(plane) if len(counters.event) else ""
    for sample in samples(plane, counters, add=True):
        line = plane.lines.name[sample.line]
        name = first if line in _UNNAMED else line.removeprefix(_PREFIX) if line.startswith(_PREFIX) else ""
        if choice.kernel in (name or NO_NAME):
            yield _kernel(plane, chip, sample, name or NO_NAME, choice)


def _first_op(plane: Plane) -> str:
    """The name of the first event that has one, on the first line of ops that has such an event; else of steps."""
    names = plane.event_metadata.names
    named = np.array([bool(name) for name in names], np.bool_)
    for line in (line for kind in _KERNEL_LINES for line in lines_named(plane, *kind)):
        part = plane.lines.events_of(line)
        events = np.flatnonzero(named[plane.events.metadata[part]]) + part.start
        if len(events):
            return names[int(plane.events.metadata[events[in_order(plane, events)[0]]])]
    return ""


def _kernel(plane: Plane, chip: Chip, sample: Sample, name: str, choice: KernelChoice) -> Kernel:
    line = plane.lines.events_of(sample.line)
    longest_us = max(int(plane.events.duration_ps[line].max()), 0) / PS_PER_NS / NS_PER_US
    duration_us = choice.duration_us if choice.duration_us > 0 else longest_us
    rows = utilization(chip, _with_cycles(chip, sample, duration_us, choice.replace_cycles))
    mxu = [row for row in rows if row.name == _MXU]
    precisions = {kind: sum(row.achieved for row in rows if row.name == name) for kind, name in PRECISIONS.items()}
    cycles = sum(precisions.values())
    return Kernel(
        name,
        int(plane.lines.id[sample.line]),
        duration_us,
        percent(sum(row.achieved for row in mxu), sum(row.peak for row in mxu)),
        {kind: percent(value, cycles) for kind, value in precisions.items()},
        _others(rows),
    )


def _with_cycles(chip: Chip, sample: Sample, duration_us: float, replace: bool) -> Sample:
    """The sample; cycles that were not counted follow from the duration at the nominal clock."""
    cycles = duration_us * (chip.hertz / MEGA)
    if cycles <= 0:
        return sample
    missing = [id for id in clock_ids(chip) if replace or sample.value_of(id) == 0]
    kept = ~np.isin(sample.id, np.array(missing, np.uint64))
    id = np.append(sample.id[kept], np.array(missing, np.uint64))
    value = np.append(sample.value[kept], np.full(len(missing), min(int(cycles), WRAP - 1), np.uint64))
    order = np.argsort(id)
    return Sample(sample.line, id[order], value[order])


def _others(rows: list[Work]) -> dict[str, float]:
    """Units by name, added up over cores, except those that have fields of their own."""
    sums: dict[str, tuple[float, float]] = {}
    for row in rows:
        if row.name != _MXU and row.name not in PRECISIONS.values() and row.peak > 0:
            name = _MEMORY if row.name.startswith("HBM Rd+Wr") else row.name
            achieved, peak = sums.get(name, (0.0, 0.0))
            sums[name] = achieved + row.achieved, peak + row.peak
    return {name: min(percent(*sums[name]), 100.0) for name in sorted(sums)}


def percent(part: float, whole: float) -> float:
    """A share in percent with two decimals, halves away from zero; 0 of nothing."""
    return math.floor(part / whole * 10000.0 + 0.5) / 100.0 if whole > 0 else 0.0
