"""Costs of single HLO instructions and of fusions, computed by hand from their shapes."""

from typing import Any

import pytest
from builders.programs.hlo import Op, metadata_plane, op, program
from builders.racing import racing
from builders.shown import profile

from tpu_profile_plugin.analysis.hlo.cost.model import Cost, CostModel
from tpu_profile_plugin.analysis.hlo.instructions import Instructions
from tpu_profile_plugin.analysis.hlo.ops import HloOps
from tpu_profile_plugin.analysis.hlo.programs import hlo_programs

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
