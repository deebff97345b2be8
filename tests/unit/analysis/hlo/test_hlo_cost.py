"""What HLO instructions cost on a GPU: FLOPs and bytes, alone, in fusions and in other computations."""

import numpy as np
import pytest
from builders.programs.hlo import op, program
from builders.xspace_text import build

from tpu_profile_plugin.analysis.hlo.cost.model import CostModel
from tpu_profile_plugin.analysis.hlo.cost.rules import cycles_per_element
from tpu_profile_plugin.analysis.hlo.instructions import Instructions
from tpu_profile_plugin.analysis.hlo.programs import hlo_programs
from tpu_profile_plugin.columns import load

A, B = op("a", "parameter", "f32[8,16]"), op("b", "parameter", "f32[16,4]")
CONTRACT = {"dot_dimension_numbers": {"lhs_contracting_dimensions": [1], "rhs_contracting_dimensions": [0]}}
ADD = [op("l", "parameter", "f32[]"), op("r", "parameter", "f32[]"), op("s", "add", "f32[]", "l", "r")]


def cost_of(name, entry, **computations):
    proto = program(entry, **computations).hex()
    text = f'plane 0 "/host:metadata"\nmetadata "m(7)" id=7 {{"Hlo Proto"=0x{proto}}}'
    instructions = Instructions(hlo_programs(load(np.frombuffer(build(text), np.uint8))).program(7))
    return CostModel(instructions).cost(instructions.named(name))


def cost(name, entry, **computations):
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
    assert cost("x", [A, B, one]) == expected


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
    assert cost("x", [operand, x(opcode, f"{kind}[10]", "p", "p")])[0] == 10 * cycles


def test_operands_of_the_result_type_do_not_matter():
    wide = op("p", "parameter", "f64[10]")
    assert cost("x", [wide, x("compare", "pred[10]", "p", "p")])[0] == 30
    assert cost("x", [wide, x("convert", "f32[10]", "p")])[0] == 30


def test_narrow_operands_count_less():
    ops = [op("p", "parameter", "s8[4,8]"), op("q", "parameter", "s8[8,4]")]
    found = cost_of("x", [*ops, x("dot", "s32[4,4]", "p", "q", **CONTRACT)])
    assert (found.flops, found.model_flops) == (128, 256)


def test_transposes_that_only_relabel_dimensions_are_free():
    rows = op("p", "parameter", "f32[8,16]{1,0}")
    assert cost("x", [rows, x("transpose", "f32[16,8]{0,1}", "p", dimensions=[1, 0])]) == (0, 0, 0, 0)
    assert cost("x", [rows, x("transpose", "f32[16,8]{1,0}", "p", dimensions=[1, 0])]) == (0, 512, 512, 1024)


def test_only_values_in_the_main_memory_are_traffic():
    near = op("p", "parameter", "f32[8,16]{1,0:S(1)}")
    assert cost("x", [near, A, x("add", "f32[8,16]{1,0:S(5)}", "p", "a")])[1:] == (512, 0, 1536)


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
    assert cost("x", [*ops, one])[0] == 2 * 64 * 128


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
    assert cost("x", [*ops, conv])[0] == 2 * (3 * 5) * 2 * positions
    cudnn = x(
        "custom-call", [f"f32[2,5,{output}]", "s8[7]"], "i", "k", custom_call_target="__cudnn$convForward", **fields
    )
    whole = 4 * (60 + 45) + 4 * 10 * output
    assert cost("x", [*ops, cudnn]) == (2 * 15 * 2 * positions, 4 * (60 + 45), 0, whole)


def test_grouped_convolutions_work_on_a_part_of_the_features():
    fields = {"window": {"dimensions": [{"size": 3}]}, "convolution_dimension_numbers": CHANNELS}
    ops = [op("i", "parameter", "f32[4,6,10]"), op("k", "parameter", "f32[3,5,3]")]
    conv = x("convolution", "f32[2,5,8]", "i", "k", feature_group_count=2, batch_group_count=2, **fields)
    assert cost("x", [*ops, conv])[0] == 2 * (3 * 5) * 2 * 24


def test_windows_larger_than_memory_cost_nothing():
    huge = {"window": {"dimensions": [{"size": 1 << 40}]}, "convolution_dimension_numbers": CHANNELS}
    ops = [op("i", "parameter", f"f32[2,3,{1 << 41}]"), op("k", "parameter", f"f32[3,5,{1 << 40}]")]
    assert cost("x", [*ops, x("convolution", f"f32[2,5,{1 << 40}]", "i", "k", **huge)])[0] == 0


def fused(inner, shape, *operands, kind="kLoop", **computations):
    outer = [op(name, "parameter", text) for name, text in operands]
    fusion = x("fusion", shape, *(name for name, _ in operands), called=["inner"], fusion_kind=kind)
    return cost("x", [*outer, fusion], inner=inner, **computations)


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
    assert fused(inner, "f32[10]", ("v", "f32[100]"), ("s", "f32[]")) == (30, 40 + 4, 40, 84)


def test_values_used_elementwise_are_computed_once_for_all_their_users():
    inner = [
        parameter(0, "bf16[64,128]"),
        op("c", "convert", "f32[64,128]", "p0"),
        op("square", "multiply", "f32[64,128]", "c", "c"),
        op("cube", "multiply", "f32[64,128]", "square", "c"),
        op("r", "convert", "bf16[64,128]", "cube"),
    ]
    assert fused(inner, "bf16[64,128]", ("v", "bf16[64,128]"))[0] == 12 * 64 * 128


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
    assert fused(inner, "f32[8,16]", ("v", "f32[8,16]"), add=ADD) == (flops, 512, 512, 1024)


def test_a_part_of_a_value_is_rounded_up_to_whole_elements():
    inner = [
        parameter(0, "f32[7]"),
        op("e", "exponential", "f32[7]", "p0"),
        op("once", "slice", "f32[2]", "e"),
        op("twice", "slice", "f32[1]", "once"),
        op("r", "reshape", "f32[]", "twice"),
    ]
    # Two sevenths of a half are one seventh.
    assert fused(inner, "f32[]", ("v", "f32[7]")) == (86, 4, 4, 8)


def test_initial_values_of_reductions_are_computed_for_each_result():
    inner = [
        parameter(0, "f32[8,16]"),
        parameter(1, "f32[]"),
        op("i", "negate", "f32[]", "p1"),
        op("total", "reduce", "f32[8]", "p0", "i", called=["add"]),
    ]
    assert fused(inner, "f32[8]", ("v", "f32[8,16]"), ("s", "f32[]"), add=ADD)[0] == 3 * 120 + 8 * 3


def test_updates_in_place_write_the_update_and_leave_the_rest():
    inner = [
        parameter(0, "f32[100]"),
        parameter(1, "f32[10]"),
        op("i", "constant", "s32[]"),
        op("new", "dynamic-update-slice", "f32[100]", "p0", "p1", "i"),
    ]
    operands = (("v", "f32[100]"), ("u", "f32[10]"))
    assert fused(inner, "f32[100]", *operands) == (0, 40, 40, 80)
    both = [*inner, op("n", "negate", "f32[10]", "p1"), op("t", "tuple", ["f32[100]", "f32[10]"], "new", "n")]
    assert fused(both, ["f32[100]", "f32[10]"], *operands) == (30, 40, 80, 120)


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
    assert cost("x", [*outer, fusion], inner=inner) == (60 + 60, 40 + 40, 40, 160)


def test_custom_fusions_around_a_gather_cost_what_it_costs():
    inner = [
        parameter(0, "f32[64,128]"),
        parameter(1, "s32[16,1]"),
        op("e", "exponential", "f32[64,128]", "p0"),
        op("g", "gather", "f32[16,128]", "e", "p1"),
    ]
    operands = (("v", "f32[64,128]"), ("i", "s32[16,1]"))
    assert fused(inner, "f32[16,128]", *operands, kind="kCustom") == (0, 8192 + 64, 8192, 16448)
    assert fused(inner, "f32[16,128]", *operands)[0] == 86 * 16 * 128


def test_reductions_read_their_initial_value_for_each_result():
    ops = [A, op("z", "constant", "f32[]"), x("reduce", "f32[8]", "a", "z", called=["add"])]
    assert cost("x", ops, add=ADD) == (3 * (128 - 8), 512 + 32, 32, 576)


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
    assert cost("x", [*ops, one], add=ADD)[0] == flops


def test_scatters_read_and_write_as_much_as_the_updates():
    ops = [op("v", "parameter", "f32[64,128]"), op("i", "parameter", "s32[16,1]"), op("u", "parameter", "f32[16,128]")]
    one = x("scatter", "f32[64,128]", "v", "i", "u", called=["add"])
    assert cost("x", [*ops, one], add=ADD) == (3 * 2048, 2 * 8192 + 64, 8192, 3 * 8192 + 64)
    select = [op("sl", "parameter", "f32[]"), op("sr", "parameter", "f32[]"), op("c", "compare", "pred[]", "sl", "sr")]
    window = {"dimensions": [{"size": 2}, {"size": 2}]}
    pooled = x("select-and-scatter", "f32[64,128]", "v", "u", "z", called=["select", "add"], window=window)
    found = cost("x", [*ops, op("z", "constant", "f32[]"), pooled], select=select, add=ADD)
    assert found[0] == 2048 * (3 * 3 + 3)


def test_linear_algebra():
    ops = [op("m", "parameter", "f32[2,8,8]"), op("v", "parameter", "f32[2,8,4]"), op("c", "parameter", "c64[10,100]")]
    assert cost("x", [*ops, x("cholesky", "f32[2,8,8]", "m")]) == (8 * 128 // 3, 256, 256, 512)
    # What is read of the operands is as in XProf: the second stands for both.
    assert cost("x", [*ops, x("triangular-solve", "f32[2,8,4]", "m", "v")]) == (2 * 8 * 64, 512, 256, 256 + 256 + 256)
    assert cost("x", [*ops, x("fft", "c64[10,100]", "c", fft_length=[100])])[0] == 8 * 6 * 1000


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
    assert cost("x", [A, one], add=ADD) == expected


def test_asynchronous_collectives_cost_only_as_a_reduce_scatter():
    inner = [parameter(0, "f32[8,16]"), op("rs", "reduce-scatter", "f32[2,16]", "p0", called=["add"], **GROUPS)]
    start = x("async-start", ["f32[8,16]", "f32[2,16]"], "a", called=["inner"])
    assert cost("x", [A, start], inner=inner, add=ADD) == (3 * 32, 0, 0, 11 * 128)
    inner[1] = op("aa", "all-to-all", "f32[8,16]", "p0")
    assert cost("x", [A, start], inner=inner, add=ADD) == (0, 0, 0, 0)


def test_computations_that_are_called():
    body = [
        parameter(0, "f32[8,16]"),
        op("e", "exponential", "f32[8,16]", "p0"),
        op("t", "add", "f32[8,16]", "e", "p0"),
    ]
    small = [parameter(1, "f32[8,16]"), op("n", "negate", "f32[8,16]", "p1")]
    # Properties are added up: two results are written, and operand 0 is read by both.
    called = (89 * 128, 1024, 1024, 2560)
    assert cost("x", [A, x("call", "f32[8,16]", "a", called=["body"])], body=body) == called
    either = x("conditional", "f32[8,16]", "a", "a", "a", called=["small", "body"])
    assert cost("x", [A, either], small=small, body=body) == (89 * 128, 1024 + 512, 1024, 2560)
    loop = x("while", "f32[8,16]", "a", called=["body", "small"])
    assert cost("x", [A, loop], small=small, body=body)[0] == (89 + 3) * 128
    mapped = x("map", "f32[8,16]", "a", called=["add"], dimensions=[0, 1])
    assert cost("x", [A, mapped], add=ADD) == (3 * 128, 512, 512, 1024)


def test_unknown_library_calls_count_minus_one_where_they_are_called():
    body = [parameter(0, "f32[8,16]"), op("k", "custom-call", "f32[8,16]", "p0", custom_call_target="foo")]
    body.append(op("t", "add", "f32[8,16]", "k", "p0"))
    assert cost("x", [A, x("call", "f32[8,16]", "a", called=["body"])], body=body)[0] == 3 * 128 - 1


def test_a_computation_that_calls_itself_ends():
    body = [parameter(0, "f32[8,16]"), op("again", "call", "f32[8,16]", "p0", called=["body"])]
    assert cost("x", [A, x("call", "f32[8,16]", "a", called=["body"])], body=body) == (0, 0, 0, 0)


@pytest.mark.timeout(10)
def test_chains_of_calls_end():
    chain = {f"c{i}": [op(f"n{i}", "call", "f32[4]", called=[f"c{i + 1}"])] for i in range(500)}
    chain["c500"] = [op("end", "add", "f32[4]")]
    assert cost("x", [A, op("x", "call", "f32[4]", "a", called=["c0"])], **chain)[0] == 0
    assert cost("x", [A, op("x", "call", "f32[4]", "a", called=["c480"])], **chain)[0] == 3 * 4


def test_long_chains_of_calls_end():
    chain = {
        f"c{i}": [op(f"p{i}", "parameter", "f32[8]"), op(f"k{i}", "call", "f32[8]", f"p{i}", called=[f"c{i + 1}"])]
        for i in range(3000)
    }
    last = [op("p", "parameter", "f32[8]"), op("n", "negate", "f32[8]", "p")]
    assert cost("x", [A, x("call", "f32[8]", "a", called=["c0"])], **chain, c3000=last)[0] == 0
    assert cost("x", [A, x("call", "f32[8]", "a", called=["c2990"])], **chain, c3000=last)[0] == 24
