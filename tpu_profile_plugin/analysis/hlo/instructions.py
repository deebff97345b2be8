"""Instructions of an HLO program as messages with all fields of `protos/hlo.proto`, each read on first use.

Fields needed for every instruction are columns instead: `programs.py`, decoded by `native/src/hlo/instructions.rs`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

from tpu_profile_plugin.analysis.hlo.programs import Program

Instruction: TypeAlias = Any
"""A message `xla.HloInstructionProto`."""


def provenance(instruction: Instruction) -> str:
    """The framework op that an instruction came from, `name:type`; "" when unknown."""
    op = f"{instruction.metadata.op_name}:{instruction.metadata.op_type}"
    return op if op != ":" else ""


def replica_groups(instruction: Instruction) -> tuple[Any, Sequence[Any]]:
    """Groups of devices of a collective: a list of consecutive numbers, folded and turned, or None and every group."""
    devices = instruction.collective_device_list
    for holder, field in ((devices, "iota_replica_group_list"), (instruction, "iota_collective_device_list")):
        if holder.HasField(field):
            return getattr(holder, field), ()
    return None, instruction.replica_groups or devices.replica_groups


class Instructions:
    """All instructions of one program. Ids are unique within a program."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._read: dict[int, Instruction] = {}
        self._computations: dict[int, Computation] = {}

    def named(self, name: str) -> Instruction | None:
        """The first instruction of that name."""
        row = self._program.row_of.get(name)
        return None if row is None else self._instruction_in(row)

    def find(self, id_: int) -> Instruction | None:
        """The instruction with that id."""
        row = self._program.row_of_id.get(id_)
        return None if row is None else self._instruction_in(row)

    def computation(self, id_: int) -> Computation | None:
        """The computation with that id."""
        index = self._program.computation_of_id.get(id_)
        if index is None:
            return None
        if index not in self._computations:
            root = int(self._program.columns["computation_root"][index])
            self._computations[index] = Computation(self, self._program.rows_in(index), root)
        return self._computations[index]

    def called(self, instruction: Instruction) -> Computation | None:
        """The computation inside a fusion; None for other instructions."""
        ids = instruction.called_computation_ids if instruction.opcode == "fusion" else ()
        return self.computation(ids[0]) if ids else None

    def _instruction_in(self, row: int) -> Instruction:
        if row not in self._read:
            self._read[row] = self._program.instruction(row)
        return self._read[row]


class Computation:
    """One computation of a program."""

    def __init__(self, program: Instructions, rows: range, root_id: int) -> None:
        self._program, self._rows, self._root_id = program, rows, root_id

    @cached_property
    def instructions(self) -> list[Instruction]:
        """In the order of the program."""
        return [self._program._instruction_in(row) for row in self._rows]

    @property
    def root(self) -> Instruction | None:
        """The instruction whose value is the computation's result."""
        return self._program.find(self._root_id)


COMPUTING = frozenset(
    (
        "abs", "acos", "acosh", "add", "and", "asin", "asinh", "atan2", "atanh", "bitcast-convert", "cbrt", "ceil",
        "clamp", "compare", "complex", "convert", "cosh", "cosine", "count-leading-zeros", "divide", "erf",
        "exponential", "exponential-minus-one", "floor", "imag", "is-finite", "log", "log-plus-one", "logistic",
        "maximum", "minimum", "multiply", "negate", "not", "or", "popcnt", "power", "real", "reduce-precision",
        "remainder", "round-nearest-afz", "round-nearest-even", "rsqrt", "select", "shift-left",
        "shift-right-arithmetic", "shift-right-logical", "sign", "sine", "sinh", "sqrt", "stochastic-convert",
        "subtract", "tan", "tanh", "xor",
    )
)  # fmt: skip
"""Opcodes that compute each element with the same operation."""
_OTHERS = frozenset(("constant", "copy", "rng"))


def is_elementwise(instruction: Instruction, program: Instructions | None = None) -> bool:
    """True if the instruction works element by element; a fusion only if all it fuses does, found in `program`."""
    if instruction.opcode == "map":
        return list(instruction.dimensions) in ([], list(range(len(instruction.shape.dimensions))))
    if instruction.opcode == "fusion" and program is not None:
        inner = program.called(instruction)
        fused = inner.instructions if inner is not None else []
        return all(i.opcode in COMPUTING or i.opcode in _OTHERS or i.opcode == "parameter" for i in fused)
    return instruction.opcode in COMPUTING or instruction.opcode in _OTHERS


_FORMATTING = frozenset(("transpose", "copy", "reshape"))
_FUSIONS = {"kLoop": "loop fusion", "kInput": "input fusion", "kOutput": "output fusion", "kCustom": "custom fusion"}


def category(instruction: Instruction) -> str:
    """The category for profiles that do not record it, by opcode and kind, named as in recorded profiles."""
    if instruction.is_host_transfer and instruction.opcode in ("send", "send-done", "recv", "recv-done"):
        return f"host {instruction.opcode}"
    if instruction.opcode == "fusion":
        return _FUSIONS.get(instruction.fusion_kind, "fusion")
    if instruction.opcode in _FORMATTING:
        return "data formatting"
    if instruction.opcode == "convolution":
        base = any(dimension.base_dilation > 1 for dimension in instruction.window.dimensions)
        window = any(dimension.window_dilation > 1 for dimension in instruction.window.dimensions)
        return "convolution" + (" base-dilated" if base else "") + (" window-dilated" if window else "")
    return "non-fusion elementwise" if is_elementwise(instruction) else str(instruction.opcode)


BATCH, FEATURE, SPATIAL, UNKNOWN = "batch", "feature", "spatial", "unknown_semantics"


@dataclass(frozen=True, slots=True)
class Dimension:
    """One dimension of a tensor: its size in elements, the multiple it is padded to, and what it means."""

    size: int
    alignment: int
    semantics: str

    @property
    def padded(self) -> int:
        """The size in memory."""
        return -(-self.size // self.alignment) * self.alignment


def used_share(dimensions: tuple[Dimension, ...]) -> float:
    """Share of the padded tensor that holds data: the highest possible use of the matrix unit."""
    share = 1.0
    for dimension in dimensions:
        share *= dimension.size / dimension.padded if dimension.padded else 1.0
    return share


def convolution_layout(instruction: Instruction, inner: Sequence[Instruction] = ()) -> tuple[Dimension, ...]:
    """Layout of a convolution's result in the matrix unit's registers, most-minor first; empty for other instructions.

    Args:
      instruction: a convolution or a fusion.
      inner: the instructions inside a fusion, which contain the convolution.
    """
    candidates = inner if instruction.opcode == "fusion" else (instruction,)
    convolution = next((i for i in candidates if i.opcode == "convolution"), None)
    if convolution is None:
        return ()
    sizes, layout = convolution.shape.dimensions, convolution.shape.layout
    # The last size of a tile is that of the most-minor dimension.
    tile = layout.tiles[0].dimensions[::-1] if layout.tiles else []
    meaning: dict[int, str] = {}
    if convolution.HasField("convolution_dimension_numbers"):
        numbers = convolution.convolution_dimension_numbers
        meaning = dict.fromkeys(numbers.output_spatial_dimensions, SPATIAL)
        meaning |= {numbers.output_batch_dimension: BATCH, numbers.output_feature_dimension: FEATURE}
    dimensions = []
    for place, dimension in enumerate(layout.minor_to_major):
        if 0 <= dimension < len(sizes):
            alignment = tile[place] if place < len(tile) else 1
            dimensions.append(Dimension(sizes[dimension], max(1, alignment), meaning.get(dimension, UNKNOWN)))
    return tuple(dimensions)
