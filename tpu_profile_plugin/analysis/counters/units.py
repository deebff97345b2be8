"""Work of the units of a TPU chip, from samples of its counters, and the work possible in their counted cycles.

The sums, capacities and names of rows are those of XProf 2.24.2, and so are its simplifications: a scalar or vector
instruction takes one cycle, and a multiplication takes a fixed number of cycles that depends on its operands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import product

import numpy as np

from tpu_profile_plugin.analysis.common.planes import TPU_PREFIX, is_tensor_core, line_of
from tpu_profile_plugin.analysis.common.rows import rows_of
from tpu_profile_plugin.analysis.common.stat_columns import StatColumns, per_event
from tpu_profile_plugin.analysis.counters.registers import Block, blocks, spelled_out
from tpu_profile_plugin.columns import Plane, Stats, XSpace
from tpu_profile_plugin.columns.arrays import I64, U64
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


@cache
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
        tensor_units=(*_BEFORE_MXU, *_mxu(kinds), *_xlu(every=4)),
        ici_at=((),),
        ici_reads=("bn_rd_req_0_insertion_count", "bn_rd_req_1_insertion_count"),
        ici_writes=("bn_wr_req_0_insertion_count", "bn_wr_req_1_insertion_count"),
        scalar_tile=registers["TILE"],
        vector_tile=registers["TILE"],
        vector_slots=_vector_slots(("V0", "VEX", "VRES")),
    )


@cache
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
    make = _CHIPS.get(device_type)
    return make() if make else None


COUNTER_ID, VALUE = "performance_counter_id", "counter_value"
DEVICE_ID, DEVICE_TYPE, CHIP_ID = "device_id", "device_type_string", "global_chip_id"
WRAP = 1 << 64
"""Counters have 64 bits, and so have sums of them."""


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """Events of a plane that have a value of a counter, in file order.

    Attributes:
      event: int64[n], rows of the event table.
      id: uint64[n], ids of the counters.
      value: uint64[n], the values, rounded down.
    """

    event: I64
    id: U64
    value: U64


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """The counters of one line.

    Attributes:
      line: index of the line.
      id: uint64[n], ids of counters, ascending.
      value: uint64[n], their values.
    """

    line: int
    id: U64
    value: U64

    def of(self, ids: U64) -> int:
        """The sum of the counters with these ids, of 64 bits; absent ones are 0."""
        index = np.searchsorted(self.id, ids)
        inside = index < len(self.id)
        index, ids = index[inside], ids[inside]
        return int(self.value[index[self.id[index] == ids]].sum(dtype=np.uint64))

    def value_of(self, id: int) -> int:
        """The value of one counter; 0 if absent."""
        index = int(np.searchsorted(self.id, np.uint64(id)))
        return int(self.value[index]) if index < len(self.id) and int(self.id[index]) == id else 0


def plane_integer(space: XSpace, plane: Plane, name: str) -> int | None:
    """The last value of an integer stat of a plane, 0 if it is of another type; None without the stat."""
    stats = StatColumns(space, plane, _each(plane.stats), (name,))
    values = stats.ints(name).value
    return int(values[-1]) if len(values) else None


def device_type(space: XSpace, plane: Plane) -> str:
    """The type of device as recorded; "" if it is not."""
    owner, code, texts = StatColumns(space, plane, _each(plane.stats), (DEVICE_TYPE,)).texts(DEVICE_TYPE)
    return texts[code[-1]] if len(owner) else ""


def _each(stats: Stats) -> Stats:
    """The stats of a plane, each with an owner of its own, so that every stat of a name is found."""
    return replace(stats, start=np.arange(len(stats.key) + 1, dtype=np.uint32))


def chip_of(space: XSpace, plane: Plane) -> Chip | None:
    """The type of chip of a TPU plane, if its counters are known."""
    return chip(device_type(space, plane)) if plane.name.startswith(TPU_PREFIX) else None


def counted(space: XSpace, plane: Plane) -> Counted:
    """The events with a value of a counter; the value and the id may be stats of the event or of its metadata."""
    metadata = plane.events.metadata
    on_events = StatColumns(space, plane, plane.events.stats, (COUNTER_ID, VALUE))
    shared = StatColumns(space, plane, plane.event_metadata.stats, (COUNTER_ID, VALUE))
    if not on_events.has(VALUE) and not shared.has(VALUE):
        none = np.zeros(0, np.uint64)
        return Counted(np.zeros(0, np.int64), none, none)
    owners, rows = on_events.owners(VALUE), shared.owners(VALUE)
    value = per_event(plane, (owners, _numbers(on_events)), (rows, _numbers(shared)))
    present = per_event(plane, (owners, np.ones(len(owners), np.bool_)), (rows, True), False)
    own_ids, shared_ids = on_events.ints(COUNTER_ID), shared.ints(COUNTER_ID)
    id = per_event(plane, (own_ids.event, own_ids.value), (shared_ids.event, shared_ids.value))
    id = np.where(id == 0, plane.event_metadata.id[metadata], id)
    event = np.flatnonzero(present & (id != 0))
    return Counted(event, id[event].view(np.uint64), value[event])


def _numbers(stats: StatColumns) -> U64:
    """The values as whole numbers of 64 bits: doubles within the range, integers as they are."""
    doubles = stats.doubles(VALUE)[1]
    return np.where(doubles == 0, stats.ints(VALUE).value.view(np.uint64), _within(doubles))


def _within(doubles: np.ndarray[tuple[int], np.dtype[np.float64]]) -> U64:
    """Doubles as whole numbers of 64 bits; those beyond the range are its ends, and not-a-number is 0."""
    inside = np.clip(np.nan_to_num(doubles, nan=0.0), 0.0, np.nextafter(2.0**64, 0)).astype(np.uint64)
    inside[doubles >= 2.0**64] = np.uint64(WRAP - 1)
    return inside


def samples(plane: Plane, counters: Counted, *, add: bool) -> Iterator[Sample]:
    """The counters of every line that has any.

    Args:
      plane: the plane.
      counters: of the plane.
      add: whether values of a counter add up; otherwise the last value counts (see `in_order`).
    """
    counters = rows_of(counters, in_order(plane, counters.event))
    lines = line_of(plane, counters.event)
    order = np.lexsort((counters.id, lines))
    lines, id, value = lines[order], counters.id[order], counters.value[order]
    for line in np.unique(lines).tolist():
        part = slice(*np.searchsorted(lines, [line, line + 1]).tolist())
        ids, first = np.unique(id[part], return_index=True)
        values = value[part]
        if add:
            # XProf keeps these as doubles, which shows from 2**53 on.
            merged = np.add.reduceat(_within(values.astype(np.float64)), first)
        else:
            merged = values[np.append(first[1:], len(values)) - 1]
        yield Sample(line, ids, merged)


def in_order(plane: Plane, events: I64) -> I64:
    """The order of events of a line: on TensorCores by begin, longest first; elsewhere file order, as in XProf."""
    if not is_tensor_core(plane):
        return np.arange(len(events))
    return np.lexsort((-plane.events.duration_ps[events], plane.events.begin_ps[events]))


def declares_values(plane: Plane) -> bool:
    """Whether a plane declares values of counters; the plane need not be decoded."""
    return plane.declared.stat_metadata.row(VALUE) is not None


@dataclass(frozen=True, slots=True)
class Work:
    """A row: achieved and possible work of a unit.

    Attributes:
      node: number of the core; 0 for units shared by the chip.
      name: the unit.
      achieved, peak: in `unit`; of rows in percent, the part and the whole.
      unit: instructions, cycles, bytes or percent.
    """

    node: int
    name: str
    achieved: float
    peak: float
    unit: str


def utilization(chip: Chip, sample: Sample) -> list[Work]:
    """The rows of a sample: TensorCores, memory and interconnect, then SparseCores.

    A TensorCore without counted cycles has no rows. As in XProf, the shared interconnect is listed once per TensorCore.
    """
    rows: list[Work] = []
    for core in range(chip.dies):
        rows += _tensor_core(chip, sample, core)
        rows += _memory(chip, sample, core)
        rows += _interconnect(chip, sample)
    for die, core in product(range(chip.dies), range(SPARSE_CORES)):
        rows += _sparse_core(chip, sample, die, core)
    return rows


def clock_ids(chip: Chip) -> list[int]:
    """The ids of the counters of cycles of the TensorCores."""
    return [chip.clock.address(chip.clock_name, *chip.core(core)) for core in range(chip.dies)]


def _tensor_core(chip: Chip, sample: Sample, core: int) -> Iterator[Work]:
    cycles = sample.value_of(clock_ids(chip)[core])
    if cycles == 0:
        return
    for name, counter in chip.throttled:
        skipped = sample.value_of(chip.clock.address(counter, *chip.core(core)))
        yield Work(core, name, float(skipped), float(cycles), CYCLES)
    for number, unit in enumerate(chip.tensor_units):
        peak = cycles * unit.width % WRAP // unit.every
        yield Work(core, unit.name, _achieved(sample, _terms(chip, number, core)), float(peak), unit.unit)


def _achieved(sample: Sample, terms: Iterable[tuple[float, U64]]) -> float:
    """The weighted sum; of whole numbers, as long as all weights are."""
    total: float = 0
    for weight, ids in terms:
        count = sample.of(ids)
        total = total + weight * count if isinstance(weight, float) else (total + weight * count) % WRAP
    return float(total)


@lru_cache
def _terms(chip: Chip, number: int, core: int) -> tuple[tuple[float, U64], ...]:
    """Weights and ids of a row of a TensorCore."""
    unit: Unit = chip.tensor_units[number]
    return tuple(
        (weight, _ids(chip.blocks["TENSOR_CORE"], spelled_out(names), [chip.core(core)]))
        for weight, names in unit.terms
    )


def _ids(block: Block, names: Iterable[str], places: Iterable[tuple[int, ...]]) -> U64:
    return np.array([block.address(name, *place) for place in places for name in names], np.uint64)


def _memory(chip: Chip, sample: Sample, core: int) -> Iterator[Work]:
    cycles = sample.value_of(chip.blocks["TENSOR_CORE"].address("cycles", *chip.core(core)))
    if cycles == 0:
        return
    read_ids, write_ids = _memory_ids(chip, core)
    read = sample.of(read_ids) * HBM_BYTES % WRAP
    written = sample.of(write_ids) * HBM_BYTES % WRAP
    total = float((read + written) % WRAP)
    peak = chip.hbm_bytes_per_s * (cycles / chip.hertz)
    yield Work(0, f"HBM Rd+Wr - core {core}", total, peak, BYTES)
    if total > 0:
        yield Work(core, "HBM Read Ratio", float(read), total, PERCENT)
        yield Work(core, "HBM Write Ratio", float(written), total, PERCENT)


@lru_cache
def _memory_ids(chip: Chip, core: int) -> tuple[U64, U64]:
    stacks = [range(axis.count) for axis in chip.blocks["HBM"].axes[len(chip.core(core)) :]]
    places = [(*chip.core(core), *place) for place in product(*stacks)]
    return _ids(chip.blocks["HBM"], HBM_READS, places), _ids(chip.blocks["HBM"], HBM_WRITES, places)


def _interconnect(chip: Chip, sample: Sample) -> Iterator[Work]:
    cycles = sample.value_of(clock_ids(chip)[0])
    if cycles == 0:
        return
    peak = ICI_BYTES_PER_S * (cycles / ICI_HERTZ)
    for name, counters in (("ICI (Read)", chip.ici_reads), ("ICI (Write)", chip.ici_writes)):
        flits = sample.of(_ids(chip.blocks["ICI"], counters, chip.ici_at))
        yield Work(0, name, float(flits * ICI_BYTES % WRAP), peak, BYTES)


def _sparse_core(chip: Chip, sample: Sample, die: int, core: int) -> Iterator[Work]:
    node = die * SPARSE_CORES + core
    scalar, vector = _tile_ids(chip, die, core)
    tiles = sample.value_of(chip.scalar_tile.address("cycles", *chip.core(die), core, 0)) * TILES % WRAP
    for name, ids in (*scalar, *vector):
        yield Work(node, name, float(sample.of(ids)), float(tiles), INSTRUCTIONS)
    cycles = sample.value_of(chip.blocks["SEQUENCER"].address("cycles", *chip.core(die), core))
    for name, counter in SEQUENCER_SLOTS.items():
        issued = sample.value_of(chip.blocks["SEQUENCER"].address(counter, *chip.core(die), core))
        yield Work(node, name, float(issued), float(cycles), INSTRUCTIONS)


_Rows = tuple[tuple[str, U64], ...]


@lru_cache
def _tile_ids(chip: Chip, die: int, core: int) -> tuple[_Rows, _Rows]:
    """Rows and ids of the scalar and the vector parts of a SparseCore's tiles."""
    places = [(*chip.core(die), core, tile) for tile in range(TILES)]

    def rows(block: Block, slots: dict[str, str]) -> _Rows:
        return tuple((name, _ids(block, (counter,), places)) for name, counter in slots.items())

    return rows(chip.scalar_tile, SCALAR_SLOTS), rows(chip.vector_tile, chip.vector_slots)
