"""Products with one-hot rows: what of a program shows them, and from which size and share on they count."""

from __future__ import annotations

from typing import Any

import pytest
from builders.profiles.findings import cpu, evidence, told, tpu
from builders.programs.hlo import op, program

LINE = {"source_file": "/home/me/model.py", "source_line": 16}


def embedding(
    entries: int = 8000, *, direction: str = "EQ", along: int = 2, repeated: tuple[int, ...] = (0, 1),
    result: str = "f32[1024,128]", also: tuple[Any, ...] = (),
) -> bytes:  # fmt: skip
    """One-hot rows made by a fusion, and their product with a table by another."""
    full = f"[8,128,{entries}]"
    rows = [
        op("r.tokens", "parameter", "s32[8,128]"),
        op("r.indices", "broadcast", f"s32{full}", "r.tokens", dimensions=repeated),
        op("r.iota", "iota", f"s32{full}", dimensions=[along]),
        op("r.eq", "compare", f"pred{full}", "r.indices", "r.iota", comparison_direction=direction),
        op("r.convert", "convert", f"f32{full}", "r.eq"),
        op("r.bitcast", "bitcast", f"f32[1024,{entries}]", "r.convert"),
    ]
    product = [
        op("p.rows", "parameter", f"f32[1024,{entries}]", parameter_number=0),
        op("p.table", "parameter", f"f32[{entries},128]", parameter_number=1),
        op("p.dot", "dot", result, "p.rows", "p.table"),
    ]
    entry = [
        op("tokens", "parameter", "s32[8,128]", parameter_number=0),
        op("table", "parameter", f"f32[{entries},128]", parameter_number=1),
        op("one_hot", "fusion", f"f32[1024,{entries}]", "tokens", called=["rows"], fusion_kind="kLoop"),
        *also,
        op("dot_fusion", "fusion", result, "one_hot", "table", called=["product"], fusion_kind="kOutput", **LINE),
        op("tanh.1", "tanh", result, "dot_fusion"),
    ]
    return program(entry, rows=rows, product=product)


OPS = [("dot_fusion", 50), ("one_hot", 10), ("tanh.1", 20)]


def test_the_product_and_the_making_of_its_rows() -> None:
    found = told("one_hot_product", cpu(OPS, proto=embedding()))
    assert found["title"] == (
        "Products with one-hot rows take 60.0% of the step, most of it in dot_fusion (model.py:16): a look-up in a "
        "table of 8000 rows"
    )
    assert (found["saving_ps_per_step"], found["share"], found["confidence"]) == (60_000_000, 0.6, "medium")
    shown = evidence(found)
    assert shown["Products and the making of their one-hot rows, of the time of all ops"] == (75.0, "%", "")
    assert shown["The products alone, of this time"][0] == pytest.approx(100 * 50 / 60)
    assert shown["Rows of the table"] == (8000, "", "")
    assert "reads one." in found["advice"]
    assert "On TPUs" not in found["advice"]


def test_on_tpus_the_advice_is_to_compare() -> None:
    ops = [("%dot_fusion = f32[8] fusion()", "convolution fusion", 60), ("%tanh.1 = f32[8] tanh()", "loop fusion", 20)]
    found = told("one_hot_product", tpu(ops, proto=embedding()))
    assert found["advice"].endswith("may have been chosen on purpose: compare both.")


def test_rows_that_something_else_reads_are_made_anyway() -> None:
    other = op("log.1", "log", "f32[1024,8000]", "one_hot")
    found = told("one_hot_product", cpu(OPS, proto=embedding(also=(other,))))
    assert found["share"] == 0.5


COPY = op("copy.1", "copy", "f32[1024,8000]", "one_hot")
CHANGES = op("changes", "parameter", "f32[1024,128]", parameter_number=2)


LOG = op("log.1", "log", "f32[1024,8000]", "copy.1")


@pytest.mark.parametrize(
    ("result", "other", "share"),
    [
        pytest.param("f32[8000,128]", (), 0.75, id="with the copy of the rows for it"),
        pytest.param("f32[8000,128]", (LOG,), 0.6, id="rows that something else reads are made anyway"),
        pytest.param("f32[1024,1024]", (), 0.65, id="of another product the copy alone"),
    ],
)
def test_the_gradient_of_the_table(result: str, other: tuple[Any, ...], share: float) -> None:
    proto = embedding(also=(COPY, CHANGES, op("dot.2", "dot", result, "copy.1", "changes"), *other))
    assert told("one_hot_product", cpu([*OPS[:2], ("copy.1", 5), ("dot.2", 10)], proto=proto))["share"] == share


def test_in_one_fusion() -> None:
    inside = [
        op("tokens.2", "parameter", "s32[1024]", parameter_number=0),
        op("table.2", "parameter", "f32[8000,128]", parameter_number=1),
        op("counts", "iota", "s32[8000]", dimensions=[0]),
        op("iota", "broadcast", "s32[1024,8000]", "counts", dimensions=[1]),
        op("indices", "broadcast", "s32[1024,8000]", "tokens.2", dimensions=[0]),
        op("eq", "compare", "pred[1024,8000]", "iota", "indices", comparison_direction="EQ"),
        op("rows", "convert", "f32[1024,8000]", "eq"),
        op("dot", "dot", "f32[128,1024]", "table.2", "rows"),
    ]
    entry = [
        op("tokens", "parameter", "s32[1024]", parameter_number=0),
        op("table", "parameter", "f32[8000,128]", parameter_number=1),
        op("fusion.1", "fusion", "f32[128,1024]", "tokens", "table", called=["inside"], fusion_kind="kOutput", **LINE),
    ]
    found = told("one_hot_product", cpu([("fusion.1", 40)], proto=program(entry, inside=inside)))
    assert found["share"] == 0.4


@pytest.mark.parametrize(("elsewhere", "finds"), [(0.0, True), (0.1, False)])
def test_one_value_and_zeros_elsewhere(elsewhere: float, finds: bool) -> None:
    entry = [
        op("iota", "iota", "s32[1024,8000]", dimensions=[1]),
        op("tokens", "parameter", "s32[1024]", parameter_number=0),
        op("table", "parameter", "f32[8000,128]", parameter_number=1),
        op("indices", "broadcast", "s32[1024,8000]", "tokens", dimensions=[0]),
        op("eq", "compare", "pred[1024,8000]", "indices", "iota", comparison_direction="EQ"),
        op("one", "constant", "f32[]", literal={"f32s": [1.0]}),
        op("ones", "broadcast", "f32[1024,8000]", "one"),
        op("zero", "constant", "f32[]", literal={"f32s": [elsewhere]}),
        op("zeros", "broadcast", "f32[1024,8000]", "zero"),
        op("select.1", "select", "f32[1024,8000]", "eq", "ones", "zeros"),
        op("dot.1", "dot", "f32[1024,128]", "select.1", "table"),
    ]
    found = told("one_hot_product", cpu([("dot.1", 40), ("select.1", 20)], proto=program(entry)))
    assert found.get("share") == (0.6 if finds else None)


@pytest.mark.parametrize(("entries", "finds"), [(511, False), (512, True), (513, True)])
def test_small_tables_may_be_faster_as_products(entries: int, finds: bool) -> None:
    assert ("share" in told("one_hot_product", cpu(OPS, proto=embedding(entries)))) is finds


@pytest.mark.parametrize(("product", "finds"), [(9, False), (10, True), (11, True)])
def test_from_a_tenth_of_the_step_on(product: int, finds: bool) -> None:
    found = told("one_hot_product", cpu([("dot_fusion", product), ("tanh.1", 70)], proto=embedding()))
    assert ("share" in found) is finds
    if not finds:
        assert found["reason"] == "Products with one-hot rows of large tables take 9.0% of the step."


@pytest.mark.parametrize(
    "proto",
    [
        pytest.param(embedding(direction="GE"), id="a mask"),
        pytest.param(embedding(along=1, repeated=(0, 1)), id="indices that differ along the counted dimension"),
        pytest.param(embedding(8000, result="f32[8000,128]"), id="the gradient of a table"),
    ],
)
def test_other_products(proto: bytes) -> None:
    found = told("one_hot_product", cpu(OPS, proto=proto))
    assert found["reason"] == "Products with one-hot rows of large tables take 0.0% of the step."


def test_without_programs_nothing_is_known() -> None:
    found = told("one_hot_product", cpu([("dot_fusion", 90)]))
    assert (found["reason"], found["state"]) == ("No ops with known programs recorded.", "unknown")
