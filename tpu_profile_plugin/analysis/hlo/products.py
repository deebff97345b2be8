"""The matrix products inside an op: their sizes, the type of their operands, and how precisely they are computed."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from tpu_profile_plugin.analysis.hlo.instructions import Instruction
from tpu_profile_plugin.analysis.hlo.program_rows import ProgramRows
from tpu_profile_plugin.analysis.hlo.shapes import Shape, bits_of, type_name

MATRICES = frozenset(("dot", "convolution", "ragged-dot", "scaled-dot"))
"""Opcodes of products."""
HIGH, HIGHEST = 1, 2
"""Precisions of operands, `xla.PrecisionConfig.Precision`."""
_ALGORITHM = re.compile(rb'"algorithm"\s*:\s*"(ALG_(?!UNSET)\w+)"')
_PRECISION = re.compile(rb'"operand_precision"\s*:\s*\[([^][]*)\]')


@dataclass(frozen=True, slots=True)
class Product:
    """One dot or convolution, or the call of a library that computes one.

    Attributes:
      bits: width of the wider operand's elements; 0 unless both are floating-point arrays.
      precision: the higher of the operands' (0: the default).
      algorithm: the program prescribes an algorithm, so its precision is a choice.
      sizes: (batches, rows and columns of the result, contracted size); None if unknown.
    """

    bits: int
    precision: int
    algorithm: bool
    sizes: tuple[int, int, int, int] | None

    @property
    def flops(self) -> float:
        """FLOPs without padding; 0 if the sizes are unknown."""
        return 2.0 * math.prod(map(float, self.sizes)) if self.sizes else 0.0


FEW, MANY = 16, 64
"""So few rows make a product of a large matrix read it for little work; and so long are its other sides at least."""


def few_rows(products: Sequence[Product]) -> int:
    """The shortest side of the largest product, if it is short and the others are long; else 0."""
    sizes = max((one.sizes for one in products if one.sizes), key=math.prod, default=(1, 0, 0, 0))
    least, *others = sorted(sizes[1:])
    return least if sizes[0] == 1 and 0 < least <= FEW and others[0] >= MANY else 0


def products_of(rows: ProgramRows, row: int) -> list[Product]:
    """The products inside an op that computes some."""
    matrices = [one for one in rows.inside(row) if rows.opcodes[one] in MATRICES]
    calls = [one for one in rows.inside(row) if rows.opcodes[one] == "custom-call"]
    return [_product(rows, one) for one in matrices or calls]


def _product(rows: ProgramRows, row: int) -> Product:
    instruction = rows.instruction(row)
    shapes = [rows.shape(operand) for operand in rows.links.operands(row)[:2] if operand >= 0]
    bits = [_bits(shape) for shape in shapes]
    width = max(bits) if len(bits) == 2 and all(bits) else 0
    if rows.opcodes[row] == "custom-call":
        precise = _PRECISION.search(instruction.backend_config)
        named = precise[1] if precise else b""
        level = HIGHEST if b'"HIGHEST"' in named else HIGH if b'"HIGH"' in named else 0
        return Product(width, level, bool(_ALGORITHM.search(instruction.backend_config)), None)
    config = instruction.precision_config
    level = max((level for level in config.operand_precision if level in (HIGH, HIGHEST)), default=0)
    sizes = _sizes(instruction, shapes, rows.shape(row)) if len(shapes) == 2 else None
    return Product(width, level, bool(config.algorithm), sizes)


def _bits(shape: Shape) -> int:
    name = type_name(shape.element_type)
    return bits_of(shape.element_type) // (2 if name.startswith("c") else 1) if name[0] in "fbc" else 0


def _sizes(instruction: Instruction, shapes: Sequence[Shape], result: Shape) -> tuple[int, int, int, int] | None:
    left, right = (list(shape.dimensions) for shape in shapes)
    try:
        if instruction.opcode == "dot":
            dims = instruction.dot_dimension_numbers
            batch = math.prod(left[i] for i in dims.lhs_batch_dimensions)
            depth = math.prod(left[i] for i in dims.lhs_contracting_dimensions)
            if not batch * depth:
                return None
            return batch, math.prod(left) // (batch * depth), math.prod(right) // (batch * depth), depth
        if instruction.opcode == "convolution" and instruction.HasField("convolution_dimension_numbers"):
            return _of_convolution(instruction, right, list(result.dimensions))
    except IndexError:
        pass
    return None


def _of_convolution(instruction: Instruction, kernel: list[int], output: list[int]) -> tuple[int, int, int, int] | None:
    """A convolution as a product: output places times window and input features, times output features."""
    dims = instruction.convolution_dimension_numbers
    groups = max(1, instruction.feature_group_count, instruction.batch_group_count)
    columns = output[dims.output_feature_dimension] // groups
    taps = math.prod(kernel[i] for i in dims.kernel_spatial_dimensions)
    depth = kernel[dims.kernel_input_feature_dimension] * taps
    rows = math.prod(output) // max(1, columns * groups)
    return (groups, rows, columns, depth) if rows * columns * depth else None
