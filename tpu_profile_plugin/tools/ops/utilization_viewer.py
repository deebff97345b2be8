"""Utilization viewer: achieved and peak work of the units of a TPU, per sample of its counters.

The columns up to `unit` are XProf's, and so is `host`, which is always 0; `hostname` and `kernel` are ours. XProf
answers one host of a run, this tool all.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

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
from tpu_profile_plugin.run.host import HostProfile, per_host
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tables.table import Table, attributes, numbers, texts
from tpu_profile_plugin.tools.common.counters import HOST_NAME, lacks_counters, tpu_planes
from tpu_profile_plugin.tools.query import Query
from tpu_profile_plugin.tools.tool import Tool

COLUMNS = (
    numbers("host", "Host", "", "Always 0."),
    numbers("device", "Device", "", "Id of the device."),
    numbers("sample", "Sample", "", "Id of the line: one line for each time the counters are read."),
    numbers("node", "Node", "", "Number of the TensorCore or SparseCore; 0 for units shared by the chip."),
    texts("name", "Name", "Unit of the chip, or part of a unit."),
    numbers("achieved", "Achieved", "", "Counted work, in `unit`."),
    numbers("peak", "Peak", "", "Work possible in the counted cycles, in `unit`."),
    texts("unit", "Unit", "Unit of `achieved` and `peak`; percent: both are bytes, part and whole."),
    HOST_NAME,
    texts("kernel", "Kernel", "Name of the line.", extra=True),
)


@per_host()
def host_columns(host: HostProfile) -> dict[str, list[Any]]:
    """The columns of one host, by id."""
    rows = list(_rows(host))
    return {
        "host": [0] * len(rows),
        "device": [device for device, *_ in rows],
        "sample": [sample for _, sample, *_ in rows],
        **attributes((work for *_, work in rows), "node", "name", "achieved", "peak", "unit"),
        HOST_NAME.id: [host.name] * len(rows),
        "kernel": [kernel for _, _, kernel, _ in rows],
    }


def _rows(host: HostProfile) -> Iterator[tuple[int, int, str, Work]]:
    """Id of the device, id and name of the sample's line, and the work of a unit."""
    space = host.lazy
    for plane in filter(declares_values, tpu_planes(host)):
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


def build(run: Run, query: Query) -> Table:
    """A row per sample, core and unit."""
    of_hosts = run.map_hosts(host_columns)
    return Table(COLUMNS, {column.id: [cell for part in of_hosts for cell in part[column.id]] for column in COLUMNS})


TOOL = Tool(
    id="utilization_viewer",
    title="Utilization Viewer",
    group="Ops",
    summary="Achieved and peak work of each unit of a TPU, from performance counters.",
    build=build,
    lacks=lacks_counters,
)
