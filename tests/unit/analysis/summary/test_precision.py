"""Device compute time by the width of its data, from HLO texts and kernel names."""

from __future__ import annotations

import pytest
from builders.answers import summary
from builders.programs.hlo import metadata_plane, op, program

from tpu_profile_plugin.analysis.summary.precision import Precision, computes, float_bits

US = 10**6


@pytest.mark.parametrize(
    ("expression", "bits"),
    [
        ("%dot.1 = f32[8,8]{1,0} dot(bf16[8,4]{1,0} %a, bf16[4,8]{1,0} %b), lhs_contracting_dims={1}", 16),
        ("%f = bf16[8]{0} fusion(bf16[8]{0} %a, f32[8]{0} %b), kind=kLoop, calls=%c", 32),
        ("%f = bf16[8]{0} fusion(bf16[8]{0} %a, f32[] %scale), kind=kLoop", 16),  # scalars do not count
        ("%m = f8e4m3fn[8]{0} multiply(f8e4m3fn[8]{0} %a, f8e4m3fn[8]{0} %b)", 8),
        ("%c = c64[8]{0} add(c64[8]{0} %a, c64[8]{0} %b)", 32),
        ("%i = bf16[8]{0} convert(s32[8]{0} %a)", 16),  # no floating-point operand: the result decides
        ("%s = f32[] add(f32[] %a, f32[] %b)", 32),
        ("%i = s32[8]{0} add(s32[8]{0} %a, s32[8]{0} %b)", 0),
        ("fusion.1", 0),
        ("%t = (f32[8]{0}, u32[]) copy-start(f32[8]{0} %a)", 32),
    ],
)
def test_widest_floating_point_operand(expression: str, bits: int) -> None:
    assert float_bits(expression) == bits


@pytest.mark.parametrize("category", ["copy-start", "copy-done", "all-reduce", "send-done", "infeed", "while", "recv"])
def test_waits_copies_and_communication_do_not_compute(category: str) -> None:
    assert not computes(category)


@pytest.mark.parametrize("category", ["convolution fusion", "loop fusion", "custom-call", "data formatting", "sort"])
def test_other_categories_compute(category: str) -> None:
    assert computes(category)


def test_ops_of_tpus_count_with_their_self_time_on_every_core() -> None:
    dot = '"%dot.1 = bf16[8,8] dot(bf16[8,8] %a, bf16[8,8] %b)"'
    add = '"%add.1 = f32[8] add(f32[8] %a, f32[8] %b)"'
    copy = '"%copy-done.1 = f32[8] copy-done((f32[8], f32[8], u32[]) %c)"'
    core = f"""
    line 3 "XLA Ops"
    0us +30us {dot}
    40us +10us {add}
    60us +500us {copy}
    metadata {dot} {{hlo_category="convolution", program_id=u7, symbol_id=u2}}
    metadata {add} {{hlo_category="non-fusion elementwise", program_id=u7, symbol_id=u3}}
    metadata {copy} {{hlo_category="copy-done", program_id=u7, symbol_id=u4}}
    """
    text = f'plane 0 "/device:TPU:0"{core}plane 1 "/device:TPU:1"{core}'
    assert summary(text).precision == Precision(60 * US, 20 * US)


def test_kernels_of_gpus_count_outside_steps_too() -> None:
    text = """
    plane 1 "/device:GPU:0"
    line 10 "Stream #1"
    0us +20us h16816gemm_fp16
    30us +5us add
    40us +7us ncclAllReduce_bf16
    50us +9us MemcpyH2D
    60us +3us gemm_bf16_bf16
    """
    assert summary(text).precision == Precision(23 * US, 5 * US)
    assert summary('plane 0 "/host:CPU"\nline 1 a\n0us +1us x').precision == Precision()


def test_kernels_of_hlo_ops_count_by_their_operands_whatever_their_names() -> None:
    ops = [op("p", "parameter", "f32[8]"), op("h", "parameter", "bf16[8]"), op("b", "parameter", "f8e4m3fn[8]")]
    ops += [op(name, "add", of, one, one) for name, of, one in (
        ("wide", "f32[8]", "p"), ("narrow", "bf16[8]", "h"), ("narrowest", "f8e4m3fn[8]", "b"),
    )]  # fmt: skip
    kernels = [("wide", "fp16_add", 1), ("narrow", "k", 20), ("narrowest", "k", 300), ("gone", "k", 4000)]
    lines = "\n".join(
        f'{10000 * i}us +{length}us {name} {{hlo_op="{of}", hlo_module="jit_f", program_id=u7}}'
        for i, (of, name, length) in enumerate(kernels)
    )
    text = f'{metadata_plane(jit_f=(7, program(ops)))}\nplane 1 "/device:GPU:0"\nline 10 "Stream #1"\n{lines}'
    assert summary(text).precision == Precision(320 * US, 4001 * US)


def test_kernels_of_recorded_types_count_by_these() -> None:
    text = """
    plane 1 "/device:GPU:0"
    line 10 "Stream #1"
    0us +1us k {"Input type"="[\\"c10::BFloat16\\"]"}
    10us +20us fp16_k {"Input type"="[\\"float\\"]"}
    40us +300us fp16_k {"Input type"="[\\"long int\\"]"}
    """
    assert summary(text).precision == Precision(301 * US, 20 * US)
