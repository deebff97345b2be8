"""Costs of HLO instructions and of fusions on GPUs and CPUs, computed by hand from their shapes."""

from __future__ import annotations

from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from builders.programs.hlo import Op, metadata_plane, op, program
from builders.programs.hlo import shape as shape_of
from builders.racing import racing
from builders.shown import profile
from builders.xspace_text import build

from tpu_profile_plugin.analysis.hlo.cost import Cost, CostModel, CpuCostModel, _positions, cycles_per_element
from tpu_profile_plugin.analysis.hlo.instructions import (
    BATCH,
    FEATURE,
    SPATIAL,
    UNKNOWN,
    Instructions,
    category,
    convolution_layout,
)
from tpu_profile_plugin.analysis.hlo.ops import HloOps
from tpu_profile_plugin.analysis.hlo.programs import hlo_programs
from tpu_profile_plugin.columns import load
from tpu_profile_plugin.protos import message

A, B = op("a", "parameter", "f32[8,16]"), op("b", "parameter", "f32[16,4]")
ADD = [op("l", "parameter", "f32[]"), op("r", "parameter", "f32[]"), op("s", "add", "f32[]", "l", "r")]
"""3 operations a run; reads 8 bytes, writes 4."""
TWO = [op("u", "negate", "f32[5]", "w"), op("w", "parameter", "f32[5]")]
"""15 operations a run; reads 20 bytes, writes 20."""


def cost(entry: list[Op], **computations: list[Op]) -> Cost:
    """Cost of the instruction x."""
    found = hlo_programs(profile(metadata_plane(m=(7, program(entry, **computations))))).program(7)
    assert found is not None
    instructions = Instructions(found)
    return CostModel(instructions).cost(instructions.named("x"))


def flops(*entry: Op, **computations: list[Op]) -> float:
    return cost([*entry], **computations).flops


def moved(*entry: Op, **computations: list[Op]) -> tuple[float, float]:
    found = cost([*entry], **computations)
    return found.read, found.written


def parameters(*shapes: str) -> list[Op]:
    return [op(f"p{i}", "parameter", shape) for i, shape in enumerate(shapes)]


@pytest.mark.parametrize(
    ("contracting", "expected"),
    [([1], 2 * 8 * 4 * 16), ([0, 1], 2 * 8 * 4 * 128), ([1, 2, -1], 2 * 8 * 4 * 16), ([], 2 * 8 * 4)],
)
def test_dots_multiply_along_the_contracted_dimensions_that_there_are(contracting: list[int], expected: int) -> None:
    numbers = {"lhs_contracting_dimensions": contracting}
    assert flops(A, B, op("x", "dot", "f32[8,4]", "a", "b", dot_dimension_numbers=numbers)) == expected
    assert flops(A, B, op("x", "dot", "f32[8,4]", dot_dimension_numbers=numbers)) == 0


@pytest.mark.parametrize(
    ("kinds", "scale"),
    [("f32 f32", 1), ("f16 f16", 1), ("s8 s8", 2), ("s8 s4", 2), ("u4 s4", 4), ("s8 f32", 1)],
)
def test_the_widest_operand_decides_what_an_operation_counts(kinds: str, scale: int) -> None:
    operands = parameters(*(f"{kind}[8]" for kind in kinds.split()))
    assert flops(*operands, op("x", "add", "s32[8]", "p0", "p1")) == 3 * 8 / scale


CONVOLUTION: dict[str, Any] = {
    "window": {"dimensions": [{"size": 2}]},
    "convolution_dimension_numbers": {
        "kernel_output_feature_dimension": 1,
        "input_feature_dimension": 1,
        "output_feature_dimension": 1,
        "input_spatial_dimensions": [2],
        "kernel_spatial_dimensions": [2],
        "output_spatial_dimensions": [2],
    },
}


def test_convolutions_count_a_group_of_the_batch() -> None:
    operands = parameters("f32[6,3,10]", "f32[3,5,2]")

    def convolved(*names: str, **changed: Any) -> float:
        return flops(*operands, op("x", "convolution", "f32[2,5,9]", *names, **{**CONVOLUTION, **changed}))

    # 9 positions of a window of 2, all inside; 3 features in, 5 out; 6 examples, 2 of each group.
    assert convolved("p0", "p1") == 2 * 18 * 3 * 5 * 6
    assert convolved("p0", "p1", batch_group_count=3) == 2 * 18 * 3 * 5 * 2
    assert convolved("p0") == 0
    # A third operand is none of the kernel.
    assert convolved("p0", "p1", "p0") == 2 * 18 * 3 * 5 * 6
    nothing: dict[str, Any] = {"window": CONVOLUTION["window"]}
    assert flops(*operands, op("x", "convolution", "f32[2,5,9]", "p0", "p1", **nothing)) == 0


def test_reductions() -> None:
    start = op("z", "constant", "f32[]")
    assert flops(A, start, op("x", "reduce", "f32[8]", "a", "z")) == 0
    assert flops(A, start, op("x", "reduce", "f32[8]", "a", "z", called=["two"]), two=TWO) == (128 - 8) * 15
    pair = op("x", "reduce", ["f32[8]", "s32[8]"], "a", "a", "z", "z", called=["add"])
    assert flops(A, start, pair, add=ADD) == (128 - 8) * 3
    assert flops(A, op("x", "reduce", "f32[8]", called=["add"]), add=ADD) == 0
    assert flops(A, start, op("x", "reduce", "f32[999]", "a", "z", called=["add"]), add=ADD) == 0


@pytest.mark.parametrize(("sizes", "expected"), [((2, 3), 5 * 8 * 3), ((1,), 0), ((0,), 0), ((), 0)])
def test_reductions_of_windows(sizes: tuple[int, ...], expected: int) -> None:
    window = {"dimensions": [{"size": size} for size in sizes]}
    assert flops(A, op("x", "reduce-window", "f32[8]", "a", window=window, called=["add"]), add=ADD) == expected


@pytest.mark.parametrize(
    ("opcode", "shape", "expected"),
    [
        ("sort", "f32[8,16]", 128 * 7),
        ("all-reduce", "f32[8]", 8 * 3),
        ("all-reduce-start", ["f32[8]", "f32[4]"], 12 * 3),
        ("reduce-scatter", "f32[2]", 2 * 3),
        ("all-gather", "f32[8]", 0),
        ("tanh", "f32[8]", 8 * 190),
    ],
)
def test_operations_by_the_size_of_the_result(opcode: str, shape: Any, expected: int) -> None:
    assert flops(A, op("x", opcode, shape, "a")) == expected


@pytest.mark.parametrize(
    ("shape", "expected"), [("f32[]", 0), ("f32[1]", 0), ("f32[2]", 2 * 1), ("f32[5]", 5 * 3), ("f32[8]", 8 * 3)]
)
def test_sorting_compares_as_often_as_merging_does(shape: str, expected: int) -> None:
    assert flops(op("p", "parameter", shape), op("x", "sort", shape, "p")) == expected


@pytest.mark.parametrize(
    ("left", "right", "axis", "each"),
    [
        ("f32[8,32]", "f32[8,64]", 1, 6),
        # Only the first operand decides.
        ("f32[8,32]", "f32[8,5]", 1, 6),
        ("f32[8,5]", "f32[8,32]", 1, 400),
        ("f32[8,32]", "f32[5,32]", 0, 6),
        # No dimension of the operands: damaged.
        ("f32[8,32]", "f32[8,5]", 2, 6),
        ("f32[8,5]", "f32[8]", 1, 400),
    ],
)
def test_concatenations_are_slow_where_rows_are_ragged(left: str, right: str, axis: int, each: int) -> None:
    operands = parameters(left, right)
    assert flops(*operands, op("x", "concatenate", "f32[100]", "p0", "p1", dimensions=[axis])) == each * 100
    assert flops(*operands, op("x", "concatenate", "f32[100]", "p0", "p1")) == 6 * 100


def test_what_calls_computations_counts_them() -> None:
    both = {"add": ADD, "two": TWO}
    for opcode, called, expected in [
        ("while", ["add", "two"], 18),
        ("call", ["two"], 15),
        ("map", ["add"], 3),
        ("conditional", ["two", "add"], 15),
        ("conditional", [], 0),
        ("call", [], 0),
        ("fusion", [], 0),
    ]:
        assert flops(A, op("x", opcode, "f32[]", "a", called=called), **both) == expected, opcode
    # Operand 0 is read by both; the second operand of the addition is none of the loop.
    loop = op("x", "while", "f32[]", "a", called=["add", "two"])
    assert moved(A, loop, **both) == (4 + 20, 4 + 20)
    assert cost([A, loop], **both).bytes == 12 + 40
    again = [op("again", "call", "f32[]", called=["again"]), op("n", "negate", "f32[]", "again")]
    assert flops(A, op("x", "call", "f32[]", called=["again"]), again=again) == 3 + 3


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (op("x", "tuple", ["f32[8]", "f32[4]"], "a", "b"), (0, 0)),
        (op("x", "slice", "f32[2]", "a"), (8, 8)),
        (op("x", "dynamic-slice", "f32[2]", "a", "i"), (8 + 4, 8)),
        (op("x", "dynamic-slice", "f32[2]", "a", "i", "i"), (8 + 4 + 4, 8)),
        (op("x", "dynamic-update-slice", "f32[8,16]", "a", "b", "i", "i"), (256 + 4 + 4, 256)),
        (op("x", "dynamic-update-slice", "f32[8,16]", "a"), (512, 512)),
        (op("x", "gather", "f32[2]", "a", "i"), (8 + 4, 8)),
        (op("x", "gather", "f32[2]", "a"), (512, 8)),
        (op("x", "add", "f32[2]", "a", "i"), (512 + 4, 8)),
        (op("x", "after-all", "f32[2]", "a"), (0, 0)),
        # Parts of tuples are not written.
        (op("x", "fusion", ["f32[2]", "f32[3]"], "a", "i"), (512 + 4, 0)),
    ],
)
def test_bytes_moved(one: Op, expected: tuple[int, int]) -> None:
    assert moved(A, B, op("i", "parameter", "s32[]"), one) == expected


def fused(*inner: Op) -> Cost:
    """Cost of a fusion of these instructions, with an operand for each parameter."""
    operands = [op(f"o{i}", "parameter", one.shape) for i, one in enumerate(inner) if one.opcode == "parameter"]
    fusion = op("x", "fusion", inner[-1].shape, *(one.name for one in operands), called=["inner"])
    return cost([*operands, fusion], inner=[*inner])


def test_fused_values_count_as_often_as_they_are_used() -> None:
    one = fused(
        op("p", "parameter", "f32[100]"),
        op("unused", "negate", "f32[100]", "p"),
        op("m", "multiply", "f32[100]", "p", "p"),
        op("first", "slice", "f32[10]", "m"),
        op("second", "slice", "f32[10]", "m"),
        op("root", "add", "f32[10]", "first", "second"),
    )
    # A tenth of m is used twice, and p with it, however often m uses p.
    assert one == Cost(pytest.approx(0.2 * 300 + 30), 80, 40, 120, pytest.approx(90))


def test_fused_inputs_are_read_once_at_most() -> None:
    one = fused(op("p", "parameter", "f32[100]"), op("root", "add", "f32[100]", "p", "p"))
    assert (one.read, one.written) == (400, 400)
    unread = fused(op("p", "parameter", "f32[100]"), op("root", "iota", "f32[10]"))
    assert (unread.read, unread.written) == (0, 40)


def test_only_the_part_of_the_first_operand_counts_that_is_needed() -> None:
    one = fused(
        op("p", "parameter", "f32[100]"),
        op("i", "parameter", "s32[2]", parameter_number=1),
        op("part", "dynamic-slice", "f32[10]", "p", "i"),
    )
    assert one.read == 40 + 8
    broken = fused(op("p", "parameter", "f32[100]"), op("update", "dynamic-update-slice", "f32[100]", "p"))
    assert (broken.read, broken.written) == (0, 400)
    empty = fused(op("p", "parameter", "f32[0]"), op("part", "slice", "f32[10]", "p"))
    assert (empty.read, empty.written) == (0, 40)


def test_results_that_are_updated_in_place_are_written_in_part() -> None:
    one = fused(
        op("p", "parameter", "f32[100]"),
        op("v", "parameter", "f32[5]", parameter_number=1),
        op("new", "dynamic-update-slice", "f32[100]", "p", "v"),
        op("n", "negate", "f32[100]", "new"),
        op("both", "tuple", ["f32[100]", "f32[100]"], "n", "new"),
    )
    assert one.written == 400 + 20


def test_programs_that_are_not_there_cost_nothing() -> None:
    ops = HloOps(profile(metadata_plane(m=(7, program([A, op("x", "negate", "f32[8,16]", "a")])))))
    one = ops.find(7, "x")
    assert one is not None
    assert (ops.cost(7, one).flops, ops.cost(8, one)) == (3 * 128, Cost())
    assert (ops.text(7, one), ops.text(8, one)) == ("%x = f32[8,16] negate(f32[8,16] %a)", "")


def test_a_result_that_is_no_operand_of_the_tuple_is_written_whole() -> None:
    """Of an update in place only the update is written; a part without an operand is none."""
    one = fused(
        op("p", "parameter", "f32[100]"),
        op("v", "parameter", "f32[5]", parameter_number=1),
        op("new", "dynamic-update-slice", "f32[100]", "p", "v"),
        op("both", "tuple", ["f32[100]", "f32[100]"], "new"),
    )
    assert one.written == 20 + 400


def test_library_convolutions_without_a_kernel_are_unknown() -> None:
    operands = parameters("f32[6,3,10]", "f32[3,5,2]")
    call = {"custom_call_target": "__cudnn$convForward", **CONVOLUTION}
    assert cost([*operands, op("x", "custom-call", "f32[6,5,9]", "p0", **call)]) == Cost()
    assert cost([*operands, op("x", "custom-call", "f32[6,5,9]", "p0", "p1", **call)]).flops == 2 * 18 * 3 * 5 * 6


def test_what_two_fusions_in_a_fusion_share_is_computed_once_if_both_are_elementwise() -> None:
    def outer(*inner: Op) -> float:
        body = [
            op("p", "parameter", "f32[100]"),
            op("shared", "negate", "f32[100]", "p"),
            op("m", "fusion", "f32[100]", "shared", called=["nested"]),
            op("n", "fusion", "f32[100]", "shared", called=["nested"]),
            op("s", "add", "f32[100]", "m", "n"),
        ]
        fusion = op("x", "fusion", "f32[100]", "o", called=["inner"])
        return cost([op("o", "parameter", "f32[100]"), fusion], inner=body, nested=[*inner]).flops

    q = op("q", "parameter", "f32[100]")
    # 3 operations per element: of the sum, of each of the nested fusions, of what they share.
    assert outer(q, op("r", "negate", "f32[100]", "q")) == 300 + 2 * 300 + 300
    assert outer(q, op("c", "constant", "f32[100]"), op("r", "add", "f32[100]", "q", "c")) == 300 + 2 * 300 + 300
    # A reversal computes nothing, but needs another element of what is shared than the sum.
    assert outer(q, op("r", "reverse", "f32[100]", "q")) == 300 + 2 * 300


@pytest.mark.parametrize(("calls", "expected"), [(1, 3), (49, 3), (50, 0)])
def test_what_49_calls_reach_counts(calls: int, expected: int) -> None:
    inner = [op("n", "negate", "f32[]")]
    chain = {f"c{i}": [op(f"y{i}", "call", "f32[]", called=[f"c{i + 1}"])] for i in range(1, calls)}
    entry = op("x", "call", "f32[]", called=["c1"])
    assert flops(entry, **chain, **{f"c{calls}": inner}) == expected


def test_many_instructions_one_after_another_count_each() -> None:
    inner = [op("p", "parameter", "f32[8]"), *(op(f"s{i}", "sort", "f32[8]", "p") for i in range(120))]
    assert flops(op("x", "call", "f32[8]", called=["inner"]), inner=inner) == 120 * 8 * 3


@pytest.mark.parametrize(("opcode", "each"), [("add", 97), ("maximum", 3)])
def test_reductions_over_devices_apply_their_function_to_each_element(opcode: str, each: int) -> None:
    both = [op("l", "parameter", "f64[]"), op("r", "parameter", "f64[]"), op("s", opcode, "f64[]", "l", "r")]
    operand = op("p", "parameter", "f64[8]")
    for reduction in ("all-reduce", "reduce-scatter"):
        assert flops(operand, op("x", reduction, "f64[8]", "p", called=["both"]), both=both) == 8 * each


def test_pooling_backwards_needs_two_functions_and_what_is_scattered() -> None:
    window = {"dimensions": [{"size": 2}, {"size": 3}]}
    operands = parameters("f32[8,16]", "f32[4,8]", "f32[]")

    def scattered(names: str, called: str) -> float:
        one = op("x", "select-and-scatter", "f32[8,16]", *names.split(), window=window, called=called.split())
        return flops(*operands, one, add=ADD, two=TWO)

    assert scattered("p0 p1 p2", "add two") == 4 * 8 * (5 * 3 + 15)
    assert scattered("p0 p1", "add two") == 4 * 8 * (5 * 3 + 15)
    for names, called in [("p0 p1 p2", "add"), ("p0 p1 p2", "add two add"), ("p0", "add two"), ("", "")]:
        assert scattered(names, called) == 0, (names, called)


def test_of_a_fused_tuple_the_parts_are_read_that_are_taken_out_of_it() -> None:
    pair = ["f32[10]", "f32[10]"]
    inner = [
        op("p", "parameter", pair),
        op("unused", "custom-call", "f32[1]", "p"),
        op("damaged", "get-tuple-element", "f32[10]"),
        op("first", "get-tuple-element", "f32[10]", "p", tuple_index=0),
        op("second", "get-tuple-element", "f32[10]", "p", tuple_index=1),
        op("some", "slice", "f32[4]", "first"),
        op("part", "slice", "f32[4]", "second"),
        op("more", "slice", "f32[4]", "second"),
        op("sum", "add", "f32[4]", "part", "more"),
        op("root", "add", "f32[4]", "some", "sum"),
    ]
    outer = [op("v", "parameter", "f32[10]"), op("t", "tuple", pair, "v", "v")]
    fusion = op("x", "fusion", "f32[4]", "t", called=["inner"])
    # 4 of 10 elements of the first part, twice 4 of the second.
    assert cost([*outer, fusion], inner=inner).bytes == 16 + 16 + 32


@pytest.mark.parametrize(
    ("shape", "dimensions", "applied"),
    [
        # All of 128 elements for each of 128 places: a reduction and a broadcast.
        ("f32[128]", [(255, 127, 127)], 1 + 127),
        ("f32[128]", [(1, 0, 0), (255, 127, 127)], 254 * 128),
        ("f32[128,4]", [(255, 127, 127), (1, 0, 0)], 4 + 127),
        ("f32[4,128]", [(1, 0, 0), (255, 127, 127)], 4 + 127),
        # One more dimension with a size or a padding of its own.
        ("f32[128,4]", [(255, 127, 127), (1, 1, 0)], 254 * 512),
        ("f32[128,4]", [(255, 127, 127), (1, 0, 1)], 254 * 512),
        ("f32[128,4]", [(255, 127, 127), (3, 0, 0)], 764 * 512),
        # Too little, too much or uneven padding, another size.
        ("f32[128]", [(3, 127, 127)], 2 * 128),
        ("f32[128]", [(253, 126, 126)], 252 * 128),
        ("f32[128]", [(255, 127, 0)], 254 * 128),
        ("f32[128]", [(255, 126, 128)], 254 * 128),
        ("f32[1]", [(0, 0, 0)], 0),
        (["f32[128]", "f32[128]"], [(255, 127, 127)], 254 * 128),
    ],
)
def test_windows_that_reduce_a_whole_dimension(
    shape: str | list[str], dimensions: list[tuple[int, int, int]], applied: int
) -> None:
    names = ("size", "padding_low", "padding_high")
    window = {"dimensions": [dict(zip(names, one, strict=True)) for one in dimensions]}
    assert flops(A, op("x", "reduce-window", shape, "a", window=window, called=["add"]), add=ADD) == applied * 3


@pytest.mark.parametrize(("elements", "used", "size"), [(8, 8, 0), (9, 9, 36), (10, 5, 20), (10, 0, 0)])
def test_constants_of_more_than_8_elements_are_read_as_far_as_they_are_used(
    elements: int, used: int, size: int
) -> None:
    constant = op("c", "constant", f"f32[{elements}]")
    one = fused(constant, op("root", "slice", f"f32[{used}]", *(["c"] if used else [])))
    assert one.bytes == size + 4 * used


def test_a_part_of_a_part_is_written_whole() -> None:
    """Results within results are none of an update in place."""
    one = fused(
        op("p", "parameter", "f32[100]"),
        op("v", "parameter", "f32[5]", parameter_number=1),
        op("new", "dynamic-update-slice", "f32[100]", "p", "v"),
        op("both", "tuple", ["f32[100]", "f32[100]"], "new", "new"),
    )
    assert one.written == 20 + 20


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (op("x", "dynamic-slice", "f32[2]", "a", "i", "i"), 8 + 8 + 4),
        (op("x", "slice", "f32[2]", "a"), 8 + 8),
        (op("x", "dynamic-update-slice", "f32[8,16]", "a", "b", "i", "i"), 256 + 256 + 4),
        (op("x", "dynamic-update-slice", "f32[8,16]", "a", "b"), 256 + 256),
        (op("x", "dynamic-update-slice", "f32[8,16]", "a"), 512 + 512),
        (op("x", "gather", "f32[2]", "a", "i"), 8 + 8 + 4),
        (op("x", "infeed", ["f32[2]", "f32[3]"], "i"), 8 + 12),
        (op("x", "outfeed", "token[]", "a", "i"), 512 + 4),
        (op("x", "transpose", "f32[16,8]", "a", dimensions=[1, 0]), 512 + 512),
        (op("x", "transpose", "f32[16,8]{1,0}", dimensions=[1, 0]), 512),
        (op("x", "transpose", "f32[16,8]{2,1}", "a", dimensions=[1, 0]), 512 + 512),
        (op("x", "transpose", "f32[16,8]{1}", "a", dimensions=[1, 0]), 512 + 512),
        (op("x", "triangular-solve", "f32[16,4]", "a"), 512 + 256),
        (op("x", "triangular-solve", "f32[16,4]", "i", "b"), 4 + 256 + 256),
        (op("x", "cholesky", "f32[]", "i"), 4 + 4),
        (op("x", "cholesky", "f32[8,16]"), 512),
        (op("x", "custom-call", "f32[8]", custom_call_target="__cublas$lt$matmul"), 0),
    ],
)
def test_bytes_accessed(one: Op, expected: int) -> None:
    assert cost([A, B, op("i", "parameter", "s32[]"), one]).bytes == expected


def test_feeds_count_the_parts_of_tuples() -> None:
    assert moved(op("x", "infeed", ["f32[2]", "f32[3]"])) == (0, 8 + 12)
    pair = op("p", "parameter", ["f32[2]", "f32[3]"])
    assert moved(pair, A, op("x", "outfeed", "token[]", "p", "a")) == (8 + 12 + 512, 0)


def test_the_last_dimension_of_a_triangle_counts() -> None:
    operands = parameters("f32[3,4,8]", "f32[3,4,2]")
    assert flops(*operands, op("x", "cholesky", "f32[3,4,8]", "p0")) == 8 * 96 // 3
    assert flops(*operands, op("x", "triangular-solve", "f32[3,4,2]", "p0", "p1")) == 2 * 8 * 24
    for damaged in (op("x", "cholesky", "f32[]"), op("x", "triangular-solve", "f32[3,4,2]", "p0")):
        assert flops(*operands, damaged) == 0


@pytest.mark.parametrize(
    ("groups", "shape", "expected"),
    [([0], "f32[6,64]", 2 * 64 * 128), ([], "f32[6,64]", 2 * 6 * 64 * 128), ([0], "f32[]", 2 * 128)],
)
def test_ragged_products_with_groups_leave_out_the_first_dimension(
    groups: list[int], shape: str, expected: int
) -> None:
    numbers = {"dot_dimension_numbers": {"lhs_contracting_dimensions": [1]}, "rhs_group_dimensions": groups}
    operand = op("p", "parameter", "f32[6,128]")
    assert flops(operand, op("x", "ragged-dot", shape, "p", ragged_dot_dimension_numbers=numbers)) == expected


def test_a_value_that_an_update_overwrites_in_part_is_computed_for_the_rest() -> None:
    one = fused(
        op("p", "parameter", "f32[100]"),
        op("v", "parameter", "f32[50]", parameter_number=1),
        op("m", "negate", "f32[100]", "p"),
        op("new", "dynamic-update-slice", "f32[100]", "m", "v"),
        op("root", "negate", "f32[100]", "new"),
    )
    assert one.flops == 3 * 50 + 3 * 100


def test_nested_fusions_that_fuse_nothing_are_elementwise() -> None:
    body = [op("p", "parameter", "f32[100]"), op("n", "fusion", "f32[100]", "p"), op("r", "negate", "f32[100]", "n")]
    assert fused(*body).flops == 300


def test_threads_that_share_programs_get_the_costs_of_one() -> None:
    """While one makes the cost of an instruction, none gets the empty cost that ends recursive calls."""
    entry = [op(f"x{i}", "call", "f32[5]", called=[f"c{i}"]) for i in range(300)]
    called: dict[str, Any] = {f"c{i}": TWO for i in range(300)}
    hlo = HloOps(profile(metadata_plane(m=(7, program(entry, **called)))))
    assert racing(lambda: [hlo.cost(7, hlo.find(7, one.name)).flops for one in entry]) == [[15.0] * 300] * 4


CONTRACT = {"dot_dimension_numbers": {"lhs_contracting_dimensions": [1], "rhs_contracting_dimensions": [0]}}


def cost_of(name, entry, **computations):
    proto = program(entry, **computations).hex()
    text = f'plane 0 "/host:metadata"\nmetadata "m(7)" id=7 {{"Hlo Proto"=0x{proto}}}'
    instructions = Instructions(hlo_programs(load(np.frombuffer(build(text), np.uint8))).program(7))
    return CostModel(instructions).cost(instructions.named(name))


def figures(name, entry, **computations):
    """FLOPs, bytes read, bytes written, bytes accessed."""
    found = cost_of(name, entry, **computations)
    return found.flops, found.read, found.written, found.bytes


def x(opcode, shape, *operands, **facts):
    return op("x", opcode, shape, *operands, **facts)


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (x("dot", "f32[8,4]", "a", "b", **CONTRACT), (2 * 8 * 4 * 16, 512 + 256, 128, 896)),
        (x("add", "f32[8,16]", "a", "a"), (3 * 128, 1024, 512, 1536)),
        (x("copy", "f32[8,16]", "a"), (0, 512, 512, 1024)),
        (x("reshape", "f32[16,8]", "a"), (0, 512, 512, 1024)),
        (x("broadcast", "f32[2,8,16]", "a"), (0, 512, 1024, 1536)),
        (x("slice", "f32[2,16]", "a"), (0, 128, 128, 256)),
        (x("bitcast", "f32[16,8]", "a"), (0, 0, 0, 0)),
        # A tuple writes its table of pointers, which is no part of it.
        (x("tuple", ["f32[8,16]", "f32[16,4]"], "a", "b"), (0, 0, 0, 16)),
        (x("concatenate", "f32[16,16]", "a", "a", dimensions=[0]), (6 * 256, 1024, 1024, 2048)),
        (x("concatenate", "f32[8,32]", "a", "a", dimensions=[1]), (400 * 256, 1024, 1024, 2048)),
        (x("sort", "f32[8,16]", "a"), (128 * 7, 512, 512, 1024)),
        (x("rng", "f32[8,16]"), (0, 0, 512, 512)),
        (x("iota", "f32[8,16]"), (0, 0, 512, 512)),
        (x("custom-call", "f32[8,4]", "a", "b", custom_call_target="my_kernel"), (0, 0, 0, 0)),
        (x("custom-call", ["f32[8,4]", "s8[99]"], "a", "b", custom_call_target="__cublas$gemm"), (0, 0, 0, 0)),
        (x("custom-call", "f32[8,4]", "a", "b", custom_call_target="__cublas$lt$matmul2"), (0, 0, 0, 0)),
        (x("copy-start", ["f32[8,16]", "f32[8,16]", "u32[]"], "a"), (0, 512, 0, 512 + 1028)),
    ],
)
def test_single_instructions(one, expected):
    assert figures("x", [A, B, one]) == expected


@pytest.mark.parametrize(
    ("opcode", "kind", "cycles"),
    [
        ("divide", "s32", 306),
        ("divide", "bf16", 3),
        ("power", "c128", 18205),
        ("tanh", "f16", 212),
        ("add", "f64", 97),
        ("add", "f32", 3),
        ("maximum", "f64", 3),
        ("sine", "f16", 3),
    ],
)
def test_elementwise_operations_take_measured_cycles_by_type_of_the_result(opcode, kind, cycles):
    assert cycles_per_element(opcode, kind) == cycles
    operand = op("p", "parameter", f"{kind}[10]")
    assert figures("x", [operand, x(opcode, f"{kind}[10]", "p", "p")])[0] == 10 * cycles


def test_operands_of_the_result_type_do_not_matter():
    wide = op("p", "parameter", "f64[10]")
    assert figures("x", [wide, x("compare", "pred[10]", "p", "p")])[0] == 30
    assert figures("x", [wide, x("convert", "f32[10]", "p")])[0] == 30


def test_narrow_operands_count_less():
    ops = [op("p", "parameter", "s8[4,8]"), op("q", "parameter", "s8[8,4]")]
    found = cost_of("x", [*ops, x("dot", "s32[4,4]", "p", "q", **CONTRACT)])
    assert (found.flops, found.model_flops) == (128, 256)


def test_transposes_that_only_relabel_dimensions_are_free():
    rows = op("p", "parameter", "f32[8,16]{1,0}")
    assert figures("x", [rows, x("transpose", "f32[16,8]{0,1}", "p", dimensions=[1, 0])]) == (0, 0, 0, 0)
    assert figures("x", [rows, x("transpose", "f32[16,8]{1,0}", "p", dimensions=[1, 0])]) == (0, 512, 512, 1024)


def test_only_values_in_the_main_memory_are_traffic():
    near = op("p", "parameter", "f32[8,16]{1,0:S(1)}")
    assert figures("x", [near, A, x("add", "f32[8,16]{1,0:S(5)}", "p", "a")])[1:] == (512, 0, 1536)


def matrix_product(target, output, dimensions, kind="bf16"):
    config = {} if dimensions is None else {"lhs_contracting_dimensions": dimensions}
    text = f'{{"gemm_backend_config":{{"dot_dimension_numbers":{config}}}}}'.replace("'", '"').encode()
    ops = [op("p", "parameter", f"{kind}[8,16]"), op("q", "parameter", f"{kind}[16,4]")]
    call = x("custom-call", output, "p", "q", custom_call_target=target, backend_config=text)
    return cost_of("x", [*ops, call])


def test_matrix_products_of_cublas_lt():
    found = matrix_product("__cublas$lt$matmul", "bf16[8,4]", ["1"])
    assert (found.flops, found.read, found.written, found.bytes) == (2 * 32 * 16, 256 + 128, 64, 448)
    # The second part of the result is working memory.
    found = matrix_product("__cublas$lt$matmul", ["bf16[8,4]", "s8[99]"], ["1"])
    assert (found.flops, found.read, found.written, found.bytes) == (2 * 32 * 16, 256 + 128, 0, 448)
    assert matrix_product("__cublas$lt$groupedMatmul", "bf16[8,4]", None).flops == 2 * 32
    eight_bits = matrix_product("__cublas$lt$matmul$f8", "bf16[8,4]", ["1"], "f8e4m3fn")
    assert (eight_bits.flops, eight_bits.model_flops) == (32 * 16, 2 * 32 * 16)


def test_products_of_ragged_groups():
    groups = {"dot_dimension_numbers": {"lhs_contracting_dimensions": [1]}, "rhs_group_dimensions": [0]}
    ops = [op("p", "parameter", "f32[6,128]"), op("q", "parameter", "f32[3,128,64]"), op("g", "parameter", "s32[3]")]
    one = x("ragged-dot", "f32[6,64]", "p", "q", "g", ragged_dot_dimension_numbers=groups)
    assert figures("x", [*ops, one])[0] == 2 * 64 * 128


CHANNELS = {
    "kernel_output_feature_dimension": 1,
    "input_feature_dimension": 1,
    "output_feature_dimension": 1,
    "input_spatial_dimensions": [2],
    "kernel_spatial_dimensions": [2],
    "output_spatial_dimensions": [2],
}


@pytest.mark.parametrize(
    ("window", "output", "positions"),
    [
        ({"padding_low": 1, "padding_high": 1}, 10, 28),
        ({}, 8, 24),
        ({"stride": 2}, 4, 12),
        ({"window_dilation": 3}, 4, 12),
        # Of 19 places of the dilated input, 10 hold an element; the window covers them from -1 to 19.
        ({"base_dilation": 2, "padding_low": 1, "padding_high": 1}, 19, 28),
        ({"base_dilation": 3, "stride": 2, "padding_low": 2, "padding_high": 2}, 15, 15),
        ({"base_dilation": 2, "window_dilation": 2, "stride": 4, "padding_low": 3}, 5, 0),
    ],
)
def test_convolutions_count_the_positions_inside_the_input(window, output, positions):
    one = {"size": 3, "stride": 1, "window_dilation": 1, "base_dilation": 1, **window}
    fields = {"window": {"dimensions": [one]}, "convolution_dimension_numbers": CHANNELS}
    ops = [op("i", "parameter", "f32[2,3,10]"), op("k", "parameter", "f32[3,5,3]")]
    conv = x("convolution", f"f32[2,5,{output}]", "i", "k", **fields)
    assert figures("x", [*ops, conv])[0] == 2 * (3 * 5) * 2 * positions
    cudnn = x(
        "custom-call", [f"f32[2,5,{output}]", "s8[7]"], "i", "k", custom_call_target="__cudnn$convForward", **fields
    )
    whole = 4 * (60 + 45) + 4 * 10 * output
    assert figures("x", [*ops, cudnn]) == (2 * 15 * 2 * positions, 4 * (60 + 45), 0, whole)


def test_grouped_convolutions_work_on_a_part_of_the_features():
    fields = {"window": {"dimensions": [{"size": 3}]}, "convolution_dimension_numbers": CHANNELS}
    ops = [op("i", "parameter", "f32[4,6,10]"), op("k", "parameter", "f32[3,5,3]")]
    conv = x("convolution", "f32[2,5,8]", "i", "k", feature_group_count=2, batch_group_count=2, **fields)
    assert figures("x", [*ops, conv])[0] == 2 * (3 * 5) * 2 * 24


def test_windows_larger_than_memory_cost_nothing():
    huge = {"window": {"dimensions": [{"size": 1 << 40}]}, "convolution_dimension_numbers": CHANNELS}
    ops = [op("i", "parameter", f"f32[2,3,{1 << 41}]"), op("k", "parameter", f"f32[3,5,{1 << 40}]")]
    assert figures("x", [*ops, x("convolution", f"f32[2,5,{1 << 40}]", "i", "k", **huge)])[0] == 0


def figures_of_fusion(inner, shape, *operands, kind="kLoop", **computations):
    outer = [op(name, "parameter", text) for name, text in operands]
    fusion = x("fusion", shape, *(name for name, _ in operands), called=["inner"], fusion_kind=kind)
    return figures("x", [*outer, fusion], inner=inner, **computations)


def parameter(number, shape):
    return op(f"p{number}", "parameter", shape, parameter_number=number)


def test_fusions_read_what_is_used():
    inner = [
        parameter(0, "f32[100]"),
        parameter(1, "f32[]"),
        op("part", "slice", "f32[10]", "p0"),
        op("wide", "broadcast", "f32[10]", "p1"),
        op("sum", "add", "f32[10]", "part", "wide"),
    ]
    assert figures_of_fusion(inner, "f32[10]", ("v", "f32[100]"), ("s", "f32[]")) == (30, 40 + 4, 40, 84)


def test_values_used_elementwise_are_computed_once_for_all_their_users():
    inner = [
        parameter(0, "bf16[64,128]"),
        op("c", "convert", "f32[64,128]", "p0"),
        op("square", "multiply", "f32[64,128]", "c", "c"),
        op("cube", "multiply", "f32[64,128]", "square", "c"),
        op("r", "convert", "bf16[64,128]", "cube"),
    ]
    assert figures_of_fusion(inner, "bf16[64,128]", ("v", "bf16[64,128]"))[0] == 12 * 64 * 128


def test_values_behind_other_operations_are_computed_for_each():
    inner = [
        parameter(0, "f32[8,16]"),
        op("e", "exponential", "f32[8,16]", "p0"),
        op("zero", "constant", "f32[]"),
        op("total", "reduce", "f32[8]", "e", "zero", called=["add"]),
        op("wide", "broadcast", "f32[8,16]", "total", dimensions=[0]),
        op("d", "divide", "f32[8,16]", "e", "wide"),
    ]
    flops = 2 * 86 * 128 + 3 * (128 - 8) + 3 * 128
    assert figures_of_fusion(inner, "f32[8,16]", ("v", "f32[8,16]"), add=ADD) == (flops, 512, 512, 1024)


def test_a_part_of_a_value_is_rounded_up_to_whole_elements():
    inner = [
        parameter(0, "f32[7]"),
        op("e", "exponential", "f32[7]", "p0"),
        op("once", "slice", "f32[2]", "e"),
        op("twice", "slice", "f32[1]", "once"),
        op("r", "reshape", "f32[]", "twice"),
    ]
    # Two sevenths of a half are one seventh.
    assert figures_of_fusion(inner, "f32[]", ("v", "f32[7]")) == (86, 4, 4, 8)


def test_initial_values_of_reductions_are_computed_for_each_result():
    inner = [
        parameter(0, "f32[8,16]"),
        parameter(1, "f32[]"),
        op("i", "negate", "f32[]", "p1"),
        op("total", "reduce", "f32[8]", "p0", "i", called=["add"]),
    ]
    assert figures_of_fusion(inner, "f32[8]", ("v", "f32[8,16]"), ("s", "f32[]"), add=ADD)[0] == 3 * 120 + 8 * 3


def test_updates_in_place_write_the_update_and_leave_the_rest():
    inner = [
        parameter(0, "f32[100]"),
        parameter(1, "f32[10]"),
        op("i", "constant", "s32[]"),
        op("new", "dynamic-update-slice", "f32[100]", "p0", "p1", "i"),
    ]
    operands = (("v", "f32[100]"), ("u", "f32[10]"))
    assert figures_of_fusion(inner, "f32[100]", *operands) == (0, 40, 40, 80)
    both = [*inner, op("n", "negate", "f32[10]", "p1"), op("t", "tuple", ["f32[100]", "f32[10]"], "new", "n")]
    assert figures_of_fusion(both, ["f32[100]", "f32[10]"], *operands) == (30, 40, 80, 120)


def test_large_constants_and_parts_of_tuples_are_read():
    inner = [
        parameter(0, ["f32[10]", "f32[10]"]),
        op("first", "get-tuple-element", "f32[10]", "p0", tuple_index=0),
        op("second", "get-tuple-element", "f32[10]", "p0", tuple_index=1),
        op("part", "slice", "f32[5]", "second"),
        op("wide", "concatenate", "f32[10]", "part", "part", dimensions=[0]),
        op("large", "constant", "f32[10]"),
        op("sum", "add", "f32[10]", "first", "wide"),
        op("r", "add", "f32[10]", "sum", "large"),
    ]
    outer = [op("v", "parameter", "f32[10]"), op("t", "tuple", ["f32[10]", "f32[10]"], "v", "v")]
    fusion = x("fusion", "f32[10]", "t", called=["inner"], fusion_kind="kLoop")
    # Large constants are no operands: they are only accessed.
    assert figures("x", [*outer, fusion], inner=inner) == (60 + 60, 40 + 40, 40, 160)


def test_custom_fusions_around_a_gather_cost_what_it_costs():
    inner = [
        parameter(0, "f32[64,128]"),
        parameter(1, "s32[16,1]"),
        op("e", "exponential", "f32[64,128]", "p0"),
        op("g", "gather", "f32[16,128]", "e", "p1"),
    ]
    operands = (("v", "f32[64,128]"), ("i", "s32[16,1]"))
    assert figures_of_fusion(inner, "f32[16,128]", *operands, kind="kCustom") == (0, 8192 + 64, 8192, 16448)
    assert figures_of_fusion(inner, "f32[16,128]", *operands)[0] == 86 * 16 * 128


def test_reductions_read_their_initial_value_for_each_result():
    ops = [A, op("z", "constant", "f32[]"), x("reduce", "f32[8]", "a", "z", called=["add"])]
    assert figures("x", ops, add=ADD) == (3 * (128 - 8), 512 + 32, 32, 576)


@pytest.mark.parametrize(
    ("window", "flops"),
    [
        ({"size": 3, "padding_low": 1, "padding_high": 1}, 2 * 128 * 3),
        # A window over everything is a reduction followed by a broadcast.
        ({"size": 255, "padding_low": 127, "padding_high": 127}, (1 + 127) * 3),
    ],
)
def test_windows_apply_their_function_to_all_but_one_element(window, flops):
    ops = [op("v", "parameter", "f32[128]"), op("z", "constant", "f32[]")]
    one = x("reduce-window", "f32[128]", "v", "z", called=["add"], window={"dimensions": [window]})
    assert figures("x", [*ops, one], add=ADD)[0] == flops


def test_scatters_read_and_write_as_much_as_the_updates():
    ops = [op("v", "parameter", "f32[64,128]"), op("i", "parameter", "s32[16,1]"), op("u", "parameter", "f32[16,128]")]
    one = x("scatter", "f32[64,128]", "v", "i", "u", called=["add"])
    assert figures("x", [*ops, one], add=ADD) == (3 * 2048, 2 * 8192 + 64, 8192, 3 * 8192 + 64)
    select = [op("sl", "parameter", "f32[]"), op("sr", "parameter", "f32[]"), op("c", "compare", "pred[]", "sl", "sr")]
    window = {"dimensions": [{"size": 2}, {"size": 2}]}
    pooled = x("select-and-scatter", "f32[64,128]", "v", "u", "z", called=["select", "add"], window=window)
    found = figures("x", [*ops, op("z", "constant", "f32[]"), pooled], select=select, add=ADD)
    assert found[0] == 2048 * (3 * 3 + 3)


def test_linear_algebra():
    ops = [op("m", "parameter", "f32[2,8,8]"), op("v", "parameter", "f32[2,8,4]"), op("c", "parameter", "c64[10,100]")]
    assert figures("x", [*ops, x("cholesky", "f32[2,8,8]", "m")]) == (8 * 128 // 3, 256, 256, 512)
    # What is read of the operands is as in XProf: the second stands for both.
    assert figures("x", [*ops, x("triangular-solve", "f32[2,8,4]", "m", "v")]) == (
        2 * 8 * 64,
        512,
        256,
        256 + 256 + 256,
    )
    assert figures("x", [*ops, x("fft", "c64[10,100]", "c", fft_length=[100])])[0] == 8 * 6 * 1000


GROUPS = {"collective_device_list": {"replica_groups": [{"replica_ids": [0, 1, 2, 3]}, {"replica_ids": [4, 5, 6]}]}}
PAIRS = {"iota_collective_device_list": {"num_replica_groups": 4, "num_devices_per_group": 2}}


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (x("all-gather", "f32[32,16]", "a", **GROUPS), (0, 512, 2048, 11 * 512)),
        (x("all-gather", "f32[16,16]", "a", **PAIRS), (0, 512, 1024, 5 * 512)),
        (x("all-gather", "f32[16,16]", "a"), (0, 512, 1024, 2 * 1024)),
        (x("all-gather-start", ["f32[8,16]", "f32[32,16]"], "a", **GROUPS), (0, 512, 0, 11 * 512)),
        (x("reduce-scatter", "f32[2,16]", "a", called=["add"], **GROUPS), (3 * 32, 512, 128, 11 * 128)),
        (x("all-reduce", "f32[8,16]", "a", called=["add"], **GROUPS), (3 * 128, 512, 512, 1024)),
        (x("all-reduce-start", "f32[8,16]", "a", called=["add"], **GROUPS), (3 * 128, 512, 512, 512)),
        (x("all-to-all", "f32[8,16]", "a", **GROUPS), (0, 512, 512, 1024)),
    ],
)
def test_collectives_count_what_goes_around_the_ring(one, expected):
    assert figures("x", [A, one], add=ADD) == expected


def test_asynchronous_collectives_cost_only_as_a_reduce_scatter():
    inner = [parameter(0, "f32[8,16]"), op("rs", "reduce-scatter", "f32[2,16]", "p0", called=["add"], **GROUPS)]
    start = x("async-start", ["f32[8,16]", "f32[2,16]"], "a", called=["inner"])
    assert figures("x", [A, start], inner=inner, add=ADD) == (3 * 32, 0, 0, 11 * 128)
    inner[1] = op("aa", "all-to-all", "f32[8,16]", "p0")
    assert figures("x", [A, start], inner=inner, add=ADD) == (0, 0, 0, 0)


def test_computations_that_are_called():
    body = [
        parameter(0, "f32[8,16]"),
        op("e", "exponential", "f32[8,16]", "p0"),
        op("t", "add", "f32[8,16]", "e", "p0"),
    ]
    small = [parameter(1, "f32[8,16]"), op("n", "negate", "f32[8,16]", "p1")]
    # Properties are added up: two results are written, and operand 0 is read by both.
    called = (89 * 128, 1024, 1024, 2560)
    assert figures("x", [A, x("call", "f32[8,16]", "a", called=["body"])], body=body) == called
    either = x("conditional", "f32[8,16]", "a", "a", "a", called=["small", "body"])
    assert figures("x", [A, either], small=small, body=body) == (89 * 128, 1024 + 512, 1024, 2560)
    loop = x("while", "f32[8,16]", "a", called=["body", "small"])
    assert figures("x", [A, loop], small=small, body=body)[0] == (89 + 3) * 128
    mapped = x("map", "f32[8,16]", "a", called=["add"], dimensions=[0, 1])
    assert figures("x", [A, mapped], add=ADD) == (3 * 128, 512, 512, 1024)


def test_unknown_library_calls_count_minus_one_where_they_are_called():
    body = [parameter(0, "f32[8,16]"), op("k", "custom-call", "f32[8,16]", "p0", custom_call_target="foo")]
    body.append(op("t", "add", "f32[8,16]", "k", "p0"))
    assert figures("x", [A, x("call", "f32[8,16]", "a", called=["body"])], body=body)[0] == 3 * 128 - 1


def test_a_computation_that_calls_itself_ends():
    body = [parameter(0, "f32[8,16]"), op("again", "call", "f32[8,16]", "p0", called=["body"])]
    assert figures("x", [A, x("call", "f32[8,16]", "a", called=["body"])], body=body) == (0, 0, 0, 0)


@pytest.mark.timeout(10)
def test_chains_of_calls_end():
    chain = {f"c{i}": [op(f"n{i}", "call", "f32[4]", called=[f"c{i + 1}"])] for i in range(500)}
    chain["c500"] = [op("end", "add", "f32[4]")]
    assert figures("x", [A, op("x", "call", "f32[4]", "a", called=["c0"])], **chain)[0] == 0
    assert figures("x", [A, op("x", "call", "f32[4]", "a", called=["c480"])], **chain)[0] == 3 * 4


def test_long_chains_of_calls_end():
    chain = {
        f"c{i}": [op(f"p{i}", "parameter", "f32[8]"), op(f"k{i}", "call", "f32[8]", f"p{i}", called=[f"c{i + 1}"])]
        for i in range(3000)
    }
    last = [op("p", "parameter", "f32[8]"), op("n", "negate", "f32[8]", "p")]
    assert figures("x", [A, x("call", "f32[8]", "a", called=["c0"])], **chain, c3000=last)[0] == 0
    assert figures("x", [A, x("call", "f32[8]", "a", called=["c2990"])], **chain, c3000=last)[0] == 24


VECTOR, HALF, WIDE = "f32[64]{0}", "f32[32]{0}", "f32[16,64]{1,0}"


def cpu_cost(ops: list[Op], **computations: list[Op]) -> tuple[float, float]:
    """FLOPs and bytes of the last instruction."""
    hlo = HloOps(profile(metadata_plane(jit_f=(7, program(ops, **computations)))))
    one = hlo.find(7, ops[-1].name)
    assert one is not None
    found = hlo.cost(7, one, on_cpu=True)
    assert found.flops == found.model_flops
    return found.flops, found.bytes


def on_cpu(opcode: str, of: str, *operands: str, **facts: object) -> list[Op]:
    return [op("p", "parameter", VECTOR), op("i", "parameter", "s8[64]{0}"), op("x", opcode, of, *operands, **facts)]


@pytest.mark.parametrize(
    ("ops", "expected"),
    [
        (on_cpu("add", VECTOR, "p", "p"), (64, 3 * 256)),
        (on_cpu("tanh", VECTOR, "p"), (64, 2 * 256)),
        (on_cpu("bitcast-convert", VECTOR, "p"), (64, 2 * 256)),
        (on_cpu("add", "s8[64]{0}", "i", "i"), (64, 3 * 64)),
        (on_cpu("copy", VECTOR, "p"), (0, 2 * 256)),
        (on_cpu("rng", VECTOR), (64, 256)),
        (on_cpu("concatenate", "f32[128]{0}", "p", "p", dimensions=[0]), (0, 2 * 512)),
        (on_cpu("all-reduce", VECTOR, "p"), (64, 2 * 256)),
    ],
)
def test_single_instructions_on_a_cpu(ops: list[Op], expected: tuple[float, float]) -> None:
    assert cpu_cost(ops) == expected


def test_reductions_read_their_initial_value_once() -> None:
    add = [op("a", "parameter", "f32[]"), op("b", "parameter", "f32[]"), op("c", "add", "f32[]", "a", "b")]
    ops = [
        op("p", "parameter", WIDE),
        op("z", "constant", "f32[]"),
        op("x", "reduce", "f32[16]{0}", "p", "z", called=["add"]),
    ]
    assert cpu_cost(ops, add=add) == (16 * 64 - 16, 4096 + 4 + 64)


def fusion(*inner: Op, of: str, **computations: list[Op]) -> tuple[float, float]:
    return cpu_cost(
        [op("p", "parameter", VECTOR), op("x", "fusion", of, "p", called=["inner"])], inner=list(inner), **computations
    )


Q = op("q", "parameter", VECTOR)
EXP = op("e", "exponential", VECTOR, "q")
SLICES = [op(f"s{i}", "slice", HALF, "e", slice_dimensions=[{"start": i, "limit": i + 32}]) for i in range(3)]
SUM = [op("a", "add", HALF, "s0", "s1"), op("b", "add", HALF, "a", "s2")]


def test_fused_values_count_once_however_often_they_are_used() -> None:
    assert fusion(Q, EXP, *SLICES, *SUM, of=HALF) == (64 + 2 * 32, 256 + 128)


def test_values_of_nested_fusions_count_once() -> None:
    inside = [op("r", "parameter", VECTOR), op("f", "exponential", VECTOR, "r")]
    nested = op("e", "fusion", VECTOR, "q", called=["deep"])
    assert fusion(Q, nested, *SLICES, *SUM, of=HALF, deep=inside) == (64 + 2 * 32, 256 + 128)
    # Read whole by the nested fusion, and again by an instruction beside it.
    beside = op("n", "add", VECTOR, "e", "q")
    assert fusion(Q, nested, beside, of=VECTOR, deep=inside) == (128, 3 * 256)


@pytest.mark.parametrize(
    ("depth", "name", "expected"),
    [(0, "f", 256), (49, "f", 256), (50, "f", 0), (0, "x", 0), (48, "g", 256), (49, "g", 0)],
)
def test_what_nested_fusions_read_of_an_operand(depth: int, name: str, expected: float) -> None:
    # The other parameter, and what is made of the first one, do not count.
    inside = [Q, op("r", "parameter", VECTOR, parameter_number=1), op("n", "negate", VECTOR, "q"),
              op("m", "add", VECTOR, "n", "r")]  # fmt: skip
    entry = [
        op("p", "parameter", VECTOR),
        op("o", "parameter", VECTOR, parameter_number=1),
        op("f", "fusion", VECTOR, "p", "o", called=["inner"]),
        op("g", "fusion", VECTOR, "p", called=["outer"]),
        op("x", "fusion", VECTOR, "p"),
    ]
    outer = [op("s", "parameter", VECTOR), op("h", "fusion", VECTOR, "s", "s", called=["single"])]
    single = [op("t", "parameter", VECTOR), op("v", "negate", VECTOR, "t")]
    text = program(entry, inner=inside, outer=outer, single=single)
    found = hlo_programs(profile(metadata_plane(m=(7, text)))).program(7)
    assert found is not None
    instructions = Instructions(found)
    model = CpuCostModel(instructions)
    assert model._read_inside(instructions.named("p"), instructions.named(name), depth) == expected


def test_operands_are_read_in_the_parts_that_are_used() -> None:
    direct = [op(f"s{i}", "slice", HALF, "q", slice_dimensions=[{"start": i, "limit": i + 32}]) for i in range(2)]
    assert fusion(Q, *direct, SUM[0], of=HALF) == (32, 2 * 128 + 128)
    spread = [
        op("w", "broadcast", WIDE, "q"),
        op("v", "broadcast", WIDE, "q"),
        op("m", "multiply", WIDE, "w", "v"),
    ]
    assert fusion(Q, *spread, of=WIDE) == (1024, 2 * 256 + 4096)


def test_updates_in_place_write_the_update() -> None:
    inner = [
        op("q", "parameter", WIDE),
        op("u", "parameter", "f32[1,64]{1,0}", parameter_number=1),
        op("i", "parameter", "s32[]", parameter_number=2),
        op("d", "dynamic-update-slice", WIDE, "q", "u", "i", "i"),
    ]
    outer = [*inner[:3], op("x", "fusion", WIDE, "q", "u", "i", called=["inner"])]
    assert cpu_cost([op(f"o.{one.name}", one.opcode, one.shape, *(f"o.{i}" for i in one.operands), called=one.called)
                 for one in outer], inner=inner) == (0, 256 + 256 + 4)  # fmt: skip


def test_constants_of_several_elements_are_read() -> None:
    of = {kind: op("c", "constant", kind) for kind in ("f32[]", "f32[2]{0}")}
    assert fusion(Q, of["f32[]"], EXP, of=VECTOR) == (64, 512)
    assert fusion(Q, of["f32[2]{0}"], EXP, of=VECTOR) == (64, 512 + 8)


def test_parts_of_a_tuple_are_read_as_what_takes_them_is_used() -> None:
    """Of the first part 8 elements, of the second, which is not in main memory, all."""
    pair = [VECTOR, "f32[64]{0:S(1)}"]
    inner = [
        op("q", "parameter", pair),
        op("first", "get-tuple-element", pair[0], "q", tuple_index=0),
        op("second", "get-tuple-element", pair[1], "q", tuple_index=1),
        op("part", "slice", "f32[8]{0}", "first"),
        op("whole", "negate", VECTOR, "second"),
        op("both", "concatenate", "f32[72]{0}", "part", "whole", dimensions=[0]),
    ]
    outer = [op("t", "parameter", pair), op("x", "fusion", "f32[72]{0}", "t", called=["inner"])]
    hlo = HloOps(profile(metadata_plane(jit_f=(7, program(outer, inner=inner)))))
    one = hlo.find(7, "x")
    assert one is not None
    found = hlo.cost(7, one, on_cpu=True)
    assert (found.read, found.written, found.bytes) == (32, 288, 32 + 256 + 288)


LARGEST = 1 << 20


def window(stride: int = 1, dilation: int = 1, base: int = 1, low: int = 0) -> Any:
    return SimpleNamespace(stride=stride, window_dilation=dilation, base_dilation=base, padding_low=low)


def counted(source: int, kernel: int, output: int, stride: int, dilation: int, base: int, low: int) -> int:
    """Pairs that fall on an element of the input, every pair looked at."""
    places = (y * stride + x * dilation - low for x in range(kernel) for y in range(output))
    return sum(place % base == 0 and 0 <= place < base * source for place in places)


@pytest.mark.parametrize("source", [1, 2, 5])
@pytest.mark.parametrize(("kernel", "output"), [(1, 1), (1, 4), (3, 3), (2, 5), (4, 2)])
def test_positions_are_the_pairs_that_fall_on_an_element(source: int, kernel: int, output: int) -> None:
    for stride, dilation, base, low in product((1, 2, 3), (1, 2), (1, 2, 3, 4, 5), (-2, 0, 1, 3)):
        expected = counted(source, kernel, output, stride, dilation, base, low)
        found = _positions(window(stride, dilation, base, low), source, kernel, output)
        assert found == expected, (stride, dilation, base, low)


def test_absent_strides_and_dilations_are_one() -> None:
    assert _positions(window(0, 0, 0), 5, 2, 4) == counted(5, 2, 4, 1, 1, 1, 0) == 8


@pytest.mark.parametrize(("source", "kernel", "output"), [(0, 1, 1), (1, 0, 1), (1, 1, 0), (-1, 1, 1)])
def test_without_elements_there_are_no_positions(source: int, kernel: int, output: int) -> None:
    assert _positions(window(), source, kernel, output) == 0


@pytest.mark.parametrize("damaged", [window(stride=-1), window(dilation=-1), window(base=-1)])
def test_steps_backwards_are_damaged(damaged: Any) -> None:
    assert (_positions(damaged, 3, 2, 3), _positions(damaged, 3, 3, 2)) == (0, 0)


def test_the_shorter_side_may_have_so_many_elements() -> None:
    for kernel, output in ((LARGEST, LARGEST + 1), (LARGEST + 1, LARGEST)):
        assert _positions(window(), 1, kernel, output) == 1
    assert _positions(window(), 1, LARGEST + 1, LARGEST + 1) == 0


def layout(text: str, **fields: Any) -> list[tuple[int, int, str]]:
    """(size, alignment, meaning) of the dimensions of a convolution with this result, most-minor first."""
    convolution = message("xla.HloInstructionProto")(opcode="convolution", shape=shape_of(text), **fields)
    return [(dim.size, dim.alignment, dim.semantics) for dim in convolution_layout(convolution)]


def test_dimensions_of_a_result_from_the_most_minor_one() -> None:
    numbers = {"output_batch_dimension": 0, "output_feature_dimension": 3, "output_spatial_dimensions": [1]}
    assert layout("f32[2,3,5,7]{3,2,1,0:T(8,128)}", convolution_dimension_numbers=numbers) == [
        (7, 128, FEATURE),
        (5, 8, UNKNOWN),
        (3, 1, SPATIAL),
        (2, 1, BATCH),
    ]
    assert layout("f32[2,3]{1,0:T(8,128)}") == [(3, 128, UNKNOWN), (2, 8, UNKNOWN)]
    assert layout("f32[2,3]{0,1}") == [(2, 1, UNKNOWN), (3, 1, UNKNOWN)]


def test_dimensions_that_the_result_does_not_have_are_left_out() -> None:
    assert layout("f32[2,3]{2,1,0}") == [(3, 1, UNKNOWN), (2, 1, UNKNOWN)]
    negative = message("xla.HloInstructionProto")(opcode="convolution", shape=shape_of("f32[2,3]"))
    negative.shape.layout.minor_to_major.extend([-1, 1])
    assert [dim.size for dim in convolution_layout(negative)] == [3]


@pytest.mark.parametrize(
    ("windows", "expected"),
    [
        ([], "convolution"),
        ([{"base_dilation": 1, "window_dilation": 1}], "convolution"),
        ([{"base_dilation": 2, "window_dilation": 1}], "convolution base-dilated"),
        ([{"base_dilation": 1}, {"window_dilation": 2}], "convolution window-dilated"),
        ([{"base_dilation": 2}, {"window_dilation": 2}], "convolution base-dilated window-dilated"),
    ],
)
def test_convolutions_are_dilated_from_two_on(windows: list[dict[str, int]], expected: str) -> None:
    fields = {"opcode": "convolution", "window": {"dimensions": windows}}
    assert category(message("xla.HloInstructionProto")(**fields)) == expected


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        *(
            ({"opcode": name, "is_host_transfer": True}, f"host {name}")
            for name in ("send", "send-done", "recv", "recv-done")
        ),
        ({"opcode": "send"}, "send"),
        ({"opcode": "infeed", "is_host_transfer": True}, "infeed"),
        ({"opcode": "map", "shape": {"dimensions": [2, 3]}}, "non-fusion elementwise"),
        ({"opcode": "map", "shape": {"dimensions": [2, 3]}, "dimensions": [0, 1]}, "non-fusion elementwise"),
        ({"opcode": "map", "shape": {"dimensions": [2, 3]}, "dimensions": [0]}, "map"),
        ({"opcode": "convolution", "window": {"dimensions": [{"base_dilation": 1, "window_dilation": 2}]}},
         "convolution window-dilated"),
    ],
)  # fmt: skip
def test_categories_of_transfers_maps_and_windows(fields: dict[str, object], expected: str) -> None:
    assert category(message("xla.HloInstructionProto")(**fields)) == expected
