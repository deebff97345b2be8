"""Columns about performance counters."""

from __future__ import annotations

from tpu_profile_plugin.run.catalogue import HOST
from tpu_profile_plugin.tables.catalogue import Catalogue
from tpu_profile_plugin.tables.column import Column, numbers, texts

_COUNTERS = Catalogue(
    HOST,
    numbers("chip", "Chip", "", "Id of the chip among all chips, or of the device if the chip is not recorded."),
    numbers("device", "Device", "", "Id of the device."),
    texts("device_type", "Type", "Type of the device."),
    texts("kernel", "Kernel", "Name of the line of counters, else the first op of the device.",
          lambda kernel: kernel.name),
    numbers("sample", "Sample", "", "Id of the line: one line for each time the counters are read.",
            lambda kernel: kernel.line),
    texts("counter", "Counter", "Name of the counter, in lower case."),
    numbers("value", "Value", "", "Value as recorded, decimal."),
    texts("description", "Description", "Recorded description of the counter, else derived from its name."),
    texts("sets", "Set", "Counter sets that contain the counter."),
    numbers("node", "Node", "", "Number of the TensorCore or SparseCore; 0 for units shared by the chip."),
    texts("name", "Name", "Unit of the chip, or part of a unit."),
    numbers("achieved", "Achieved", "", "Counted work, in `unit`."),
    numbers("peak", "Peak", "", "Work possible in the counted cycles, in `unit`."),
    texts("unit", "Unit", "Unit of `achieved` and `peak`; percent: both are bytes, part and whole."),
    numbers("duration_us", "Duration", "us", "Longest event of the line of counters, unless chosen."),
    numbers("mxu_percent", "MXU busy", "%",
            "Cycles in which the matrix units were busy, of all cycles; one of two busy counts half.",
            lambda kernel: kernel.mxu),
)  # fmt: skip
_host = _COUNTERS.column("host", "Host of the device.")
COUNTERS = _COUNTERS.columns(
    *(_host, "chip", _COUNTERS.column("kernel", "Name of the line: the kernel, if counters are read per kernel.")),
    *("sample", "counter", "value", "description", "sets"),
)
"""Of the tool `perf_counters`."""
UNITS = _COUNTERS.columns(
    *(_host, "device", "sample", _COUNTERS.column("kernel", "Name of the line.")),
    *("node", "name", "achieved", "peak", "unit"),
)
"""Of the tool `utilization_viewer`."""
KERNELS = _COUNTERS.columns("kernel", _host, "device", "device_type", "sample", "duration_us", "mxu_percent")
"""Of the tool `kernel_utilization`; those of `precision` and `unit` follow."""


def precision(name: str) -> Column:
    """Of the tool `kernel_utilization`: cycles of the matrix units by type of operand."""
    return numbers(f"precision_{name}", name, "%",
                   f"Cycles of the matrix units with {name} operands, of their cycles with any.",
                   lambda kernel: kernel.precisions.get(name))  # fmt: skip


def unit(name: str) -> Column:
    """Of the tool `kernel_utilization`: other units."""
    return numbers(f"unit_{name}", name, "%", f"{name}, in percent of its peak, all cores together; 100 at most.",
                   lambda kernel: kernel.others.get(name))  # fmt: skip
