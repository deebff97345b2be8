"""Drawings of typed-in programs: what is shown, marked, opened and left out, as JSON, DOT and a page."""

from __future__ import annotations

import itertools
import re
from typing import Any

import pytest
from builders.programs.graph_answers import (
    CHAIN,
    DATA,
    INNER,
    TWICE,
    ask,
    drawn,
    facts,
    listed,
    loaded,
    names,
)
from builders.programs.hlo import op, program

from tpu_profile_plugin.analysis.hlo.drawing import HEAD, draw_computation, excerpt, place
from tpu_profile_plugin.analysis.hlo.graph import Links
from tpu_profile_plugin.tools.ops.graph_pictures import _shortened, _svg_path


def nested(depth: int) -> bytes:
    """A fusion of a fusion of a fusion and so on."""
    levels = {
        f"c{i}": [op(f"p{i}", "parameter", "f32[4]"), op(f"f{i}", "fusion", "f32[4]", f"p{i}", called=[f"c{i + 1}"])]
        for i in range(1, depth)
    }
    last = {f"c{depth}": [op("q", "parameter", "f32[4]"), op("n", "negate", "f32[4]", "q")]}
    return program([op("p", "parameter", "f32[4]"), op("f0", "fusion", "f32[4]", "p", called=["c1"])], **levels, **last)


def test_what_is_near() -> None:
    found = facts(node_name="t", graph_width="1", merge_fusion="true")
    assert names(found) == ["p", "f", "t"]  # the part of the tuple is written into its user
    nodes = {node["name"]: node for node in found["nodes"]}
    assert [(nodes[name]["distance"], nodes[name]["boundary"], nodes[name]["mark"]) for name in "pft"] == [
        (1, False, "whole"),
        (1, False, "whole"),
        (0, False, "center"),
    ]
    assert nodes["f"]["calls"] == ["inner"]
    assert listed(found) == [("p", "f", "data", 0), ("f", "t", "data", 0), ("p", "t", "data", 1)]


def test_constants_and_parts_of_tuples_are_written_into_their_users() -> None:
    found = facts(node_name="r", graph_width="1", merge_fusion="true")
    nodes = {node["name"]: node for node in found["nodes"]}
    assert sorted(nodes) == ["out", "r"]
    assert [(one["operand"], one["text"]) for one in nodes["r"]["inline"]] == [(0, "part 1 of t"), (1, "f32[] 1")]
    assert nodes["r"]["applies"] == ["add"]
    # The center itself is a node; XLA draws nothing around a constant.
    assert names(facts(node_name="zero", graph_width="1")) == ["zero"]
    assert drawn(DATA, "zero", "1")[1] == {}


def test_fusions_open_unless_merged() -> None:
    found = facts(node_name="f", graph_width="0")
    nodes = {node["name"]: node for node in found["nodes"]}
    assert sorted(nodes) == ["n", "q"]
    (box,) = found["boxes"]
    assert (box["name"], box["computation"], box["fusion"], box["center"]) == ("f", "inner", True, True)
    assert (nodes["q"]["parent"], nodes["q"]["box"]) == (box["caller"], box["id"])
    merged = facts(node_name="f", graph_width="0", merge_fusion="true")
    assert (names(merged), merged["boxes"]) == (["f"], [])


def test_single_fusions_open_in_place() -> None:
    found = facts(merge_fusion="true", expand="f,nope,p")
    assert [box["name"] for box in found["boxes"]] == ["f"]
    assert ("p", "q", "data", 0) in listed(found)
    assert ("n", "t", "data", 0) in listed(found)


def test_a_whole_computation() -> None:
    assert names(facts(node_name="sum")) == ["x", "y", "s"]
    found = facts(merge_fusion="true")
    assert (found["computation"], found["is_entry"], found["center"]) == ("entry", True, None)
    assert names(found) == ["p", "f", "t", "r", "out"]
    assert listed(found)[-1] == ("out", "ROOT", "root", 0)


def rect(shown: Any) -> tuple[int, int, int, int]:
    return shown["x"], shown["y"], shown["width"], shown["height"]


def test_everything_has_a_place_of_its_own() -> None:
    found = facts()
    (box,) = found["boxes"]
    x0, y0, box_width, box_height = rect(box)
    rects = {node["name"]: rect(node) for node in found["nodes"]}
    for name, (x, y, width, height) in rects.items():
        assert 0 <= x <= found["width"] - width
        assert 0 <= y <= found["height"] - height
        inside = x0 <= x and x + width <= x0 + box_width
        inside &= y0 <= y and y + height <= y0 + box_height
        assert inside == (name in "qn")
    for edge in found["edges"]:
        (_, begin), (_, end) = edge["points"][0], edge["points"][-1]
        assert begin < end  # operands are above


def test_dot_and_page_escape_names() -> None:
    data = program([op('<b>"x\\', "parameter", "f32[4]"), op("&y", "negate", "f32[4]", '<b>"x\\')])
    dot = ask(data, type="graph", node_name="&y", format="dot")
    assert "<b>&lt;b&gt;&quot;x\\</b>" in dot.body.decode()
    assert 'tooltip="<b>\\"x\\\\ -> &y"' in dot.body.decode()
    page = ask(data, type="graph", node_name="&y")
    assert page.content_type.startswith("text/html")
    assert "<b>&lt;b&gt;&quot;x\\</b>" in page.body.decode()


def test_the_page_draws_without_scripts_styles_and_other_servers() -> None:
    page = ask(type="graph", node_name="entry").body.decode()
    assert page.count("<svg ") == 1
    assert page.count("<path d=") == 1 + len(facts()["edges"])  # and the head of an arrow
    assert not [word for word in ("<script", "style", "url(http", 'href="http') if word in page]


def test_a_large_computation_is_cut() -> None:
    many = [op(f"n{i}", "negate" if i else "parameter", "f32[4]", *([f"n{i - 1}"] if i else [])) for i in range(2500)]
    found = facts(program(many))
    assert (len(found["nodes"]), found["omitted"]) == (2000, 500)
    assert names(found)[0] == "n500"  # the nearest to the result are kept
    assert (len(facts(program(many), max_nodes="3000")["nodes"]), facts(program(many), max_nodes="1")["omitted"]) == (
        2500,
        2499,
    )
    assert ask(program(many), type="graph", node_name="entry", format="dot").body.count(b"label=<") == 2501


def test_hops_are_counted_on_the_shortest_way() -> None:
    found = facts(node_name="t", graph_width="3", merge_fusion="true")
    assert {node["name"]: node["distance"] for node in found["nodes"]} == {"p": 1, "f": 1, "t": 0, "r": 2, "out": 3}
    assert [node["name"] for node in facts(node_name="sum")["nodes"] if node["root"]] == ["s"]
    through = [
        op("a", "parameter", "f32[4]"),
        op("b", "bitcast", "f32[2,2]", "a"),
        op("c", "negate", "f32[2,2]", "b"),
        op("d", "negate", "f32[2,2]", "c"),
    ]
    # The way to the operand of a bitcast is no hop.
    near = facts(program(through), node_name="d", graph_width="1", merge_fusion="true")
    assert names(near) == ["c", "d"]
    near = facts(program(through), node_name="d", graph_width="2", merge_fusion="true")
    assert {node["name"]: node["distance"] for node in near["nodes"]} == {"a": 1, "b": 1, "c": 1, "d": 0}


@pytest.mark.parametrize(
    ("name", "most", "shown", "left_out"),
    [("a", "3", "abc", 0), ("a", "2", "ab", 1), ("entry", "3", "abc", 0), ("entry", "2", "bc", 1)],
)
def test_as_many_nodes_as_may_be_shown(name: str, most: str, shown: str, left_out: int) -> None:
    found = facts(CHAIN, node_name=name, graph_width="9", merge_fusion="true", max_nodes=most)
    assert ("".join(names(found)), found["omitted"]) == (shown, left_out)


def test_an_excerpt_takes_what_is_not_connected_last() -> None:
    apart = [
        op("a", "parameter", "f32[4]"),
        op("b", "negate", "f32[4]", "a"),
        op("c", "parameter", "f32[4]", parameter_number=1),
    ]
    links = Links(loaded(program(apart)))
    drawing = draw_computation(links, 0, merge_fusion=True)
    assert [[links.program.names[node.row] for node in excerpt(drawing, most)[0].nodes] for most in (1, 2, 3)] == [
        ["c"],
        ["b", "c"],
        ["a", "b", "c"],
    ]


def test_what_two_fusions_share_is_shown_in_the_first() -> None:
    found = facts(TWICE)
    assert [box["name"] for box in found["boxes"]] == ["f"]
    assert sorted(names(found)) == ["g", "h", "n", "p", "q"]
    assert ("n", "g", "data", 0) in listed(found)


def test_what_a_closed_fusion_holds_is_not_shown_at_a_call_of_it_either() -> None:
    inner = [op("q", "parameter", "f32[4]"), op("n", "negate", "f32[4]", "q")]
    entry = [
        op("p", "parameter", "f32[4]"),
        op("f", "fusion", "f32[4]", "p", called=["inner"]),
        op("c", "call", "f32[4]", "f", called=["inner"]),
    ]
    found = facts(program(entry, inner=inner), merge_fusion="true")
    assert (names(found), found["boxes"]) == (["p", "f", "c"], [])


def test_fusions_in_fusions_open_to_any_depth() -> None:
    assert [len(facts(nested(depth))["boxes"]) for depth in (3, 12)] == [3, 12]
    few, many = (ask(nested(depth), type="graph", node_name="entry", format="dot").body.decode() for depth in (3, 50))
    assert [drawn.count("subgraph cluster_") for drawn in (few, many)] == [3, 32]
    assert many.count("}") == 33


def test_the_drawing_marks_the_centre_and_where_operands_are_missing() -> None:
    title, nodes = drawn(CHAIN, "b", "1")
    assert title == "Around b in entry"
    assert {name: "penwidth=3" in line for name, line in nodes.items()} == {"a": False, "b": True, "c": False}
    longer = program(
        [op("z", "parameter", "f32[4]"), *(op(n, "negate", "f32[4]", o) for n, o in zip("abc", "zab", strict=True))]
    )
    assert {name: "dashed" in line for name, line in drawn(longer, "c", "1")[1].items()} == {"b": True, "c": False}
    assert drawn(CHAIN, "entry", "1")[0] == "Entry computation entry"
    # An instruction inside a fusion that has the centre's name is another one.
    inner = [op("f", "parameter", "f32[4]"), op("n", "negate", "f32[4]", "f")]
    same = program([op("p", "parameter", "f32[4]"), op("f ", "fusion", "f32[4]", "p", called=["inner"])], inner=inner)
    shown = drawn(same, "f ", "0", merge_fusion="true")[1]
    assert {name: "penwidth=3" in line for name, line in shown.items()} == {"f ": True}


def test_users_are_not_followed_where_there_are_many() -> None:
    def crowd(users: int) -> bytes:
        return program([op("p", "parameter", "f32[4]"), *(op(f"u{i}", "negate", "f32[4]", "p") for i in range(users))])

    assert len(facts(crowd(16), node_name="u3", graph_width="2")["nodes"]) == 17
    nodes = facts(crowd(17), node_name="u3", graph_width="2")["nodes"]
    assert [(node["name"], node["mark"]) for node in nodes] == [("p", "some users not shown"), ("u3", "center")]


def test_metadata_adds_the_backend_configuration() -> None:
    data = program([op("c", "custom-call", "f32[]", backend_config=b'{"<a>":1}')])
    shown = {flag: drawn(data, "c", "1", show_metadata=flag)[1]["c"] for flag in ("true", "false")}
    assert "{&quot;&lt;a&gt;&quot;:1}" in shown["true"]
    assert "quot" not in shown["false"]


@pytest.mark.timeout(20)
def test_thousands_of_nodes_are_placed_in_seconds() -> None:
    many = [op("p", "parameter", "f32[4]")]
    for i in range(5000):  # a ladder with a long edge from the top to every rung
        many.append(op(f"n{i}", "add", "f32[4]", many[-1].name, "p" if i % 3 else many[len(many) // 2].name))
    links = Links(loaded(program(many)))
    placed = place(draw_computation(links, 0, merge_fusion=True), lambda row: (100, 40))
    assert len(placed.nodes) == 5002


@pytest.mark.parametrize(("rank", "end"), [(38, ",1]"), (39, ",1…")])
def test_long_shapes_are_cut_in_the_drawing(rank: int, end: str) -> None:
    shape = f"f32[{','.join('1' * rank)}]"
    line = drawn(program([op("a", "parameter", shape)]), "a", "0")[1]["a"]
    found = line.split("<br/>")[2].split(">,")[0]
    assert (len(found), found[-len(end) :]) == (80, end)


def test_neighbours_stand_side_by_side_with_their_texts_inside() -> None:
    six = [op(f"n{i}", "negate", "f32[4]", "x") for i in range(6)]
    joined = op("all", "concatenate", "f32[24]", *(f"n{i}" for i in range(6)))
    data = program([op("x", "parameter", "f32[4]"), *six, joined])
    row = sorted(rect(node) for node in facts(data)["nodes"] if node["name"].startswith("n"))
    assert [second[0] - first[0] - first[2] for first, second in itertools.pairwise(row)] == [18] * 5
    page = ask(data, type="graph", node_name="entry").body.decode()
    boxes = [node for node in re.findall(r'<a href="#n\d+">.*?</a>', page) if "<rect" in node]
    assert len(boxes) == 8
    for box in boxes:
        ((x, width),) = re.findall(r'<rect x="([\d.-]+)"[^>]* width="([\d.]+)"', box)
        assert {float(one) - float(x) for one in re.findall(r'<text x="([\d.-]+)"', box)} == {8}, width


RECT = (
    r'<rect x="(\d+)" y="(\d+)" width="(\d+)" height="(\d+)" rx="4" fill="#\w+" '
    r'stroke="(#\w+)" stroke-width="(\d)"([^>]*)/>'
)
TEXT = r'<text x="(\d+)" y="(\d+)"( font-weight="bold")?>(.*?)</text>'


def pictured(data: bytes, **params: str) -> tuple[dict[str, Any], str]:
    """The nodes of the picture of a page by name: where each is, how it is framed, its lines; and the page."""
    page = ask(data, type="graph", format="html", **params).body.decode()
    nodes = {}
    for node in re.findall(r'<a href="#n\d+"><title>.*?</a>', page):
        x, y, width, height, stroke, line, dashes = re.findall(RECT, node)[0]
        texts = re.findall(TEXT, node)
        # The first line is bold; all have the same margin, and a line is 14 high.
        assert [(int(left) - int(x), int(top) - int(y)) for left, top, *_ in texts] == [
            (8, 14 + 14 * i) for i in range(len(texts))
        ]
        assert [bool(bold) for *_, bold, _ in texts] == [True, *[False] * (len(texts) - 1)]
        assert (int(width), int(height)) == (172, 12 + 14 * len(texts))
        nodes[texts[0][3]] = (stroke, line, bool(dashes), [text for *_, text in texts[1:]])
    return nodes, page


def test_nodes_of_the_picture_are_framed_by_what_they_are() -> None:
    nodes, _ = pictured(CHAIN, node_name="b", graph_width="1")
    assert nodes == {
        "a": ("#757575", "1", False, ["parameter", "f32[4]"]),
        "b": ("#c62828", "3", False, ["negate", "f32[4]"]),
        "c": ("#757575", "1", False, ["negate", "f32[4]"]),
    }
    nodes, _ = pictured(CHAIN, node_name="c", graph_width="1")
    assert {name: dashed for name, (*_, dashed, _) in nodes.items()} == {"b": True, "c": False}


def test_boxes_of_the_picture_have_their_name_at_the_top() -> None:
    _, page = pictured(DATA, node_name="f", graph_width="0")
    frame, text = re.search(RECT, page), re.search(TEXT, page)
    assert frame is not None
    assert text is not None
    assert (frame[5], frame[6], text[4]) == ("#c62828", "3", "f: fusion")
    assert (int(text[1]) - int(frame[1]), int(text[2]) - int(frame[2])) == (10, HEAD // 2 + 2)
    # Without a center.
    _, page = pictured(DATA, node_name="entry")
    frame = re.search(RECT, page)
    assert frame is not None
    assert (frame[5], frame[6]) == ("#9e9e9e", "1")
    long = program(
        [op("p", "parameter", "f32[4]"), op("f" * 99, "fusion", "f32[4]", "p", called=["inner"])], inner=INNER
    )
    _, page = pictured(long, node_name="f" * 99, graph_width="0")
    frame, text = re.search(RECT, page), re.search(TEXT, page)
    assert frame is not None
    assert text is not None
    assert len(text[4]) == int(frame[3]) // 7 - 2


def test_the_result_is_marked_in_the_picture() -> None:
    _, page = pictured(CHAIN, node_name="entry")
    found = re.search(rf'{RECT}<text x="(\d+)" y="(\d+)">ROOT</text>', page)
    assert found is not None
    assert (int(found[8]) - int(found[1]), int(found[9]) - int(found[2])) == (14, 18)
    assert ">ROOT</text>" not in pictured(CHAIN, node_name="b", graph_width="0")[1]


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (3, ["0: s32[] 0", "1: s32[] 1", "2: s32[] 2"]),
        (4, ["0: s32[] 0", "1: s32[] 1", "2 more operands"]),
        (6, ["0: s32[] 0", "1: s32[] 1", "4 more operands"]),
    ],
)
def test_few_operands_are_written_into_a_node_of_the_picture(count: int, shown: list[str]) -> None:
    constants = [op(f"k{i}", "constant", "s32[]", literal={"s32s": [i]}) for i in range(count)]
    joined = op("j", "custom-call", "s32[8]", *(f"k{i}" for i in range(count)))
    nodes, _ = pictured(program([*constants, joined]), node_name="j", graph_width="1")
    assert nodes["j"][3][2:] == shown


def test_long_texts_lose_their_middle() -> None:
    assert [_shortened("abcdefg", most) for most in (7, 6, 5)] == ["abcdefg", "abc…fg", "ab…fg"]


def test_lines_of_the_picture_go_straight_down_or_in_a_bow() -> None:
    assert _svg_path([(3, 10), (3, 30)]) == "M3 10V30"
    assert _svg_path([(3, 10), (9, 30), (9, 50)]) == "M3 10C3 20 9 20 9 30V50"


def test_loops_are_round_and_centers_red_for_graphviz() -> None:
    body = [op("s", "parameter", "f32[4]"), op("n", "negate", "f32[4]", "s")]
    loop = op("w", "while", "f32[4]", "p", called=["body", "cond"])
    cond = [op("c", "parameter", "f32[4]"), op("t", "constant", "pred[]", literal={"preds": [True]})]
    data = program([op("p", "parameter", "f32[4]"), loop], body=body, cond=cond)
    round_ones = [name for name, style in drawn(data, "w", "1")[1].items() if "ellipse" in str(style)]
    assert round_ones == ["w"]
    styles = [
        ask(DATA, type="graph", node_name=name, graph_width="0", format="dot").body.decode().count('"rounded,bold"')
        for name in ("f", "q")
    ]
    assert styles == [1, 0]
