"""Names of all performance counters of a type of TPU, in the order of XProf 2.24.2."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tpu_profile_plugin.analysis.counters.registers import Block, Register, blocks

_UNITS = (
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
    units = [name for name in block.by_name if name.startswith(_UNITS)]
    return units + [name for name in block.offsets if name.startswith(_OPERATIONS)]


def _each(block: Block, names: Iterable[str], *index: int) -> Iterator[Register]:
    """The registers at each place along the block's last axis."""
    return (block.register(name, *index, place) for place in block.axes[-1].listed for name in names)


def _others(block: Block, listed: Iterable[str], *index: int) -> Iterator[Register]:
    """The block's registers that are not listed yet."""
    return (block.register(name, *index) for name in block.by_name if name not in listed)
