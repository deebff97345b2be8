"""Source: time and work by line with functions, memory at the peak by line, and what has no location."""

from __future__ import annotations

import pytest
from builders.answers import answer, rows, run_of
from builders.programs.buffers import allocation, assignment, buffer, instruction_id, trace
from builders.programs.hlo import metadata_plane, op, program

from tpu_profile_plugin.errors import NotFound
from tpu_profile_plugin.tools.ops.source_view import TOOL

INDEX = {
    "file_names": ["/src/train.py", "/src/main.py"],
    "function_names": ["loss", "main"],
    "file_locations": [
        {"file_name_id": 1, "function_name_id": 1, "line": 10},
        {"file_name_id": 1, "function_name_id": 1, "line": 12},
        {"file_name_id": 2, "function_name_id": 2, "line": 5},
    ],
    "stack_frames": [
        {"file_location_id": 1, "parent_frame_id": 3},
        {"file_location_id": 2, "parent_frame_id": 3},
        {"file_location_id": 3},
    ],
}
FILE = "/src/train.py"
ENTRY = [
    op("p", "parameter", "f32[16]", op_name="params['w']"),
    op("a", "add", "f32[16]", "p", "p", op_name="jit(f)/add", source_file=FILE, source_line=10, stack_frame_id=1),
    op("b", "negate", "f32[16]", "a", op_name="jit(f)/neg", source_file=FILE, source_line=12, stack_frame_id=2),
    op("c", "copy", "f32[16]", "b"),
    op("lost", "custom-call", "f32[16]"),
]  # fmt: skip
HELD = assignment(
    buffer(1, 640, instruction_id(0)),
    buffer(2, 400, instruction_id(1)),
    buffer(3, 300, instruction_id(2)),
    allocation(0, 640, [(1, 0, 640)], "parameter"),
    allocation(1, 700, [(2, 0, 400), (3, 400, 300)]),
    trace("alloc 2 a", "alloc 3 b", "free 2 b", "free 3 c"),
)
PROGRAM = program(ENTRY, module="jit_f", more={"stack_frame_index": INDEX}) + HELD
EVENTS = """
plane 2 "/device:GPU:0"
  line 5 "Stream #1"
    0us +4us k1 {hlo_op="a", hlo_module="jit_f", program_id=7}
    10us +6us k2 {hlo_op="b", hlo_module="jit_f", program_id=7}
    20us +3us k3 {hlo_op="c", hlo_module="jit_f", program_id=7}
    30us +2us k4 {hlo_op="lost", hlo_module="jit_f", program_id=7}
"""
PROFILE = metadata_plane(jit_f=(7, PROGRAM)) + EVENTS
US = 1_000_000


def test_time_and_memory_by_line() -> None:
    found = answer(TOOL, PROFILE)
    assert rows(found["lines"], "file", "function", "line", "self_ps", "ops", "peak_bytes") == [
        ["/src/train.py", "loss", 12, 9 * US, 2, 300],  # b, and c, which has the line of what it copies
        ["/src/train.py", "loss", 10, 4 * US, 1, 400],
        ["no location", "", None, 2 * US, 1, 640],
    ]
    assert rows(found["lines"], "share")[0][0] == pytest.approx(60)


def test_ops_and_buffers_know_their_line_and_stack() -> None:
    found = answer(TOOL, PROFILE)
    frames = rows(found["frames"], "function", "line")
    ops = {name: (line, [frames[i] for i in found["stacks"][int(stack)]])
           for name, line, stack in rows(found["ops"], "name", "line", "stack")}  # fmt: skip
    assert ops == {
        "a": (1, [["loss", 10], ["main", 5]]),
        "b": (0, [["loss", 12], ["main", 5]]),
        "c": (0, [["loss", 12], ["main", 5]]),
        "lost": (2, []),
    }
    assert rows(found["buffers"], "name", "category", "framework_op", "line", "size") == [
        ["p", "parameter", "params['w']", 2, 640],
        ["a", "temporary", "jit(f)/add", 1, 400],
        ["b", "temporary", "jit(f)/neg", 0, 300],
    ]
    assert found["memory"]["peak_bytes"] == 1340
    assert found["place"] == "device"


def test_sums_of_lines_are_those_of_ops_over_several_hosts() -> None:
    run = run_of(PROFILE, PROFILE)
    found = run.source_profile()
    assert found.lines.self_ps.tolist() == [18 * US, 8 * US, 4 * US]
    assert found.lines.self_ps.sum() == run.op_rates().self_ps.sum()
    assert found.located_ps == 26 * US


def test_an_unknown_program_is_refused() -> None:
    with pytest.raises(NotFound):
        answer(TOOL, PROFILE, module_name="jit_g(1)")


def test_a_profile_without_ops_has_empty_tables() -> None:
    found = answer(TOOL, 'plane 1 "/host:CPU"')
    assert (rows(found["lines"]), rows(found["ops"]), found["memory"]) == ([], [], None)


def test_ops_that_contain_others_have_no_work_of_their_own() -> None:
    text = """
plane 2 "/device:TPU:0" {device_type_string="TPU v9"}
  metadata "%while = () while()" {program_id=7, symbol_id=1, hlo_category="while", flops=1000, source="/src/train.py:3"}
  metadata "%dot = f32[] dot()" {program_id=7, symbol_id=2, hlo_category="dot", flops=900, source="/src/train.py:4"}
  line 5 "XLA Ops" @0ns
    0us +10us "%while = () while()"
    2us +6us "%dot = f32[] dot()"
"""
    found = answer(TOOL, text)
    assert rows(found["lines"], "line", "self_ps", "flops") == [[4, 6 * US, 900], [3, 4 * US, None]]


def test_cores_and_programs_of_ops() -> None:
    found = answer(TOOL, PROFILE)
    assert (found["cores"], found["place"]) == (1, "device")
    assert {program for (program,) in rows(found["ops"], "program_id")} == {"7"}
