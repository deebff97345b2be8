"""Work of the units of a chip as sums of counters, and the work possible in their counted cycles.

The sums, capacities and names of rows are those of XProf 2.24.2, and so are its simplifications: a scalar or vector
instruction takes one cycle, and a multiplication takes a fixed number of cycles that depends on its operands.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from tpu_profile_plugin.analysis.counters.registers import Block, blocks
from tpu_profile_plugin.units import GIB

INSTRUCTIONS, CYCLES, BYTES, PERCENT = "instructions", "cycles", "bytes", "percent"

Terms = tuple[tuple[float, str], ...]
"""Weights and names of counters; names as in a block, with ranges."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A row for a unit of a core.

    Attributes:
      name: name of the row.
      terms: the work: counters of the core's block, weighted.
      unit: unit of the work.
      width: how much work the unit can do in `every` cycles.
      every: see `width`.
    """

    name: str
    terms: Terms
    unit: str = INSTRUCTIONS
    width: int = 1
    every: int = 1


def _sum(*names: str) -> Terms:
    return tuple((1, name) for name in names)


_VPU = _sum(*(f"vpu_valu_{kind}_ops_{{0-3}}" for kind in ("fadd", "fmul", "misc", "int", "fmac")))
_BEFORE_MXU = (
    Unit("Scalar Unit", _sum("scalar_alu_instruction_{0-1}"), width=2),
    Unit("Vector ALUs", _sum("vector_alu_instruction_{0-3}"), width=4),
    Unit("VPU Utilization", _VPU, width=4),
    Unit("Vmem Stores", _sum("vst_instruction")),
    Unit("Vmem Loads", _sum("vld_instruction_{0-1}"), width=2),
    Unit("No MXU Busy", _sum("mxu_busy_0"), CYCLES),
    Unit("1 MXU Busy", _sum("mxu_busy_1"), CYCLES),
    Unit("2 MXU Busy", _sum("mxu_busy_2"), CYCLES),
    Unit("Avg MXU Busy", ((0.5, "mxu_busy_1"), (1.0, "mxu_busy_2")), CYCLES),
)


def _mxu(kinds: dict[str, dict[str, int]]) -> tuple[Unit, ...]:
    """The rows of the two matrix units: each of them, then both by type of operand; weights are cycles."""
    every = [(cycles, name) for weights in kinds.values() for name, cycles in weights.items()]
    single = [
        Unit(f"MXU{unit}", tuple((cycles, f"matmul_{name}_mxu_{unit}") for cycles, name in every), CYCLES)
        for unit in (0, 1)
    ]
    both = []
    for kind, weights in kinds.items():
        terms = tuple((cycles, f"matmul_{name}_mxu_{{0-1}}") for name, cycles in weights.items())
        both.append(Unit(f"MXU {kind}", terms, CYCLES, width=2))
    return (*single, *both, Unit("MXU matpush", _sum("matpush_cycles_mxu_{0-1}"), CYCLES, width=2))


def _xlu(every: int) -> tuple[Unit, ...]:
    kinds = ("packed", "rotate_permute_instruction", "rotate_permute_set_instruction", "transpose")
    return (
        Unit("No XLU Busy", _sum("xlu_busy_0"), CYCLES),
        Unit("1 XLU Busy", _sum("xlu_busy_1"), CYCLES),
        Unit("2 XLUs Busy", _sum("xlu_busy_2"), CYCLES),
        Unit("Avg XLU Busy", ((0.5, "xlu_busy_1"), (1.0, "xlu_busy_2")), CYCLES),
        Unit("XLU0", _sum(*(f"{kind}_xlu_0" for kind in kinds)), every=every),
        Unit("XLU1", _sum(*(f"{kind}_xlu_1" for kind in kinds)), every=every),
    )


SCALAR_SLOTS = {
    "TEC Scalar Issue": "tec_scalar_issue",
    "TEC Scalar Issue: S0 slot": "tec_s0_instruction",
    "TEC Scalar Issue: S1 slot": "tec_s1_instruction",
    "TEC Scalar Issue: Smisc slot": "tec_smisc_instruction",
}
_VECTOR_SLOTS = ("V0", "V1", "V2", "VLD", "VST", "VEX", "VRES")
SEQUENCER_SLOTS = {
    "SCS Scalar Issue": "scalar_issue",
    "SCS: S0 Slot": "s0_instruction",
    "SCS: S1 Slot": "s1_instruction",
    "SCS: Smisc Slot": "smisc_instruction",
}


def _vector_slots(narrow: tuple[str, ...]) -> dict[str, str]:
    """Row names; XProf writes some of v6e without the space after the colon."""
    rows = {"SC Vector Issue": "vector_issue"}
    for slot in _VECTOR_SLOTS:
        rows[f"SC Vector Issue:{'' if slot in narrow else ' '}{slot} Slot"] = f"{slot.lower()}_instruction"
    return rows


@dataclass(frozen=True, eq=False)
class Chip:
    """The counters and limits of a type of chip.

    Attributes:
      device_type: as recorded in profiles.
      blocks: all blocks of registers, by name: TENSOR_CORE, HBM, ICI (queues), SEQUENCER, ...
      hertz: clock of the TensorCore.
      hbm_bytes_per_s: peak of a TensorCore's memory.
      clock, clock_name: block and counter of the cycles that a TensorCore was on; the index is the core, if there are
        several.
      tensor_units: rows of a TensorCore.
      ici_at: index of the queues that are summed.
      ici_reads, ici_writes: counters of a queue.
      scalar_tile, vector_tile: blocks of the tiles of a SparseCore.
      vector_slots: rows of the vector part of a SparseCore.
      throttled: rows of cycles that the clock of a TensorCore skipped, and their counters.
      dies: number of dies, each with a TensorCore and SparseCores.
    """

    device_type: str
    blocks: dict[str, Block]
    hertz: float
    hbm_bytes_per_s: float
    clock: Block
    clock_name: str
    tensor_units: tuple[Unit, ...]
    ici_at: tuple[tuple[int, ...], ...]
    ici_reads: tuple[str, ...]
    ici_writes: tuple[str, ...]
    scalar_tile: Block
    vector_tile: Block
    vector_slots: dict[str, str]
    throttled: tuple[tuple[str, str], ...] = ()
    dies: int = 1

    def core(self, number: int) -> tuple[int, ...]:
        """The index of a TensorCore, and of its die."""
        return (number,) if self.dies > 1 else ()


TILES = 16
SPARSE_CORES = 2
"""SparseCores of a die."""
HBM_BYTES = 32
"""Bytes of a beat of a memory channel."""
ICI_BYTES = 128
"""Bytes of a flit of the interconnect."""
ICI_BYTES_PER_S, ICI_HERTZ = 294947368421.0526, 1e9
"""Peak of the interconnect in each direction, and the clock that turns cycles into the time to compare with."""
HBM_READS = ("rd_resp_ps0", "rd_resp_ps1")
HBM_WRITES = ("wr_req_ps0", "partial_write_req_ps0", "wr_req_ps1", "partial_write_req_ps1")


def _v6e() -> Chip:
    registers = blocks("v6e")
    kinds = {
        "BF16": {"lmr_bf16": 4, "vreg_f8": 8, "vreg_bf16": 8, "vreg_f32": 4},
        **{"I8": {"lmr_i8": 2, "vreg_i8": 8}, "I4": {"lmr_i4": 2, "vreg_i4": 8}},
    }
    return Chip(
        device_type="TPU v6 Lite",
        blocks=registers,
        hertz=1.75e9,
        hbm_bytes_per_s=1525.5 * GIB,
        clock=registers["TENSOR_CORE"],
        clock_name="cycles",
        tensor_units=(
            *_BEFORE_MXU,
            *_mxu(kinds),
            *_xlu(every=4),
        ),
        ici_at=((),),
        ici_reads=("bn_rd_req_0_insertion_count", "bn_rd_req_1_insertion_count"),
        ici_writes=("bn_wr_req_0_insertion_count", "bn_wr_req_1_insertion_count"),
        scalar_tile=registers["TILE"],
        vector_tile=registers["TILE"],
        vector_slots=_vector_slots(("V0", "VEX", "VRES")),
    )


def _v7x() -> Chip:
    registers = blocks("v7x")
    return Chip(
        device_type="TPU v7x",
        blocks=registers,
        hertz=1.9e9,
        hbm_bytes_per_s=3433.0 * GIB,
        clock=registers["THROTTLE"],
        clock_name="cycle_count",
        tensor_units=(
            *_BEFORE_MXU,
            *_mxu({"BF16": {"lmr_bf16": 4, "vreg_bf16": 8, "vreg_f32": 4}, "E4M3 + E5M2": {"vreg_f8": 8}}),
            *_xlu(every=1),
        ),
        ici_at=tuple((1, queue) for queue in range(4)),
        ici_reads=("bn_rd_req_0_insertion_count",),
        ici_writes=("bn_wr_req_0_insertion_count",),
        scalar_tile=registers["SCALAR_TILE"],
        vector_tile=registers["VECTOR_TILE"],
        vector_slots=_vector_slots(()),
        throttled=(
            ("Clocks Skipped", "clocks_skipped"),
            ("Ext Throttle Clocks Skipped", "ext_throttle_clocks_skipped"),
            ("LDIDT Droop Clocks Skipped", "ldidt_droop_clocks_skipped"),
        ),
        dies=2,
    )


_CHIPS: dict[str, Callable[[], Chip]] = {"TPU v6 Lite": _v6e, "TPU v7x": _v7x}


def chip(device_type: str) -> Chip | None:
    """The chip of a device type as recorded; None if its counters are unknown."""
    # Only known types are kept: others are texts of any length out of profiles.
    return _made(device_type) if device_type in _CHIPS else None


@lru_cache
def _made(device_type: str) -> Chip:
    return _CHIPS[device_type]()
