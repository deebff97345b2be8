"""Achieved and peak work of the units of a chip, from a sample of its counters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np

from tpu_profile_plugin.analysis.counters import units
from tpu_profile_plugin.analysis.counters.registers import Block, spelled_out
from tpu_profile_plugin.analysis.counters.samples import WRAP, Sample
from tpu_profile_plugin.analysis.counters.units import BYTES, CYCLES, INSTRUCTIONS, PERCENT, Chip, Unit
from tpu_profile_plugin.columns.arrays import U64


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
    for die, core in product(range(chip.dies), range(units.SPARSE_CORES)):
        rows += _sparse_core(chip, sample, die, core)
    return rows


def clock_ids(chip: Chip) -> list[int]:
    """The ids of the counters of cycles of the TensorCores."""
    return [chip.clock.address(chip.clock_name, *chip.core(core)) for core in range(chip.dies)]


def _tensor_core(chip: Chip, sample: Sample, core: int) -> Iterator[Work]:
    cycles = sample.one(clock_ids(chip)[core])
    if cycles == 0:
        return
    for name, counter in chip.throttled:
        skipped = sample.one(chip.clock.address(counter, *chip.core(core)))
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
    cycles = sample.one(chip.blocks["TENSOR_CORE"].address("cycles", *chip.core(core)))
    if cycles == 0:
        return
    read_ids, write_ids = _memory_ids(chip, core)
    read = sample.of(read_ids) * units.HBM_BYTES % WRAP
    written = sample.of(write_ids) * units.HBM_BYTES % WRAP
    total = float((read + written) % WRAP)
    peak = chip.hbm_bytes_per_s * (cycles / chip.hertz)
    yield Work(0, f"HBM Rd+Wr - core {core}", total, peak, BYTES)
    if total > 0:
        yield Work(core, "HBM Read Ratio", float(read), total, PERCENT)
        yield Work(core, "HBM Write Ratio", float(written), total, PERCENT)


@lru_cache
def _memory_ids(chip: Chip, core: int) -> tuple[U64, U64]:
    stacks = [range(axis.count) for axis in chip.blocks["HBM"].axes[len(chip.core(core)) :]]
    places = [(*chip.core(core), *at) for at in product(*stacks)]
    return _ids(chip.blocks["HBM"], units.HBM_READS, places), _ids(chip.blocks["HBM"], units.HBM_WRITES, places)


def _interconnect(chip: Chip, sample: Sample) -> Iterator[Work]:
    cycles = sample.one(clock_ids(chip)[0])
    if cycles == 0:
        return
    peak = units.ICI_BYTES_PER_S * (cycles / units.ICI_HERTZ)
    for name, counters in (("ICI (Read)", chip.ici_reads), ("ICI (Write)", chip.ici_writes)):
        flits = sample.of(_ids(chip.blocks["ICI"], counters, chip.ici_at))
        yield Work(0, name, float(flits * units.ICI_BYTES % WRAP), peak, BYTES)


def _sparse_core(chip: Chip, sample: Sample, die: int, core: int) -> Iterator[Work]:
    node = die * units.SPARSE_CORES + core
    scalar, vector = _tile_ids(chip, die, core)
    tiles = sample.one(chip.scalar_tile.address("cycles", *chip.core(die), core, 0)) * units.TILES % WRAP
    for name, ids in (*scalar, *vector):
        yield Work(node, name, float(sample.of(ids)), float(tiles), INSTRUCTIONS)
    cycles = sample.one(chip.blocks["SEQUENCER"].address("cycles", *chip.core(die), core))
    for name, counter in units.SEQUENCER_SLOTS.items():
        issued = sample.one(chip.blocks["SEQUENCER"].address(counter, *chip.core(die), core))
        yield Work(node, name, float(issued), float(cycles), INSTRUCTIONS)


_Rows = tuple[tuple[str, U64], ...]


@lru_cache
def _tile_ids(chip: Chip, die: int, core: int) -> tuple[_Rows, _Rows]:
    """Rows and ids of the scalar and the vector parts of a SparseCore's tiles."""
    places = [(*chip.core(die), core, tile) for tile in range(units.TILES)]

    def rows(block: Block, slots: dict[str, str]) -> _Rows:
        return tuple((name, _ids(block, (counter,), places)) for name, counter in slots.items())

    return rows(chip.scalar_tile, units.SCALAR_SLOTS), rows(chip.vector_tile, chip.vector_slots)
