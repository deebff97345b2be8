"""Typed-in HLO programs, one per rule of what a drawing of a program shows."""

from __future__ import annotations

from typing import Any

from builders.programs.hlo import op, program
from tpu_profile_plugin.protos import message

ADD = [
    op("x", "parameter", "f32[]"),
    op("y", "parameter", "f32[]", parameter_number=1),
    op("sum", "add", "f32[]", "x", "y"),
]
INNER = [op("q", "parameter", "f32[4]"), op("n", "negate", "f32[4]", "q")]


def _scalars() -> bytes:
    """Constants, inside and outside of fusions, and reductions by a simple computation."""
    inside = [
        op("a", "parameter", "f32[4,8]"),
        op("k", "parameter", "f32[]", parameter_number=1),
        op("half", "constant", "f32[]", literal={"f32s": [0.5]}),
        op("halves", "broadcast", "f32[4,8]", "half"),
        op("ks", "broadcast", "f32[4,8]", "k"),
        op("scaled", "multiply", "f32[4,8]", "a", "halves"),
        op("twice", "add", "f32[4,8]", "scaled", "ks"),
    ]
    entry = [
        op("p", "parameter", "f32[4,8]"),
        op("three", "constant", "f32[]", literal={"f32s": [3.0]}),
        op("f", "fusion", "f32[4,8]", "p", "three", called=["fused"], fusion_kind="kLoop"),
        op("zero", "constant", "f32[]", literal={"f32s": [0.0]}),
        op("square", "multiply", "f32[4,8]", "f", "f"),
        op("r", "reduce", "f32[4]", "square", "zero", called=["add"], dimensions=[1]),
        op("all", "reduce", "f32[]", "r", "zero", called=["odd"], dimensions=[0]),
    ]
    odd = [
        op("l", "parameter", "f32[]"),
        op("m", "parameter", "f32[]", parameter_number=1),
        op("o", "subtract", "f32[]", "l", "m"),
    ]
    return program(entry, fused=inside, add=ADD, odd=odd)


def _loop() -> bytes:
    """A loop over a tuple of four parts, whose parameter is written into them; control predecessors; a conditional."""
    of = ["s32[]", "f32[4]", "f32[4]", "f32[4]"]
    body = [
        op("state", "parameter", of),
        *(op(f"part{i}", "get-tuple-element", of[i], "state", tuple_index=i) for i in range(4)),
        op("one", "constant", "s32[]", literal={"s32s": [1]}),
        op("next", "add", "s32[]", "part0", "one"),
        op("moved", "add", "f32[4]", "part1", "part2"),
        op("after", "tuple", of, "next", "moved", "part2", "part3"),
    ]
    test = [
        op("seen", "parameter", of),
        op("count", "get-tuple-element", "s32[]", "seen", tuple_index=0),
        op("most", "constant", "s32[]", literal={"s32s": [8]}),
        op("less", "compare", "pred[]", "count", "most", comparison_direction="LT"),
    ]
    entry = [
        op("start", "parameter", "s32[]"),
        op("values", "parameter", "f32[4]", parameter_number=1),
        op("state0", "tuple", of, "start", "values", "values", "values"),
        op("while.1", "while", of, "state0", called=["body", "test"]),
        op("result", "get-tuple-element", "f32[4]", "while.1", tuple_index=1),
        op("side", "negate", "f32[4]", "values"),
        op("which", "constant", "pred[]", literal={"preds": [True]}),
        op("choice", "conditional", "f32[4]", "which", "result", "side", called=["yes", "no"]),
        op("last", "get-tuple-element", "f32[4]", "while.1", tuple_index=3),
    ]
    yes = [op("in_yes", "parameter", "f32[4]"), op("out_yes", "negate", "f32[4]", "in_yes")]
    no = [op("in_no", "parameter", "f32[4]"), op("out_no", "abs", "f32[4]", "in_no")]
    return program(entry, body=body, test=test, yes=yes, no=no)


def _crowd() -> bytes:
    """A result with twenty users, a tuple of them, bitcasts on the way, and an instruction that waits for another."""
    entry = [
        op("p", "parameter", "f32[4]"),
        op("hub", "negate", "f32[4]", "p"),
        *(op(f"user{i}", "abs", "f32[4]", "hub") for i in range(20)),
        op("flat", "bitcast", "f32[2,2]", "user0"),
        op("back", "bitcast", "f32[4]", "flat"),
        op("far", "negate", "f32[4]", "back"),
        op("f", "fusion", "f32[4]", "far", "user3", called=["two"], fusion_kind="kLoop"),
        op("many", "tuple", ["f32[4]"] * 3, "f", "user1", "user2"),
    ]
    two = [
        op("first", "parameter", "f32[4]"),
        op("second", "parameter", "f32[4]", parameter_number=1),
        op("both", "add", "f32[4]", "first", "second"),
    ]
    return _with_order(program(entry, two=two), "far", "user5")


def _nested() -> bytes:
    """A fusion in a fusion, a fusion of parts of a tuple, a fusion that answers a tuple."""
    outer = [
        op("o0", "parameter", "f32[4]"),
        op("o1", "parameter", "f32[4]", parameter_number=1),
        op("deep", "fusion", "f32[4]", "o0", called=["inner"], fusion_kind="kLoop"),
        op("both", "add", "f32[4]", "deep", "o1"),
        op("pair", "tuple", ["f32[4]", "f32[4]"], "both", "deep"),
    ]
    entry = [
        op("t", "parameter", ["f32[4]", "f32[4]"]),
        op("g0", "get-tuple-element", "f32[4]", "t", tuple_index=0),
        op("g1", "get-tuple-element", "f32[4]", "t", tuple_index=1),
        op("f", "fusion", ["f32[4]", "f32[4]"], "g0", "g1", called=["outer"], fusion_kind="kOutput"),
        op("h0", "get-tuple-element", "f32[4]", "f", tuple_index=0),
        op("h1", "get-tuple-element", "f32[4]", "f", tuple_index=1),
        op("end", "add", "f32[4]", "h0", "h1"),
    ]
    return program(entry, outer=outer, inner=INNER)


def _with_order(data: bytes, later: str, earlier: str) -> bytes:
    """The program with a control predecessor."""
    made = message("xla.HloProto").FromString(data)
    known = {one.name: one for computation in made.hlo_module.computations for one in computation.instructions}
    known[later].control_predecessor_ids.append(known[earlier].id)
    return bytes(made.SerializeToString(deterministic=True))


def _lay_out(shape: Any) -> None:
    for part in shape.tuple_shapes:
        _lay_out(part)
    if not shape.tuple_shapes:
        shape.layout.SetInParent()
        shape.layout.minor_to_major[:] = range(len(shape.dimensions))[::-1]
        shape.is_dynamic_dimension[:] = [False] * len(shape.dimensions)


def _loadable(data: bytes) -> bytes:
    """The program with the signatures and layouts without which XLA does not load it."""
    made = message("xla.HloProto").FromString(data)
    for one in made.hlo_module.computations:
        for each in one.instructions:
            _lay_out(each.shape)
            if each.opcode == "constant":
                _lay_out(each.literal.shape)
            if each.opcode == "parameter":
                one.program_shape.parameters.append(each.shape)
                one.program_shape.parameter_names.append(each.name)
        one.program_shape.result.CopyFrom(next(each.shape for each in one.instructions if each.id == one.root_id))
        if one.id == made.hlo_module.entry_computation_id:
            made.hlo_module.host_program_shape.CopyFrom(one.program_shape)
            made.hlo_module.entry_computation_name = one.name
    callees_first = list(made.hlo_module.computations)[::-1]
    del made.hlo_module.computations[:]
    made.hlo_module.computations.extend(callees_first)
    return bytes(made.SerializeToString(deterministic=True))


PROGRAMS = {
    name: _loadable(made)
    for name, made in {"scalars": _scalars(), "loop": _loop(), "crowd": _crowd(), "nested": _nested()}.items()
}
"""Name to HloProto."""
