"""Answers of the graph viewer about typed-in programs: one with one of everything, a chain, a shared fusion."""

from __future__ import annotations

import json
from typing import Any

from builders.answers import payload, run_of
from builders.programs.buffers import profile
from builders.programs.hlo import op, program
from builders.shown import profile as columns
from builders.xspace_text import build
from tpu_profile_plugin.analysis.hlo.programs import Program, hlo_programs
from tpu_profile_plugin.tools.ops.graph_viewer import TOOL
from tpu_profile_plugin.tools.payload import Raw, encode

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


def ask(data: bytes = DATA, **params: str) -> Raw:
    """The answer to a request about a profile with one program."""
    return encode(payload(TOOL, run_of(build(profile(jit_f=data))), **params))


def facts(data: bytes = DATA, **params: str) -> Any:
    """The parsed answer of type=json."""
    return json.loads(ask(data, type="json", **params).body)


def names(found: Any) -> list[str]:
    """The names of its nodes."""
    return [node["name"] for node in found["nodes"]]


def listed(found: Any) -> list[tuple[str, str, str, int]]:
    """Edges by name: (from, to, kind, operand)."""
    by_id = {-1: "ROOT", **{node["id"]: node["name"] for node in found["nodes"]}}
    return [(by_id[edge["source"]], by_id[edge["target"]], edge["kind"], edge["operand"]) for edge in found["edges"]]


def loaded(data: bytes) -> Program:
    """The decoded program."""
    found = hlo_programs(columns(profile(jit_f=data))).program(1)
    assert found is not None
    return found


def drawn(data: bytes, name: str, width: str, **params: str) -> tuple[str, dict[str, str]]:
    """The title of a drawing, and the attributes of each node by name."""
    dot = ask(data, type="graph", node_name=name, graph_width=width, format="dot", **params).body.decode()
    title = dot.split('label = "')[1].split('"')[0]
    nodes = [line for line in dot.splitlines() if line.startswith("n") and "<b>" in line]
    return title, {line.split("<b>")[1].split("</b>")[0]: line for line in nodes}
