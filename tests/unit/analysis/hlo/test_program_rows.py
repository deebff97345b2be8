"""What programs show by their rows: look-ups by products, copies of buffers, unread rows, what stays the same."""

from __future__ import annotations

from typing import Any

import pytest
from builders.programs.hlo import Op, metadata_plane, op, program
from builders.shown import profile
from builders.xspace_text import build

from tpu_profile_plugin.analysis.hlo.buffer_copies import ProgramCopies
from tpu_profile_plugin.analysis.hlo.graph import Links, Mark, _walk, adjacent, find
from tpu_profile_plugin.analysis.hlo.instructions import provenance
from tpu_profile_plugin.analysis.hlo.one_hot import looked_up
from tpu_profile_plugin.analysis.hlo.ops import HloOps
from tpu_profile_plugin.analysis.hlo.parameters import Change, base_name, changes, programs_of
from tpu_profile_plugin.analysis.hlo.products import Product, few_rows, products_of
from tpu_profile_plugin.analysis.hlo.program_rows import ProgramRows
from tpu_profile_plugin.analysis.hlo.programs import HloPrograms, hlo_programs, is_training
from tpu_profile_plugin.analysis.hlo.summed import summed
from tpu_profile_plugin.analysis.hlo.unchanged import Unchanged
from tpu_profile_plugin.analysis.hlo.unread_rows import unread_rows
from tpu_profile_plugin.columns import load
from tpu_profile_plugin.protos import message


def rows_of(entry: list[Op], more: dict[str, Any] | None = None, **computations: list[Op]) -> ProgramRows:
    found = hlo_programs(profile(metadata_plane(m=(7, program(entry, more=more, **computations))))).program(7)
    assert found is not None
    return ProgramRows(found)


def names(rows: ProgramRows, found: Any) -> list[str]:
    return [rows.program.names[row] for row in found]


def at(rows: ProgramRows, name: str) -> int:
    row = rows.row(name)
    assert row is not None
    return row


FULL = "[4,9]"
COUNTS = op("counts", "iota", f"s32{FULL}", dimensions=[1])
TOKENS = op("tokens", "parameter", "s32[4]")
TABLE = op("table", "parameter", "f32[9,5]", parameter_number=1)
INDICES = op("indices", "broadcast", f"s32{FULL}", "tokens", dimensions=[0])
EQ = op("eq", "compare", f"pred{FULL}", "indices", "counts", comparison_direction="EQ")
MADE = op("made", "convert", f"f32{FULL}", "eq")
DOT = op("dot", "dot", "f32[4,5]", "made", "table")
LOOKED_UP = [COUNTS, TOKENS, TABLE, INDICES, EQ, MADE, DOT]
WIDE, ONE, ZERO = (
    f"f32{FULL}",
    *(op(n, "constant", "f32[]", literal={"f32s": [v]}) for n, v in (("one", 2.0), ("zero", 0.0))),
)
ONES, ZEROS = op("ones", "broadcast", WIDE, "one"), op("zeros", "broadcast", WIDE, "zero")
CHOSEN = op("made", "select", WIDE, "eq", "ones", "zeros")
SELECTED = [COUNTS, TOKENS, TABLE, INDICES, EQ, ONE, ZERO, ONES, ZEROS, CHOSEN, DOT]
FOUND = (9, ["made", "eq"], False)


def changed(base: list[Op], *ops: Op, first: str = "", also: tuple[Op, ...] = ()) -> list[Op]:
    """These ops in place of those of their names, one of them first; others at the end."""
    by_name = {one.name: one for one in ops}
    made = [by_name.pop(one.name, one) for one in base]
    made = [*by_name.values(), *made, *also]
    return sorted(made, key=lambda one: one.name != first)


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (LOOKED_UP, FOUND),
        (changed(LOOKED_UP, first="table"), FOUND),
        (changed(LOOKED_UP, first="indices"), FOUND),
        (changed(LOOKED_UP, op("dot", "dot", "f32[5,4]", "table", "made")), FOUND),
        (changed(LOOKED_UP, op("dot", "custom-call", "f32[4,5]", "made", "table")), FOUND),
        (changed(LOOKED_UP, op("dot", "add", "f32[4,5]", "made", "table")), None),
        (changed(LOOKED_UP, op("dot", "dot", "f32[4,5]", "made")), None),
        (changed(LOOKED_UP, op("eq", "compare", f"pred{FULL}", "counts", "indices", comparison_direction="EQ")), FOUND),
        (changed(LOOKED_UP, op("eq", "compare", f"pred{FULL}", "indices", "counts", comparison_direction="NE")), None),
        # Gradients are added up to rows of the table.
        (changed(LOOKED_UP, op("dot", "dot", "f32[9,5]", "made", "tokens")), (9, ["made", "eq"], True)),
        (changed(LOOKED_UP, op("dot", "dot", "f32[9,5]", "made", "table")), None),
        (changed(LOOKED_UP, op("dot", "dot", "f32[4,5]", "made", "tokens")), None),
        # Each index is compared with 0, 1, 2, ...: along a dimension in which it is repeated.
        (changed(LOOKED_UP, op("indices", "broadcast", f"s32{FULL}", "tokens", dimensions=[0, 1])), None),
        (changed(LOOKED_UP, op("indices", "broadcast", f"s32{FULL}", "tokens", dimensions=[1])), None),
        (changed(LOOKED_UP, op("indices", "parameter", f"s32{FULL}", parameter_number=2)), None),
        (changed(LOOKED_UP, op("counts", "parameter", f"s32{FULL}", parameter_number=2)), None),
        (changed(LOOKED_UP, op("counts", "iota", f"s32{FULL}", dimensions=[2])), None),
        (changed(LOOKED_UP, op("counts", "broadcast", f"s32{FULL}", "n", dimensions=[1]),
                 op("n", "iota", "s32[9]", dimensions=[0])), FOUND),
        (changed(LOOKED_UP, op("counts", "broadcast", f"s32{FULL}", "n"), op("n", "iota", "s32[9]")), None),
        (changed(LOOKED_UP, op("counts", "broadcast", f"s32{FULL}", "n", dimensions=[1]),
                 op("n", "parameter", "s32[9]", parameter_number=2)), None),
        # One value where they are equal, and zeros elsewhere.
        (SELECTED, FOUND),
        (changed(SELECTED, first="zero"), FOUND),
        (changed(SELECTED, first="ones"), FOUND),
        (changed(SELECTED, op("zero", "constant", "f32[]", literal={"f32s": [3.0]})), None),
        (changed(SELECTED, op("ones", "negate", WIDE, "one")), None),
        (changed(SELECTED, op("zeros", "negate", WIDE, "zero")), None),
        (changed(SELECTED, op("ones", "broadcast", WIDE, "tokens")), None),
        (changed(SELECTED, op("made", "select", WIDE, "eq", "ones")), None),
        # What makes the rows is in vain, unless something else reads them.
        (changed(LOOKED_UP, also=(op("log", "log", WIDE, "made"),)), (9, [], False)),
        (changed(LOOKED_UP, also=(op("same", "copy", WIDE, "made"),)), (9, ["made", "eq", "same"], False)),
        (changed(LOOKED_UP, also=(op("same", "copy", WIDE, "made"), op("log", "log", WIDE, "same"))), (9, [], False)),
        (changed(LOOKED_UP, also=(op("both", "tuple", [WIDE, WIDE], "made", "made"),)),
         (9, ["made", "eq", "both"], False)),
    ],
)  # fmt: skip
def test_products_that_look_up_rows(entry: list[Op], expected: Any) -> None:
    rows = rows_of(entry)
    found = looked_up(rows, at(rows, "dot"))
    told = None if found is None else (found.entries, names(rows, found.makers), found.is_gradient)
    assert told == expected


def test_makers_inside_of_fusions_are_not_told() -> None:
    inside = [op("p.t", "parameter", "s32[4]"), op("p.n", "parameter", "f32[9,5]", parameter_number=1),
              *changed(LOOKED_UP[3:], op("indices", "broadcast", f"s32{FULL}", "p.t", dimensions=[0]), COUNTS,
                       op("dot", "dot", "f32[4,5]", "made", "p.n"))]  # fmt: skip
    rows = rows_of([TOKENS, TABLE, op("f", "fusion", "f32[4,5]", "tokens", "table", called=["inside"])], inside=inside)
    found = looked_up(rows, at(rows, "f"))
    assert found is not None
    assert (found.entries, list(found.makers), found.is_gradient) == (9, [], False)


ALL, FEW = "f32[16,32]", "f32[2,32]"
PRODUCT = [
    op("x", "parameter", ALL),
    op("w", "parameter", "f32[32,32]", parameter_number=1),
    op("dot", "dot", ALL, "x", "w"),
    op("norm", "negate", ALL, "dot"),
    op("cut", "slice", FEW, "norm"),
    op("end", "tanh", FEW, "cut"),
]


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (PRODUCT, [(["cut", "dot", "norm"], 16, 2, False)]),
        (changed(PRODUCT, op("cut", "slice", FEW, "dot"), op("norm", "negate", FEW, "cut")),
         [(["cut", "dot"], 16, 2, False)]),
        (changed(PRODUCT, op("cut", "dynamic-slice", FEW, "norm", "x")), [(["cut", "dot", "norm"], 16, 2, True)]),
        (changed(PRODUCT, first="dot"), [(["cut", "dot", "norm"], 16, 2, False)]),
        (changed(PRODUCT, op("norm", "reshape", "f32[16,32]", "dot"), first="norm"),
         [(["cut", "dot", "norm"], 16, 2, False)]),
        # One dimension is cut, to a quarter of 8 or more.
        (changed(PRODUCT, op("cut", "slice", "f32[4,32]", "norm")), [(["cut", "dot", "norm"], 16, 4, False)]),
        (changed(PRODUCT, op("cut", "slice", "f32[5,32]", "norm")), []),
        (changed(PRODUCT, op("cut", "slice", "f32[2,8]", "norm")), []),
        (changed(PRODUCT, op("cut", "slice", ALL, "norm")), []),
        (changed(PRODUCT, op("cut", "slice", "f32[16,8]", "norm")), [(["cut", "dot", "norm"], 32, 8, False)]),
        (changed(PRODUCT, op("dot", "dot", "f32[8,64]", "x", "w"), op("norm", "negate", "f32[8,64]", "dot"),
                 op("cut", "slice", "f32[2,64]", "norm")), [(["cut", "dot", "norm"], 8, 2, False)]),
        (changed(PRODUCT, op("dot", "dot", "f32[7,64]", "x", "w"), op("norm", "negate", "f32[7,64]", "dot"),
                 op("cut", "slice", "f32[1,64]", "norm")), []),
        # What has as many elements leads to the product, and nothing else may read its result.
        (changed(PRODUCT, op("norm", "add", ALL, "w", "dot")), [(["cut", "dot", "norm"], 16, 2, False)]),
        (changed(PRODUCT, op("norm", "add", ALL, "dot", "dot")), [(["cut", "dot", "norm"], 16, 2, False)]),
        (changed(PRODUCT, op("norm", "negate", ALL, "x")), []),
        (changed(PRODUCT, op("norm", "reduce", ALL, "w")), []),
        (changed(PRODUCT, also=(op("more", "negate", ALL, "norm"),)), []),
        (changed(PRODUCT, also=(op("more", "custom-call", ALL, "norm"), op("last", "slice", FEW, "more"))), []),
    ],
)  # fmt: skip
def test_rows_of_products_that_nothing_reads(entry: list[Op], expected: Any) -> None:
    rows = rows_of(entry)
    found = [(sorted(names(rows, one.ops)), one.rows, one.read, one.moving) for one in unread_rows(rows)]
    assert found == expected


@pytest.mark.parametrize(("between", "finds"), [(62, True), (63, False)])
def test_cuts_are_near_to_their_product(between: int, finds: bool) -> None:
    chain = [op(f"n{i}", "negate", ALL, f"n{i - 1}" if i else "dot") for i in range(between)]
    entry = [*PRODUCT[:3], *chain, op("cut", "slice", FEW, chain[-1].name), op("end", "tanh", FEW, "cut")]
    assert len(list(unread_rows(rows_of(entry)))) == finds


def test_values_that_are_read_twice_are_followed_once() -> None:
    sums = [
        op("n0", "add", ALL, "dot", "dot"),
        *(op(f"n{i}", "add", ALL, f"n{i - 1}", f"n{i - 1}") for i in range(1, 8)),
    ]
    entry = [*PRODUCT[:3], *sums, op("cut", "slice", FEW, "n7"), op("end", "tanh", FEW, "cut")]
    (found,) = unread_rows(rows_of(entry))
    assert len(found.ops) == 10


def test_rows_that_are_cut_out_in_fusions() -> None:
    entry = [
        op("x", "parameter", ALL),
        op("w", "parameter", "f32[32,32]", parameter_number=1),
        op("f", "fusion", ALL, "w", "x", called=["product"]),
        op("g", "fusion", FEW, "f", called=["taken"]),
        op("end", "tanh", FEW, "g"),
    ]
    product = [
        op("b", "parameter", "f32[32,32]"),
        op("a", "parameter", ALL, parameter_number=1),
        op("dot", "dot", ALL, "a", "b"),
    ]
    taken = [op("t", "parameter", ALL), op("cut", "slice", FEW, "t"), op("same", "negate", FEW, "cut")]
    rows = rows_of(entry, product=product, taken=taken)
    assert [sorted(names(rows, one.ops)) for one in unread_rows(rows)] == [["f", "g"]]


KEPT = "f32[512,4]{1,0}"
COPIED = [
    op("cache", "parameter", KEPT, op_name="a/cache"),
    op("row", "parameter", "f32[1,4]{1,0}", parameter_number=1),
    op("copy", "copy", KEPT, "cache"),
    op("new", "dynamic-update-slice", KEPT, "copy", "row"),
]
PAIR = [KEPT, KEPT]


def alias(number: int, *path: int, field: str = "input_output_alias") -> dict[str, Any]:
    return {field: {"entries": [{"parameter_number": number, "parameter_shape_index": path}]}}


@pytest.mark.parametrize(
    ("entry", "more", "expected"),
    [
        (COPIED, {}, (True, "not donated", "a/cache")),
        (changed(COPIED, op("cache", "parameter", KEPT)), {}, (True, "not donated", "cache")),
        (changed(COPIED, first="row"), {}, (True, "not donated", "a/cache")),
        (COPIED, alias(0), (True, "other", "a/cache")),
        (COPIED, alias(0, field="buffer_donor"), (True, "other", "a/cache")),
        (COPIED, alias(1), (True, "not donated", "a/cache")),
        (COPIED, alias(0, 0), (True, "not donated", "a/cache")),
        (changed(COPIED, also=(op("end", "tanh", "f32[4]{0}", "new"),)), {}, (True, "argument", "a/cache")),
        (changed(COPIED, also=(op("end", "tuple", ["f32[4]{0}", KEPT], "row", "new"),)), {},
         (True, "not donated", "a/cache")),
        (changed(COPIED, op("cache", "negate", KEPT, "row")), {}, (True, "other", "")),
        # Another layout, memory, type or size is no duplicate.
        (changed(COPIED, op("copy", "copy", "f32[512,4]{0,1}", "cache")), {}, (False, "argument", "a/cache")),
        (changed(COPIED, op("copy", "copy", "f32[512,4]{1,0:S(1)}", "cache")), {}, (False, "argument", "a/cache")),
        (changed(COPIED, op("copy", "copy", "f16[512,4]{1,0}", "cache")), {}, (False, "argument", "a/cache")),
        (changed(COPIED, op("copy", "negate", KEPT, "cache")), {}, (False, "other", "")),
        (changed(COPIED, op("copy", "copy", KEPT)), {}, (False, "other", "")),
        # Parts of a tuple are donated by their paths.
        (changed(COPIED, op("cache", "get-tuple-element", KEPT, "both", tuple_index=1),
                 op("both", "parameter", PAIR)), alias(0, 1), (True, "other", "both")),
        (changed(COPIED, op("cache", "get-tuple-element", KEPT, "both", tuple_index=1),
                 op("both", "parameter", PAIR)), alias(0, 0), (True, "not donated", "both")),
        (changed(COPIED, op("copy", "copy", KEPT, "same"), op("same", "bitcast", KEPT, "cache")), {},
         (True, "not donated", "a/cache")),
    ],
)  # fmt: skip
def test_why_buffers_are_copied(entry: list[Op], more: dict[str, Any], expected: tuple[bool, str, str]) -> None:
    rows = rows_of(entry, more)
    copies, row = ProgramCopies(rows), at(rows, "copy")
    why, name = copies.why(row)
    assert (copies.is_copy(row), why.value, name) == expected


@pytest.mark.parametrize(
    ("inside", "expected"),
    [
        ([op("c.x", "parameter", KEPT), op("c.copy", "copy", KEPT, "c.x")], True),
        ([op("c.copy", "copy", KEPT, "c.x"), op("c.x", "parameter", KEPT)], True),
        ([op("c.x", "parameter", KEPT), op("c.b", "bitcast", KEPT, "c.x"), op("c.copy", "copy", KEPT, "c.b")], True),
        ([op("c.x", "parameter", KEPT), op("c.a", "copy", KEPT, "c.x"), op("c.b", "copy", KEPT, "c.a")], False),
        ([op("c.x", "parameter", KEPT), op("c.a", "copy", KEPT, "c.x"), op("c.b", "negate", KEPT, "c.a")], False),
        ([op("c.x", "parameter", KEPT)], False),
    ],
)
def test_copies_in_fusions_and_loops(inside: list[Op], expected: bool) -> None:
    entry = [
        op("x", "parameter", KEPT),
        op("f", "fusion", KEPT, "x", called=["copied"]),
        op("first", "tuple", PAIR, "f", "f"),
        op("loop", "while", PAIR, "first", called=["body", "test"]),
        op("called", "call", KEPT, "x", called=["plain"]),
        op("end", "get-tuple-element", KEPT, "loop"),
    ]
    body = [
        op("state", "parameter", PAIR),
        op("old", "get-tuple-element", KEPT, "state"),
        op("copy.2", "copy", KEPT, "old"),
        op("next", "tuple", PAIR, "copy.2", "old"),
    ]
    test = [op("t", "parameter", PAIR), op("more", "constant", "pred[]")]
    plain = [op("p", "parameter", KEPT), op("copy.3", "copy", KEPT, "p")]
    rows = rows_of(entry, copied=inside, body=body, test=test, plain=plain)
    copies = ProgramCopies(rows)
    assert copies.is_copy(at(rows, "f")) is expected
    reasons = [copies.why(at(rows, name)) for name in ("copy.2", "copy.3")]
    assert [(why.value, name) for why, name in reasons] == [("carried", ""), ("other", "")]
    if expected:
        assert copies.why(at(rows, "f"))[0].value == "not donated"
    loops = [names(rows, rows.loops(at(rows, name))) for name in ("copy.2", "x", "more", "copy.3")]
    assert loops == [["loop"], [], ["loop"], []]


NUMBERS, KEY = "f32[8]", "u32[2]"
STEP = [
    op("w", "parameter", NUMBERS, op_name="weights"),
    op("table", "parameter", "f32[5]", parameter_number=1, op_name="table"),
    op("batch", "parameter", "f32[3]", parameter_number=2, op_name="batch"),
    op("a", "negate", "f32[5]", "table"),
    op("b", "add", NUMBERS, "w", "batch"),
    op("n", "constant", "f32[7]"),
    op("c", "sort", "f32[7]", "n"),
    op("end", "add", NUMBERS, "b", "b"),
]


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        # Weights are returned, and a batch is taken with them; sorted constants depend on nothing.
        (STEP, {"a": ["table"], "b": None, "c": [], "n": None, "table": ["table"], "batch": None}),
        (changed(STEP, first="n"), {"a": ["table"], "c": [], "n": None}),
        (changed(STEP, op("a", "add", "f32[5]", "table", "w")), {"a": None, "table": None}),
        (changed(STEP, op("a", "add", "f32[5]", "table", "more"),
                 op("more", "parameter", "f32[6]", parameter_number=3, op_name="more")), {"a": ["more", "table"]}),
        # Without returned arguments only what depends on none.
        (changed(STEP, op("end", "tanh", "f32[4]", "b")), {"a": None, "table": None, "c": []}),
        # A key of random numbers is another one in each step, of 2 or 4 numbers without sign.
        (changed(STEP, op("table", "parameter", KEY, parameter_number=1)), {"a": None}),
        (changed(STEP, op("table", "parameter", "u32[4]", parameter_number=1)), {"a": None}),
        (changed(STEP, op("table", "parameter", "u32[3]", parameter_number=1, op_name="t")), {"a": ["t"]}),
        (changed(STEP, op("table", "parameter", "s32[2]", parameter_number=1, op_name="t")), {"a": ["t"]}),
        # What changes by itself.
        (changed(STEP, op("n", "rng", "f32[7]")), {"c": None, "a": ["table"]}),
        (changed(STEP, op("n", "call", "f32[7]", "table", called=["outer"])), {"c": None, "a": ["table"]}),
        (changed(STEP, op("n", "call", "f32[7]", "table", called=["plain"])), {"c": ["table"], "a": ["table"]}),
    ],
)  # fmt: skip
def test_what_stays_the_same_in_each_run(entry: list[Op], expected: dict[str, Any]) -> None:
    calls = {
        "outer": [op("o", "call", "f32[7]", called=["inner"])],
        "inner": [op("i", "constant", "f32[7]"), op("r", "rng", "f32[7]")],
        "plain": [op("q", "parameter", "f32[5]"), op("s", "tanh", "f32[7]", "q")],
    }
    rows = rows_of(entry, **calls)
    found = Unchanged(rows)
    assert {name: found.arguments(at(rows, name)) for name in expected} == expected
    if any("plain" in one.called for one in entry):
        assert found.arguments(at(rows, "s")) == ["table"]


def test_of_large_programs_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = rows_of(STEP)
    monkeypatch.setattr("tpu_profile_plugin.analysis.hlo.unchanged.MOST_ROWS", 8)
    assert Unchanged(rows).arguments(at(rows, "a")) == ["table"]
    monkeypatch.setattr("tpu_profile_plugin.analysis.hlo.unchanged.MOST_ROWS", 7)
    assert Unchanged(rows).arguments(at(rows, "a")) is None


def test_where_values_come_from() -> None:
    entry = [
        op("x", "parameter", NUMBERS),
        op("f", "fusion", NUMBERS, "x", called=["inside"]),
        op("y", "copy", NUMBERS, "f"),
        op("z", "negate", NUMBERS, "y"),
        op("bare", "copy", NUMBERS),
    ]
    inside = [op("p", "parameter", NUMBERS), op("q", "copy", NUMBERS, "p")]
    rows = rows_of(entry, inside=inside)

    def back(name: str, *same: str) -> list[str]:
        return names(rows, rows.back(at(rows, name), lambda row: rows.opcodes[row] in same))

    assert back("y", "copy") == ["y", "f", "q", "p", "x"]
    assert back("z", "copy") == ["z"]
    assert back("z", "negate") == ["z", "y"]
    assert back("z", "negate", "copy") == ["z", "y", "f", "q", "p", "x"]
    assert back("bare", "copy") == ["bare"]
    chain = [op("c0", "copy", NUMBERS, "x"), *(op(f"c{i}", "copy", NUMBERS, f"c{i - 1}") for i in range(1, 40))]
    rows = rows_of([op("x", "parameter", NUMBERS), *chain])
    assert back("c30", "copy")[-1] == "x"
    assert (len(back("c31", "copy")), back("c31", "copy")[-1]) == (32, "c0")


def several(*entries: list[Op]) -> HloPrograms:
    plane = {f"m{i}": (i, program(entry, module="jit_f")) for i, entry in enumerate(entries, 1)}
    return hlo_programs(profile(metadata_plane(**plane)))


def taking(*shapes: str, **facts: Any) -> list[Op]:
    taken = [op(f"p{i}", "parameter", one, parameter_number=i, **facts) for i, one in enumerate(shapes)]
    return [*taken, op("end", "constant", "f32[]")]


@pytest.mark.parametrize(
    ("programs", "expected"),
    [
        ([taking("f32[2]")], None),
        ([taking("f32[2]"), taking("f32[2]")], []),
        ([taking("f32[2,3]"), taking("f32[2,4]")], [("argument 0", "dimension 1", ["3", "4"])]),
        ([taking("f32[2]"), taking("f32[3]"), taking("f32[2]")], [("argument 0", "dimension 0", ["2", "3", "2"])]),
        ([taking("f32[2]"), taking("s32[2]")], [("argument 0", "type", ["f32", "s32"])]),
        ([taking("f32[2]"), taking("f32[2,1]")], [("argument 0", "shape", ["[2]", "[2,1]"])]),
        ([taking("f32[2]"), taking("s32[]")],
         [("argument 0", "type", ["f32", "s32"]), ("argument 0", "shape", ["[2]", "[]"])]),
        ([taking("f32[2]"), taking("f32[2]", "f32[]")], [("Number of parameters", "it", ["1", "2"])]),
        ([taking("f32[2]", "f32[5]"), taking("f32[2]"), taking("f32[2]", "f32[6]")],
         [("argument 1", "dimension 0", ["5", "6"]), ("Number of parameters", "it", ["2", "1", "2"])]),
        # Most values first.
        ([taking("f32[2]", "f32[4]"), taking("f32[3]", "f32[5]"), taking("f32[3]", "f32[6]")],
         [("argument 1", "dimension 0", ["4", "5", "6"]), ("argument 0", "dimension 0", ["2", "3", "3"])]),
        # The newest eight.
        ([taking("f32[9]"), *[taking("f32[2]")] * 8], []),
        ([taking("f32[9]"), *[taking("f32[2]")] * 7], [("argument 0", "dimension 0", ["9", *["2"] * 7])]),
        ([taking("f32[2]", op_name="x"), taking("f32[3]", op_name="x")], [("x", "dimension 0", ["2", "3"])]),
        ([taking("f32[2]", op_name="XLA_Args")] * 2 + [taking("f32[3]")], [
            ("argument 0", "dimension 0", ["2", "2", "3"]),
        ]),
    ],
)  # fmt: skip
def test_how_parameters_differ(programs: list[list[Op]], expected: Any) -> None:
    found = several(*programs)
    assert list(programs_of(found)) == [base_name(name) for name in [*found.names.values()][:1]]
    told = changes(found, [*range(1, len(programs) + 1)])
    assert (None if told is None else [(one.parameter, one.what, list(one.values)) for one in told]) == expected


def test_parameters_are_those_of_the_entry() -> None:
    texts = [program(taking(one), module="jit_f", other=taking("f32[7]", "f32[8]")) for one in ("f32[2]", "f32[3]")]
    found = hlo_programs(profile(metadata_plane(a=(1, texts[0]), b=(2, texts[1]))))
    assert [(one.what, one.values) for one in changes(found, [1, 2]) or ()] == [("dimension 0", ("2", "3"))]


def test_programs_that_are_not_there_do_not_differ() -> None:
    found = several(taking("f32[2]"), taking("f32[3]"))
    assert changes(found, [1, 99]) is None
    assert [one.values for one in changes(found, [1, 99, 2]) or ()] == [("2", "3")]


@pytest.mark.parametrize(("count", "more"), [(1, False), (6, False), (7, True)])
def test_few_values_of_a_parameter_are_told(count: int, more: bool) -> None:
    told = str(Change("x", "dimension 0", tuple(map(str, range(count)))))
    assert told.endswith(", ...") is more
    assert ("5" in told) is (count > 5)
    assert "6" not in told


def test_instructions_that_a_profile_lacks() -> None:
    ops = HloOps(profile(metadata_plane(m=(7, program(PRODUCT)))))
    rows = ops.rows(7)
    assert rows is not None
    assert ops.rows(7) is rows
    assert (ops.rows(8), ops.located(8, "dot"), ops.located(7, "none")) == (None, None, None)
    assert ops.located(7, "x") == (rows, 0)
    assert ops.located(7, "dot") == (rows, 2)
    assert (ops.layout(8, "dot"), ops.layout(7, "none"), ops.layout(7, "dot")) == ((), (), ())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (metadata_plane(m=(7, program([op("a", "negate", "f32[]", op_name="jit(f)/transpose(jvp(f))/neg")]))), True),
        (metadata_plane(m=(7, program([op("a", "negate", "f32[]", op_name="gradients/a/neg", op_type="Neg")]))), True),
        (metadata_plane(m=(7, program([op("a", "negate", "f32[]", op_name="jit(f)/neg")]))), False),
        (metadata_plane(m=(7, program([op("transpose(a", "negate", "f32[]", op_name="jit(f)/neg")]))), False),
        ("", False),
    ],
)
def test_training_shows_in_programs(text: str, expected: bool) -> None:
    assert is_training(load(build(text))) is expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("MmBackward0/aten::mm:PyTorch", True),
        ("MmBackward0/aten::mm", False),
        ("Linear_0/aten::mm:PyTorch", False),
        ("Backward/mm:PyTorch", False),
    ],
)
def test_training_shows_in_ops_of_pytorch(name: str, expected: bool) -> None:
    assert is_training(load(build(f'plane 9 "/host:CPU"\nline 1 main\n5us +2us "{name}"'))) is expected


CHANNELS = {
    "kernel_output_feature_dimension": 1, "input_feature_dimension": 1, "output_feature_dimension": 1,
    "input_spatial_dimensions": [2], "kernel_spatial_dimensions": [2], "output_spatial_dimensions": [2],
}  # fmt: skip
BATCHED = {
    "lhs_batch_dimensions": [0], "rhs_batch_dimensions": [0], "lhs_contracting_dimensions": [2],
    "rhs_contracting_dimensions": [1],
}  # fmt: skip


def product(opcode: str, result: str, left: str, right: str, **fields: Any) -> list[Op]:
    operands = [op("l", "parameter", left), op("r", "parameter", right, parameter_number=1)]
    return [*operands, op("x", opcode, result, "l", "r", **fields)]


def library_call(config: str = "") -> list[Op]:
    return product("custom-call", "f32[2]", "f16[2]", "f16[2]", backend_config=config.encode())


def dot(left: str = "f32[2,3,4]", right: str = "f32[2,4,5]", precision: Any = None, **dims: Any) -> list[Op]:
    fields = {} if precision is None else {"precision_config": precision}
    return product("dot", "f32[2,3,5]", left, right, dot_dimension_numbers={**BATCHED, **dims}, **fields)


def convolution(result: str, kernel: str, opcode: str = "convolution", **fields: Any) -> list[Op]:
    return product(opcode, result, "f32[2,3,10]", kernel, convolution_dimension_numbers=CHANNELS, **fields)


SIZES = (2, 3, 5, 4)


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        # Bits, precision, whether an algorithm is prescribed, and batches, rows, columns and contracted size.
        (dot(), (32, 0, False, SIZES)),
        (dot("bf16[2,3,4]", "f32[2,4,5]"), (32, 0, False, SIZES)),
        (dot("bf16[2,3,4]", "f16[2,4,5]"), (16, 0, False, SIZES)),
        (dot("c64[2,3,4]", "bf16[2,4,5]"), (32, 0, False, SIZES)),
        (dot("s32[2,3,4]", "f32[2,4,5]"), (0, 0, False, SIZES)),
        (dot(precision={"operand_precision": [1, 0]}), (32, 1, False, SIZES)),
        (dot(precision={"operand_precision": [1, 2]}), (32, 2, False, SIZES)),
        (dot(precision={"operand_precision": [3, 0]}), (32, 0, False, SIZES)),
        (dot(precision={"algorithm": 5}), (32, 0, True, SIZES)),
        (dot(lhs_contracting_dimensions=[7]), (32, 0, False, None)),
        (dot("f32[2,3,0]", "f32[2,0,5]"), (32, 0, False, None)),
        (dot(lhs_batch_dimensions=[], rhs_batch_dimensions=[]), (32, 0, False, (1, 6, 10, 4))),
        ([*dot()[:2], op("x", "dot", "f32[2,3,5]", "l", dot_dimension_numbers=BATCHED)], (0, 0, False, None)),
        (convolution("f32[2,5,8]", "f32[3,5,3]"), (32, 0, False, (1, 16, 5, 9))),
        (convolution("f32[2,4,8]", "f32[3,4,3]", feature_group_count=2), (32, 0, False, (2, 16, 2, 9))),
        (convolution("f32[2,4,8]", "f32[3,4,3]", batch_group_count=4), (32, 0, False, (4, 16, 1, 9))),
        (convolution("f32[0,5,8]", "f32[3,5,3]"), (32, 0, False, None)),
        (convolution("f32[2,0,8]", "f32[3,0,3]"), (32, 0, False, None)),
        (convolution("f32[2,5,8]", "f32[0,5,3]"), (32, 0, False, None)),
        (convolution("f32[2,5,8]", "f32[3,5,3]", "ragged-dot"), (32, 0, False, None)),
        (convolution("f32[2]", "f32[3,5,3]"), (32, 0, False, None)),
        (product("convolution", "f32[2,5,8]", "f32[2,3,10]", "f32[3,5,3]"), (32, 0, False, None)),
        (library_call(), (16, 0, False, None)),
        (library_call('{"operand_precision":["HIGH","DEFAULT"]}'), (16, 1, False, None)),
        (library_call('{"operand_precision":["HIGH","HIGHEST"]}'), (16, 2, False, None)),
        (library_call('{"algorithm":"ALG_DOT_F16_F16_F32"}'), (16, 0, True, None)),
        (library_call('{"algorithm":"ALG_UNSET"}'), (16, 0, False, None)),
    ],
)  # fmt: skip
def test_products(entry: list[Op], expected: Any) -> None:
    rows = rows_of(entry)
    (found,) = products_of(rows, at(rows, "x"))
    assert (found.bits, found.precision, found.algorithm, found.sizes) == expected
    flops = {SIZES: 240, (1, 6, 10, 4): 480, (1, 16, 5, 9): 1440, (2, 16, 2, 9): 1152, (4, 16, 1, 9): 1152, None: 0}
    assert found.flops == flops[expected[3]]


@pytest.mark.parametrize(
    ("sizes", "few"),
    [
        ([(1, 8, 64, 64)], 8),
        ([(1, 64, 64, 16)], 16),
        ([(1, 64, 64, 17)], 0),
        ([(1, 64, 1, 70)], 1),
        ([(1, 8, 63, 64)], 0),
        ([(2, 8, 64, 64)], 0),
        ([(1, 8, 64, 64), (1, 64, 64, 64)], 0),  # the largest tells
        ([(1, 64, 64, 64), None, (1, 9, 640, 640)], 9),
        ([None], 0),
        ([], 0),
    ],
)
def test_products_of_few_rows(sizes: list[Any], few: int) -> None:
    assert few_rows([Product(32, 0, False, one) for one in sizes]) == few


def test_calls_count_as_products_without_any_other() -> None:
    def found(*opcodes: str) -> list[int]:
        inside = [*product("negate", "f32[2]", "f32[2]", "f32[2]")[:2],
                  *(op(f"x{i}", one, "f32[2]", "l", "r") for i, one in enumerate(opcodes))]  # fmt: skip
        entry = [op("a", "parameter", "f32[2]"), op("f", "fusion", "f32[2]", "a", "a", called=["inside"])]
        rows = rows_of(entry, inside=inside)
        return [one.bits for one in products_of(rows, at(rows, "f"))]

    assert (found("dot", "custom-call"), found("custom-call", "custom-call", "add")) == ([32], [32, 32])
    assert (found("add"), found("dot", "convolution", "custom-call")) == ([], [32, 32])


@pytest.mark.parametrize(
    ("shape", "bits", "size"),
    [
        ("f32[4]", 32, 16), ("f32[]", 0, 4), ("f32[1]", 0, 4), ("f32[1,2]", 32, 8), ("s32[4]", 0, 16),
        ("c64[2]", 32, 16),
        (["bf16[2]", "f64[1]", "s64[3]"], 16, 36), (["bf16[2]", "f64[2]"], 64, 20), (["s8[2]"], 0, 2),
    ],
)  # fmt: skip
def test_widths_of_floats(shape: Any, bits: int, size: int) -> None:
    rows = rows_of([op("x", "parameter", shape)])
    assert (rows.float_bits(0), rows.bytes(0), rows.arguments()) == (bits, size, [0])


def test_parameters_of_fusions() -> None:
    inside = [op(f"p{i}", "parameter", NUMBERS, parameter_number=i) for i in range(3)]
    entry = [op("x", "parameter", NUMBERS), op("y", "negate", NUMBERS, "x"),
             op("f", "fusion", NUMBERS, "x", "y", called=["inside"])]  # fmt: skip
    rows = rows_of(entry, inside=inside)
    assert [rows.parameter(at(rows, "f"), at(rows, f"p{i}")) for i in range(3)] == [0, 1, None]
    assert names(rows, rows.inside(at(rows, "f"))) == ["p0", "p1", "p2"]
    assert (rows.inside(0), rows.fused(0)) == ((0,), None)


def test_fusions_open_up_to_the_fourth() -> None:
    inner = {
        f"c{i}": [op(f"a{i}", "constant", NUMBERS), op(f"f{i}", "fusion", NUMBERS, called=[f"c{i + 1}"])]
        for i in range(5)
    }
    rows = rows_of([op("f", "fusion", NUMBERS, called=["c0"])], **inner, c5=[op("end", "constant", NUMBERS)])
    assert names(rows, rows.inside(at(rows, "f"))) == ["a0", "a1", "a2", "a3", "f3"]


def test_sources_of_what_is_near() -> None:
    entry = [
        op("x0", "parameter", NUMBERS, source_file="/a/s.py", source_line=1, op_name="zero"),
        *(op(f"x{i}", "negate", NUMBERS, f"x{i - 1}") for i in range(1, 8)),
        op("y", "tanh", NUMBERS, "x7", source_file="/a/u.py", source_line=9, op_name="user"),
        op("alone", "constant", NUMBERS),
        op("f", "fusion", NUMBERS, "alone", called=["inside"]),
    ]
    inside = [
        op("p", "parameter", NUMBERS, source_file="p.py", source_line=3, op_name="in"),
        op("q", "negate", NUMBERS, "p", source_file="q.py", source_line=4, op_name="out"),
    ]
    rows = rows_of(entry, inside=inside)
    places = {name: rows.place(at(rows, name)) for name in ("x0", "x1", "x3", "x4", "x5", "y", "alone", "f", "p")}
    # Three steps away, users before operands; of a fusion from its result on.
    assert places == {
        "x0": "s.py:1", "x1": "s.py:1", "x3": "s.py:1", "x4": "", "x5": "u.py:9", "y": "u.py:9", "alone": "q.py:4",
        "f": "q.py:4", "p": "p.py:3",
    }  # fmt: skip
    assert [rows.op_name(at(rows, name)) for name in ("x3", "x4", "x5", "f")] == ["zero", "", "user", "out"]
    assert [rows.own_op_name(at(rows, name)) for name in ("x0", "x3", "x5", "f")] == ["zero", "", "", "out"]


def test_instructions_and_computations_by_name() -> None:
    found = rows_of(
        [op("Add", "constant", NUMBERS), op("ADD", "constant", NUMBERS), op("x", "add", NUMBERS, "Add", "ADD")],
        Inside=[op("y", "constant", NUMBERS)],
    ).program
    rows = [(find(found, name), find(found, f"%{name}")) for name in ("Add", "ADD", "add", "X", "none")]
    at_rows = {name: row for row, name in enumerate(found.names)}
    expected = [at_rows["Add"], at_rows["ADD"], at_rows["Add"], at_rows["x"], None]
    assert rows == [((row, None), (row, None)) for row in expected]
    inside = found.computation_names.index("Inside")
    assert [find(found, name)[1] for name in ("Inside", "inside", "%INSIDE", "entry")] == [inside] * 3 + [1 - inside]


def test_neighbours_look_through_parts_of_tuples() -> None:
    entry = [
        op("pair", "parameter", [NUMBERS, NUMBERS]),
        op("get-tuple-element.1", "get-tuple-element", NUMBERS, "pair"),
        op("get-tuple-element.2", "get-tuple-element", NUMBERS, "pair", tuple_index=1),
        op("sum", "add", NUMBERS, "get-tuple-element.1", "get-tuple-element.2"),
        op("again", "multiply", NUMBERS, "get-tuple-element.1", "sum"),
    ]
    found = rows_of(entry).program
    neighbours = [adjacent(found, found.row_of[name]) for name in ("pair", "sum", "again")]
    assert neighbours == [
        (["sum", "again", "sum"], []), (["again"], ["pair", "pair"]), ([], ["pair", "sum"])
    ]  # fmt: skip


def test_operands_that_are_not_there_are_passed_over() -> None:
    proto = message("xla.HloProto").FromString(program([op("x", "constant", NUMBERS), op("y", "negate", NUMBERS, "x")]))
    proto.hlo_module.computations[0].instructions[1].operand_ids.extend([1, 1 << 60])
    found = hlo_programs(profile(metadata_plane(m=(7, proto.SerializeToString())))).program(7)
    assert found is not None
    assert Links(found).operands(1) == [0, -1, -1]
    assert adjacent(found, 1) == ([], ["x"])


@pytest.mark.parametrize(
    ("name", "type_", "expected"), [("", "", ""), ("a", "", "a:"), ("", "B", ":B"), ("a/b", "B", "a/b:B")]
)
def test_the_framework_op_of_an_instruction(name: str, type_: str, expected: str) -> None:
    assert provenance(rows_of([op("x", "constant", NUMBERS, op_name=name, op_type=type_)]).instruction(0)) == expected


def test_instructions_inside_of_fusions_are_told_three_deep() -> None:
    inner = {f"c{i}": [op(f"f{i}", "fusion", NUMBERS, called=[f"c{i + 1}"])] for i in range(6)}
    text = program([op("f", "fusion", NUMBERS, called=["c0"])], **inner, c6=[op("end", "add", NUMBERS)])
    found, depth = HloOps(profile(metadata_plane(m=(7, text)))).fused(7, "f"), 0
    while found:
        depth, found = depth + 1, found[0].inner
    assert depth == 3


def test_sources_of_operands_that_are_not_there() -> None:
    made = [op("x", "constant", NUMBERS), op("y", "negate", NUMBERS, "x"),
            op("z", "constant", NUMBERS, source_file="z.py", source_line=1)]  # fmt: skip
    proto = message("xla.HloProto").FromString(program(made))
    proto.hlo_module.computations[0].instructions[1].operand_ids.append(1)
    found = hlo_programs(profile(metadata_plane(m=(7, proto.SerializeToString())))).program(7)
    assert found is not None
    assert [ProgramRows(found).place(row) for row in range(3)] == ["", "", "z.py:1"]


def test_loops_in_loops() -> None:
    def body(state: str, *inside: Op) -> list[Op]:
        return [op(state, "parameter", NUMBERS), *inside, op(f"next.{state}", "negate", NUMBERS, state)]

    inner = op("inner", "while", NUMBERS, "a", called=["second", "test"])
    entry = [op("x", "parameter", NUMBERS), op("outer", "while", NUMBERS, "x", called=["first", "test"])]
    rows = rows_of(entry, first=body("a", inner), second=body("b"), test=[op("more", "constant", "pred[]")])
    assert [names(rows, rows.loops(at(rows, name))) for name in ("b", "a", "x")] == [["outer", "inner"], ["outer"], []]


SUM = [op("zero", "constant", "f32[]"), op("sum", "reduce", "f32[3,5]", "x", "zero", dimensions=[0])]


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ([*dot(), *SUM], ["sum"]),
        ([*dot(), *SUM, op("more", "reduce", "f32[15]", "x", "zero")], ["sum", "more"]),
        ([*dot(), *SUM, op("more", "reduce", "f32[5]", "x", "zero")], None),
        ([*dot(), *SUM, op("more", "slice", "f32[3,5]", "x")], None),
        ([*dot(), SUM[0], op("pair", "reduce", ["f32[3,5]", "f32[15]"], "x", "x")], ["pair"]),
        ([*dot(), SUM[0], op("pair", "reduce", ["f32[3,5]", "f32[2]"], "x", "x")], None),
        (dot(), None),
        # Of one example nothing is added up.
        ([*dot("f32[1,3,4]", "f32[1,4,5]"), *SUM], None),
        ([*dot(lhs_contracting_dimensions=[7]), *SUM], None),
        ([*library_call(), *SUM], None),
        ([*product("negate", "f32[2,3,5]", "f32[2]", "f32[2]"), *SUM], None),
        ([*dot()[:2], op("x", "fusion", "f32[2,3,5]", "l", "r", called=["both"]), *SUM], None),
        ([*dot()[:2], op("x", "fusion", "f32[2,3,5]", "l", "r", called=["one"]), *SUM], ["sum"]),
    ],
)
def test_products_that_are_only_added_up(entry: list[Op], expected: list[str] | None) -> None:
    one = [op(f"i.{part.name}", part.opcode, part.shape, *(f"i.{name}" for name in part.operands), **part.fields)
           for part in dot()]  # fmt: skip
    left, right = op("j.l", "parameter", "f32[2,3,4]"), op("j.r", "parameter", "f32[2,4,5]")
    dots = [op(f"j.{at}", "dot", "f32[2,3,5]", "j.l", "j.r", dot_dimension_numbers=BATCHED) for at in "xy"]
    rows = rows_of(entry, one=one, both=[left, right, *dots])
    found = summed(rows, at(rows, "x"))
    assert (None if found is None else (found[0].sizes, names(rows, found[1]))) == (
        None if expected is None else (SIZES, expected)
    )


def walked(entry: list[Op], center: str, radius: int) -> dict[str, tuple[int, Mark]]:
    """Distance and mark of what is near, before marks of what is hidden."""
    rows = rows_of(entry)
    marks, distance = _walk(rows.links, at(rows, center), radius)
    return {rows.program.names[row]: (distance[row], mark) for row, mark in marks.items()}


def test_what_is_near_an_instruction() -> None:
    whole, some = Mark.WHOLE, Mark.SOME_USERS
    entry = [op("a", "parameter", NUMBERS), op("t", "tuple", [NUMBERS], "a"), op("u", "custom-call", NUMBERS, "t")]
    assert walked(entry, "t", 1) == {"t": (0, whole), "a": (1, whole), "u": (1, whole)}
    # Operands of another tuple have nothing to do with it.
    assert walked(entry, "u", 2) == {"u": (0, whole), "t": (1, whole)}
    for count, mark in ((15, whole), (16, some)):
        users = [op(f"u{i}", "negate", NUMBERS, "a") for i in range(count)]
        near = walked([op("a", "parameter", NUMBERS), *users, op("b", "tanh", NUMBERS, "a")], "b", 2)
        assert near["a"] == (1, mark)
        assert len(near) == (2 + count if mark is whole else 2)
    # An operand of two is near by the first.
    users = [op(f"u{i}", "negate", NUMBERS, "a") for i in range(16)]
    last = [op("b", "tanh", NUMBERS, "a"), op("c", "add", NUMBERS, "a", "b")]
    assert walked([op("a", "parameter", NUMBERS), *users, *last], "c", 2) == {
        "c": (0, whole), "a": (1, some), "b": (1, whole)
    }  # fmt: skip
    cast = [op("a", "parameter", NUMBERS), op("b", "bitcast", NUMBERS, "a"), op("c", "tanh", NUMBERS, "b")]
    assert walked(cast, "c", 1) == {"c": (0, whole), "b": (0, whole), "a": (0, whole)}
