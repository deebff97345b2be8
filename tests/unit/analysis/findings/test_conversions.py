"""Ops that only convert: which count, from which share on, and who asked for them."""

from __future__ import annotations

import pytest
from builders.profiles.findings import cpu, evidence, told, window
from builders.programs.hlo import op, program

NARROW, WIDE = "bf16[512,1024]{1,0}", "f32[512,1024]{1,0}"
LINE = {"source_file": "/home/me/model.py", "source_line": 7}
ASKED = "jit(f)/convert_element_type"


def converted(op_name: str = ASKED) -> bytes:
    """A conversion in a fusion, one by itself, and one in a fusion that computes."""
    only = [op("o.x", "parameter", NARROW), op("o.c", "convert", WIDE, "o.x", op_name=op_name, **LINE)]
    computes = [
        op("c.x", "parameter", WIDE),
        op("c.exp", "exponential", WIDE, "c.x"),
        op("c.c", "convert", NARROW, "c.exp"),
    ]
    entry = [
        op("x", "parameter", NARROW),
        op("wrapped_convert", "fusion", WIDE, "x", called=["only"], fusion_kind="kLoop"),
        op("exp_fusion", "fusion", NARROW, "wrapped_convert", called=["computes"], fusion_kind="kLoop"),
        op("convert.2", "convert", WIDE, "exp_fusion", op_name=op_name, **LINE),
    ]
    return program(entry, only=only, computes=computes)


OPS = [("wrapped_convert", 20), ("convert.2", 10), ("exp_fusion", 60)]


def test_conversions_that_the_program_asks_for() -> None:
    found = told("conversions", cpu(OPS, proto=converted()))
    assert found["title"] == (
        "Conversions between types take 30.0% of the step, most of it in wrapped_convert (model.py:7): bf16 to f32"
    )
    assert (found["saving_ps_per_step"], found["share"], found["confidence"]) == (30_000_000, 0.3, "high")
    shown = evidence(found)
    assert shown["Ops that only convert, of the time of all ops"][0] == pytest.approx(100 * 30 / 90)
    assert shown["Kinds of these ops"] == ("bf16 to f32 100%", "", "")
    assert shown["The program asks for, of their time"] == (100.0, "%", "")
    assert found["advice"].startswith("Keep the value in one type: convert it where it is made")
    assert window(found) == {"host": "h0", "window": "0,40000000", "find": "wrapped_convert"}


def test_conversions_that_the_compiler_adds() -> None:
    found = told("conversions", cpu(OPS, proto=converted("jit(f)/dot_general")))
    assert found["advice"].startswith("The compiler converts because this device has no such op")
    assert evidence(found)["The program asks for, of their time"][0] == 0


@pytest.mark.parametrize(("convert", "finds"), [(10, True), (9, False)])
def test_from_a_tenth_of_the_step_on(convert: int, finds: bool) -> None:
    found = told("conversions", cpu([("wrapped_convert", convert), ("exp_fusion", 80)], proto=converted()))
    assert ("share" in found) is finds
    if not finds:
        assert found["reason"] == "Ops that only convert take 9.0% of the step."


def test_without_programs_nothing_is_known() -> None:
    found = told("conversions", cpu([("wrapped_convert", 90)]))
    assert (found["reason"], found["state"]) == ("No ops with known programs recorded.", "unknown")
