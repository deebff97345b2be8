"""Texts of HLO programs, instructions, constants and sources: what is spelled, in which order, and what is left out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from builders.damage.wire import text as wire_text
from builders.programs.hlo import Op, metadata_plane, op, program, shape
from builders.shown import profile

from tpu_profile_plugin.analysis.hlo.instructions import Instructions
from tpu_profile_plugin.analysis.hlo.ops import HloOps
from tpu_profile_plugin.analysis.hlo.programs import Program, has_whole_stack, hlo_programs, source_of
from tpu_profile_plugin.analysis.hlo.shapes import laid_out, read_shape
from tpu_profile_plugin.analysis.hlo.text import (
    HloText,
    attributes,
    call_order,
    instruction_text,
    literal_text,
    module_header,
    sharding,
)
from tpu_profile_plugin.protos import message


def attributes_of(opcode: str, **fields: Any) -> str:
    """The attributes of an instruction."""
    one = message("xla.HloInstructionProto")(opcode=opcode, **fields)
    return ", ".join(attributes(one, lambda called: f"c{called}"))


DIMS: dict[str, Any] = {
    "update_window_dims": [1],
    "inserted_window_dims": [0],
    "scatter_dims_to_operand_dims": [0, 1],
    "index_vector_dim": 2,
}


@pytest.mark.parametrize(
    ("opcode", "fields", "expected"),
    [
        ("send", {"channel_id": 3, "is_host_transfer": True}, "channel_id=3, is_host_transfer=true"),
        ("recv-done", {"channel_id": 3}, "channel_id=3"),
        ("send", {}, ""),
        ("all-gather", {"channel_id": 0, "dimensions": [0]}, "replica_groups={}, dimensions={0}"),
        ("add", {"channel_id": 3}, ""),
        ("compare", {}, ""),
        ("add", {"comparison_direction": "LT"}, ""),
        ("scatter", {"scatter_dimension_numbers": DIMS, "called_computation_ids": [7]},
         "update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0,1}, index_vector_dim=2, "
         "to_apply=c7"),
        ("reduce-precision", {"exponent_bits": 5, "mantissa_bits": 10}, "exponent_bits=5, mantissa_bits=10"),
        ("sort", {"dimensions": [0], "is_stable": True}, "dimensions={0}, is_stable=true"),
        ("sort", {"dimensions": [0]}, "dimensions={0}"),
        ("add", {"is_stable": True}, ""),
        ("while", {"called_computation_ids": [8]}, ""),
        ("while", {"called_computation_ids": [8, 9]}, "condition=c9, body=c8"),
        ("select-and-scatter", {"called_computation_ids": [8, 9]}, "select=c8, scatter=c9"),
        ("select-and-scatter", {"called_computation_ids": [8]}, ""),
        ("custom-call", {"called_computation_ids": [8, 9]}, 'custom_call_target="", called_computations={c8,c9}'),
        ("conditional", {"called_computation_ids": [8, 9]}, "branch_computations={c8, c9}"),
        ("convolution", {"feature_group_count": 1, "batch_group_count": 1}, ""),
        ("convolution", {"feature_group_count": 4, "batch_group_count": 2},
         "feature_group_count=4, batch_group_count=2"),
        ("reduce-window", {"window": {"dimensions": [{"size": 3, "stride": 2}, {"size": 1, "stride": 2}]}},
         "window={size=3x1 stride=2x2}"),
        ("iota", {}, "iota_dimension=0"),
        ("iota", {"dimensions": [2]}, "iota_dimension=2"),
    ],
)  # fmt: skip
def test_attributes_of_opcodes(opcode: str, fields: dict[str, Any], expected: str) -> None:
    assert attributes_of(opcode, **fields) == expected


def test_every_fifth_operand_is_numbered() -> None:
    entry = [op("p", "parameter", "f32[]"), op("t", "tuple", ["f32[]"], *["p"] * 12)]
    found = hlo_programs(profile(metadata_plane(m=(7, program(entry))))).program(7)
    assert found is not None
    instructions = Instructions(found)
    one = instructions.named("t")
    marks = {5: "/*index=5*/", 10: "/*index=10*/"}
    listed = ", ".join(f"{marks.get(i, '')}f32[] %p" for i in range(12))
    assert instruction_text(one, instructions, str) == f"%t = (f32[]) tuple({listed})"
    assert instruction_text(one, instructions, str, limit=12) == "%t = (f32[])"


@pytest.mark.parametrize(
    ("of", "fields", "expected"),
    [
        ("s32[1]", {"s32s": [5]}, "{5}"),
        ("s32[10]", {"s32s": range(10)}, "{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}"),
        ("s32[11]", {"s32s": range(11)}, "{...}"),
        ("pred[10]", {"preds": [True] * 10}, "{" + ", ".join("1" * 10) + "}"),
        ("pred[11]", {"preds": [True] * 11}, "{...}"),
        ("f64[11]", {"f64s": range(11)}, "{...}"),
        ("f16[11]", {"f16s": bytes(22)}, "{...}"),
        ("f16[10]", {"f16s": bytes(20)}, "{" + ", ".join("0" * 10) + "}"),
        # Damaged: more or fewer values than the shape has, half an element.
        ("s32[]", {"s32s": [5, 6]}, "{...}"),
        ("s32[]", {}, "{...}"),
        ("s32[0]", {}, "{}"),
        ("bf16[]", {"bf16s": b"\x80\x3f\x01"}, "{...}"),
    ],
)
def test_constants(of: str, fields: dict[str, Any], expected: str) -> None:
    assert literal_text(message("xla.LiteralProto")(shape=shape(of), **fields)) == expected


def test_shapes_without_their_layout() -> None:
    data = shape("f32[2,3]{1,0:T(8,128)}").SerializeToString()
    assert [read_shape(data, layout=layout).text for layout in (True, False)] == ["f32[2,3]{1,0:T(8,128)}", "f32[2,3]"]
    token = shape("token[]")
    token.layout.memory_space = 5
    assert laid_out(token).text == "token[]"
    both = laid_out(shape(["f32[2]", "s8[3]"]))
    assert [both.at(index).unpadded for index in ((0,), (1,), (2,), (-1,))] == [8, 3, 16, 16]


def test_nested_shardings_end_at_the_eighth() -> None:
    one: dict[str, Any] = {"type": "TUPLE"}
    for _ in range(9):
        one = {"type": "TUPLE", "tuple_shardings": [one]}
    assert sharding(message("xla.OpSharding")(**one)) == "{" * 8 + "{tuple}" + "}" * 8


@pytest.mark.parametrize("size", [0, 1, 127, 128, 129, 256, 300, 2**14, 40_000])
def test_the_size_of_a_program(size: int) -> None:
    assert hlo_programs(profile(metadata_plane(m=(7, bytes(size))))).size(7) == size


def test_sources() -> None:
    index = {
        "file_names": ["a.py", "b.py"],
        "function_names": ["f"],
        "file_locations": [
            {"file_name_id": 1, "line": 1, "column": 7},
            {"file_name_id": 2, "line": 2},
            {"line": 3},
            {"file_name_id": 1},
            {"column": 5},
        ],
        # Frame 1 calls 2, that 3, that 4, that 5, whose place is not known; 6 calls 7, and that 6 again.
        "stack_frames": [
            *({"file_location_id": i, "parent_frame_id": i + 1} for i in (1, 2, 3, 4, 5)),
            {"file_location_id": 2, "parent_frame_id": 7},
            {"file_location_id": 1, "parent_frame_id": 6},
        ],
    }
    one = op("n", "negate", "f32[]", stack_frame_id=1)
    known = op("k", "negate", "f32[]", source_file="c.py", source_line=9, stack_frame_id=4)
    ring = op("ring", "negate", "f32[]", stack_frame_id=7)
    far = op("far", "negate", "f32[]", stack_frame_id=8)
    unplaced = op("unplaced", "negate", "f32[]", stack_frame_id=3)
    data = program([one, known, ring, far, unplaced], more={"stack_frame_index": index})
    found = hlo_programs(profile(metadata_plane(m=(7, data)))).program(7)
    assert found is not None
    stack = ("a.py:1:7", "b.py:2:0", ":3:0", "a.py:0:0")
    rows = [source_of(found, row) for row in range(5)]
    assert [(row.file, row.line, row.stack) if row else None for row in rows] == [
        ("a.py", 1, stack),
        ("c.py", 9, ("a.py:0:0",)),
        ("a.py", 1, ("a.py:1:7", "b.py:2:0")),
        None,
        None,  # its own file, not that of a caller
    ]
    shorter = [source_of(found, 0, deepest) for deepest in (3, 1)]
    assert [row and row.stack for row in shorter] == [stack[:3], stack[:1]]


@pytest.mark.parametrize(
    ("frames", "expected"),
    [
        ([{"file_location_id": 1, "parent_frame_id": 2}, {"file_location_id": 2}], True),
        ([{"file_location_id": 1}, {}], True),  # the second is no caller
        ([{"file_location_id": 1, "parent_frame_id": 2}, {"file_location_id": 3}], False),  # no function
        ([{"file_location_id": 1, "parent_frame_id": 2}, {"file_location_id": 4}], False),  # no file
        ([{"file_location_id": 1, "parent_frame_id": 2}, {}], False),
        ([{"file_location_id": 9}], False),
        ([{"file_location_id": 1, "parent_frame_id": 9}], False),
        ([{"file_location_id": 1, "parent_frame_id": -1}], False),
        ([{"file_location_id": 1, "parent_frame_id": 1}], False),
    ],
)
def test_a_stack_is_whole_or_absent(frames: list[dict[str, int]], expected: bool) -> None:
    index = {
        "file_names": ["a.py"],
        "function_names": ["f"],
        "file_locations": [
            {"file_name_id": 1, "function_name_id": 1, "line": 1},
            {"file_name_id": 1, "function_name_id": 1},
            {"file_name_id": 1, "line": 2},
            {"function_name_id": 1, "line": 3},
        ],
        "stack_frames": frames,
    }
    data = program([op("n", "negate", "f32[]", stack_frame_id=1)], more={"stack_frame_index": index})
    space = profile(metadata_plane(m=(7, data)))
    found = hlo_programs(space).program(7)
    assert found is not None
    assert has_whole_stack(found, 0) is expected
    file, _, stack = HloOps(space).source(7, "n")
    assert bool(stack) is bool(file) is expected


@pytest.mark.parametrize(
    ("of", "bits", "expected"),
    [
        ("f8e3m4", b"\x30\x70\x71\xf0\x6f", "{1, inf, nan, -inf, 15.5}"),
        ("f8e4m3", b"\x38\x78\x79\xf8\x77", "{1, inf, nan, -inf, 240}"),
        ("f8e4m3fn", b"\x38\x7f\xff\x7e\xfe\x78", "{1, nan, nan, 448, -448, 256}"),
        ("f8e4m3fnuz", b"\x40\x80\x7f\xff\x00", "{1, nan, 240, -240, 0}"),
        ("f8e4m3b11fnuz", b"\x58\x80\x7f\xff\x01", "{1, nan, 30, -30, 0.000122}"),
        ("f8e5m2", b"\x3c\x7c\x7d\xfc\x01\x80", "{1, inf, nan, -inf, 1.5e-05, -0}"),
        ("f8e5m2fnuz", b"\x40\x80\x7c\x04\x03", "{1, nan, 3.3e+04, 3.1e-05, 2.3e-05}"),
        ("f8e8m0fnu", b"\x7f\x80\x82\x7e\xff", "{1, 2, 8, 0.5, nan}"),
        ("f4e2m1fn", bytes(range(9)), "{0, 0.5, 1, 1.5, 2, 3, 4, 6, -0}"),
        ("s4", b"\x00\x07\x08\x0f", "{0, 7, -8, -1}"),
        ("s2", b"\x00\x01\x02\x03", "{0, 1, -2, -1}"),
        ("s1", b"\x00\x01", "{0, -1}"),
        ("u4", b"\x00\x07\x08\x0f", "{0, 7, 8, 15}"),
        ("s8", b"\x00\x7f\x80\xff", "{0, 127, -128, -1}"),
        ("u8", b"\x00\x7f\x80\xff", "{0, 127, 128, 255}"),
    ],
)
def test_constants_of_few_bits(of: str, bits: bytes, expected: str) -> None:
    literal = message("xla.LiteralProto")(shape=shape(f"{of}[{len(bits)}]"), **{f"{of}s": bits})
    assert literal_text(literal) == expected


def test_ten_complex_numbers_are_written_out() -> None:
    made = message("xla.LiteralProto")
    ten = ", ".join(f"({2 * i}, {2 * i + 1})" for i in range(10))
    assert literal_text(made(shape=shape("c64[10]"), c64s=range(20))) == f"{{{ten}}}"
    assert literal_text(made(shape=shape("c64[10]"), c64s=range(22))) == "{...}"


@pytest.mark.parametrize(("dimensions", "expected"), [(16, "{ " * 15 + "{5}" + " }" * 15), (17, "{...}")])
def test_constants_of_up_to_16_dimensions_are_written_out(dimensions: int, expected: str) -> None:
    of = shape(f"s32[{','.join('1' * dimensions)}]")
    assert literal_text(message("xla.LiteralProto")(shape=of, s32s=[5])) == expected


def test_asynchronous_instructions_around_something_else_keep_their_name() -> None:
    """One that wraps nothing, several instructions, or one with its operands in another order."""
    two = [op("p", "parameter", "f32[]"), op("q", "parameter", "f32[]", parameter_number=1)]
    computations = {
        "single": [*two, op("s", "subtract", "f32[]", "p", "q")],
        "swapped": [*two, op("t", "subtract", "f32[]", "q", "p")],
        "several": [*two, op("n", "negate", "f32[]", "p"), op("u", "subtract", "f32[]", "p", "q")],
    }
    entry = [op("a", "parameter", "f32[]")]
    entry += [op(f"x-{name}", "async-start", "f32[]", "a", "a", called=[name]) for name in computations]
    entry += [op("x-none", "async-start", "f32[]", "a", "a"), op("x-end", "async-done", "f32[]")]
    entry += [op("y", "async-done", "f32[]", "x-none"), op("z", "async-done", "f32[]", "a")]
    found = hlo_programs(profile(metadata_plane(m=(7, program(entry, **computations))))).program(7)
    assert found is not None
    instructions = Instructions(found)
    texts = [instruction_text(instructions.named(one.name), instructions, str).split(" = ")[1] for one in entry[1:]]
    assert [text.removeprefix("f32[] ").partition(",")[0].partition("(")[0] for text in texts] == [
        "subtract-start", "async-start", "async-start", "async-start", "async-done", "async-done", "async-done",
    ]  # fmt: skip


def test_asynchronous_instructions_around_a_computation_without_a_root_keep_their_name() -> None:
    inner = [op("p", "parameter", "f32[]"), op("n", "negate", "f32[]", "p")]
    entry = [op("a", "parameter", "f32[]"), op("x", "async-start", "f32[]", "a", called=["inner"])]
    made = message("xla.HloProto").FromString(program(entry, inner=inner))
    texts = []
    for root, called in ((None, None), (999, None), (None, 999)):
        if root is not None:
            made.hlo_module.computations[1].root_id = root
        if called is not None:
            made.hlo_module.computations[0].instructions[1].called_computation_ids[:] = [called]
        found = hlo_programs(profile(metadata_plane(m=(7, made.SerializeToString())))).program(7)
        assert found is not None
        instructions = Instructions(found)
        texts.append(instruction_text(instructions.named("x"), instructions, str).partition("(")[0])
    assert texts == ["%x = f32[] negate-start", "%x = f32[] async-start", "%x = f32[] async-start"]


OF = "f32[4]{0}"
ENTRY = [op("b", "parameter", OF, parameter_number=1), op("a", "parameter", OF), op("s", "add", OF, "a", "b")]


def loaded(data: bytes) -> Program:
    found = hlo_programs(profile(metadata_plane(test=(7, data)))).program(7)
    assert found is not None
    return found


def text(data: bytes, full: bool = False, metadata: bool = False) -> str:
    return "".join(HloText(loaded(data), full, metadata).module())


def head(**more: Any) -> str:
    return text(program(ENTRY, more=more)).partition("\n")[0]


def test_the_module_line_without_anything_to_say() -> None:
    assert head() == "HloModule test"


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"schedule": {}}, "is_scheduled=true"),
        (
            {"input_output_alias": {"entries": [
                {"output_shape_index": [1], "parameter_number": 1, "parameter_shape_index": [0, 2], "kind": 2},
                {"output_shape_index": [0], "parameter_number": 0, "kind": 1},
            ]}},
            "input_output_alias={ {0}: (0, {}, may-alias), {1}: (1, {0,2}, must-alias) }",
        ),
        (
            {"buffer_donor": {"entries": [{"parameter_number": 1}, {"parameter_shape_index": [2]}]}},
            "buffer_donor={ (0, {2}), (1, {}) }",
        ),
        (
            {"host_program_shape": {"parameters": [shape(OF)] * 6, "result": shape(["s32[]", OF])}},
            f"entry_computation_layout={{({', '.join([OF] * 5)}, /*index=5*/{OF})->(s32[], {OF})}}",
        ),
        ({"frontend_attributes": {"map": {"b": "x", "a": "{1}"}}}, 'frontend_attributes={a={1},b="x"}'),
    ],
)  # fmt: skip
def test_attributes_of_the_module(more: dict[str, Any], expected: str) -> None:
    assert head(**more) == f"HloModule test, {expected}"


INDEX = {
    "file_names": ["a'b.py"],
    "function_names": ["f", "g"],
    "file_locations": [
        {"file_name_id": 1, "function_name_id": 2, "line": 3, "end_line": 4, "column": 5, "end_column": 6}
    ],
    "stack_frames": [{"file_location_id": 1}, {"file_location_id": 1, "parent_frame_id": 1}],
}
TABLES = r"""
FileNames
1 "a\'b.py"

FunctionNames
1 "f"
2 "g"

FileLocations
1 {file_name_id=1 function_name_id=2 line=3 end_line=4 column=5 end_column=6}

StackFrames
1 {file_location_id=1 parent_frame_id=1}
2 {file_location_id=1 parent_frame_id=2}
"""


@pytest.mark.parametrize("full", [False, True])
def test_stack_frames_are_listed_with_the_metadata(full: bool) -> None:
    data = program(ENTRY, more={"stack_frame_index": INDEX})
    assert text(data, full, metadata=True).startswith(f"HloModule test\n{TABLES}\n\n")
    assert "FileNames" not in text(data, full)


def test_parameters_of_the_signature_are_in_the_order_of_their_numbers() -> None:
    assert text(program(ENTRY), full=True).splitlines()[2] == "ENTRY %entry (a: f32[4], b: f32[4]) -> f32[4] {"


def scheduled(ids: list[int]) -> str:
    schedule = message("xla.HloScheduleProto")()
    schedule.sequences[1].instruction_ids.extend(ids)
    lines = text(program(ENTRY, more={"schedule": schedule})).splitlines()
    return " ".join(line.removeprefix("  ROOT").split()[0] for line in lines if " = " in line)


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        ([], "b a s"),
        ([(1 << 32) + 1, 1 << 32, (1 << 32) + 2], "a b s"),
        ([1, 0, 2], "a b s"),  # without the id of the computation
        ([1, 1, 99], "a b s"),  # damaged: one twice, one that does not exist, two missing
    ],
)
def test_instructions_are_in_the_order_in_which_they_run(ids: list[int], expected: str) -> None:
    assert scheduled(ids) == expected


def calls(*called: str, name: str) -> list[Op]:
    return [op(f"p.{name}", "parameter", OF), *(op(f"{name}.{c}", "call", OF, f"p.{name}", called=[c]) for c in called)]


@pytest.mark.parametrize(
    ("computations", "expected"),
    [
        ({"entry": ["c", "a"], "a": [], "b": [], "c": ["b"]}, "b c a entry"),
        ({"entry": ["a", "a"], "unused": ["a"], "a": []}, "a entry unused"),
        ({"entry": [], "ring": ["other"], "other": ["ring"]}, "entry other ring"),
    ],
)
def test_computations_come_after_those_that_they_call(computations: dict[str, list[str]], expected: str) -> None:
    made = {name: calls(*called, name=name) for name, called in computations.items()}
    found = loaded(program(made.pop("entry"), **made))
    assert " ".join(found.computation_names[row] for row in call_order(found)) == expected


def test_long_chains_of_calls() -> None:
    made = {f"c{i}": calls(f"c{i + 1}", name=f"c{i}") for i in range(3000)} | {"c3000": calls(name="c3000")}
    order = call_order(loaded(program(calls("c0", name="entry"), **made)))
    assert list(order) == list(range(3001, -1, -1))


WRAPPED = [op("q", "parameter", OF), op("n", "slice", "f32[2]{0}", "q", slice_dimensions=[{"start": 1, "limit": 3}])]
ASYNC = [
    op("p", "parameter", OF),
    op("start", "async-start", [[OF], "f32[2]{0}", "u32[]"], "p", called=["inner"]),
    op("done", "async-done", "f32[2]{0}", "start"),
]


def test_asynchronous_instructions_are_spelled_as_what_they_run() -> None:
    listed = text(program(ASYNC, inner=WRAPPED))
    assert "slice-start(p), slice={[1:3]}\n" in listed
    assert "ROOT done = f32[2]{0} slice-done(start)\n" in listed
    assert "inner" not in listed
    both = [*WRAPPED[:1], op("m", "negate", OF, "q"), op("n", "negate", OF, "m")]
    listed = text(program(ASYNC, inner=both))
    assert "async-start(p), calls=inner\n" in listed
    assert "inner {\n" in listed


def test_a_condition_of_two_branches() -> None:
    entry = [
        op("c", "parameter", "pred[]"),
        op("r", "conditional", OF, "c", "c", "c", called=["yes", "no"]),
    ]
    listed = text(program(entry, yes=WRAPPED[:1], no=[op("z", "parameter", OF)]))
    assert "conditional(c, c, c), true_computation=yes, false_computation=no\n" in listed


@pytest.mark.parametrize(
    ("fields", "expected"),
    [({"comparison_type": "TOTALORDER"}, "type=TOTALORDER"), ({"comparison_order": "TOTAL"}, "order=TOTAL")],
)
def test_comparisons_are_spelled_as_in_the_compiler_of_the_program(fields: dict[str, str], expected: str) -> None:
    entry = [op("p", "parameter", OF), op("c", "compare", "pred[4]{0}", "p", "p", comparison_direction="LT", **fields)]
    assert f"compare(p, p), direction=LT, {expected}\n" in text(program(entry))


def test_damaged_programs_keep_what_is_sound() -> None:
    data = program(ENTRY, more={"stack_frame_index": INDEX})
    for cut in range(0, len(data), 7):
        text(data[:cut], metadata=True)


# Shapes as XLA spells them.


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


def changed(data: bytes, change: Callable[[Any], None]) -> bytes:
    """A program with something changed that names cannot say."""
    proto = message("xla.HloProto").FromString(data)
    change(proto.hlo_module)
    return bytes(proto.SerializeToString())


def test_attributes_of_ops_on_truth_values() -> None:
    entry = [op("p", "parameter", "pred[]"), op("b", "broadcast", "pred[4,2]", "p", dimensions=[1])]
    assert "broadcast(p), dimensions={1}" in text(program(entry))
    without = [op("c", "conditional", "f32[]", called=["yes"])]
    assert "conditional(), branch_computations={yes}" in text(program(without, yes=[op("y", "constant", "f32[]")]))


def test_the_header_is_without_computations() -> None:
    found = module_header(loaded(program([op("p", "parameter", "pred[]")], module="jit_g")))
    assert (found.name, len(found.computations), found.entry_computation_id) == ("jit_g", 0, 1)


def test_the_name_of_a_module_is_the_compiler_s() -> None:
    made = program([op("p", "parameter", "pred[]")], module="jit_g")
    nameless = changed(made, lambda module: module.ClearField("name"))
    assert [text(data).split(",")[0].split()[1] for data in (made, nameless)] == ["jit_g", "test"]


def test_the_result_of_a_signature_is_that_of_the_root() -> None:
    entry = [op("p", "parameter", "f32[4]"), op("r", "slice", "f32[2]", "p"), op("s", "slice", "f32[1]", "p")]
    assert "(p: f32[4]) -> f32[1] {" in text(program(entry), full=True)
    middle = changed(program(entry), lambda module: setattr(module.computations[0], "root_id", (1 << 32) + 1))
    assert "(p: f32[4]) -> f32[2] {" in text(middle, full=True)


def test_the_order_of_computations_that_come_before_their_caller() -> None:
    def order(*names: str, unknown: bool = False) -> list[str]:
        entry = [op("x", "call", "f32[]", called=["a"]), op("e", "constant", "f32[]")]
        data = program(entry, a=[op("z", "constant", "f32[]")], b=[op("y", "constant", "f32[]")])

        def arrange(module: Any) -> None:
            made = {one.name: one for one in module.computations}
            if unknown:
                made["entry"].instructions[0].called_computation_ids[:] = [1 << 40]
            arranged = [message("xla.HloComputationProto").FromString(made[name].SerializeToString()) for name in names]
            del module.computations[:]
            module.computations.extend(arranged)

        found = loaded(changed(data, arrange))
        return [found.computation_names[row] for row in call_order(found)]

    assert order("a", "b", "entry") == ["b", "a", "entry"]
    assert order("entry", "a", "b") == ["a", "entry", "b"]
    assert order("entry", "a", "b", unknown=True) == ["entry", "a", "b"]
