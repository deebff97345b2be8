"""Layout of a convolution's result in the matrix unit's registers: size, alignment and meaning of each dimension."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tpu_profile_plugin.analysis.hlo.instructions import Instruction

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
    """The dimensions of a convolution's result, most-minor first; nothing for other instructions.

    Args:
      instruction: a convolution or a fusion.
      inner: the instructions inside a fusion, which contain the convolution.
    """
    if instruction.opcode == "fusion":
        convolution = next((i for i in inner if i.opcode == "convolution"), None)
        return _dimensions(convolution) if convolution is not None else ()
    return _dimensions(instruction) if instruction.opcode == "convolution" else ()


def _dimensions(convolution: Instruction) -> tuple[Dimension, ...]:
    sizes, layout = convolution.shape.dimensions, convolution.shape.layout
    # The last size of a tile is that of the most-minor dimension.
    tile = layout.tiles[0].dimensions[::-1] if layout.tiles else []
    meaning = _meanings(convolution)
    dimensions = []
    for place, dimension in enumerate(layout.minor_to_major):
        if 0 <= dimension < len(sizes):
            alignment = tile[place] if place < len(tile) else 1
            dimensions.append(Dimension(sizes[dimension], max(1, alignment), meaning.get(dimension, UNKNOWN)))
    return tuple(dimensions)


def _meanings(convolution: Instruction) -> dict[int, str]:
    if not convolution.HasField("convolution_dimension_numbers"):
        return {}
    numbers = convolution.convolution_dimension_numbers
    meanings = dict.fromkeys(numbers.output_spatial_dimensions, SPATIAL)
    return meanings | {numbers.output_batch_dimension: BATCH, numbers.output_feature_dimension: FEATURE}
