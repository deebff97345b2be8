"""Shapes as XLA spells them."""

from __future__ import annotations

from typing import Any

import pytest
from builders.damage.wire import text as wire_text
from builders.programs.hlo import shape

from tpu_profile_plugin.analysis.hlo.shapes import laid_out, read_shape
from tpu_profile_plugin.protos import message


def with_layout(text: str, **layout: Any) -> Any:
    made = shape(text)
    made.layout.MergeFrom(message("xla.LayoutProto")(**layout))
    return made


@pytest.mark.parametrize(
    ("made", "text", "size"),
    [
        (shape("f32[2,3]{1,0}"), "f32[2,3]{1,0}", 24),
        (
            with_layout("bf16[8,128]{1,0}", tiles=[{"dimensions": [8, 128]}, {"dimensions": [2, 1]}]),
            "bf16[8,128]{1,0:T(8,128)(2,1)}",
            2048,
        ),
        (with_layout("f32[4]{0:T(128)}", memory_space=5), "f32[4]{0:T(128)S(5)}", 16),
        (with_layout("s4[6]{0}", element_size_in_bits=4), "s4[6]{0:E(4)}", 3),
        (with_layout("f32[4]{0}", tiles=[{"dimensions": [-(2**63), 8]}]), "f32[4]{0:T(*,8)}", 16),
        (with_layout("f32[4]{0}", split_configs=[{"dimension": 0, "split_indices": [2]}]), "f32[4]{0:SC(0:2)}", 16),
        (with_layout("f32[4]{0}", physical_shape=shape("u32[9]")), "f32[4]{0:P(u32[9])}", 16),
        (shape("f32[]{}"), "f32[]", 4),
        (shape("f32[]{:T(128)}"), "f32[]{:T(128)}", 4),
        (shape(["f32[2]", "pred[]"]), "(f32[2], pred[])", 16),
        (shape([]), "()", 0),
        (shape(["f32[]"] * 6), "(f32[], f32[], f32[], f32[], f32[], /*index=5*/f32[])", 48),
        (message("xla.ShapeProto")(element_type="F32", dimensions=[7], is_dynamic_dimension=[True]), "f32[<=7]", 28),
        (message("xla.ShapeProto")(element_type=99, dimensions=[3]), "type99[3]", 0),
        (message("xla.ShapeProto")(element_type="OPAQUE_TYPE"), "opaque[]", 0),
        (message("xla.ShapeProto")(), "invalid[]", 0),
    ],
)
def test_text_and_size(made: Any, text: str, size: int) -> None:
    found = laid_out(made)
    assert (found.text, found.unpadded) == (text, size)
    assert read_shape(made.SerializeToString()) == found


def test_parts_of_tuples() -> None:
    found = laid_out(shape(["f32[2]", "pred[]"]))
    assert [found.at(index).text for index in ((1,), (7, 0), ())] == ["pred[]", "f32[2]", "(f32[2], pred[])"]
    assert found.at((9,)) is found


def test_impossible_sizes_are_bounded() -> None:
    assert laid_out(shape(f"f32[{2**62},{2**62}]")).unpadded == 2**62


def test_widths_of_element_types() -> None:
    widths = {"pred": 8, "s4": 4, "u1": 1, "bf16": 16, "f8e4m3b11fnuz": 8, "f4e2m1fn": 4, "c128": 128, "token": 0}
    assert {name: laid_out(shape(f"{name}[8]")).unpadded for name in widths} == widths


@pytest.mark.parametrize("depth", [99, 200, 5000])
def test_deep_nesting_ends(depth: int) -> None:
    made = shape("f32[]").SerializeToString()
    for _ in range(depth):
        made = tuple_of(made)
    assert read_shape(made).text.startswith("((((")


def tuple_of(inside: bytes) -> bytes:
    head = message("xla.ShapeProto")(element_type="TUPLE").SerializeToString()
    return head + wire_text(message("xla.ShapeProto").TUPLE_SHAPES_FIELD_NUMBER, inside)
