"""What ops do by the instructions inside them, and where values of a program go."""

from __future__ import annotations

import numpy as np
import pytest
from builders.programs.hlo import Op, metadata_plane, op, program
from builders.xspace_text import build

from tpu_profile_plugin.analysis.hlo.program_rows import ProgramRows
from tpu_profile_plugin.analysis.hlo.programs import hlo_programs
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
