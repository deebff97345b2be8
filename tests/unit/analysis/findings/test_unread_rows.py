"""Products of which few rows are read: logits of all positions, and a sequence that is computed anew for each token."""

from __future__ import annotations

import pytest
from builders.profiles.findings import cpu, evidence, told
from builders.programs.hlo import op, program

DIMENSIONS = {"lhs_contracting_dimensions": [1], "rhs_contracting_dimensions": [0]}
OPS = [("dot.1", 20), ("dot.2", 40), ("norm", 10), ("cut", 5), ("tanh.1", 5)]


def scores(*, rows: int = 16, read: int = 1, moving: bool = False, also: str = "", cut: str = "slice") -> bytes:
    """Rows of 32, twice a product, of which some are cut out inside of a fusion."""
    all_, few = f"f32[{rows},32]", f"f32[{read},32]"
    taken = (
        op("i.out", "dynamic-slice", few, "i.exp", "i.at", "i.zero", dynamic_slice_sizes=[read, 32])
        if moving
        else op("i.out", cut, few, "i.exp")
    )
    inside = [
        op("i.all", "parameter", all_, parameter_number=0),
        op("i.at", "parameter", "s32[]", parameter_number=1),
        op("i.zero", "constant", "s32[]"),
        op("i.exp", "exponential", all_, "i.all"),
        taken,
    ]
    entry = [
        op("x", "parameter", all_, parameter_number=0),
        op("w", "parameter", "f32[32,32]", parameter_number=1),
        op("at", "parameter", "s32[]", parameter_number=2),
        op("dot.1", "dot", all_, "x", "w", dot_dimension_numbers=DIMENSIONS),
        op("dot.2", "dot", all_, "dot.1", "w", dot_dimension_numbers=DIMENSIONS),
        op("norm", "negate", all_, "dot.2"),
        op("cut", "fusion", few, "norm", "at", called=["inside"], fusion_kind="kLoop"),
        *([op("more", also, all_, "norm")] if also else []),
        op("tanh.1", "tanh", few, "cut"),
    ]
    return program(entry, inside=inside)


def test_rows_of_the_last_product_that_are_cut_out() -> None:
    """The product, what follows, and the cut itself; the first product may be needed whole."""
    found = told("unread_rows", cpu(OPS, proto=scores()))
    share = 100 * 55 / 80
    assert found["title"] == "51.6% of the step computes 16 rows of which 1 is read, most of it in dot.2"
    assert found["saving_ps_per_step"] == round(55 * 15 / 16 * 10**6)
    label = "These products and what follows on them, of the time of all ops"
    assert evidence(found)[label] == (pytest.approx(share), "%", "")
    assert found["advice"].startswith("Cut the rows out before the product")


@pytest.mark.parametrize(
    ("changed", "least"),
    [
        ({"rows": 8, "read": 2}, True),
        ({"rows": 8, "read": 3}, False),  # more than a quarter
        ({"rows": 7, "read": 1}, False),
        ({"also": "negate"}, False),  # which leaves the program
        ({"also": "custom-call"}, False),
        ({"cut": "negate", "read": 16}, False),
    ],
    ids=str,
)
def test_whether_few_rows_are_read(changed: dict[str, object], least: bool) -> None:
    found = told("unread_rows", cpu(OPS, proto=scores(**changed)))  # type: ignore[arg-type]
    assert ("title" in found) == least


@pytest.mark.parametrize(
    ("calls", "read", "again"), [(3, 1, False), (4, 1, True), (4, 2, False)], ids=["seldom", "often", "several rows"]
)
def test_a_sequence_that_each_call_computes_anew(calls: int, read: int, again: bool) -> None:
    """Then both products are for one row, of which the program is told which."""
    ops = [("dot.1", 7), ("dot.2", 10), ("norm", 4), ("cut", 2)] * calls
    found = told("unread_rows", cpu(ops, proto=scores(moving=True, read=read)))
    if again:
        told_of = f" computes 16 rows anew in each of {calls} calls of test(5), for one that is read, most of it in"
        assert told_of in found["title"]
        assert "keys and values" in found["advice"]
    else:
        assert f" computes 16 rows of which {'1 is' if read == 1 else '2 are'} read, most of it in" in found["title"]
    wasted = 17 if again else 16
    assert found["saving_ps_per_step"] == round(calls * wasted * (1 - read / 16) * 10**6)
