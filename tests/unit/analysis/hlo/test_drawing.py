"""Places of nodes in drawings of typed-in programs: layers, boxes, lines beside nodes."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from builders.programs.buffers import profile
from builders.programs.graphs import PROGRAMS
from builders.programs.hlo import op, program
from builders.shown import profile as columns

from tpu_profile_plugin.analysis.hlo import drawing
from tpu_profile_plugin.analysis.hlo.drawing import (
    GAP_X,
    GAP_Y,
    HEAD,
    PAD,
    ROOT,
    Box,
    Drawing,
    Drawn,
    Edge,
    Placement,
    Rect,
    draw_computation,
    excerpt,
    place,
)
from tpu_profile_plugin.analysis.hlo.graph import Links, Mark
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


WIDTHS, HEIGHTS = (100, 60, 140, 30), (40, 40, 24, 50)


def test_places_and_lines_of_drawings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sizes that differ, boxes in boxes, edges back and past others, and lines that leave out layers."""
    table: list[Any] = [  # parents of boxes, box of each node, edges, node of the tag and most corners; the places
        (
            [None, 0],
            [None, 0, None, 0, 1, None, None, 0, 1, 0, None, 1, None, 1, 0, None, None],
            [(0, 1), (0, 1), (0, 1), (1, 2), (3, 5), (0, 5), (3, 5), (1, 6), (5, 6), (2, 6), (7, 8), (5,
             8), (6, 8), (9, 11), (7, 11), (10, 12), (6, 12), (11, 12), (9, 13), (14, 15), (11, 15), (9,
             15), (16, 0)],
            (16, 300000),
            ((1137, 488), [(0, 661, 12), (2, 518, 290), (5, 676, 290), (6, 569, 376), (10, 727, 376), (12,
             702, 436), (15, 470, 290), (16, 918, 12), (-1, 1065, 88), (1, 24, 202), (3, 102, 192), (7,
             536, 192), (9, 584, 202), (14, 894, 218), (4, 162, 190), (8, 280, 190), (11, 398, 180), (13,
             446, 190)]),
            [(0, 12, 88, 1035, 166), (1, 150, 134, 368, 108)],
            [[(711, 52), (54, 202)], [(711, 52), (54, 202)], [(711, 52), (54, 202)], [(54, 242), (588,
             290)], [(117, 242), (706, 290)], [(711, 52), (1056, 84), (1056, 258), (706, 290)], [(117,
             242), (706, 290)], [(54, 242), (509, 286), (509, 344), (639, 376)], [(706, 330), (639, 376)],
             [(588, 314), (639, 376)], [(551, 242), (330, 190)], [(706, 330), (330, 190)], [(639, 400),
             (330, 190)], [(614, 242), (413, 180)], [(551, 242), (413, 180)], [(797, 400), (752, 436)],
             [(639, 400), (752, 436)], [(413, 230), (667, 286), (667, 344), (710, 372), (710, 404), (752,
             436)], [(614, 242), (476, 190)], [(964, 242), (485, 290)], [(413, 230), (485, 290)], [(614,
             242), (485, 290)], [(968, 52), (711, 12)], [(968, 52), (1095, 88)]],
        ),
        (
            [],
            [None, None, None, None, None, None, None, None, None, None, None, None, None, None, None],
            [(0, 3), (2, 5), (6, 7), (6, 9), (1, 10), (6, 11), (2, 12), (4, 13), (14, 0), (0, 3), (0, 3),
             (0, 3), (0, 3), (0, 3)],
            (14, 4),
            ((988, 214), [(0, 170, 12), (1, 679, 12), (2, 462, 28), (3, 185, 88), (4, 875, 12), (5, 453,
             88), (6, 288, 28), (7, 279, 88), (8, 757, 12), (9, 327, 88), (10, 649, 88), (11, 405, 88),
             (12, 531, 88), (13, 891, 88), (14, 12, 28), (-1, 32, 174)]),
            [],
            [[(220, 52), (200, 88)], [(532, 52), (483, 88)], [(358, 52), (294, 88)], [(358, 52), (357,
             88)], [(709, 52), (719, 88)], [(358, 52), (420, 88)], [(532, 52), (581, 88)], [(925, 52),
             (921, 88)], [(82, 52), (220, 12)], [(220, 52), (200, 88)], [(220, 52), (200, 88)], [(220, 52),
             (200, 88)], [(220, 52), (200, 88)], [(220, 52), (200, 88)], [(82, 52), (66, 84), (66, 142),
             (62, 174)]],
        ),
        (
            [None, 0],
            [None, 0, None, 0, 1, 1, 0, None, None, 0, None, None, 0, None, 0, None, None],
            [(0, 1), (2, 3), (1, 3), (2, 3), (3, 5), (1, 6), (2, 6), (4, 6), (3, 7), (3, 7), (7, 8), (4,
             9), (4, 9), (8, 9), (6, 10), (6, 10), (8, 11), (7, 12), (6, 12), (8, 12), (12, 15), (14, 15),
             (15, 16), (11, 16), (14, 16), (16, 0), (0, 1)],
            (None, 4),
            ((390, 894), [(0, 42, 12), (2, 160, 28), (7, 198, 594), (8, 136, 680), (10, 40, 594), (11, 165,
             756), (13, 318, 12), (15, 117, 756), (16, 99, 842), (1, 94, 134), (3, 106, 210), (6, 124,
             430), (9, 46, 430), (12, 137, 506), (14, 172, 150), (4, 36, 342), (5, 154, 342)]),
            [(0, 12, 88, 313, 470), (1, 24, 296, 202, 98)],
            [[(92, 52), (124, 134)], [(230, 52), (121, 210)], [(124, 174), (121, 210)], [(230, 52), (121,
             210)], [(121, 260), (184, 342)], [(124, 174), (183, 206), (183, 264), (194, 430)], [(230, 52),
             (194, 430)], [(86, 382), (194, 430)], [(121, 260), (213, 594)], [(121, 260), (213, 594)],
             [(213, 644), (186, 680)], [(86, 382), (76, 430)], [(86, 382), (76, 430)], [(186, 720), (76,
             430)], [(194, 454), (110, 594)], [(194, 454), (110, 594)], [(186, 720), (180, 756)], [(213,
             644), (187, 506)], [(194, 454), (187, 506)], [(186, 720), (187, 506)], [(187, 546), (189,
             590), (189, 648), (132, 756)], [(242, 174), (189, 590), (189, 648), (132, 756)], [(132, 806),
             (149, 842)], [(180, 806), (149, 842)], [(242, 174), (189, 590), (189, 648), (149, 842)],
             [(149, 882), (92, 12)], [(92, 52), (124, 134)]],
        ),
        (
            [],
            [],
            [],
            (None, 300000),
            ((24, 24), []),
            [],
            [],
        ),
        (
            [None],
            [0, 0, 0, None, None],
            [(0, 1), (1, 2), (0, 2), (1, 2), (1, 3), (0, 3), (4, 0), (0, 1), (0, 1), (0, 1), (0, 1), (0,
             1)],
            (4, 300000),
            ((306, 344), [(3, 202, 282), (4, 12, 206), (-1, 37, 282), (0, 162, 58), (1, 182, 134), (2, 142,
             210)]),
            [(0, 130, 12, 164, 234)],
            [[(212, 98), (212, 134)], [(212, 174), (212, 210)], [(212, 98), (173, 130), (173, 178), (212,
             210)], [(212, 174), (212, 210)], [(212, 174), (217, 282)], [(212, 98), (217, 282)], [(62,
             246), (212, 58)], [(212, 98), (212, 134)], [(212, 98), (212, 134)], [(212, 98), (212, 134)],
             [(212, 98), (212, 134)], [(212, 98), (212, 134)], [(62, 246), (67, 282)]],
        ),
        (
            [],
            [None, None, None, None, None, None, None, None, None, None, None, None, None, None, None,
             None, None, None],
            [(0, 1), (0, 1), (0, 2), (0, 2), (1, 2), (0, 3), (2, 3), (1, 4), (1, 5), (0, 6), (0, 6), (1,
             7), (5, 8), (2, 8), (7, 8), (8, 9), (4, 9), (6, 9), (5, 10), (9, 11), (7, 12), (8, 13), (10,
             13), (9, 13), (8, 14), (11, 14), (8, 14), (13, 15), (13, 15), (10, 15), (0, 1), (0, 1), (0,
             1), (0, 1), (0, 1)],
            (17, 4),
            ((566, 560), [(0, 185, 12), (1, 263, 88), (2, 151, 164), (3, 12, 250), (4, 218, 250), (5, 312,
             164), (6, 60, 250), (7, 390, 164), (8, 336, 250), (9, 196, 336), (10, 274, 336), (11, 204,
             412), (12, 454, 250), (13, 276, 412), (14, 152, 498), (15, 310, 498), (16, 303, 12), (17, 421,
             12), (-1, 413, 88)]),
            [],
            [[(235, 52), (293, 88)], [(235, 52), (293, 88)], [(235, 52), (222, 84), (222, 132), (221,
             164)], [(235, 52), (222, 84), (222, 132), (221, 164)], [(293, 128), (221, 164)], [(235, 52),
             (53, 84), (53, 132), (27, 250)], [(221, 188), (27, 250)], [(293, 128), (300, 160), (300, 218),
             (268, 250)], [(293, 128), (342, 164)], [(235, 52), (143, 84), (143, 132), (130, 250)], [(235,
             52), (143, 84), (143, 132), (130, 250)], [(293, 128), (405, 164)], [(342, 204), (386, 250)],
             [(221, 188), (386, 250)], [(405, 214), (386, 250)], [(386, 290), (226, 336)], [(268, 290),
             (226, 336)], [(130, 274), (226, 336)], [(342, 204), (327, 246), (327, 304), (344, 336)],
             [(226, 376), (219, 412)], [(405, 214), (504, 250)], [(386, 290), (265, 332), (265, 380), (306,
             412)], [(344, 360), (306, 412)], [(226, 376), (306, 412)], [(386, 290), (265, 332), (265,
             380), (222, 498)], [(219, 462), (222, 498)], [(386, 290), (265, 332), (265, 380), (222, 498)],
             [(306, 452), (325, 498)], [(306, 452), (325, 498)], [(344, 360), (345, 408), (345, 466), (325,
             498)], [(235, 52), (293, 88)], [(235, 52), (293, 88)], [(235, 52), (293, 88)], [(235, 52),
             (293, 88)], [(235, 52), (293, 88)], [(451, 52), (443, 88)]],
        ),
    ]  # fmt: skip
    for parents, boxes, edges, (result, most), ((width, height), nodes), placed_boxes, lines in table:
        monkeypatch.setattr(drawing, "_MOST_CORNERS", most)
        of_nodes = tuple(Drawn(row, box, Mark.WHOLE, ()) for row, box in enumerate(boxes))
        of_edges = [Edge(*edge) for edge in edges] + ([] if result is None else [Edge(result, ROOT, "root")])
        of_boxes = tuple(Box(number, 0, parent, False) for number, parent in enumerate(parents))
        found = place(
            Drawing(0, None, of_nodes, of_boxes, tuple(of_edges)), lambda row: (WIDTHS[row % 4], HEIGHTS[row % 4])
        )
        assert (found.width, found.height) == (width, height)
        assert {row: (rect.x, rect.y) for row, rect in found.nodes.items()} == {row: (x, y) for row, x, y in nodes}
        assert {box: (r.x, r.y, r.width, r.height) for box, r in found.boxes.items()} == {
            box: tuple(rect) for box, *rect in placed_boxes
        }
        assert [list(line) for line in found.lines] == lines


@pytest.mark.parametrize(
    ("center", "edges", "most", "expected"),
    [
        # Nodes 0 to 5, nearest first: from the center, else from the result, then from the last node on.
        (0, [(0, 1), (1, 2), (0, 3), (5, ROOT)], 3, ([0, 1, 3], [(0, 1), (0, 3)], 3)),
        (0, [(0, 1), (1, 2), (0, 3), (5, ROOT)], 5, ([0, 1, 2, 3, 5], [(0, 1), (1, 2), (0, 3), (5, ROOT)], 1)),
        (2, [(0, 1), (1, 2), (2, ROOT), (4, ROOT)], 3, ([0, 1, 2], [(0, 1), (1, 2), (2, ROOT)], 3)),
        (None, [(0, 1), (1, 2), (2, ROOT), (4, 5)], 2, ([1, 2], [(1, 2), (2, ROOT)], 4)),
        (None, [(0, 1), (1, 0), (0, 0), (1, ROOT), (4, 5)], 4, (
            [0, 1, 4, 5], [(0, 1), (1, 0), (0, 0), (1, ROOT), (4, 5)], 2,
        )),
        (9, [(0, 1), (4, 5)], 1, ([5], [], 5)),
        (None, [], 0, ([], [], 6)),
        (None, [(0, 1)], 6, ([0, 1, 2, 3, 4, 5], [(0, 1)], 0)),
        (None, [(0, 1)], 7, ([0, 1, 2, 3, 4, 5], [(0, 1)], 0)),
    ],
)  # fmt: skip
def test_the_nearest_nodes_of_a_drawing(center: int | None, edges, most: int, expected) -> None:
    nodes = tuple(Drawn(row, None, Mark.WHOLE, ()) for row in range(6))
    found, left_out = excerpt(Drawing(0, center, nodes, (), tuple(Edge(*edge) for edge in edges)), most)
    kept = [node.row for node in found.nodes]
    assert (kept, [(edge.source, edge.target) for edge in found.edges], left_out) == expected
