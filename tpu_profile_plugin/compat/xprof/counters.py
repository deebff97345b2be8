"""Tools of performance counters as XProf answers them, and its lists of the counters of a type of TPU.

XProf reads values written as doubles as 0, and answers one host of a run where we answer all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from tpu_profile_plugin.analysis.counters.kernels import DeviceKernels, Kernel
from tpu_profile_plugin.analysis.counters.registers import Block, Register, blocks
from tpu_profile_plugin.errors import BadRequest
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tables.column import numbers, texts
from tpu_profile_plugin.tables.table import Table
from tpu_profile_plugin.tools.ops import counters
from tpu_profile_plugin.tools.params import Param, ParamValue
from tpu_profile_plugin.tools.payload import Json
from tpu_profile_plugin.tools.query import Query

_COUNTERS = (
    texts("Host", "Host", ""),
    numbers("Chip", "Chip", "", ""),
    texts("Kernel", "Kernel", ""),
    numbers("Sample", "Sample", "", ""),
    texts("Counter", "Counter", ""),
    numbers("Value", "Value (Hex)", "", ""),
    texts("Description", "Description", ""),
    texts("Set", "Set", ""),
)
_UNITS = (
    *(numbers(id_, id_.capitalize(), "", "") for id_ in ("host", "device", "sample", "node")),
    texts("name", "Name", ""),
    numbers("achieved", "Achieved", "", ""),
    numbers("peak", "Peak", "", ""),
    texts("unit", "Unit", ""),
)


def perf_counters(run: Run, query: Query) -> Table | Json:
    """A row per counter event, host after host; values written as doubles are 0."""
    listed = names(query.params)
    if listed is not None:
        return listed
    cells = counters.counter_cells(run)
    data = [cells[name] for name in ("host", "chip", "kernel", "sample", "counter", "integer", "description", "sets")]
    return Table(_COUNTERS, data, formatted={"Value": list(map(hex, cells["integer"].tolist()))})


def names(params: Mapping[str, ParamValue]) -> Json | None:
    """With `names_only=1` the counters of a type of TPU, `[{"name", "val"}]`; they need no run."""
    if params["names_only"] != "1":
        return None
    kind = params["device_type"]
    if not kind:
        raise BadRequest("Parameter 'device_type' is missing: names_only needs it.", parameter="device_type")
    return Json([{"name": register.name, "val": register.address} for register in LISTED[str(kind)]()])


def utilization_viewer(run: Run, query: Query) -> Table:
    """A row per sample, core and unit; the host is always 0."""
    units = counters.utilization_viewer(run, query).units
    cells = {column.id: units.column(column.id) for column in _UNITS[1:]}
    return Table(_UNITS, {"host": [0] * len(units), **cells})


def kernel_utilization(run: Run, query: Query) -> Json:
    """The kernels by device."""
    devices = [_device(device) for _, device in counters.kernels_by_device(run, query)]
    return Json({"devices": devices, "status": "SUCCESS"})


def _device(device: DeviceKernels) -> dict[str, Any]:
    return {
        "device_id": device.device,
        "device_type": device.device_type,
        "kernels": [_kernel(kernel) for kernel in device.kernels],
    }


def _kernel(kernel: Kernel) -> dict[str, Any]:
    return {
        "duration_us": kernel.duration_us,
        "kernel_name": kernel.name,
        "mxu_cycles_breakdown": kernel.precisions,
        "mxu_is_anomaly": kernel.mxu > 100,
        "mxu_utilization": kernel.mxu,
        "other_metrics": kernel.others,
    }


# Names of all performance counters of a type of TPU, in the order of XProf 2.24.2.

_UNIT_NAMES = (
    *("matmul_lmr_", "matmul_vreg_", "matpush_cycles_", "mxu_busy_"),
    *("packed_xlu_", "rotate_permute_", "transpose_xlu_", "xlu_busy_"),
    *("cycles", "scalar_alu_instruction_", "vector_alu_instruction_", "vld_instruction_", "vst_instruction"),
)
_OPERATIONS = ("vpu_valu_fadd_", "vpu_valu_fmul_", "vpu_valu_misc_", "vpu_valu_int_", "vpu_valu_fmac_")
_ISSUED = ("scalar_issue", "s0_instruction", "s1_instruction", "smisc_instruction")
_TILE_ISSUED = tuple(f"tec_{name}" for name in _ISSUED)
_VECTOR = ("vector_issue", *(f"{slot}_instruction" for slot in ("v0", "v1", "v2", "vld", "vst", "vres", "vex")))


def _v6e() -> Iterator[Register]:
    chip = blocks("v6e")
    tile, sequencer = chip["TILE"], chip["SEQUENCER"]
    yield from map(chip["TENSOR_CORE"].register, _tensor_core(chip))
    for stack in chip["HBM"].axes[0].listed:
        yield from _each(chip["HBM"], chip["HBM"].by_name, stack)
    yield from map(chip["ICI"].register, chip["ICI"].by_name)
    for name in _TILE_ISSUED:
        yield from (register for core in (0, 1) for register in _each(tile, (name,), core))
    for core in (0, 1):
        yield sequencer.register("cycles", core)
        yield from _each(tile, ("cycles",), core)
    yield from (sequencer.register(name, core) for name in _ISSUED for core in (0, 1))
    for name in _VECTOR:
        yield from (register for core in (0, 1) for register in _each(tile, (name,), core))


def _v7x() -> Iterator[Register]:
    """Selected counters of both dies, then the others of die 0."""
    chip = blocks("v7x")
    core_names, sequencer_names = _tensor_core(chip), sorted(("cycles", *_ISSUED))
    for die in (0, 1):
        yield from (chip["THROTTLE"].register(name, die) for name in chip["THROTTLE"].by_name)
        yield from (chip["TENSOR_CORE"].register(name, die) for name in core_names)
    for die in (0, 1):
        for stack in chip["HBM"].axes[1].listed:
            yield from _each(chip["HBM"], chip["HBM"].by_name, die, stack)
        for core in (0, 1):
            yield from (chip["SEQUENCER"].register(name, die, core) for name in sequencer_names)
            yield from _each(chip["VECTOR_TILE"], sorted(_VECTOR), die, core)
            yield chip["SCALAR_TILE"].register("cycles", die, core, 0)
            yield from _each(chip["SCALAR_TILE"], sorted(_TILE_ISSUED), die, core)
    for name in ("bn_rd_req_0_insertion_count", "bn_wr_req_0_insertion_count"):
        yield from (chip["ICI"].register(name, 1, queue) for queue in range(4))
    yield chip["VECTOR_TILE"].register("cycles", 0, 0, 0)
    yield from _others(chip["TENSOR_CORE"], core_names, 0)
    yield from _others(chip["SEQUENCER"], sequencer_names, 0, 0)
    yield from _others(chip["SCALAR_TILE"], ("cycles", *_TILE_ISSUED), 0, 0, 0)
    yield from _others(chip["VECTOR_TILE"], ("cycles", *_VECTOR), 0, 0, 0)
    yield from _others(chip["MEMORY_NETWORK"], (), 0)
    yield from _others(chip["LINKS"], ())


LISTED = {"v6e": _v6e, "v7x": _v7x}
"""Makes the registers, by the short name of the type."""


def _tensor_core(chip: dict[str, Block]) -> list[str]:
    """Counters of units by name, then operations of the vector unit by address."""
    block = chip["TENSOR_CORE"]
    units = [name for name in block.by_name if name.startswith(_UNIT_NAMES)]
    return units + [name for name in block.offsets if name.startswith(_OPERATIONS)]


def _each(block: Block, names: Iterable[str], *index: int) -> Iterator[Register]:
    """The registers at each place along the block's last axis."""
    return (block.register(name, *index, place) for place in block.axes[-1].listed for name in names)


def _others(block: Block, listed: Iterable[str], *index: int) -> Iterator[Register]:
    """The block's registers that are not listed yet."""
    return (block.register(name, *index) for name in block.by_name if name not in listed)


PERF_COUNTERS = replace(
    counters.PERF_COUNTERS,
    build=perf_counters,
    params=(
        Param("names_only", "string", "", "`1`: the names and ids of all counters of `device_type`."),
        Param("device_type", "string", "", "With `names_only`: the type of TPU.", ("v6e", "v7x")),
    ),
    without_run=names,
)
UTILIZATION_VIEWER = replace(counters.UTILIZATION_VIEWER, build=utilization_viewer)
KERNEL_UTILIZATION = replace(counters.KERNEL_UTILIZATION, build=kernel_utilization)
