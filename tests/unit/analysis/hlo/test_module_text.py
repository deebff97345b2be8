"""Texts of whole HLO programs: module attributes, stack frame tables, order of computations and instructions."""

from __future__ import annotations

from typing import Any

import pytest
from builders.programs.hlo import Op, metadata_plane, op, program, shape
from builders.shown import profile

from tpu_profile_plugin.analysis.hlo.programs import Program, hlo_programs
from tpu_profile_plugin.analysis.hlo.text.module import HloText, call_order
from tpu_profile_plugin.protos import message

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
