"""Copies of whole buffers: arguments that are not donated, values that loops carry; what is no such copy."""

from __future__ import annotations

from typing import Any

import pytest
from builders.profiles.findings import cpu, evidence, told, tpu, window
from builders.programs.hlo import op, program

from tpu_profile_plugin.analysis.findings.rules.device.buffer_copies import RULE

BUFFER = "f32[512,1024]{1,0}"
LINE = {"source_file": "/home/me/model.py", "source_line": 7, "op_name": "jit(f)/dynamic_update_slice"}


def updated(layout: str = BUFFER, result: str = BUFFER, **header: Any) -> bytes:
    """A row is written into a copy of an argument; another op computes."""
    entry = [
        op("cache.1", "parameter", BUFFER, op_name="cache"),
        op("row", "parameter", "f32[1,1024]{1,0}", parameter_number=1),
        op("at", "parameter", "s32[]", parameter_number=2),
        op("copy.1", "copy", layout, "cache.1"),
        op("exp.1", "exponential", "f32[1,1024]{1,0}", "row"),
        op("update.1", "dynamic-update-slice", result, "copy.1", "exp.1", "at", "at", **LINE),
    ]
    return program(entry, more=header)


ALIAS = {"input_output_alias": {"entries": [{"parameter_number": 0, "kind": 1}]}}


def test_an_argument_that_is_not_donated() -> None:
    found = told("buffer_copies", cpu([("copy.1", 40), ("exp.1", 50)], proto=updated()))
    assert found["title"] == (
        "Copies of whole buffers take 40.0% of the step, most of it in copy.1 (model.py:7): "
        "argument cache is overwritten but not donated"
    )
    assert (found["saving_ps_per_step"], found["share"], found["confidence"]) == (40_000_000, 0.4, "high")
    shown = evidence(found)
    assert shown["Copies of whole buffers, of the time of all ops"][0] == pytest.approx(100 * 40 / 90)
    assert shown["For this reason, of the time of these copies"] == (100.0, "%", "")
    assert shown["Size of the copied buffer"] == (2.0, "MiB", "")
    assert window(found) == {"host": "h0", "window": "0,80000000", "find": "copy.1"}


@pytest.mark.parametrize(("copy", "finds"), [(10, True), (9, False)])
def test_copies_from_a_tenth_of_the_step_on(copy: int, finds: bool) -> None:
    found = told("buffer_copies", cpu([("copy.1", copy), ("exp.1", 80)], proto=updated()))
    assert ("share" in found) is finds
    if not finds:
        assert found["reason"] == "Copies of whole buffers take 9.0% of the step."


@pytest.mark.parametrize(("numbers", "finds"), [(1, False), (1023, False), (1024, True), (1025, True)])
def test_copies_of_less_than_a_page_do_not_count(numbers: int, finds: bool) -> None:
    entry = [
        op("cache.1", "parameter", f"f32[{numbers}]{{0}}", op_name="cache"),
        op("row", "parameter", "f32[1]{0}", parameter_number=1),
        op("at", "parameter", "s32[]", parameter_number=2),
        op("copy.1", "copy", f"f32[{numbers}]{{0}}", "cache.1"),
        op("exp.1", "exponential", "f32[1]{0}", "row"),
        op("update.1", "dynamic-update-slice", f"f32[{numbers}]{{0}}", "copy.1", "exp.1", "at"),
    ]
    found = told("buffer_copies", cpu([("copy.1", 40), ("exp.1", 50)], proto=program(entry)))
    assert found.get("share") == (0.4 if finds else None)


def test_an_argument_that_the_caller_keeps() -> None:
    found = told("buffer_copies", cpu([("copy.1", 40), ("exp.1", 50)], proto=updated(result="f32[8]{0}")))
    assert found["title"].endswith("argument cache is overwritten and kept by the caller")
    assert found["confidence"] == "medium"


def test_copies_of_donated_arguments_are_not_the_program_s() -> None:
    found = told("buffer_copies", cpu([("copy.1", 40), ("exp.1", 50)], proto=updated(**ALIAS)))
    assert found["reason"] == "Copies of whole buffers take 0.0% of the step."


@pytest.mark.parametrize("layout", ["f32[512,1024]{0,1}", "f32[512,1024]{1,0:S(1)}"])
def test_another_layout_or_memory_is_no_duplicate(layout: str) -> None:
    found = told("buffer_copies", cpu([("copy.1", 40), ("exp.1", 50)], proto=updated(layout)))
    assert found["reason"] == "Copies of whole buffers take 0.0% of the step."


def carried() -> bytes:
    """A loop copies the buffer that it carries before it writes into it, once in a fusion."""
    state = [BUFFER, "s32[]"]
    copied = [op("c.x", "parameter", BUFFER), op("c.copy", "copy", BUFFER, "c.x")]
    body = [
        op("state", "parameter", state),
        op("old", "get-tuple-element", BUFFER, "state"),
        op("i", "get-tuple-element", "s32[]", "state", tuple_index=1),
        op("wrapped_copy", "fusion", BUFFER, "old", called=["copied"], fusion_kind="kLoop"),
        op("copy.2", "copy", BUFFER, "wrapped_copy"),
        op("exp.1", "exponential", BUFFER, "old"),
        op("new", "dynamic-update-slice", BUFFER, "copy.2", "exp.1", "i", "i", **LINE),
        op("next", "tuple", state, "new", "i"),
    ]
    test = [op("test.state", "parameter", state), op("more", "constant", "pred[]")]
    entry = [
        op("x", "parameter", BUFFER),
        op("n", "constant", "s32[]"),
        op("start", "tuple", state, "x", "n"),
        op("loop", "while", state, "start", called=["body", "test"]),
    ]
    return program(entry, body=body, test=test, copied=copied)


def test_a_value_that_a_loop_carries() -> None:
    found = told("buffer_copies", cpu([("copy.2", 30), ("wrapped_copy", 20), ("exp.1", 40)], proto=carried()))
    assert found["title"] == (
        "Copies of whole buffers take 50.0% of the step, most of it in copy.2 (model.py:7): "
        "a loop needs its old value in every iteration"
    )
    assert found["advice"].startswith("Change the loop so that the carried value is read before it is written")


def test_it_follows_from_ops_that_rearrange_more() -> None:
    entry = [
        op("x", "parameter", BUFFER),
        op("copy.1", "copy", BUFFER, "x"),
        op("gather.1", "gather", BUFFER, "copy.1"),
    ]
    found = told("buffer_copies", cpu([("copy.1", 40), ("gather.1", 50)], proto=program(entry)))
    assert found["reason"] == "It follows from another finding (data_movement)."


def test_without_programs_nothing_is_known() -> None:
    found = told("buffer_copies", tpu([("%copy.1 = f32[8] copy()", "copy", 90)]))
    assert (found["reason"], found["state"]) == ("No ops with known programs recorded.", "unknown")


def test_the_least_size_is_told() -> None:
    assert "copies of at least 4 KiB" in RULE.documentation[1]
