"""Graph viewer on typed-in programs: every form of answer, errors, and programs made to do harm."""

from __future__ import annotations

import base64
import json
from contextlib import suppress

import pytest
from builders.answers import payload, run_of
from builders.damage import programs
from builders.programs.buffers import profile
from builders.programs.graph_answers import (
    CHAIN,
    DATA,
    ENTRY,
    INNER,
    SUM,
    TWICE,
    ask,
    facts,
    loaded,
    names,
)
from builders.programs.hlo import op, program
from builders.xspace_text import build

from tpu_profile_plugin.compat.xprof import FORMS
from tpu_profile_plugin.errors import BadRequest, NotFound, ProfileError
from tpu_profile_plugin.protos import message
from tpu_profile_plugin.tools.ops import graph_viewer as tool_module
from tpu_profile_plugin.tools.ops.graph_viewer import TOOL
from tpu_profile_plugin.tools.payload import encode

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


def test_a_module_by_its_name_without_the_id() -> None:
    # XProf's trace viewer asks so: module "a" of an event, not a(2) of the list. Every program has an op n.
    made = {
        module: program([op(first, "parameter", "f32[]"), op("n", "negate", "f32[]", first)], module=module)
        for first, module in (("p", "other"), ("q", "a"), ("r", "ab"))
    }
    run = run_of(build(profile(**made)))

    def operands(**asked: str) -> object:
        return json.loads(encode(TOOL.build(run, TOOL.query({"type": "adj_nodes", **asked}))).body)["operand_names"]

    assert operands(module_name="a", node_name="n") == ["q"]
    assert operands(module_name="a(2)", node_name="n") == ["q"]
    # A module that is not there: a program that has the op, as in XProf.
    assert operands(module_name="b", node_name="r") == operands(program_id="9", node_name="r") == []
    assert operands(module_name="a", node_name="p") == []
    with pytest.raises(NotFound, match=r"There is no HLO module 'a' "):
        operands(module_name="a", node_name="nope")
    with pytest.raises(NotFound, match=r"There is no HLO module 'a' "):
        operands(module_name="a", type="short_txt")


def test_custom_call_configuration() -> None:
    def config(**call: str) -> bytes:
        return json.dumps({"custom_call_config": call, "flag": True}).encode()

    deep = config(body=base64.b64encode(b"ML\xefR\x0d").decode()).replace(b"true", b"[" * 3000 + b"]" * 3000)
    bodies = {
        "plain": b'{"a":1}',
        "deep": deep,
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
    assert ask(data, type="custom_call", node_name="deep").body == deep
    with pytest.raises(NotFound, match="d has no backend configuration"):
        ask(data, type="custom_call", node_name="d")


def test_what_xprof_refuses() -> None:
    run = run_of(build(profile(jit_f=DATA)))
    for params, sentence in (
        ({}, "must provide a type option"),
        ({"type": "graph"}, "node_name should not be empty"),
        ({"type": "me_graph", "node_name": "r"}, r"Model Explorer .* is not public"),
        ({"type": "graph", "node_name": "r", "format": "url"}, "No service is registered"),
    ):
        with pytest.raises(BadRequest, match=sentence):
            payload(FORMS["graph_viewer"], run, **params)


def test_without_parameters_the_entry_computation_is_drawn() -> None:
    assert json.loads(ask().body)["is_entry"] is True
    assert ask(type="graph").body.count(b"<svg ") == 1


def test_errors() -> None:
    for kind in ("adj_nodes", "custom_call"):
        with pytest.raises(BadRequest, match="node_name should not be empty"):
            ask(type=kind)
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


@pytest.mark.parametrize("place", [0, 1, 2])
def test_the_program_that_has_the_instruction_is_found_among_those_that_mention_it(place: int) -> None:
    mentions = program([op("a", "parameter", "f32[4]", op_name="target"), op("b", "negate", "f32[4]", "a")])
    has = program([op("c", "parameter", "f32[4]"), op("target", "negate", "f32[4]", "c")])
    made = {f"m{i}": has if i == place else mentions for i in range(3)}
    run = run_of(build(profile(**made)))
    found = json.loads(encode(TOOL.build(run, TOOL.query({"type": "json", "node_name": "target"}))).body)
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


def test_the_first_instruction_is_a_neighbour_like_any_other() -> None:
    assert json.loads(ask(type="adj_nodes", node_name="f").body) == {"consumer_names": ["t"], "operand_names": ["p"]}
    (only,) = facts(CHAIN, node_name="b", graph_width="0")["nodes"]
    assert (only["boundary"], only["mark"]) == (True, "center")
    near = facts(TWICE, node_name="g", graph_width="1", merge_fusion="true")
    assert [node["name"] for node in near["nodes"] if node["boundary"]] == ["f", "h"]


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


def test_a_named_program_is_the_one_that_is_searched() -> None:
    both = profile(first=CHAIN, second=TWICE)
    run = run_of(build(both))
    for params in ({"module_name": "test(1)"}, {"program_id": "1"}):
        asked = {"type": "json", "node_name": "g", **params}
        with pytest.raises(NotFound, match="named g"):
            TOOL.build(run, TOOL.query(asked))
