"""Tools of performance counters: recorded values; units of a TPU against their peaks, per sample and per kernel."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from tpu_profile_plugin.analysis.common.planes import TPU_PREFIX
from tpu_profile_plugin.analysis.common.reasons import NO_COUNTERS, NO_TPU_COUNTERS, Reason
from tpu_profile_plugin.analysis.counters.kernels import DeviceKernels, KernelChoice, kernels
from tpu_profile_plugin.analysis.counters.listing import Listing, has_values, listings
from tpu_profile_plugin.analysis.counters.units import (
    DEVICE_ID,
    Work,
    chip_of,
    counted,
    declares_values,
    plane_integer,
    samples,
    utilization,
)
from tpu_profile_plugin.columns import Plane
from tpu_profile_plugin.run.catalogue.counters import COUNTERS, KERNELS, UNITS, precision, unit
from tpu_profile_plugin.run.facts import RunFacts
from tpu_profile_plugin.run.host import HostProfile, per_host
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tables.document import Document
from tpu_profile_plugin.tables.table import Table, attributes
from tpu_profile_plugin.tools.params import Param
from tpu_profile_plugin.tools.query import Query
from tpu_profile_plugin.tools.tool import Tool


@dataclass(frozen=True)
class PerfCounters(Document):
    """Recorded values of performance counters.

    Attributes:
      counters: one row per event with a value, host after host.
    """

    counters: Table


@dataclass(frozen=True)
class Utilization(Document):
    """Achieved and peak work of the units of TPUs.

    Attributes:
      units: one row per sample, core and unit, host after host.
    """

    units: Table


@dataclass(frozen=True)
class KernelUtilization(Document):
    """The units of TPUs in percent of their peaks.

    Attributes:
      kernels: one row per line of counters. Columns `precision_NAME`: cycles of the matrix units by type of operand;
        `unit_NAME`: other units, null for those that a kernel lacks.
    """

    kernels: Table


@per_host()
def host_listings(host: HostProfile) -> tuple[Listing, ...]:
    """The counters of one host."""
    planes = tuple(plane for plane in host.lazy.planes if has_values(plane))
    host.lazy.decode(planes)
    return tuple(listings(host.lazy, planes))


@per_host()
def host_units(host: HostProfile) -> dict[str, list[Any]]:
    """The columns of `Utilization.units` of one host, by id."""
    rows = list(_units(host))
    return {
        "host": [host.name] * len(rows),
        "device": [device for device, *_ in rows],
        "sample": [sample for _, sample, *_ in rows],
        "kernel": [kernel for _, _, kernel, _ in rows],
        **attributes((work for *_, work in rows), "node", "name", "achieved", "peak", "unit"),
    }


@per_host()
def host_kernels(host: HostProfile, choice: KernelChoice) -> tuple[DeviceKernels, ...]:
    """The kernels of one host."""
    return tuple(kernels(host.lazy, _tpu_planes(host), choice))


def perf_counters(run: Run, query: Query) -> PerfCounters:
    """The values of all counters."""
    cells = counter_cells(run)
    return PerfCounters(Table(COUNTERS, {column.id: cells[column.id] for column in COUNTERS}))


def counter_cells(run: Run) -> dict[str, Any]:
    """The columns of the counters by id; `integer`: uint64, values written as integers, else 0."""
    of_hosts = run.map_hosts(host_listings)
    parts = [(host.name, part) for host, listed in zip(run.readable, of_hosts, strict=True) for part in listed]

    def joined(name: str) -> list[Any]:
        return list(chain.from_iterable(getattr(part, name) for _, part in parts))

    return {
        "host": [host for host, part in parts for _ in part.counter],
        "chip": [part.chip for _, part in parts for _ in part.counter],
        "kernel": joined("line_name"),
        "sample": np.concatenate([np.zeros(0, np.int64), *(part.line for _, part in parts)]),
        "counter": joined("counter"),
        "value": np.concatenate([np.zeros(0, np.float64), *(part.reading for _, part in parts)]),
        "integer": np.concatenate([np.zeros(0, np.uint64), *(part.value for _, part in parts)]),
        "description": joined("description"),
        "sets": joined("sets"),
    }


def utilization_viewer(run: Run, query: Query) -> Utilization:
    """The work of all units."""
    of_hosts = run.map_hosts(host_units)
    return Utilization(
        Table(UNITS, {column.id: [cell for part in of_hosts for cell in part[column.id]] for column in UNITS})
    )


def kernel_utilization(run: Run, query: Query) -> KernelUtilization:
    """The units of the chosen kernels."""
    rows = [(host, device, kernel) for host, device in kernels_by_device(run, query) for kernel in device.kernels]
    listed = [kernel for *_, kernel in rows]
    precisions = dict.fromkeys(name for kernel in listed for name in kernel.precisions)
    units = sorted({name for kernel in listed for name in kernel.others})
    cells = {
        "host": [host for host, *_ in rows],
        "device": [device.device for _, device, _ in rows],
        "device_type": [device.device_type for _, device, _ in rows],
    }
    columns = (*KERNELS, *map(precision, precisions), *map(unit, units))
    return KernelUtilization(Table.of_rows(columns, listed, cells))


def kernels_by_device(run: Run, query: Query) -> list[tuple[str, DeviceKernels]]:
    """The chosen kernels of each device, also of devices without any, with the name of its host."""
    device = query.integer("device_id")
    choice = KernelChoice(
        query.text("kernel") or query.text("kernel_name"),
        device if device >= 0 else None,
        query.number("duration_us"),
        query.flag("force_duration"),
    )
    of_hosts = run.map_hosts(host_kernels.given(choice))
    return [(host.name, device) for host, devices in zip(run.readable, of_hosts, strict=True) for device in devices]


def _units(host: HostProfile) -> Iterator[tuple[int, int, str, Work]]:
    """Id of the device, id and name of the sample's line, and the work of a unit."""
    space = host.lazy
    for plane in filter(declares_values, _tpu_planes(host)):
        chip, device = chip_of(space, plane), plane_integer(space, plane, DEVICE_ID)
        if chip is None or device is None or device == -1:
            continue
        for sample in samples(plane, counted(space, plane), add=False):
            line, kernel = _unsigned(int(plane.lines.id[sample.line])), plane.lines.name[sample.line]
            for work in utilization(chip, sample):
                yield _unsigned(device), line, kernel, work


def _unsigned(number: int) -> int:
    """An id as XProf keeps it: cut to 32 bits with a sign, then read as 64 bits without one."""
    low = number & 0xFFFFFFFF
    return low if low < 1 << 31 else low + (1 << 64) - (1 << 32)


def _tpu_planes(host: HostProfile) -> tuple[Plane, ...]:
    """The TPU planes of a host; planes that declare counter values are decoded."""
    planes = tuple(plane for plane in host.lazy.planes if plane.name.startswith(TPU_PREFIX))
    host.lazy.decode([plane for plane in planes if declares_values(plane)])
    return planes


def _lacks(facts: RunFacts) -> Reason | None:
    """None if a device has values of counters, else the reason."""
    if facts.counter_values:
        return None
    return NO_COUNTERS if facts.has_plane(TPU_PREFIX) else NO_TPU_COUNTERS


PERF_COUNTERS = Tool(
    id="perf_counters",
    title="Perf Counters",
    group="Ops",
    summary="Recorded values of performance counters.",
    build=perf_counters,
    lacks=_lacks,
)
UTILIZATION_VIEWER = Tool(
    id="utilization_viewer",
    title="Utilization Viewer",
    group="Ops",
    summary="Achieved and peak work of each unit of a TPU, from performance counters.",
    build=utilization_viewer,
    lacks=_lacks,
)
KERNEL_UTILIZATION = Tool(
    id="kernel_utilization",
    title="Kernel Utilization",
    group="Ops",
    summary="Utilization of the units of a TPU in each kernel, in percent of their peaks.",
    build=kernel_utilization,
    params=(
        Param("kernel", "string", "", "Part of the kernel names to show; all by default."),
        Param("kernel_name", "string", "", "Alias of `kernel`."),
        Param("duration_us", "float", 0.0, "Duration of the kernels in µs; 0: as recorded.", minimum=0.0),
        Param(
            "force_duration",
            "bool",
            False,
            "Let the duration replace counted cycles, too, instead of missing cycles only.",
        ),
        Param("device_id", "int", -1, "The device to show; all by default."),
    ),
    lacks=_lacks,
)
