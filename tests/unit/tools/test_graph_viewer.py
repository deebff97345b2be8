"""Graph viewer on typed-in programs: every form, what is near, and programs made to do harm."""

from __future__ import annotations

import base64
import json
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from builders.buffers import profile
from builders.damage import programs
from builders.hlo import op, program
from builders.shown import profile as columns
from builders.xspace_text import build

from tpu_profile_plugin.analysis.hlo.drawing import draw_computation, excerpt
from tpu_profile_plugin.analysis.hlo.graph import Links
from tpu_profile_plugin.analysis.hlo.placement import place
from tpu_profile_plugin.analysis.hlo.programs import Program, hlo_programs
from tpu_profile_plugin.cache.profiles import ProfileCache
from tpu_profile_plugin.errors import BadRequest, NotFound, ProfileError
from tpu_profile_plugin.protos import message
from tpu_profile_plugin.toolkit.host import HostProfile
from tpu_profile_plugin.toolkit.inputs import Inputs
from tpu_profile_plugin.toolkit.payload import Raw, encode
from tpu_profile_plugin.tools.graph_viewer import tool as tool_module
from tpu_profile_plugin.tools.graph_viewer.tool import TOOL

SUM = [
    op("x", "parameter", "f32[]"),
    op("y", "parameter", "f32[]", parameter_number=1),
    op("s", "add", "f32[]", "x", "y"),
]
INNER = [op("q", "parameter", "f32[4]"), op("n", "negate", "f32[4]", "q")]
ENTRY = [
    op("p", "parameter", "f32[4]", op_name='a"b'),
    op("f", "fusion", "f32[4]", "p", called=["inner"], fusion_kind="kLoop"),
    op("t", "tuple", ["f32[4]", "f32[4]"], "f", "p"),
    op("g", "get-tuple-element", "f32[4]", "t", tuple_index=1),
    op("zero", "constant", "f32[]", literal={"f32s": [1.0]}),
    op("r", "reduce", "f32[]", "g", "zero", called=["sum"], dimensions=[0]),
    op("out", "negate", "f32[]", "r"),
]
DATA = program(ENTRY, inner=INNER, sum=SUM)
SHORT = """HloModule test

inner {
  q = f32[4] parameter(0)
  ROOT n = f32[4] negate(q)
}

sum {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = f32[] add(x, y)
}

ENTRY entry {
  p = f32[4] parameter(0)
  f = f32[4] fusion(p), kind=kLoop, calls=inner
  t = (f32[4], f32[4]) tuple(f, p)
  g = f32[4] get-tuple-element(t), index=1
  zero = f32[] constant(1)
  r = f32[] reduce(g, zero), dimensions={0}, to_apply=sum
  ROOT out = f32[] negate(r)
}

"""


def ask(data: bytes = DATA, **params: str) -> Raw:
    space = np.frombuffer(build(profile(jit_f=data)), np.uint8)
    host = HostProfile("h", 0, "h.xplane.pb", 0, lambda: space, ProfileCache(1 << 28))
    return encode(
        TOOL.build(Inputs("r", (host,), {param.name: param.parse(params.get(param.name)) for param in TOOL.params}))
    )


def facts(data: bytes = DATA, **params: str) -> Any:
    return json.loads(ask(data, type="json", **params).body)


def test_short_text() -> None:
    raw = ask(type="short_txt")
    assert raw.body.decode() == SHORT
    assert raw.content_type == "application/octet-stream"


def test_long_text_says_more() -> None:
    text = ask(type="long_txt").body.decode()
    assert "ENTRY %entry (p: f32[4]) -> f32[] {" in text
    assert "  %p = f32[4] parameter(0)\n" in text
    assert "%sum (x: f32[], y: f32[]) -> f32[] {" in text


@pytest.mark.parametrize(("kind", "name"), [("short_txt", "p"), ("long_txt", "%p")])
def test_both_texts_say_on_request_where_instructions_come_from(kind: str, name: str) -> None:
    text = ask(type=kind, show_metadata="true").body.decode()
    assert f'  {name} = f32[4] parameter(0), metadata={{op_name="a\\"b"}}\n' in text


def test_text_of_one_computation() -> None:
    assert (
        ask(type="short_txt", node_name="n").body.decode()
        == "inner {\n  q = f32[4] parameter(0)\n  ROOT n = f32[4] negate(q)\n}\n"
    )
    assert ask(type="short_txt", node_name="inner").body == ask(type="short_txt", node_name="q").body


def test_protos() -> None:
    assert ask(type="pb").body == DATA
    text = ask(type="pbtxt").body.decode()
    assert text.startswith('hlo_module {\n  name: "test"\n')
    assert '        op_name: "a\\"b"\n' in text
    assert "f32s: 1.0\n" in text
    assert "      dimensions: 0\n" in text


def test_neighbours_look_through_tuples() -> None:
    raw = ask(type="adj_nodes", node_name="r")
    assert json.loads(raw.body) == {"consumer_names": ["out"], "operand_names": ["g", "zero"]}
    assert raw.content_type.startswith("text/plain")
    parts = [
        op("p", "parameter", "f32[4]"),
        op("t", "tuple", ["f32[4]", "f32[4]"], "p", "p"),
        op("get-tuple-element.1", "get-tuple-element", "f32[4]", "t", tuple_index=1),
        op("twice", "add", "f32[4]", "get-tuple-element.1", "get-tuple-element.1"),
    ]
    # The name decides, not the opcode; an operand that is used twice is listed twice.
    data = program(parts)
    for name in ("twice", "%twice", "TWICE"):
        found = json.loads(ask(data, type="adj_nodes", node_name=name).body)
        assert found == {"consumer_names": [], "operand_names": ["t", "t"]}
    assert json.loads(ask(data, type="adj_nodes", node_name="t").body)["consumer_names"] == ["twice"]
    assert json.loads(ask(data, type="adj_nodes", node_name="p").body)["consumer_names"] == ["t"]
    with pytest.raises(BadRequest, match="entry is a computation"):
        ask(data, type="adj_nodes", node_name="entry", module_name="test(1)")


def names(found: Any) -> list[str]:
    return [node["name"] for node in found["nodes"]]


def listed(found: Any) -> list[tuple[str, str, str, int]]:
    """Edges by name: (from, to, kind, operand)."""
    by_id = {-1: "ROOT", **{node["id"]: node["name"] for node in found["nodes"]}}
    return [(by_id[edge["from"]], by_id[edge["to"]], edge["kind"], edge["operand"]) for edge in found["edges"]]


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
    assert (found["computation"], found["isEntry"], found["center"]) == ("entry", True, None)
    assert names(found) == ["p", "f", "t", "r", "out"]
    assert listed(found)[-1] == ("out", "ROOT", "root", 0)


def test_everything_has_a_place_of_its_own() -> None:
    found = facts()
    (box,) = found["boxes"]
    rects = {node["name"]: node["at"] for node in found["nodes"]}
    for name, (x, y, width, height) in rects.items():
        assert 0 <= x <= found["width"] - width
        assert 0 <= y <= found["height"] - height
        inside = box["at"][0] <= x and x + width <= box["at"][0] + box["at"][2]
        inside &= box["at"][1] <= y and y + height <= box["at"][1] + box["at"][3]
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


def test_custom_call_configuration() -> None:
    def config(**call: str) -> bytes:
        return json.dumps({"custom_call_config": call, "flag": True}).encode()

    bodies = {
        "plain": b'{"a":1}',
        "text": config(body=base64.b64encode(b"module {}").decode()),
        "bytecode": config(body=base64.b64encode(b"ML\xefR\x0d").decode()),
    }
    data = program([op(name, "custom-call", "f32[]", backend_config=body) for name, body in bodies.items()] + [
        op("d", "negate", "f32[]", "plain")
    ])  # fmt: skip
    assert ask(data, type="custom_call", node_name="plain").body == b'{"a":1}'
    assert ask(data, type="custom_call", node_name="text").body == b"module {}"
    found = json.loads(ask(data, type="custom_call", node_name="bytecode").body)
    assert found["flag"]
    assert found["custom_call_config"]["body"].startswith("5 bytes of MLIR bytecode")
    with pytest.raises(NotFound, match="d has no backend configuration"):
        ask(data, type="custom_call", node_name="d")


def test_errors() -> None:
    with pytest.raises(BadRequest, match="must provide a type option"):
        ask()
    with pytest.raises(BadRequest, match="node_name should not be empty"):
        ask(type="graph")
    with pytest.raises(BadRequest, match=r"Model Explorer .* is not public"):
        ask(type="me_graph", node_name="r")
    with pytest.raises(BadRequest, match="No service is registered"):
        ask(type="graph", node_name="r", format="url")
    for kind in ("graph", "json", "adj_nodes", "custom_call", "short_txt"):
        with pytest.raises(NotFound, match="Couldn't find HloInstruction or HloComputation named nope"):
            ask(type=kind, node_name="nope", module_name="test(1)")
    with pytest.raises(NotFound, match="nope"):
        ask(type="json", node_name="nope")


@pytest.mark.timeout(30)
def test_programs_that_make_no_sense() -> None:
    looped = [op("a", "negate", "f32[4]", "b", called=["entry"]), op("b", "fusion", "f32[4]", "a", called=["entry"])]
    big = [op("big", "constant", "f32[]", literal={"shape": {"element_type": 11, "dimensions": [2**31 - 1, 0]}})]
    deep = programs.one(programs.nested_shape(3000))
    for data in (program(looped), program(big), deep, program(ENTRY, inner=INNER, sum=SUM)[:-40]):
        for params in (
            {"type": "short_txt"},
            {"type": "long_txt"},
            {"type": "pbtxt"},
            {"type": "json"},
            {"type": "graph", "format": "dot", "node_name": "a"},
        ):
            with suppress(ProfileError):
                ask(data, **params)


def test_a_large_computation_is_cut() -> None:
    many = [op(f"n{i}", "negate" if i else "parameter", "f32[4]", *([f"n{i - 1}"] if i else [])) for i in range(2500)]
    found = facts(program(many))
    assert (len(found["nodes"]), found["truncated"], found["leftOut"]) == (2000, True, 500)
    assert names(found)[0] == "n500"  # the nearest to the result are kept
    assert (len(facts(program(many), max_nodes="3000")["nodes"]), facts(program(many), max_nodes="1")["leftOut"]) == (
        2500,
        2499,
    )
    assert ask(program(many), type="graph", node_name="entry", format="dot").body.count(b"label=<") == 2501


@pytest.mark.parametrize("place", [0, 1, 2])
def test_the_program_that_has_the_instruction_is_found_among_those_that_mention_it(place: int) -> None:
    mentions = program([op("a", "parameter", "f32[4]", op_name="target"), op("b", "negate", "f32[4]", "a")])
    has = program([op("c", "parameter", "f32[4]"), op("target", "negate", "f32[4]", "c")])
    made = {f"m{i}": has if i == place else mentions for i in range(3)}
    space = np.frombuffer(build(profile(**made)), np.uint8)
    host = HostProfile("h", 0, "h.xplane.pb", 0, lambda: space, ProfileCache(1 << 28))
    params = {param.name: param.parse({"type": "json", "node_name": "target"}.get(param.name)) for param in TOOL.params}
    found = json.loads(encode(TOOL.build(Inputs("r", (host,), params))).body)
    assert (found["module"], found["center"]) == (f"test({place + 1})", "target")


@pytest.mark.parametrize(("limit", "refused"), [(-1, True), (0, False)])
def test_programs_up_to_a_size_are_written_as_text(limit: int, refused: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    own = loaded(DATA)
    monkeypatch.setattr(tool_module, "_LARGEST_TEXT", len(own.space.blob(own.module.proto)) + limit)
    if refused:
        with pytest.raises(BadRequest, match="too large for the text form"):
            ask(type="pbtxt")
    else:
        assert ask(type="pbtxt").body.startswith(b"hlo_module {")


CHAIN = program([op("a", "parameter", "f32[4]"), op("b", "negate", "f32[4]", "a"), op("c", "negate", "f32[4]", "b")])
TWICE = program(
    [
        op("p", "parameter", "f32[4]"),
        op("f", "fusion", "f32[4]", "p", called=["inner"]),
        op("g", "fusion", "f32[4]", "f", called=["inner"]),
        op("h", "add", "f32[4]", "g", "p"),
    ],
    inner=INNER,
)


def nested(depth: int) -> bytes:
    """A fusion of a fusion of a fusion and so on."""
    levels = {
        f"c{i}": [op(f"p{i}", "parameter", "f32[4]"), op(f"f{i}", "fusion", "f32[4]", f"p{i}", called=[f"c{i + 1}"])]
        for i in range(1, depth)
    }
    last = {f"c{depth}": [op("q", "parameter", "f32[4]"), op("n", "negate", "f32[4]", "q")]}
    return program([op("p", "parameter", "f32[4]"), op("f0", "fusion", "f32[4]", "p", called=["c1"])], **levels, **last)


def loaded(data: bytes) -> Program:
    found = hlo_programs(columns(profile(jit_f=data))).program(1)
    assert found is not None
    return found


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


def test_the_first_instruction_is_a_neighbour_like_any_other() -> None:
    assert json.loads(ask(type="adj_nodes", node_name="f").body) == {"consumer_names": ["t"], "operand_names": ["p"]}
    (only,) = facts(CHAIN, node_name="b", graph_width="0")["nodes"]
    assert (only["boundary"], only["mark"]) == (True, "center")
    near = facts(TWICE, node_name="g", graph_width="1", merge_fusion="true")
    assert [node["name"] for node in near["nodes"] if node["boundary"]] == ["f", "h"]


@pytest.mark.parametrize(
    ("name", "most", "shown", "left_out"),
    [("a", "3", "abc", 0), ("a", "2", "ab", 1), ("entry", "3", "abc", 0), ("entry", "2", "bc", 1)],
)
def test_as_many_nodes_as_may_be_shown(name: str, most: str, shown: str, left_out: int) -> None:
    found = facts(CHAIN, node_name=name, graph_width="9", merge_fusion="true", max_nodes=most)
    assert ("".join(names(found)), found["leftOut"]) == (shown, left_out)


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


@pytest.mark.parametrize("missing", [1, 2**62])
def test_operands_that_do_not_exist_are_left_out(missing: int) -> None:
    broken = message("xla.HloProto").FromString(CHAIN)
    (entry,) = broken.hlo_module.computations
    for instruction in entry.instructions:
        instruction.operand_ids.append(missing)
    data = broken.SerializeToString()
    assert json.loads(ask(data, type="adj_nodes", node_name="b").body) == {
        "consumer_names": ["c"], "operand_names": ["a"]
    }  # fmt: skip
    found = facts(data, node_name="b")
    assert (names(found), len(found["edges"])) == (["a", "b", "c"], 3)
    assert [node["boundary"] for node in found["nodes"]] == [False] * 3
    assert f"c = f32[4] negate(b, unknown.{missing})" in ask(data, type="short_txt").body.decode()


def test_what_two_fusions_share_is_shown_in_the_first() -> None:
    found = facts(TWICE)
    assert [box["name"] for box in found["boxes"]] == ["f"]
    assert sorted(names(found)) == ["g", "h", "n", "p", "q"]
    assert ("n", "g", "data", 0) in listed(found)


def test_fusions_in_fusions_open_to_any_depth() -> None:
    assert [len(facts(nested(depth))["boxes"]) for depth in (3, 12)] == [3, 12]
    few, many = (ask(nested(depth), type="graph", node_name="entry", format="dot").body.decode() for depth in (3, 50))
    assert [drawn.count("subgraph cluster_") for drawn in (few, many)] == [3, 32]
    assert many.count("}") == 33


def drawn(data: bytes, name: str, width: str, **params: str) -> tuple[str, dict[str, str]]:
    """The title of a drawing, and the attributes of each node by name."""
    dot = ask(data, type="graph", node_name=name, graph_width=width, format="dot", **params).body.decode()
    title = dot.split('label = "')[1].split('"')[0]
    nodes = [line for line in dot.splitlines() if line.startswith("n") and "<b>" in line]
    return title, {line.split("<b>")[1].split("</b>")[0]: line for line in nodes}


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


def test_a_named_program_is_the_one_that_is_searched() -> None:
    both = profile(first=CHAIN, second=TWICE)
    space = np.frombuffer(build(both), np.uint8)
    host = HostProfile("h", 0, "h.xplane.pb", 0, lambda: space, ProfileCache(1 << 28))
    for params in ({"module_name": "test(1)"}, {"program_id": "1"}):
        asked = {"type": "json", "node_name": "g", **params}
        with pytest.raises(NotFound, match="named g"):
            TOOL.build(Inputs("r", (host,), {param.name: param.parse(asked.get(param.name)) for param in TOOL.params}))
