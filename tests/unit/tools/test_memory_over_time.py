"""Memory over time: sums by kind and line, what lives at an instant, and the peak for other batches."""

from __future__ import annotations

from typing import Any

import pytest
from builders.answers import answer, rows
from builders.programs.buffers import allocation, assignment, buffer, instruction_id, profile, trace
from builders.programs.hlo import op, program

from tpu_profile_plugin.errors import BadRequest
from tpu_profile_plugin.tools.memory import over_time
from tpu_profile_plugin.tools.memory.over_time import PROGRAM

FILE = "/src/train.py"
ENTRY = [
    op("w", "parameter", "f32[16,4]", op_name="params['w']"),
    op("x", "parameter", "f32[8,16]", op_name="x"),
    op("a", "add", "f32[8,16]", "x", "x", op_name="jit(f)/jvp(add)", source_file=FILE, source_line=3),
    op("b", "negate", "f32[8,16]", "a", op_name="jit(f)/transpose(jvp(neg))", source_file=FILE, source_line=4),
    op(
        "g", "custom-call", "f32[16,4]", "b", "a", op_name="jit(f)/transpose(jvp(dot))", source_file=FILE, source_line=5
    ),
]
DATA = program(ENTRY) + assignment(
    buffer(1, 256, instruction_id(0)),
    buffer(2, 512, instruction_id(1)),
    buffer(3, 512, instruction_id(2)),
    buffer(4, 512, instruction_id(3)),
    buffer(5, 256, instruction_id(4)),
    allocation(0, 256, [(1, 0, 256)], "parameter"),
    allocation(1, 512, [(2, 0, 512)], "parameter"),
    allocation(2, 256, [(5, 0, 256)], "live_out"),
    allocation(3, 1024, [(3, 0, 512), (4, 512, 512)]),
    trace("alloc 3 a", "alloc 4 b", "free 4 g", "free 3 g"),
)
PERMANENT = 256 + 512 + 256


def view(**params: str) -> Any:
    return answer(PROGRAM, profile(jit_f=DATA), **params)


def test_kinds_and_lines_add_up_to_the_heap() -> None:
    found = view()
    heap = [PERMANENT, PERMANENT + 512, PERMANENT + 1024, PERMANENT + 512, PERMANENT]
    assert found["heap"] == heap
    assert (found["peak"], found["peak_bytes"], found["instants"]) == (2, PERMANENT + 1024, 5)
    assert {one["name"]: one["bytes"] for one in found["categories"]} == {
        "parameter": [256] * 5,
        "argument": [512] * 5,
        "kept for backward": [0, 512, 512, 512, 0],
        "temporary": [0, 0, 512, 0, 0],
        "output": [256] * 5,
    }
    lines = {one["label"]: one["bytes"] for one in found["lines"]}
    assert lines == {
        "train.py:3": [0, 512, 512, 512, 0],
        "train.py:4": [0, 0, 512, 0, 0],
        "train.py:5": [256] * 5,
        "no location": [768] * 5,
    }
    assert found["names"] == ["", "a", "b", "g", "g"]


def test_what_lives_at_an_instant_and_what_frees_it() -> None:
    at_peak = rows(view()["live"], "name", "category", "source", "first", "last", "freed_by")
    assert at_peak == [
        ["x", "argument", "", 0, 4, ""],
        ["a", "kept for backward", "/src/train.py:3", 1, 3, "g"],
        ["b", "temporary", "/src/train.py:4", 2, 2, "g"],
        ["w", "parameter", "", 0, 4, ""],
        ["g", "output", "/src/train.py:5", 0, 4, ""],
    ]
    first = view(instant="0")
    assert (first["instant"], first["live_bytes"]) == (0, PERMANENT)
    assert [name for (name,) in rows(first["live"], "name")] == ["x", "w", "g"]


def test_the_peak_at_another_batch() -> None:
    found = view()
    # The parameter and its gradient stay.
    assert (found["batch"], found["corners"]) == (8, [[512, 1536, 0]])
    numbers = {name: str(int(number)) for name, number in rows(found["assumed"], "name", "number")}
    changed = view(fixed=numbers["x"], scaled=numbers["g"])
    assert changed["corners"] == [[512 - 256 + 512, 1536 + 256 - 512, 0]]
    assert ["x", "your choice"] in rows(changed["assumed"], "name", "why")


def test_the_peak_may_move_with_the_batch() -> None:
    entry = [
        op("x", "parameter", "f32[8,2]", op_name="x"),
        op("large", "iota", "f32[100]"),
        op("small", "add", "f32[8,4]", "x"),
        op("out", "negate", "f32[8]", "small"),
    ]
    parts = (
        buffer(1, 64, instruction_id(0)),
        buffer(2, 400, instruction_id(1)),
        buffer(3, 128, instruction_id(2)),
        allocation(0, 64, [(1, 0, 64)], "parameter"),
        allocation(1, 400, [(2, 0, 400), (3, 0, 128)]),
        trace("alloc 2 large", "free 2 large", "alloc 3 small", "free 3 out"),
    )
    found = answer(PROGRAM, profile(jit_f=program(entry) + assignment(*parts)))
    assert found["corners"] == [[400, 64, 0], [0, 192, 0]]


def test_a_temporary_in_the_storage_of_a_result_leaves_it_once_it_has_outgrown_it() -> None:
    numbers = {"lhs_contracting_dimensions": (0,), "rhs_contracting_dimensions": (0,)}
    entry = [
        op("w", "parameter", "f32[16,4]", op_name="params['w']", parameter_number=0),
        op("x", "parameter", "f32[8,16]", op_name="x", parameter_number=1),
        op("y", "parameter", "f32[8,4]", op_name="y", parameter_number=2),
        op("a", "add", "f32[8,4]", "y", "y"),
        op("b", "negate", "f32[8,4]", "a"),
        op("g", "dot", "f32[16,4]", "x", "b", dot_dimension_numbers=numbers),
    ]
    parts = (
        buffer(1, 256, instruction_id(0)),
        buffer(2, 512, instruction_id(1)),
        buffer(3, 128, instruction_id(2)),
        buffer(4, 128, instruction_id(3)),
        buffer(5, 128, instruction_id(4)),
        buffer(6, 256, instruction_id(5)),
        allocation(0, 256, [(1, 0, 256)], "parameter"),
        allocation(1, 512, [(2, 0, 512)], "parameter"),
        allocation(2, 128, [(3, 0, 128)], "parameter"),
        allocation(3, 256, [(4, 0, 128), (6, 0, 256)], "live_out"),
        allocation(4, 128, [(5, 0, 128)]),
        trace("alloc 5 b", "free 5 g"),
    )
    found = answer(PROGRAM, profile(jit_f=program(entry) + assignment(*parts)))
    # a has half the size of the result g that it shares storage with, and lives until b is made.
    assert found["corners"] == [[512, 768, 0], [512, 896, 2]]
    assert ["g", False, "the same for every batch"] in rows(found["assumed"], "name", "scales", "why")


def test_so_many_buffers_are_chosen_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(over_time, "_MOST_CHOSEN", 2)
    assert view(fixed=f"1,{'9' * 9}") == view(fixed="1")
    with pytest.raises(BadRequest):
        view(fixed="1,2,3")


@pytest.mark.parametrize("params", [{"instant": "5"}, {"fixed": "a"}, {"scaled": "1,-2"}, {"fixed": "1" * 10}])
def test_wrong_parameters_are_refused(params: dict[str, str]) -> None:
    with pytest.raises(BadRequest):
        view(**params)
