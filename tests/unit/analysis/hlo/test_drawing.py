"""Places of nodes in drawings of typed-in programs: layers, boxes, lines beside nodes."""

from __future__ import annotations

from itertools import pairwise

import pytest
from builders.programs.buffers import profile
from builders.programs.graphs import PROGRAMS
from builders.programs.hlo import op, program
from builders.shown import profile as columns

from tpu_profile_plugin.analysis.hlo.drawing import (
    GAP_X,
    GAP_Y,
    HEAD,
    PAD,
    ROOT,
    Drawing,
    Placement,
    Rect,
    draw_computation,
    place,
)
from tpu_profile_plugin.analysis.hlo.graph import Links
from tpu_profile_plugin.analysis.hlo.programs import hlo_programs

SIZE = (100, 40)


def placed(data: bytes, *, merge_fusion: bool = False) -> tuple[Links, Drawing, Placement]:
    """The entry computation of a program and where everything is."""
    found = hlo_programs(columns(profile(jit_f=data))).program(1)
    assert found is not None
    assert found.entry is not None
    links = Links(found)
    drawing = draw_computation(links, found.entry, merge_fusion=merge_fusion)
    return links, drawing, place(drawing, lambda row: SIZE)


def overlap(a: Rect, b: Rect) -> bool:
    """Whether two rectangles share more than an edge."""
    return a.x < b.x + b.width and b.x < a.x + a.width and a.y < b.y + b.height and b.y < a.y + a.height


def test_a_diamond_with_an_edge_past_it() -> None:
    links, _, found = placed(
        program(
            [
                op("a", "parameter", "f32[4]"),
                op("b", "negate", "f32[4]", "a"),
                op("c", "negate", "f32[4]", "b"),
                op("d", "add", "f32[4]", "c", "a"),
            ]
        )
    )
    y = {links.program.names[row]: rect.y for row, rect in found.nodes.items() if row != ROOT}
    pitch = SIZE[1] + GAP_Y
    assert y == {"a": PAD, "b": PAD + pitch, "c": PAD + 2 * pitch, "d": PAD + 3 * pitch}
    # One line past b and c, straight and beside both.
    past = max(found.lines, key=len)
    middle = found.nodes[1].x + SIZE[0] // 2
    assert len(past) == 4
    assert past[1][0] == past[2][0]
    assert abs(past[1][0] - middle) == SIZE[0] / 2 + GAP_X / 2
    assert (past[1][1], past[2][1]) == (y["b"] - 4, y["c"] + SIZE[1] + 4)


def test_an_input_is_right_above_its_first_user() -> None:
    links, _, found = placed(
        program(
            [
                op("a", "parameter", "f32[4]"),
                op("late", "parameter", "f32[4]", parameter_number=1),
                op("b", "negate", "f32[4]", "a"),
                op("c", "add", "f32[4]", "b", "late"),
            ]
        )
    )
    y = {links.program.names[row]: rect.y for row, rect in found.nodes.items() if row != ROOT}
    assert y["late"] == y["b"] < y["c"]


@pytest.mark.parametrize(("times", "x"), [(1, 71), (2, 69), (3, 67), (4, 65), (5, 64), (6, 64)])
def test_each_further_use_up_to_five_pulls_a_node_below_its_operand(times: int, x: int) -> None:
    """From amid the operands `a` and `b`, which are at 12 and at 130."""
    used = op("used", "custom-call", "f32[4]", *["a"] * times, "b")
    entry = [op("p", "parameter", "f32[4]"), op("a", "negate", "f32[4]", "p"), op("b", "negate", "f32[4]", "p"), used]
    links, _, found = placed(program(entry))
    assert {links.program.names[row]: rect.x for row, rect in found.nodes.items() if row != ROOT} == {
        "p": 71, "a": 12, "b": 130, "used": x
    }  # fmt: skip


@pytest.mark.parametrize("name", list(PROGRAMS))
@pytest.mark.parametrize("merge_fusion", [False, True])
def test_nothing_overlaps_and_boxes_hold_what_is_in_them(name: str, merge_fusion: bool) -> None:
    _, drawing, found = placed(PROGRAMS[name], merge_fusion=merge_fusion)
    box_of = {node.row: node.box for node in drawing.nodes} | {ROOT: None}
    rects = list(found.nodes.items())
    for i, (_, a) in enumerate(rects):
        assert not [row for row, b in rects[i + 1 :] if overlap(a, b)]
    for row, rect in rects:
        inside = {position for position, box in found.boxes.items() if overlap(rect, box)}
        around = set()
        box = box_of[row]
        while box is not None:
            around.add(box)
            box = drawing.boxes[box].parent
        assert inside == around
        for position in around:
            outer = found.boxes[position]
            assert outer.y + HEAD + PAD <= rect.y <= outer.y + outer.height - PAD - rect.height
    for line in found.lines:
        assert all(begin[1] <= end[1] for begin, end in pairwise(line[1:-1]))
        assert all(0 <= x <= found.width + GAP_X for x, _ in line)


def test_a_layer_has_no_more_nodes_than_fit() -> None:
    wide = [op("p", "parameter", "f32[4]"), *(op(f"u{i}", "negate", "f32[4]", "p") for i in range(100))]
    _, _, found = placed(program(wide))
    layers = {rect.y for rect in found.nodes.values()}
    assert max(sum(rect.y == y for rect in found.nodes.values()) for y in layers) == 16


def test_programs_that_make_no_sense_are_placed_too() -> None:
    ring = [op("a", "negate", "f32[4]", "b"), op("b", "negate", "f32[4]", "a")]
    _, drawing, found = placed(program(ring))
    assert (len(found.nodes), len(found.lines)) == (3, len(drawing.edges))
    empty = place(Drawing(0, None, (), (), ()), lambda row: SIZE)
    assert (empty.width, empty.height, empty.nodes) == (2 * PAD, 2 * PAD, {})


@pytest.mark.parametrize(("shape", "operation"), [("f32[]", "add"), ("f32[1,1]", "add"), ("f32[4]", None)])
def test_a_simple_computation_is_of_scalars(shape: str, operation: str | None) -> None:
    a, b = (op(name, "parameter", shape, parameter_number=i) for i, name in enumerate("ab"))
    inside = [a, b, op("c", "add", shape, "a", "b")]
    found = hlo_programs(columns(profile(jit_f=program([op("x", "parameter", "f32[4]")], inside=inside)))).program(1)
    assert found is not None
    assert Links(found).simple(1) == operation
