"""Values computed twice to save memory: by the program or the compiler, and whether memory needs it."""

from __future__ import annotations

import pytest
from builders.profiles.findings import cpu, evidence, told, tpu
from builders.programs.hlo import op, program

OF = "f32[512,1024]{1,0}"
MARKED = "jit(f)/transpose(jvp(checkpoint))/rematted_computation/exp"


def module(op_name: str = MARKED, name: str = "exp.2") -> bytes:
    """An exponential of the forward pass, and one of the backward pass."""
    entry = [
        op("x", "parameter", OF),
        op("exp.1", "exponential", OF, "x", op_name="jit(f)/jvp(checkpoint)/exp"),
        op(name, "exponential", OF, "exp.1", op_name=op_name, source_file="/home/me/model.py", source_line=7),
    ]
    return program(entry)


def test_recomputed_by_the_program() -> None:
    found = told("recomputation", cpu([("exp.1", 50), ("exp.2", 30)], proto=module()))
    assert found["title"] == "Recomputation takes 30.0% of the step, most of it in exp.2 (model.py:7)"
    assert (found["saving_ps_per_step"], found["share"], found["confidence"]) == (30_000_000, 0.3, "medium")
    shown = evidence(found)
    assert shown["Recomputed ops, of the time of all ops"] == (37.5, "%", "")
    assert shown["Recomputed by"] == ("the program", "", "")
    assert found["advice"].startswith("Recompute less: keep the results of matrix products")


def test_recomputed_by_the_compiler() -> None:
    found = told("recomputation", cpu([("exp.1", 50), ("exp.1.remat", 30)], proto=module("", "exp.1.remat")))
    assert evidence(found)["Recomputed by"] == ("the compiler", "", "")
    assert found["advice"].startswith("The compiler recomputes because it estimates")


@pytest.mark.parametrize(("again", "finds"), [(10, True), (9, False)])
def test_from_a_tenth_of_the_step_on(again: int, finds: bool) -> None:
    found = told("recomputation", cpu([("exp.1", 50), ("exp.2", again)], proto=module()))
    assert ("share" in found) is finds
    if not finds:
        assert found["reason"] == "Recomputed ops take 9.0% of the step."


def test_ops_of_the_forward_pass_are_not_recomputed() -> None:
    found = told("recomputation", cpu([("exp.1", 50), ("exp.2", 30)], proto=module("jit(f)/transpose(jvp())/exp")))
    assert found["reason"] == "Recomputed ops take 0.0% of the step."


def test_without_programs_nothing_is_known() -> None:
    found = told("recomputation", tpu([("%exp.2 = f32[8] exponential()", "loop fusion", 90)]))
    assert (found["reason"], found["state"]) == ("No ops with known programs recorded.", "unknown")
