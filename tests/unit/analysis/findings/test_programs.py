"""What ops do by the instructions inside them, and where values of a program go."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from builders.programs.hlo import Op, metadata_plane, op, program
from builders.xspace_text import build

from tpu_profile_plugin.analysis.hlo import value_flow
from tpu_profile_plugin.analysis.hlo.products import products_of
from tpu_profile_plugin.analysis.hlo.program_rows import ProgramRows
from tpu_profile_plugin.analysis.hlo.programs import hlo_programs
from tpu_profile_plugin.analysis.hlo.summed import summed
from tpu_profile_plugin.analysis.hlo.value_flow import ValueFlow
from tpu_profile_plugin.analysis.ops.op_nature import Nature, by_category, by_program
from tpu_profile_plugin.columns import load

OF, WIDE = "f32[64]{0}", "f32[64,64]{1,0}"
FUSION = {"called": ["inside"], "fusion_kind": "kLoop"}


def rows_of(entry: list[Op], **computations: list[Op]) -> ProgramRows:
    space = load(np.frombuffer(build(metadata_plane(jit_f=(5, program(entry, **computations)))), np.uint8))
    decoded = hlo_programs(space).program(5)
    assert decoded is not None
    return ProgramRows(decoded)


def nature(*inside: Op) -> tuple[Nature, str]:
    """Of a fusion of these instructions, on two arrays."""
    parameters = [op("a", "parameter", OF), op("b", "parameter", OF, parameter_number=1)]
    entry = [op("x", "parameter", OF), op("f", "fusion", OF, "x", "x", **FUSION)]
    rows = rows_of(entry, inside=[*parameters, *inside])
    row = rows.row("f")
    assert row is not None
    return by_program(rows, row, "loop fusion")


def nature_first(inside: list[Op], shape: str = OF) -> tuple[Nature, str]:
    """Of a fusion of these instructions, the first ones of the program."""
    rows = rows_of(inside, outer=[op("x", "parameter", OF), op("f", "fusion", shape, "x", called=["entry"])])
    row = rows.row("f")
    assert row is not None
    return by_program(rows, row, "loop fusion")


@pytest.mark.parametrize(
    ("inside", "expected"),
    [
        # The first instruction has the largest of several results.
        (
            [op("c", "iota", WIDE), op("s", "slice", OF, "c"), op("t", "tuple", [WIDE, OF], "c", "s")],
            (Nature.OTHER, "iota"),
        ),
        # A sum reads all of it, however small its result is.
        (
            [op("c", "iota", WIDE), op("m", "reduce", "f32[]", "c"), op("w", "broadcast", WIDE, "m")],
            (Nature.OTHER, "broadcast"),
        ),
        # Arithmetic on it, and none on integers.
        (
            [
                op("c", "iota", OF),
                op("n", "negate", OF, "c"),
                op("w", "broadcast", OF, "n"),
                op("s", "select", OF, "w"),
            ],
            (Nature.OTHER, "select"),
        ),
        (
            [
                *(op("x", "parameter", OF), op("c", "iota", "s32[64]{0}"), op("n", "negate", "s32[64]{0}", "c")),
                *(op("w", "broadcast", OF, "x"), op("s", "select", OF, "n", "w", "x")),
            ],
            (Nature.MOVEMENT, "select"),
        ),
        # A choice between values that nothing moves, or that arithmetic precedes.
        ([op("c", "iota", OF), op("s", "select", OF, "c", "c")], (Nature.OTHER, "select")),
        # Arithmetic on a quarter of the result decides, on less it does not.
        (
            [op("x", "parameter", WIDE), op("m", "tanh", "f32[1024]{0}"), op("w", "broadcast", WIDE, "m")],
            (Nature.OTHER, "broadcast"),
        ),
        (
            [op("x", "parameter", WIDE), op("m", "tanh", "f32[1023]{0}"), op("w", "broadcast", WIDE, "m")],
            (Nature.MOVEMENT, "broadcast"),
        ),
    ],
)
def test_fusions_by_what_is_at_the_begin_of_the_program(inside: list[Op], expected: tuple[Nature, str]) -> None:
    assert nature_first(inside) == expected


@pytest.mark.parametrize(
    ("category", "row", "expected"),
    [
        ("while", 1, (Nature.NOT_COUNTED, "fusion")),
        ("loop fusion", 2, (Nature.NOT_COUNTED, "while")),
        ("loop fusion", 1, (Nature.MOVEMENT, "copy")),
    ],
)
def test_ops_that_consist_of_others_by_either(category: str, row: int, expected: tuple[Nature, str]) -> None:
    entry = [
        op("x", "parameter", OF), op("f", "fusion", OF, "x", called=["inside"]),
        op("w", "while", OF, "f", called=["inside", "inside"]),
    ]  # fmt: skip
    rows = rows_of(entry, inside=[op("a", "parameter", OF), op("c", "copy", OF, "a")])
    assert by_program(rows, row, category) == expected


MASK = op("mask", "parameter", "pred[64]{0}", parameter_number=2)


@pytest.mark.parametrize(
    ("inside", "expected"),
    [
        ([op("t", "transpose", WIDE, "a"), op("r", "bitcast", OF, "t")], (Nature.MOVEMENT, "transpose")),
        ([op("s", "select", OF, "a", "b", "a"), op("c", "copy", OF, "s")], (Nature.MOVEMENT, "copy")),
        # A choice between moved values moves data; one that arithmetic precedes does not.
        ([MASK, op("w", "broadcast", OF, "b"), op("s", "select", OF, "mask", "a", "w")], (Nature.MOVEMENT, "select")),
        ([MASK, op("m", "multiply", OF, "a", "b"), op("s", "select", OF, "mask", "m", "a")], (Nature.OTHER, "select")),
        # One sum in a scatter's update is what the scatter is for; more arithmetic than moves is not.
        ([op("m", "add", OF, "a", "b"), op("u", "dynamic-update-slice", OF, "a", "m")],
         (Nature.MOVEMENT, "dynamic-update-slice")),
        ([op("m", "add", OF, "a", "b"), op("n", "multiply", OF, "m", "b"), op("u", "slice", OF, "n")],
         (Nature.OTHER, "slice")),
        ([op("m", "tanh", OF, "a"), op("u", "slice", OF, "m")], (Nature.OTHER, "slice")),
        # A sum is work on all that it adds up, however small.
        ([op("m", "reduce", "f32[]", "a", "b", dimensions=[0]), op("w", "broadcast", OF, "m")],
         (Nature.OTHER, "broadcast")),
        ([op("m", "add", OF, "a", "b")], (Nature.OTHER, "add")),
        # Of several results the largest decides.
        ([op("m", "add", OF, "a", "b"), op("w", "broadcast", WIDE, "a"), op("t", "tuple", [OF, WIDE], "m", "w")],
         (Nature.MOVEMENT, "broadcast")),
    ],
)  # fmt: skip
def test_fusions_by_their_roots(inside: list[Op], expected: tuple[Nature, str]) -> None:
    assert nature(*inside) == expected


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("__cublas$lt$matmul", Nature.MATRIX),
        ("__cudnn$convForward", Nature.MATRIX),
        ("__onednn$matmul", Nature.MATRIX),
        ("xla_ffi_python_cpu_callback", Nature.OTHER),
        ("convert_something", Nature.OTHER),
    ],
)
def test_calls_by_their_target(target: str, expected: Nature) -> None:
    rows = rows_of([op("x", "parameter", OF), op("c", "custom-call", OF, "x", custom_call_target=target)])
    assert by_program(rows, 1, "custom-call")[0] is expected


@pytest.mark.parametrize(
    ("category", "expected"),
    [
        ("convolution fusion", Nature.MATRIX),
        ("data formatting", Nature.MOVEMENT),
        ("loop fusion", Nature.OTHER),
        ("while", Nature.NOT_COUNTED),
        ("copy-done", Nature.NOT_COUNTED),
        ("all-reduce", Nature.NOT_COUNTED),
        ("infeed", Nature.NOT_COUNTED),
        ("MatMul", Nature.MATRIX),
        ("GatherV2", Nature.MOVEMENT),
        ("unknown", Nature.UNKNOWN),
    ],
)
def test_ops_by_their_category(category: str, expected: Nature) -> None:
    assert by_category(category) == (expected, category)


@pytest.mark.parametrize(
    ("category", "expected"),
    [
        ("Conv2DBackpropFilter", "Conv2D"),
        ("Conv3DBackpropInputV2", "Conv3D"),
        ("_MklNativeConv2DBackpropFilterWithBias", "Conv2D"),
        ("_MklNativeFusedConv2D", "Conv2D"),
        ("DepthwiseConv2dNativeBackpropInput", "DepthwiseConv2d"),
        ("_FusedMatMul", "MatMul"),
        ("BatchMatMulV2", "BatchMatMul"),
    ],
)
def test_gradients_and_fused_forms_of_a_product_are_one_kind(category: str, expected: str) -> None:
    assert by_category(category) == (Nature.MATRIX, expected)


def test_an_op_without_a_source_takes_that_of_the_op_that_needs_it() -> None:
    line = {"source_file": "/home/me/model.py", "source_line": 3, "op_name": "jit(f)/needs"}
    other = {"source_file": "/home/me/model.py", "source_line": 4, "op_name": "jit(f)/other"}
    rows = rows_of([
        op("x", "parameter", OF),
        op("c", "copy", OF, "x"),
        op("o", "tanh", OF, "x", **other),
        op("n", "add", OF, "c", "o", **line),
    ])  # fmt: skip
    assert (rows.place(1), rows.op_name(1)) == ("model.py:3", "jit(f)/needs")


def test_values_through_branches_and_nested_loops() -> None:
    state = ["s32[]", WIDE]
    inner = [
        op("i.state", "parameter", state),
        op("i.at", "get-tuple-element", "s32[]", "i.state"),
        op("i.stack", "get-tuple-element", WIDE, "i.state", tuple_index=1),
        op("i.made", "tanh", OF, "i.at"),
        op("i.put", "dynamic-update-slice", WIDE, "i.stack", "i.made", "i.at"),
        op("i.next", "tuple", state, "i.at", "i.put"),
    ]
    outer = [
        op("o.state", "parameter", state),
        op("o.at", "get-tuple-element", "s32[]", "o.state"),
        op("o.stack", "get-tuple-element", WIDE, "o.state", tuple_index=1),
        op("o.own", "broadcast", WIDE, "o.at"),
        op("o.init", "tuple", state, "o.at", "o.own"),
        op("o.loop", "while", state, "o.init", called=["inner", "go_on"]),
        op("o.made", "get-tuple-element", WIDE, "o.loop", tuple_index=1),
        op("o.put", "dynamic-update-slice", WIDE, "o.stack", "o.made", "o.at"),
        op("o.next", "tuple", state, "o.at", "o.put"),
    ]
    entry = [
        op("at", "constant", "s32[]"),
        op("empty", "broadcast", WIDE, "at"),
        op("init", "tuple", state, "at", "empty"),
        op("loop", "while", state, "init", called=["outer", "go_on"]),
        op("stack", "get-tuple-element", WIDE, "loop", tuple_index=1),
        op("chosen", "conditional", WIDE, "at", "stack", "stack", called=["first", "second"]),
        op("end", "negate", WIDE, "chosen"),
    ]
    first = [op("first.x", "parameter", WIDE), op("first.y", "bitcast", WIDE, "first.x")]
    second = [op("second.x", "parameter", WIDE), op("second.y", "exponential", WIDE, "second.x")]
    go_on = [op("go", "parameter", state), op("more", "constant", "pred[]")]
    rows = rows_of(entry, inner=inner, outer=outer, first=first, second=second, go_on=go_on)
    flow = ValueFlow(rows)
    start = rows.row("empty")
    assert start is not None
    found = flow.follow(start, ())
    names = rows.program.names
    ((fill, written),) = found.fills
    assert names[fill] == "o.put"
    # The first branch hands the value on, the second one reads it.
    assert sorted({names[reader] for reader in found.readers}) == ["end", "second.y"]
    assert names[flow.origin(written, fill)] == "i.made"


def _filled() -> ProgramRows:
    """A loop that fills two stacks: one in a fusion, one in a fusion with several results."""
    state = [OF, WIDE, WIDE, OF]
    body = [
        op("b.one", "constant", OF),
        op("b.state", "parameter", state),
        op("b.stack", "get-tuple-element", WIDE, "b.state", tuple_index=1),
        op("b.other", "get-tuple-element", WIDE, "b.state", tuple_index=2),
        op("b.new", "tanh", OF, "b.one"),
        op("b.put", "fusion", WIDE, "b.stack", "b.new", called=["update"]),
        op("b.pair", "fusion", [OF, WIDE, OF], "b.new", "b.other", called=["several"]),
        op("b.left", "get-tuple-element", OF, "b.pair"),
        op("b.right", "get-tuple-element", WIDE, "b.pair", tuple_index=1),
        op("b.copy", "copy", OF, "b.one"),
        op("b.next", "tuple", state, "b.one", "b.put", "b.right", "b.left"),
    ]
    update = [
        op("u.stack", "parameter", WIDE),
        op("u.new", "parameter", OF, parameter_number=1),
        op("u.flat", "bitcast", WIDE, "u.stack"),
        op("u.put", "dynamic-update-slice", WIDE, "u.flat", "u.new"),
        op("u.out", "bitcast", WIDE, "u.put"),
    ]
    several = [
        op("s.new", "parameter", OF),
        op("s.other", "parameter", WIDE, parameter_number=1),
        op("s.made", "exponential", OF, "s.new"),
        op("s.put", "dynamic-update-slice", WIDE, "s.other", "s.made"),
        op("s.elsewhere", "dynamic-update-slice", OF, "s.made", "s.new"),
        op("s.all", "tuple", [OF, WIDE, OF], "s.made", "s.put", "s.elsewhere"),
    ]
    go_on = [op("g.state", "parameter", state), op("g.flag", "custom-call", "pred[]", "g.state", "g.state")]
    outer = [
        op("e.one", "constant", OF),
        op("e.wide", "broadcast", WIDE, "e.one"),
        op("e.init", "tuple", state, "e.one", "e.wide", "e.wide", "e.one"),
        op("e.loop", "while", state, "e.init", called=["entry", "go_on"]),
        *(op(f"e.part{i}", "get-tuple-element", of, "e.loop", tuple_index=i) for i, of in enumerate([*state, OF])),
        op("e.flat", "bitcast", WIDE, "e.part1"),
        op("e.sum", "custom-call", OF, "e.flat"),
        op("e.read", "fusion", WIDE, "e.part2", called=["reading"]),
        op("e.copy", "copy", state, "e.loop"),
        op("e.call", "call", [OF], "e.one", called=["pair"]),
        op("e.called", "get-tuple-element", OF, "e.call"),
        op("e.odd", "while", state, "e.init", called=["other", "go_on"]),
        op("e.last", "get-tuple-element", WIDE, "e.odd", tuple_index=1),
    ]
    reading = [op("r.x", "parameter", WIDE), op("r.y", "negate", WIDE, "r.x")]
    pair = [op("c.x", "parameter", OF), op("c.y", "tanh", OF, "c.x"), op("c.out", "tuple", [OF], "c.y")]
    other = [op("o.x", "parameter", state), op("o.out", "custom-call", state, "o.x", "o.x")]
    return rows_of(
        body, update=update, several=several, go_on=go_on, outer=outer, reading=reading, pair=pair, other=other,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("start", "fills", "readers"),
    [
        ("e.wide", [("b.pair", "s.made"), ("b.put", "u.new")], ["e.copy", "e.read", "e.sum", "g.flag", "o.out"]),
        ("b.new", [], ["b.pair", "b.put"]),
        ("g.flag", [], []),  # whether the loop goes on is no part of its result
        ("b.one", [], ["b.copy", "b.new", "e.copy", "g.flag"]),
        ("b.put", [("b.put", "u.new")], ["e.copy", "e.sum", "g.flag"]),
        ("e.one", [], ["c.y", "e.copy", "e.wide", "g.flag", "o.out"]),
        ("s.made", [("s.elsewhere", "s.new")], ["s.put"]),
        ("c.y", [], []),
    ],
)
def test_values_that_fusions_in_loops_update(start: str, fills: list[tuple[str, str]], readers: list[str]) -> None:
    rows = _filled()
    names = rows.program.names
    found = ValueFlow(rows).follow(names.index(start), ())
    assert sorted((names[row], names[written]) for row, written in found.fills) == fills
    assert sorted({names[row] for row in found.readers}) == readers


def test_so_many_values_are_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    chain = [
        op("x", "parameter", OF),
        op("a", "bitcast", OF, "x"),
        op("b", "bitcast", OF, "a"),
        op("c", "tanh", OF, "b"),
    ]
    readers = []
    for most in (2, 3, 4):
        monkeypatch.setattr(value_flow, "_MOST", most)
        readers.append(ValueFlow(rows_of(chain)).follow(0, ()).readers)
    assert readers == [[], [], [3]]


@pytest.mark.parametrize(
    ("name", "origin"),
    [
        ("b.copy", "b.one"),
        ("e.part0", "b.one"),
        ("e.part1", "b.new"),
        ("e.flat", "b.new"),
        ("e.part4", "e.loop"),
        ("e.copy", "e.loop"),
        ("e.called", "e.call"),
        ("e.last", "e.odd"),
        ("e.read", "e.read"),
        ("u.out", "u.put"),
    ],
)
def test_what_computed_a_value(name: str, origin: str) -> None:
    rows = _filled()
    row = rows.program.names.index(name)
    assert rows.program.names[ValueFlow(rows).origin(row, row)] == origin


DOT = {"lhs_batch_dimensions": [0], "lhs_contracting_dimensions": [2], "rhs_contracting_dimensions": [1]}
CONVOLUTION = {
    "kernel_spatial_dimensions": [0, 1], "kernel_input_feature_dimension": 2, "kernel_output_feature_dimension": 3,
    "output_feature_dimension": 3,
}  # fmt: skip


@pytest.mark.parametrize(
    ("opcode", "shapes", "facts", "expected"),
    [
        ("dot", ("f32[2,3,5]", "f32[2,5,7]", "f32[2,3,7]"), {"dot_dimension_numbers": DOT},
         (32, 0, False, (2, 3, 7, 5), 420.0)),
        ("dot", ("bf16[2,3,5]", "f64[2,5,7]", "f64[2,3,7]"),
         {"dot_dimension_numbers": DOT, "precision_config": {"operand_precision": [1, 0], "algorithm": 5}},
         (64, 1, True, (2, 3, 7, 5), 420.0)),
        ("dot", ("c64[2,3,5]", "f8e4m3fn[2,5,7]", "c64[2,3,7]"),
         {"dot_dimension_numbers": DOT, "precision_config": {"operand_precision": [1, 2]}},
         (32, 2, False, (2, 3, 7, 5), 420.0)),
        ("dot", ("s32[2,3,5]", "f32[2,5,7]", "f32[2,3,7]"),
         {"dot_dimension_numbers": DOT, "precision_config": {"operand_precision": [3, 3]}},
         (0, 0, False, (2, 3, 7, 5), 420.0)),
        ("dot", ("s8[2,3,5]", "u8[2,5,7]", "s32[2,3,7]"), {"dot_dimension_numbers": DOT},
         (0, 0, False, (2, 3, 7, 5), 420.0)),
        ("dot", ("f32[2,3,0]", "f32[2,0,7]", "f32[2,3,7]"), {"dot_dimension_numbers": DOT}, (32, 0, False, None, 0.0)),
        ("dot", ("f32[0,3,5]", "f32[0,5,7]", "f32[0,3,7]"), {"dot_dimension_numbers": DOT}, (32, 0, False, None, 0.0)),
        ("dot", ("f32[2,3]", "f32[2,5,7]", "f32[2,3,7]"), {"dot_dimension_numbers": DOT}, (32, 0, False, None, 0.0)),
        ("dot", ("f32[5]", "f32[5]", "f32[]"), {"dot_dimension_numbers": {"lhs_contracting_dimensions": [0]}},
         (32, 0, False, (1, 1, 1, 5), 10.0)),
        ("convolution", ("f32[2,10,10,8]", "f32[3,3,4,16]", "f32[2,10,10,16]"),
         {"convolution_dimension_numbers": CONVOLUTION, "feature_group_count": 2},
         (32, 0, False, (2, 200, 8, 36), 230400.0)),
        ("convolution", ("f32[4,10,10,8]", "f32[1,1,8,16]", "f32[1,10,10,16]"),
         {"convolution_dimension_numbers": CONVOLUTION, "batch_group_count": 4},
         (32, 0, False, (4, 100, 4, 8), 25600.0)),
        ("convolution", ("f32[2,10,10,8]", "f32[3,3,0,16]", "f32[2,10,10,16]"),
         {"convolution_dimension_numbers": CONVOLUTION}, (32, 0, False, None, 0.0)),
        ("convolution", ("f32[2,10,10,8]", "f32[3,3,4,1]", "f32[2,10,10,1]"),
         {"convolution_dimension_numbers": CONVOLUTION, "feature_group_count": 2}, (32, 0, False, None, 0.0)),
        ("convolution", ("f32[2,10,10,8]", "f32[3,3]", "f32[2,10,10,16]"),
         {"convolution_dimension_numbers": CONVOLUTION}, (32, 0, False, None, 0.0)),
        ("convolution", ("f32[2,10,10,8]", "f32[3,3,4,16]", "f32[2,10,10,16]"), {}, (32, 0, False, None, 0.0)),
        ("ragged-dot", ("f32[2,3]", "f32[3,5]", "f32[2,5]"), {}, (32, 0, False, None, 0.0)),
        *(
            ("custom-call", ("f16[2,3]", "f16[3,5]", "f16[2,5]"), {"backend_config": config.encode()},
             (16, level, algorithm, None, 0.0))
            for config, level, algorithm in [
                ("", 0, False),
                ('{"some": {"operand_precision": ["DEFAULT", "HIGH"], "algorithm": "ALG_UNSET"}}', 1, False),
                ('{"operand_precision":["HIGHEST","HIGH"],"algorithm":"ALG_DOT_BF16_BF16_F32"}', 2, True),
                ('{"operand_precision" : ["DEFAULT","DEFAULT"], "other": "HIGHEST", "algorithm" : "ALG_X"}', 0, True),
            ]
        ),
    ],
)  # fmt: skip
def test_sizes_and_precision_of_products(opcode: str, shapes: tuple[str, str, str], facts, expected) -> None:
    left, right, result = shapes
    rows = rows_of([
        op("a", "parameter", left), op("b", "parameter", right, parameter_number=1),
        op("p", opcode, result, "a", "b", **facts),
    ])  # fmt: skip
    (one,) = products_of(rows, 2)
    assert (one.bits, one.precision, one.algorithm, one.sizes, one.flops) == expected


def test_products_of_fusions_and_with_one_operand() -> None:
    half = op("half", "dot", "f32[2,2]", "a", dot_dimension_numbers={"lhs_contracting_dimensions": [1]})
    inside = [op("a", "parameter", "f32[2,2]"), op("call", "custom-call", "f32[2,2]", "a", "a"), half]
    rows = rows_of([op("f", "fusion", "f32[2,2]", called=["inside"])], inside=inside)
    assert [(one.bits, one.sizes) for one in products_of(rows, 0)] == [(0, None)]


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        (["f32[1]", "s8[4]", "bf16[8]"], 16), ("f32[1]", 0), ("f32[1,2]", 32), ("f64[]", 0), ("s32[2]", 0),
        ("c64[2]", 32), (["f16[2]", "c128[3]"], 64), ("f32[0]", 0),
    ],
)  # fmt: skip
def test_width_of_floating_point_numbers(shape: str | list[str], expected: int) -> None:
    assert rows_of([op("x", "parameter", shape)]).float_bits(0) == expected


def test_inside_of_fusions_four_deep() -> None:
    deep = {
        f"c{i}": [op(f"x{i}", "parameter", OF), op(f"f{i + 1}", "fusion", OF, f"x{i}", called=[f"c{i + 1}"])]
        for i in range(1, 6)
    }
    deep["c6"] = [op("x6", "parameter", OF), op("end", "negate", OF, "x6")]
    rows = rows_of([op("x0", "parameter", OF), op("f1", "fusion", OF, "x0", called=["c1"])], **deep)
    names = rows.program.names
    assert [names[row] for row in rows.inside(names.index("f1"))] == ["x1", "x2", "x3", "x4", "f5"]
    assert rows.inside(0) == (0,)


@pytest.mark.parametrize(("number", "expected"), [(-1, None), (0, "x"), (1, "y"), (2, None)])
def test_operands_that_parameters_in_fusions_stand_for(number: int, expected: str | None) -> None:
    rows = rows_of(
        [
            op("x", "parameter", OF), op("y", "parameter", OF, parameter_number=1),
            op("f", "fusion", OF, "x", "y", called=["inside"]),
        ],
        inside=[op("p", "parameter", OF, parameter_number=number)],
    )  # fmt: skip
    found = rows.parameter(rows.program.names.index("f"), rows.program.names.index("p"))
    assert (None if found is None else rows.program.names[found]) == expected


@pytest.mark.parametrize(
    ("row", "expected"),
    # Up to three users away, else up to three operands away, the first row among them.
    [("a", "jit(f)/first"), ("b", "jit(f)/first"), ("c", "jit(f)/first"), ("d", "jit(f)/last"), ("far", "")],
)
def test_names_of_ops_up_to_three_instructions_away(row: str, expected: str) -> None:
    chain = ["x", "a", "b", "c", "d", "e", "f"]
    links = [op(after, "copy", OF, before) for before, after in pairwise(chain)]
    rows = rows_of([
        op("x", "parameter", OF, op_name="jit(f)/first"), *links, op("last", "tanh", OF, "f", op_name="jit(f)/last"),
        op("y", "parameter", OF, parameter_number=1), *(
            op(after, "copy", OF, before) for before, after in [("y", "far"), ("far", "g"), ("g", "h"), ("h", "i")]
        ), op("named", "tanh", OF, "i", op_name="jit(f)/named"),
    ])  # fmt: skip
    at = rows.row(row)
    assert at is not None
    assert rows.op_name(at) == expected


@pytest.mark.parametrize(
    ("changed", "adds_up"),
    [({}, True), ({"result": "f32[5,4]"}, True), ({"result": "f32[5]"}, False), ({"inside": "negate"}, False),
     ({"batch": 1}, False), ({"users": 0}, False), ({"twice": True}, False), ({"opcode": "custom-call"}, False)],
)  # fmt: skip
def test_products_of_examples_that_are_added_up(changed: dict, adds_up: bool) -> None:
    facts = {
        "result": "f32[4,5]",
        "inside": "reduce",
        "batch": 3,
        "users": 2,
        "twice": False,
        "opcode": "dot",
    } | changed
    each, numbers = f"f32[{facts['batch']},4,5]", {"dot_dimension_numbers": DOT} if facts["opcode"] == "dot" else {}
    a, b = (f"f32[{facts['batch']},{sizes}]" for sizes in ("4,2", "2,5"))
    product = [
        op("i.a", "parameter", a),
        op("i.b", "parameter", b, parameter_number=1),
        *([op("i.other", facts["opcode"], each, "i.a", "i.b", **numbers)] if facts["twice"] else []),
        op("i.dot", facts["opcode"], each, "i.a", "i.b", **numbers),
    ]
    entry = [
        op("a", "parameter", a), op("b", "parameter", b, parameter_number=1),
        op("f", "fusion", each, "a", "b", called=["product"]),
        *(op(f"sum{i}", facts["inside"], facts["result"], "f") for i in range(facts["users"])),
    ]  # fmt: skip
    found = summed(rows_of(entry, product=product), 2)
    assert (found is not None) == adds_up
    if found is not None:
        assert (found[0].sizes, found[1]) == ((3, 4, 5, 2), [3, 4])
