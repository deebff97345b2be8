"""Places of nodes in drawings of typed-in programs: layers, boxes, lines beside nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    draw_around,
    draw_computation,
    excerpt,
    place,
)
from tpu_profile_plugin.analysis.hlo.graph import Links, Mark, around
from tpu_profile_plugin.analysis.hlo.programs import hlo_programs
from tpu_profile_plugin.protos import message

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


def test_inputs_that_move_down_to_their_user_fill_its_layers() -> None:
    chain = [op("c0", "parameter", "f32[4]"), *(op(f"c{i}", "negate", "f32[4]", f"c{i - 1}") for i in range(1, 4))]
    inputs = [op(f"p{i}", "parameter", "f32[4]", parameter_number=1 + i) for i in range(10)]
    last = op("x", "custom-call", "f32[4]", "c3", *(one.name for one in inputs))
    _, _, found = placed(program([*chain, *inputs, last]))
    counts: dict[int, int] = {}
    for row, rect in found.nodes.items():
        if row != ROOT:
            counts[rect.y] = counts.get(rect.y, 0) + 1
    assert [counts[y] for y in sorted(counts)] == [1, 1, 4, 8, 1]


def drawn(entry: list[Any], *, merge_fusion: bool = False, **inside: list[Any]) -> list[tuple[str, list[str]]]:
    """The nodes, each with what is written into it."""
    found = hlo_programs(columns(profile(jit_f=program(entry, **inside)))).program(1)
    assert found is not None
    assert found.entry is not None
    drawing = draw_computation(Links(found), found.entry, merge_fusion=merge_fusion)
    return [(found.names[one.row], [found.names[row] for _, row in one.inline]) for one in drawing.nodes]


def test_what_is_written_into_nodes_of_fusions() -> None:
    of = "f32[4]"
    fused = op("f", "fusion", of, "x", called=["inside"])
    entry = [op("x", "parameter", of), op("one", "constant", "f32[]"), fused]
    bare = [op("q", "broadcast", of), op("n", "negate", of, "q")]
    assert drawn(entry, inside=bare) == [("x", []), ("q", []), ("n", [])]
    spread = [op("z", "constant", "f32[]"), op("q", "broadcast", of, "z"), op("n", "negate", of, "q")]
    assert drawn(entry, inside=spread) == [("x", []), ("n", ["z"])]
    part = [op("x", "get-tuple-element", of, "pair"), op("pair", "parameter", [of, of]), fused]
    assert drawn(part, inside=[op("p", "parameter", of), op("n", "negate", of, "p")])[-2:] == [("p", ["x"]), ("n", [])]
    # What a fusion computes is not drawn where fusions are nodes.
    twice = [*entry, op("c", "call", of, "x", called=["inside"])]
    assert [name for name, _ in drawn(twice, merge_fusion=True, inside=bare)] == ["x", "f", "c"]


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


SCALAR, VECTOR = "f32[]", "f32[4]"
TWO = {"literal": {"f32s": [2.0]}}


def _odd(data: bytes, roots: Mapping[int, int | None], unknown: Sequence[str] = ()) -> bytes:
    """The program with other results of computations (None: one that is not there) and operands that are not there."""
    made = message("xla.HloProto").FromString(data)
    for number, place_of_root in roots.items():
        computation = made.hlo_module.computations[number]
        computation.root_id = 99 if place_of_root is None else computation.instructions[place_of_root].id
    for one in (one for computation in made.hlo_module.computations for one in computation.instructions):
        if one.name in unknown:
            one.operand_ids[:] = [99] * len(one.operand_ids)
    return bytes(made.SerializeToString(deterministic=True))


def _parts(count: int, *also: str) -> bytes:
    """A tuple as parameter, the parts of it, and a call with all of them."""
    parts = [op(f"g{i}", "get-tuple-element", VECTOR, "t", tuple_index=i) for i in range(count)]
    user = op("s", "custom-call", VECTOR, *(f"g{i}" for i in range(count)), *also)
    return program([op("t", "parameter", [VECTOR] * 4), op("unused", "constant", SCALAR, **TWO), *parts, user])


DRAWN = {
    "parameter": program([op("p", "parameter", VECTOR)]),
    "constant": program([op("two", "constant", SCALAR, **TWO)]),
    "three": _parts(3), "four": _parts(4), "used": _parts(4, "t"), "nested": PROGRAMS["nested"],
    "part": program([
        op("t", "parameter", [VECTOR]), op("n", "negate", [VECTOR], "t"), op("g", "get-tuple-element", VECTOR, "n"),
    ]),
    "array": program([
        op("t", "parameter", VECTOR), *(op(f"u{i}", "negate", VECTOR, "t") for i in range(4)),
        op("s", "custom-call", VECTOR, "u0", "u1", "u2", "u3"),
    ]),
    "spread": program(  # the fused computation comes first
        [
            op("two", "constant", SCALAR, **TWO), op("twos", "broadcast", VECTOR, "two"), op("in", "parameter", VECTOR),
            op("row", "constant", "f32[2]", literal={"f32s": [1.0, 2.0]}), op("rows", "broadcast", "f32[4,2]", "row"),
            op("wide", "broadcast", "f32[4,2]", "in"), op("six", "constant", SCALAR, **TWO),
            op("sixes", "broadcast", VECTOR, "six"),
            op("sum", "custom-call", VECTOR, "in", "twos", "rows", "wide", "sixes"),
        ],
        main="fused",
        outer=[
            op("x", "parameter", VECTOR), op("c", "constant", SCALAR, **TWO), op("cs", "broadcast", VECTOR, "c"),
            op("f", "fusion", VECTOR, "x", called=["fused"]), op("g", "custom-call", VECTOR, "f", "cs", "c"),
        ],
    ),
    "spread root": program(
        [op("two", "constant", SCALAR, **TWO), op("twos", "broadcast", VECTOR, "two")],
        main="fused", outer=[op("f", "fusion", VECTOR, called=["fused"]), op("g", "negate", VECTOR, "f")],
    ),
    "arguments": program(
        [
            op("two", "constant", SCALAR, **TWO), op("t", "parameter", [VECTOR] * 4),
            op("part", "get-tuple-element", VECTOR, "t"), op("three", "constant", SCALAR, **TWO),
            op("f", "fusion", VECTOR, "two", "part", "three", called=["fused"]), op("g", "negate", VECTOR, "f"),
        ],
        fused=[
            op("k", "parameter", SCALAR), op("a", "parameter", VECTOR, parameter_number=1),
            op("none", "parameter", VECTOR, parameter_number=3), op("low", "parameter", VECTOR, parameter_number=-1),
            op("l", "parameter", SCALAR, parameter_number=2),
            op("h", "custom-call", VECTOR, "k", "a", "none", "low", "l"),
        ],
    ),
    "unknown": _odd(program(
        [
            op("a", "parameter", VECTOR), op("b", "negate", VECTOR, "a"), op("part", "get-tuple-element", VECTOR, "a"),
            op("c", "add", VECTOR, "b", "a"), op("d", "negate", VECTOR, "part"),
            op("f", "fusion", VECTOR, "a", called=["fused"]), op("e", "add", VECTOR, "f", "d"),
            op("w", "call", VECTOR, "a", called=["rootless"]), op("bare", "get-tuple-element", VECTOR),
            op("z", "add", VECTOR, "w", "bare"),
        ],
        fused=[op("in", "parameter", VECTOR), op("out", "negate", VECTOR, "in")],
        rootless=[op("in2", "parameter", VECTOR), op("out2", "negate", VECTOR, "in2")],
    ), {1: None, 2: None}, ["c", "part"]),
    "parts": program([
        op("t", "parameter", [VECTOR] * 4),
        *(op(f"g{i}", "get-tuple-element", VECTOR, "t", tuple_index=i) for i in range(4)),
    ]),
    "rootless": _odd(program([op("a", "parameter", VECTOR), op("b", "negate", VECTOR, "a")]), {0: None}),
    "fusion first": program(
        [op("f", "fusion", VECTOR, called=["sub"]), op("g", "negate", VECTOR, "f")],
        sub=[op("c", "constant", VECTOR, **TWO), op("n", "negate", VECTOR, "c")],
    ),
    "twice": program(
        [
            op("a", "parameter", VECTOR), op("b", "call", VECTOR, "a", called=["sub"]),
            op("c", "call", VECTOR, "b", called=["sub"]), op("d", "negate", VECTOR, "c"),
        ],
        sub=[op("x", "parameter", VECTOR), op("y", "negate", VECTOR, "x")],
    ),
    "shared": program(
        [
            op("a", "parameter", VECTOR), op("b", "fusion", VECTOR, "a", called=["sub"]),
            op("c", "fusion", VECTOR, "b", called=["sub"]), op("w", "call", VECTOR, "c", called=["sub"]),
            op("d", "negate", VECTOR, "w"),
        ],
        sub=[op("x", "parameter", VECTOR), op("y", "negate", VECTOR, "x")],
    ),
    "constant root": _odd(program(
        [
            op("c", "constant", SCALAR, **TWO), op("n", "negate", SCALAR, "c"),
            op("w", "call", SCALAR, "n", called=["sub"]),
        ],
        sub=[op("two", "constant", SCALAR, **TWO), op("user", "negate", SCALAR, "two"),
             op("more", "negate", SCALAR, "user")],
    ), {0: 0, 1: 0}),
}  # fmt: skip


@pytest.mark.parametrize(
    # A computation, whole or (radius) around a center that stays a node; nodes in boxes with the operands written into
    # them, edges with operand numbers, boxes as computation, caller, outer box.
    ("name", "computation", "center", "radius", "merge_fusion", "opened", "expected"),
    [
        ("parameter", 0, None, 0, False, [], (
            "p",
            "p>ROOT",
            "",
        )),
        ("constant", 0, None, 0, False, [], (
            "two",
            "",
            "",
        )),
        ("spread", 0, None, 0, False, [], (
            "in rows(0:row) wide sum(1:two)(4:six)",
            "in>wide:0 in>sum:0 rows>sum:2 wide>sum:3 sum>ROOT",
            "",
        )),
        ("spread root", 0, None, 0, False, [], (
            "twos(0:two)",
            "",
            "",
        )),
        ("arguments", 0, None, 0, False, [], (
            "t a@0(0:part) none@0 low@0 h@0(0:two)(4:three) g",
            "t>a:0 a>h:1 none>h:2 low>h:3 h>g:0 g>ROOT",
            "1:f:None:True",
        )),
        ("unknown", 0, None, 0, False, [], (
            "a b c d(0:part) in@0 out@0 e in2@1 out2@1 w z(1:bare)",
            "a>b:0 a>in:0 in>out:0 d>e:1 in2>out2:0 a>w:0 w>z:0 z>ROOT",
            "1:f:None:True 2:w:None:False",
        )),
        ("unknown", 1, None, 0, False, [], (
            "in out",
            "in>out:0",
            "",
        )),
        ("unknown", 2, None, 0, False, [], (
            "in2 out2",
            "in2>out2:0",
            "",
        )),
        ("parts", 0, None, 0, False, [], (
            "g3(0:t)",
            "",
            "",
        )),
        ("fusion first", 0, None, 0, False, [], (
            "n@0(0:c) g",
            "n>g:0 g>ROOT",
            "1:f:None:True",
        )),
        ("rootless", 0, None, 0, False, [], (
            "a b",
            "a>b:0",
            "",
        )),
        ("twice", 0, None, 0, False, [], (
            "a x@0 y@0 b c d",
            "y>b:call x>y:0 a>b:0 y>c:call b>c:0 c>d:0 d>ROOT",
            "1:b:None:False",
        )),
        ("shared", 0, None, 0, False, [], (
            "a x@0 y@0 c w d",
            "a>x:0 x>y:0 y>c:0 y>w:call c>w:0 w>d:0 d>ROOT",
            "1:b:None:True",
        )),
        ("constant root", 0, None, 0, False, [], (
            "c n(0:c) two@0 user@0(0:two) more@0 w",
            "two>w:call user>more:0 n>w:0",
            "1:w:None:False",
        )),
        ("four", 0, None, 0, False, [], (
            "s(0:g0)(1:g1)(2:g2)(3:g3)",
            "s>ROOT",
            "",
        )),
        ("three", 0, None, 0, False, [], (
            "t s(0:g0)(1:g1)(2:g2)",
            "t>s:0 t>s:1 t>s:2 s>ROOT",
            "",
        )),
        ("used", 0, None, 0, False, [], (
            "t s(0:g0)(1:g1)(2:g2)(3:g3)",
            "t>s:0 t>s:1 t>s:2 t>s:3 t>s:4 s>ROOT",
            "",
        )),
        ("part", 0, None, 0, False, [], (
            "t n g",
            "t>n:0 n>g:0 n>ROOT",
            "",
        )),
        ("array", 0, None, 0, False, [], (
            "t u0 u1 u2 u3 s",
            "t>u0:0 t>u1:0 t>u2:0 t>u3:0 u0>s:0 u1>s:1 u2>s:2 u3>s:3 s>ROOT",
            "",
        )),
        ("nested", 0, None, 0, False, [], (
            "q n",
            "q>n:0 n>ROOT",
            "",
        )),
        ("spread", 1, None, 0, False, [], (
            "x cs(0:c) in@0 rows@0(0:row) wide@0 sum@0(1:two)(4:six) g(2:c)",
            "x>in:0 in>wide:0 in>sum:0 rows>sum:2 wide>sum:3 sum>g:0 cs>g:1 g>ROOT",
            "0:f:None:True",
        )),
        ("spread root", 1, None, 0, False, [], (
            "twos@0(0:two) g",
            "g>ROOT",
            "0:f:None:True",
        )),
        ("spread", 1, None, 0, True, [], (
            "x cs(0:c) f g(2:c)",
            "x>f:0 f>g:0 cs>g:1 g>ROOT",
            "",
        )),
        ("arguments", 1, None, 0, False, [], (
            "a(0:part) none low h(0:two)(4:three)",
            "a>h:1 none>h:2 low>h:3 h>ROOT",
            "",
        )),
        ("nested", 0, None, 0, True, ["f"], (
            "q n",
            "q>n:0 n>ROOT",
            "",
        )),
        ("nested", 1, None, 0, False, [], (
            "o0(0:g0) o1(0:g1) q@0 n@0 both pair",
            "o0>q:0 q>n:0 n>both:0 o1>both:1 both>pair:0 n>pair:1 pair>ROOT",
            "0:deep:None:True",
        )),
        ("constant root", 0, "c", 1, False, [], (
            "c",
            "",
            "",
        )),
        ("arguments", 0, "two", 1, False, [], (
            "two",
            "",
            "",
        )),
        ("four", 0, "t", 2, False, [], (
            "t s(0:g0)(1:g1)(2:g2)(3:g3)",
            "t>s:0 t>s:1 t>s:2 t>s:3 s>ROOT",
            "",
        )),
        ("four", 0, "g1", 2, False, [], (
            "g1(0:t) s(0:g0)(2:g2)(3:g3)",
            "g1>s:1 s>ROOT",
            "",
        )),
        ("four", 0, "g1", 1, False, [], (
            "t g1 s(0:g0)(2:g2)(3:g3)",
            "t>g1:0 t>s:0 g1>s:1 t>s:2 t>s:3 s>ROOT",
            "",
        )),
        ("spread", 0, "twos", 1, False, [], (
            "twos(0:two) sum(4:six)",
            "twos>sum:1 sum>ROOT",
            "",
        )),
        ("spread", 0, "in", 1, False, [], (
            "in wide sum(1:two)(4:six)",
            "in>wide:0 in>sum:0 wide>sum:3 sum>ROOT",
            "",
        )),
        ("nested", 0, "h0", 1, False, [], (
            "f(0:g0)(1:g1) h0 end(1:h1)",
            "f>h0:0 h0>end:0 f>end:1 end>ROOT",
            "",
        )),
        ("four", 0, "s", 0, False, [], (
            "s(0:g0)(1:g1)(2:g2)(3:g3)",
            "s>ROOT",
            "",
        )),
        ("nested", 0, "end", 1, False, [], (
            "end(0:h0)(1:h1)",
            "end>ROOT",
            "",
        )),
    ],
)  # fmt: skip
def test_nodes_boxes_and_edges(
    name: str, computation: int, center: str | None, radius: int, merge_fusion: bool, opened: list[str], expected
) -> None:
    program_found = hlo_programs(columns(profile(jit_f=DRAWN[name]))).program(1)
    assert program_found is not None
    links, row = Links(program_found), program_found.names.index
    of_opened = list(map(row, opened))
    if center is None:
        found = draw_computation(links, computation, merge_fusion=merge_fusion, opened=of_opened)
    else:
        near = draw_around(links, row(center), radius, merge_fusion=merge_fusion, opened=of_opened, keep_center=True)
        found = near[0]
    told = {**dict(enumerate(program_found.names)), ROOT: "ROOT"}
    nodes = [
        told[n.row] + ("" if n.box is None else f"@{n.box}") + "".join(f"({i}:{told[r]})" for i, r in n.inline)
        for n in found.nodes
    ]
    ends = {"control": ":control", "call": ":call", "root": ""}
    edges = [f"{told[e.source]}>{told[e.target]}" + ends.get(e.kind, f":{e.operand}") for e in found.edges]
    boxes = [f"{box.computation}:{told[box.caller]}:{box.parent}:{box.fusion}" for box in found.boxes]
    assert (" ".join(nodes), " ".join(edges), " ".join(boxes)) == expected


def _links(data: bytes) -> Links:
    found = hlo_programs(columns(profile(jit_f=data))).program(1)
    assert found is not None
    return Links(found)


@pytest.mark.parametrize(
    ("of", "scalar"),
    [("f32[]", True), ("s8[1,1]", True), ("f32[2]", False), ("f32[0]", False), ("token[]", False), (["f32[]"], False),
     ([], False)],
)  # fmt: skip
def test_scalars_have_one_element(of: str | list[str], scalar: bool) -> None:
    assert _links(program([op("x", "parameter", of)])).is_scalar(0) == scalar


def test_instructions_that_others_wait_for_and_computations_without_a_result() -> None:
    inside = [op(name, "parameter", SCALAR, parameter_number=i) for i, name in enumerate("ab")]
    links = _links(
        _odd(
            program(
                [op("x", "parameter", VECTOR), op("y", "negate", VECTOR, "x", control_predecessor_ids=[99, 1 << 32])],
                inside=[*inside, op("sum", "add", SCALAR, "a", "b")],
            ),
            {1: None},
        )
    )
    names = links.program.names
    assert [names[row] for row in links.before(names.index("y"))] == ["x"]
    assert links.simple(links.home(names.index("sum"))) is None


def _hub() -> bytes:
    users = [op(f"u{i}", "negate", VECTOR, "hub") for i in range(17)]
    return program(
        [op("p", "parameter", VECTOR), op("hub", "negate", VECTOR, "p"), *users,
         op("all", "custom-call", VECTOR, *(f"u{i}" for i in range(17)))]
    )  # fmt: skip


def _chain() -> bytes:
    entry = [
        op("a", "parameter", VECTOR), op("b", "negate", VECTOR, "a"), op("c", "negate", VECTOR, "b"),
        op("w", "call", VECTOR, "c", called=["sub", "rootless"]), op("d", "add", VECTOR, "w", "a"),
        op("lost", "add", VECTOR, "a", "a"), op("e", "add", VECTOR, "lost", "d"),
    ]  # fmt: skip
    sub = [op("x", "parameter", VECTOR), op("y", "negate", VECTOR, "x"), op("z", "abs", VECTOR, "y")]
    rootless = [op("r", "parameter", VECTOR), op("s", "negate", VECTOR, "r")]
    return _odd(program(entry, sub=sub, rootless=rootless), {1: 1, 2: None}, ["lost"])


@pytest.mark.parametrize(
    ("data", "center", "radius", "expected"),
    [
        (_chain(), "w", 0, "w 0 CENTER"),
        (_chain(), "w", 1, "c 1 NO_OPERANDS,d 1 SOME_OPERANDS,w 0 CENTER,y 1 WHOLE"),
        (_chain(), "w", 2, "a 2 WHOLE,b 2 WHOLE,c 1 WHOLE,d 1 WHOLE,e 2 SOME_OPERANDS,w 0 CENTER,"
                           "x 2 WHOLE,y 1 WHOLE,z 2 WHOLE"),
        (_chain(), "lost", 1, "e 1 SOME_OPERANDS,lost 0 CENTER"),
        (_hub(), "p", 2, "hub 1 SOME_USERS,p 0 CENTER"),
        (_hub(), "all", 3, ",".join(sorted(
            ["all 0 CENTER", "hub 2 WHOLE", "p 3 WHOLE", *(f"u{i} 1 WHOLE" for i in range(17))]
        ))),
    ],
)  # fmt: skip
def test_instructions_around_another(data: bytes, center: str, radius: int, expected: str) -> None:
    links = _links(data)
    names = links.program.names
    found = around(links, names.index(center), radius)
    assert ",".join(
        sorted(f"{names[row]} {found.distance[row]} {mark.name}" for row, mark in found.marks.items())
    ) == expected  # fmt: skip
