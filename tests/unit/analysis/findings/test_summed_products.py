"""Products of single examples that are only added up over the examples."""

from __future__ import annotations

import pytest
from builders.profiles.findings import cpu, evidence, told
from builders.programs.hlo import op, program

DIMENSIONS = {
    "lhs_batch_dimensions": [0],
    "rhs_batch_dimensions": [0],
    "lhs_contracting_dimensions": [1],
    "rhs_contracting_dimensions": [1],
}
OPS = [("dot.1", 40), ("add_up", 20), ("tanh.1", 20)]


def gradients(*, batch: int = 8, reads: str = "sum", also: bool = False) -> bytes:
    """Gradients of a weight of 32 x 64 per example, which a fusion adds up, or reads in another way."""
    each = f"f32[{batch},32,64]"
    result = {"sum": "f32[32,64]", "sum of all": "f32[]", "each": each}[reads]
    inside = [op("i.each", "parameter", each), op("i.zero", "constant", "f32[]")]
    inside.append(
        op("i.out", "negate", result, "i.each")
        if reads == "each"
        else op("i.out", "reduce", result, "i.each", "i.zero", dimensions=[0])
    )
    entry = [
        op("x", "parameter", f"f32[{batch},16,32]", parameter_number=0),
        op("g", "parameter", f"f32[{batch},16,64]", parameter_number=1),
        op("dot.1", "dot", each, "x", "g", dot_dimension_numbers=DIMENSIONS),
        op("add_up", "fusion", result, "dot.1", called=["inside"], fusion_kind="kLoop"),
        *([op("norms", "negate", each, "dot.1")] if also else []),
        op("tanh.1", "tanh", result, "add_up"),
    ]
    return program(entry, inside=inside)


def test_the_products_and_their_sums() -> None:
    found = told("summed_products", cpu(OPS, proto=gradients()))
    assert found["title"] == (
        "Products of single examples that are only added up take 60.0% of the step, most of it in dot.1: 8 of 32 x 64"
    )
    assert (found["saving_ps_per_step"], found["confidence"]) == (60_000_000, "medium")
    assert evidence(found)["The products alone, of this time"] == (pytest.approx(100 * 40 / 60), "%", "")
    assert found["advice"].startswith("Differentiate the mean or sum of the losses")


@pytest.mark.parametrize(
    "changed", [{"batch": 1}, {"reads": "each"}, {"reads": "sum of all"}, {"also": True}], ids=lambda one: str(one)
)
def test_products_of_which_each_is_needed(changed: dict[str, object]) -> None:
    found = told("summed_products", cpu(OPS, proto=gradients(**changed)))  # type: ignore[arg-type]
    assert found["reason"] == "Products of single examples that are only added up take 0.0% of the step."


@pytest.mark.parametrize(("spent", "fires"), [(6, False), (12, True)])
def test_from_a_tenth_of_the_step(spent: int, fires: bool) -> None:
    found = told("summed_products", cpu([("dot.1", spent), ("add_up", 2), ("tanh.1", 80)], proto=gradients()))
    assert ("title" in found) == fires
