"""Shapes with their layouts: measured without padding, and spelled as XLA spells them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

from tpu_profile_plugin.protos import enum_values, read

Shape: TypeAlias = Any
"""A message `xla.ShapeProto`."""

_UNBOUNDED = -(2**63)
_LARGEST = 2**62
"""Upper limit of sizes: damaged shapes may be huge, and sums of sizes must stay finite."""
_INDEX_MARK = 5
"""A comment with the position follows in a tuple after this number of parts."""
_SPELLED = {"PRIMITIVE_TYPE_INVALID": "invalid", "OPAQUE_TYPE": "opaque"}
"""Element types that HLO text does not spell as their name in lower case."""


@cache
def type_name(element: int) -> str:
    """An element type as HLO text spells it, e.g. `f32`."""
    name = enum_values("xla.PrimitiveType").get(element, f"type{element}")
    return _SPELLED.get(name, name.lower())


@cache
def bits_of(element: int) -> int:
    """Width of an element; a PRED takes a byte, tuples and tokens have none."""
    name = type_name(element)
    width = re.match(r"b?[sufc](\d+)", name)
    return 8 if name == "pred" else int(width[1]) if width else 0


def is_tuple(shape: Shape) -> bool:
    """True for tuples of shapes."""
    return type_name(shape.element_type) == "tuple"


def element_count(shape: Shape) -> int:
    """Number of elements of an array."""
    count = 1
    for size in shape.dimensions:
        count = min(count * max(0, size), _LARGEST)
    return count


def byte_size(shape: Shape) -> int:
    """Size in memory; of a tuple, its table of pointers and nothing else."""
    if is_tuple(shape):
        return 8 * len(shape.tuple_shapes)
    return (element_count(shape) * bits_of(shape.element_type) + 7) // 8


def leaf_bytes(shape: Shape) -> int:
    """Size of all arrays in it."""
    return sum(map(leaf_bytes, shape.tuple_shapes)) if is_tuple(shape) else byte_size(shape)


def leaves(shape: Shape, path: tuple[int, ...] = ()) -> list[tuple[tuple[int, ...], Shape]]:
    """The arrays in a shape, each with the path of tuple indices to it."""
    if not is_tuple(shape):
        return [(path, shape)]
    return [leaf for i, part in enumerate(shape.tuple_shapes) for leaf in leaves(part, (*path, i))]


def first_part(shape: Shape) -> Shape:
    """The first part of a tuple; an array itself."""
    return shape.tuple_shapes[0] if shape.tuple_shapes else shape


@dataclass(frozen=True, slots=True)
class LaidOut:
    """A shape's text with layout; `parts` are those of a tuple.

    `unpadded`: bytes of the values alone; a tuple's are its table of pointers.
    """

    text: str
    parts: tuple[LaidOut, ...] = ()
    unpadded: int = 0

    def at(self, index: tuple[int, ...]) -> LaidOut:
        """The part that the last number of a shape index selects; the shape itself if the index is empty."""
        if index and 0 <= index[-1] < len(self.parts):
            return self.parts[index[-1]]
        return self


def read_shape(data: bytes, layout: bool = True) -> LaidOut:
    """Reads a serialized ShapeProto; `layout` says whether its text shows layouts."""
    return laid_out(read("xla.ShapeProto", data), layout)


def laid_out(shape: Shape, layout: bool = True) -> LaidOut:
    """Text and size of a ShapeProto; `layout` says whether the text shows layouts."""
    unpadded = min(byte_size(shape), _LARGEST)
    if is_tuple(shape):
        parts = tuple(laid_out(part, layout) for part in shape.tuple_shapes)
        return LaidOut(f"({marked_list([part.text for part in parts])})", parts, unpadded)
    name, dynamic = type_name(shape.element_type), shape.is_dynamic_dimension
    sizes = (_size(size, i < len(dynamic) and dynamic[i]) for i, size in enumerate(shape.dimensions))
    shown = _layout(shape.layout) if layout and name not in ("opaque", "token") else ""
    # The layout of a scalar is shown only if it contains more than an order of dimensions.
    return LaidOut(f"{name}[{','.join(sizes)}]{shown if shown != '{}' else ''}", (), unpadded)


def _size(size: int, dynamic: bool) -> str:
    if size == _UNBOUNDED:
        return "?"
    return f"<={size}" if dynamic else str(size)


def marked_list(texts: Sequence[str]) -> str:
    """Texts separated by commas, every fifth with its number as a comment, as XLA lists parts and operands."""
    marks = (f"/*index={i}*/" if i and i % _INDEX_MARK == 0 else "" for i in range(len(texts)))
    return ", ".join(mark + text for mark, text in zip(marks, texts, strict=True))


def _layout(layout: Any) -> str:
    """Order of dimensions, minor first, then a colon and further properties: tiles, widths, memory space, ..."""
    sizes = (["*" if size == _UNBOUNDED else str(size) for size in tile.dimensions] for tile in layout.tiles)
    tiles = "".join(f"({','.join(each)})" for each in sizes)
    splits = "".join(f"({split.dimension}:{','.join(map(str, split.split_indices))})" for split in layout.split_configs)
    alignment = layout.tail_padding_alignment_in_elements
    more = f"T{tiles}" if tiles else ""
    more += f"L({alignment})" if alignment not in (0, 1) else ""
    more += f"#({type_name(layout.index_primitive_type)})" if layout.index_primitive_type else ""
    more += f"*({type_name(layout.pointer_primitive_type)})" if layout.pointer_primitive_type else ""
    more += f"E({layout.element_size_in_bits})" if layout.element_size_in_bits else ""
    more += f"S({layout.memory_space})" if layout.memory_space else ""
    more += f"SC{splits}" if splits else ""
    more += f"P({laid_out(layout.physical_shape).text})" if layout.HasField("physical_shape") else ""
    prefix = layout.dynamic_shape_metadata_prefix_bytes
    more += f"M({prefix})" if prefix else ""
    return "{" + ",".join(map(str, layout.minor_to_major)) + (f":{more}" if more else "") + "}"
