"""Work that does not depend on the step before: by the arguments of a program that it returns no new value of."""

from __future__ import annotations

import pytest
from builders.profiles.findings import cpu, evidence, told
from builders.programs.hlo import Op, op, program

OF, WEIGHTS = "f32[64,64]{1,0}", "f32[64,32]{1,0}"
FILE = "/home/me/sample.py"
NOTHING = "Work that does not depend on the step before takes 0.0% of the step."


def sampler(
    *more: Op,
    weights: int = 4,
    sample: str = "f32[8,32]{1,0}",
    result: str = "f32[8,32]{1,0}",
    prompt: str = "f32[16,64]{1,0}",
    needs: str = "prompt",
) -> bytes:
    """A sampler that encodes a prompt by some weights, and refines a sample by the result."""
    arrays = [
        op(f"w{i}", "parameter", WEIGHTS, parameter_number=2 + i, op_name=f"params['encoder'][{i}]['w']")
        for i in range(weights)
    ]
    entry = [
        op("sample", "parameter", sample, op_name="sample"),
        op("prompt", "parameter", prompt, parameter_number=1, op_name="prompt"),
        *arrays,
        *more,
        op("dot.1", "dot", "f32[16,32]{1,0}", needs, "w0", source_file=FILE, source_line=7),
        op("all.2", "concatenate", "f32[64,32]{1,0}", *(one.name for one in arrays[1:])),
        op("dot.3", "dot", "f32[16,32]{1,0}", "dot.1", "all.2", source_file=FILE, source_line=7),
        op("dot.4", "dot", result, "sample", "dot.3", source_file=FILE, source_line=20),
    ]
    return program(entry, module="jit_denoise")


def profile(proto: bytes, encoding: int = 30) -> str:
    ops = [("dot.1", 20), ("dot.3", encoding - 20), ("dot.4", 80 - encoding)]
    return cpu(ops, ops, proto=proto)


def test_a_prompt_encoded_in_each_step() -> None:
    found = told("unchanged_work", profile(sampler()))
    assert found["title"] == (
        "30.0% of the step does not depend on the step before: sample.py:7, from prompt, params['encoder']"
    )
    assert (found["saving_ps_per_step"], found["confidence"]) == (0, "medium")
    shown = evidence(found)
    assert shown["Ops that depend on nothing that the step before computed, of the time of all ops"] == (37.5, "%", "")
    assert shown["Arguments that it depends on"] == ("prompt, params['encoder']", "", "")
    assert found["advice"].startswith("It depends on no result of the step before. If these arguments are the same")


def test_a_few_arrays_may_be_a_batch() -> None:
    assert told("unchanged_work", profile(sampler(weights=3)))["confidence"] == "low"


def test_work_of_no_argument_is_the_same_in_every_step() -> None:
    table = op("table", "fft", "f32[16,64]{1,0}", "numbers", source_file=FILE, source_line=3)
    proto = sampler(op("numbers", "iota", "f32[16,64]{1,0}"), table, needs="table")
    ops = [("table", 30), ("dot.4", 50)]
    found = told("unchanged_work", cpu(ops, ops, proto=proto))
    assert found["title"] == "30.0% of the step does not depend on the step before: sample.py:3"
    assert (found["saving_ps_per_step"], found["confidence"]) == (30_000_000, "high")
    assert found["advice"].startswith("It depends on no argument")


@pytest.mark.parametrize(
    "proto",
    [
        # Nothing of the program's arguments is returned: each call may be about something else.
        sampler(result="f32[8,16]{1,0}"),
        # The prompt is of the same size as what is returned.
        sampler(prompt="f32[8,32]{1,0}"),
        # Keys of random numbers change.
        sampler(op("drawn", "convert", "f32[16,64]{1,0}", "prompt"), prompt="u32[2]{0}", needs="drawn"),
        # So do numbers that are drawn, and what arrives meanwhile.
        sampler(op("drawn", "rng", "f32[16,64]{1,0}", "prompt"), needs="drawn"),
        # The prompt is used by what changes, too, as a batch is.
        sampler(op("both", "add", OF, "sample", "prompt"), op("after", "add", OF, "both", "prompt"), needs="after"),
    ],
)  # fmt: skip
def test_what_changes(proto: bytes) -> None:
    assert told("unchanged_work", profile(proto))["reason"] == NOTHING


def test_zeros_and_masks_are_made_where_they_are_needed() -> None:
    mask = op("mask", "compare", "pred[16,64]{1,0}", "numbers", "numbers", comparison_direction="EQ")
    proto = sampler(op("numbers", "iota", "f32[16,64]{1,0}"), mask, needs="sample")
    ops = [("mask", 30), ("dot.4", 50)]
    assert told("unchanged_work", cpu(ops, ops, proto=proto))["reason"] == NOTHING


@pytest.mark.parametrize(("encoding", "is_told"), [(9, False), (11, True)])
def test_from_a_tenth_of_the_step(encoding: int, is_told: bool) -> None:
    ops = [("dot.1", encoding), ("dot.4", 80 - encoding)]
    assert ("title" in told("unchanged_work", cpu(ops, ops, proto=sampler()))) == is_told
