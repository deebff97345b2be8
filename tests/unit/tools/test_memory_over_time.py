"""Memory over time: sums by kind and line, what lives at an instant, and the peak for other batches."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from builders.answers import answer, rows
from builders.programs.buffers import allocation, assignment, buffer, instruction_id, profile, trace
from builders.programs.hlo import op, program

from tpu_profile_plugin.analysis.memory.buffers import stacked
from tpu_profile_plugin.analysis.ops.source_lines import NO_LOCATION
from tpu_profile_plugin.errors import BadRequest
from tpu_profile_plugin.run.figures import memory_over_time as module
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


@pytest.mark.parametrize("place", [0, 3])
def test_a_temporary_in_the_storage_of_a_result_leaves_it_once_it_has_outgrown_it(place: int) -> None:
    """Wherever the result is among the allocations."""
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
    )
    held = [
        allocation(0, 256, [(1, 0, 256)], "parameter"),
        allocation(1, 512, [(2, 0, 512)], "parameter"),
        allocation(2, 128, [(3, 0, 128)], "parameter"),
        allocation(4, 128, [(5, 0, 128)]),
    ]
    held.insert(place, allocation(3, 256, [(4, 0, 128), (6, 0, 256)], "live_out"))
    parts = (*parts, *held, trace("alloc 5 b", "free 5 g"))
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


def why(entry: list[Any], *parts: Any) -> dict[str, str]:
    """Why each buffer is assumed to grow with the batch or not, by its name."""
    found = answer(PROGRAM, profile(jit_f=program(entry) + assignment(*parts)))
    return dict(rows(found["assumed"], "name", "why"))


def test_what_the_program_tells_of_the_batch() -> None:
    """The buffer of the argument that has the batch comes first; another allocation of arguments holds no buffer."""
    entry = [
        op("x", "parameter", "f32[8,16]", op_name="x", parameter_number=0),
        op("w", "parameter", "f32[16,8]", op_name="params", parameter_number=1),
        op("a", "add", "f32[8,16]", "x", "x"),
        op("b", "add", "f32[16,8]", "w", "w"),
    ]
    parts = (
        buffer(1, 512, instruction_id(0)), buffer(2, 512, instruction_id(2)), buffer(3, 512, instruction_id(3)),
        buffer(4, 512, instruction_id(1)), buffer(5, 512, instruction_id(0)),
        allocation(0, 512, [(1, 0, 512)], "parameter"),
        allocation(1, 512, [(4, 0, 512)], "parameter"),
        allocation(2, 512, [], "parameter"),
        allocation(3, 1024, [(2, 0, 512), (3, 512, 512)]),
        trace("alloc 2 a", "alloc 3 b"),
    )  # fmt: skip
    assert why(entry, *parts) == {
        "x": "first dimension is the batch, 8", "w": "named params", "": "first dimension is not 8",
        "a": "its dimension 8 comes from the batch", "b": "the same for every batch",
    }  # fmt: skip


def test_the_first_buffer_of_a_program_may_be_a_temporary() -> None:
    entry = [
        op("w", "parameter", "f32[16,8]", op_name="params", parameter_number=0),
        op("x", "parameter", "f32[8,16]", op_name="x", parameter_number=1),
        op("b", "add", "f32[16,8]", "w", "w"),
    ]
    parts = (
        buffer(1, 512, instruction_id(2)), buffer(2, 512, instruction_id(0)), buffer(3, 512, instruction_id(1)),
        allocation(0, 512, [(2, 0, 512)], "parameter"), allocation(1, 512, [(3, 0, 512)], "parameter"),
        allocation(2, 512, [(1, 0, 512)]), trace("alloc 1 b"),
    )  # fmt: skip
    assert why(entry, *parts)["b"] == "the same for every batch"


def test_arguments_that_are_updated_in_place_or_have_no_path() -> None:
    entry = [
        op("x", "parameter", "f32[8,4]", parameter_number=0),
        op("y", "parameter", "f32[9,4]", parameter_number=1),
        op("weights", "parameter", "f32[7,4]", parameter_number=2),
        op("z", "parameter", "f32[6,4]", op_name="images", parameter_number=3),
    ]
    parts = (
        *(buffer(i, 64, instruction_id(i - 1)) for i in range(1, 5)),
        allocation(0, 64, [(1, 0, 64)], "parameter", "live_out"),
        allocation(1, 64, [(2, 0, 64)], "parameter", "live_out"),
        allocation(2, 64, [(3, 0, 64)], "parameter"),
        allocation(3, 64, [(4, 0, 64)], "parameter"),
        allocation(4, 64, [], "live_out"),
    )
    assert why(entry, *parts) == {
        "x": "updated in place", "y": "updated in place", "weights": "named weights",
        "z": "first dimension is the batch, 6", "": "no dimension is 6",
    }  # fmt: skip


@pytest.mark.parametrize(("most", "kept"), [(1, []), (2, ["a"]), (5, ["a"])])
def test_the_largest_buffers_are_followed(monkeypatch: pytest.MonkeyPatch, most: int, kept: list[str]) -> None:
    monkeypatch.setattr(module, "_MOST_FOLLOWED", most)
    found = rows(view()["live"], "name", "category")
    assert [name for name, category in found if category == "kept for backward"] == kept


def test_the_largest_buffers_of_the_program_and_choices_about_them(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [size for (size,) in rows(view()["assumed"], "size")] == [512, 512, 512, 256, 256]
    monkeypatch.setattr(module, "MOST_ASSUMED", 2)
    assert [name for (name,) in rows(view()["assumed"], "name")] == ["x", "a"]
    monkeypatch.setattr(module, "MOST_ASSUMED", 9)
    # There are five, from 0 on.
    reasons = dict(rows(view(scaled="0,5", fixed="4")["assumed"], "name", "why"))
    assert sorted(name for name, reason in reasons.items() if reason == "your choice") == ["b", "w"]


def test_the_lines_with_most_memory_at_the_peak(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two lines at most; the peak is at the instant 1, where the last piece is gone."""
    monkeypatch.setattr(module, "MOST_LINES", 2)
    lines = ["a", "b", "c", "b", "", "d"]
    sizes, first, last = np.array([30, 20, 10, 15, 5, 9]), np.array([0, 1, 1, 1, 0, 0]), np.array([2, 1, 2, 1, 2, 0])

    def live(instant: int) -> Any:
        return np.flatnonzero((first <= instant) & (instant <= last))

    history = SimpleNamespace(
        size=sizes, peak=1, live=live, series=lambda codes, count: stacked(codes, count, first, last, sizes, 3)
    )
    held = [SimpleNamespace(stack=((line, "f", 1),) if line else ()) for line in lines]
    known: Any = SimpleNamespace(history=history, held=held)
    found = module._by_line(known, np.array([0, 1, 2]))
    assert [(line, values.tolist()) for line, values in found] == [
        (("b", "f", 1), [0, 35, 0]),
        (("a", "f", 1), [30, 30, 30]),
        (NO_LOCATION, [5, 5, 5]),
        (None, [9, 10, 10]),
    ]


@pytest.mark.parametrize(("instant", "shown"), [("4", 4), ("0", 0), ("", 2)])
def test_instants_from_the_first_to_the_last(instant: str, shown: int) -> None:
    assert view(**({"instant": instant} if instant else {}))["instant"] == shown
    with pytest.raises(BadRequest, match="0 to 4"):
        view(instant="5")
