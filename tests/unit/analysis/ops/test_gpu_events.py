"""Ops of GPUs: events by instruction, runs, kernels of matrix units; categories and gradients of HLO programs."""

import numpy as np
import pytest
from builders.programs.hlo import op, program
from builders.xspace_text import build

from tpu_profile_plugin.analysis.common.planes import device_planes
from tpu_profile_plugin.analysis.derived.preprocess import preprocess
from tpu_profile_plugin.analysis.hlo.instructions import Instructions, category
from tpu_profile_plugin.analysis.hlo.ops import HloOps
from tpu_profile_plugin.analysis.hlo.programs import hlo_programs, is_training
from tpu_profile_plugin.analysis.ops.gpu_kernels import is_eligible, kernel_rows, kernel_times, uses_tensor_core
from tpu_profile_plugin.analysis.ops.gpu_ops import gpu_ops
from tpu_profile_plugin.analysis.ops.op_tables import OpText, hlo_records
from tpu_profile_plugin.columns import load

US = 1_000_000
A, B = op("a", "parameter", "f32[8,16]"), op("b", "parameter", "f32[16,4]")
CONTRACT = {"dot_dimension_numbers": {"lhs_contracting_dimensions": [1], "rhs_contracting_dimensions": [0]}}


def with_program(proto, more=""):
    text = f'plane 0 "/host:metadata"\nmetadata "m(7)" id=7 {{"Hlo Proto"=0x{proto.hex()}}}\n{more}'
    return load(np.frombuffer(build(text), np.uint8))


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (op("x", "copy", "f32[8,16]", "a"), "data formatting"),
        (op("x", "add", "f32[8,16]", "a", "a"), "non-fusion elementwise"),
        (op("x", "fusion", "f32[8]", fusion_kind="kInput"), "input fusion"),
        (op("x", "fusion", "f32[8]", fusion_kind="kCustom"), "custom fusion"),
        (op("x", "send", "f32[8]", is_host_transfer=True), "host send"),
        (op("x", "send", "f32[8]"), "send"),
        (op("x", "convolution", "f32[8]", window={"dimensions": [{"base_dilation": 2}]}), "convolution base-dilated"),
        (
            op("x", "convolution", "f32[8]", window={"dimensions": [{"window_dilation": 2}]}),
            "convolution window-dilated",
        ),
        (
            op("x", "convolution", "f32[8]", window={"dimensions": [{"window_dilation": 2, "base_dilation": 3}]}),
            "convolution base-dilated window-dilated",
        ),
        (op("x", "convolution", "f32[8]"), "convolution"),
        (op("x", "map", "f32[8,16]", "a", dimensions=[0, 1]), "non-fusion elementwise"),
        (op("x", "map", "f32[8,16]", "a", dimensions=[1]), "map"),
        (op("x", "rng", "f32[8]"), "non-fusion elementwise"),
        (op("x", "all-reduce", "f32[8]"), "all-reduce"),
    ],
)
def test_categories(one, expected):
    found = hlo_programs(with_program(program([A, B, one]))).program(7)
    assert category(Instructions(found).named("x")) == expected


GPU = """
plane 1 "/device:GPU:0" {device_vendor="AMD"}
  line 4 stream @5us
    100us +10us "Cijk_Ailk_MI16x16x1_SN" {hlo_op="outer::x", program_id=7, kernel_details="regs:1", correlation_id=1}
    110us +20us "im2col" {hlo_op="x", program_id=7, kernel_details="regs:1", correlation_id=2}
    140us +5us "memset" {hlo_op="x", program_id=7, correlation_id=3}
    150us +7us "k" {tf_op="model/Conv:Conv2D", kernel_details="regs:1"}
    160us +1us "k" {hlo_op="gone", program_id=7, kernel_details="regs:1"}
    170us +1us "k" {hlo_op="x", program_id=8, kernel_details="regs:1"}
  line 9 "other" @900us
    200us +2us copy
"""


def test_gpu_ops_are_events_by_their_instruction():
    dot = op("x", "dot", "f32[8,4]", "a", "b", op_name="jit(f)/dot_general", **CONTRACT)
    found = with_program(program([A, B, dot]), GPU)
    planes, ops = device_planes(found), HloOps(found)
    table, kernels = gpu_ops(found, planes, None, ops), kernel_times(kernel_rows(found, planes, ops))
    assert list(zip(table.module, table.name, table.category, strict=True)) == [
        (7, "x", "dot"),
        (0, "model/Conv/k", "Conv2D"),
    ]
    # The memset is an occurrence like the kernels.
    assert table.occurrences.tolist() == [3, 1]
    assert (table.self_ps // US).tolist() == [35, 7]
    assert (table.flops.tolist(), table.bytes.tolist()) == ([3 * 1024, 0], [3 * 896, 0])
    assert table.provenance == ("jit(f)/dot_general:", "model/Conv:Conv2D")
    assert table.total_ps // US == 202 - 100
    assert kernels.total_ns == {"jit(f)/dot_general": 30_000, "model/Conv": 7_000, "": 2_000}
    assert kernels.matrix_share("jit(f)/dot_general") == pytest.approx(10 / 30)
    assert kernels.eligible == {"jit(f)/dot_general"}


def test_only_instructions_of_programs_have_texts_and_sources():
    text = GPU.replace('170us +1us "k" {hlo_op="x", program_id=8', '170us +1us "k" {hlo_op="x", program_id=7')
    found = with_program(program([A, op("x", "copy", "f32[8,16]", "a", source_file="m.py", source_line=3)]), text)
    hlo = HloOps(found)
    records = hlo_records(gpu_ops(found, device_planes(found), None, hlo), hlo)
    assert dict(zip(records.table.name, records.text, strict=True)) == {
        "x": OpText("%x = f32[8,16] copy(f32[8,16] %a)", "", "m.py", 3),
        "model/Conv/k": OpText(source_line=-1),
    }


def test_costs_that_only_the_event_knows():
    stats = 'hlo_op="x", program_id=7, kernel_details="k", flops=5, bytes_accessed=9'
    text = f'plane 1 "/device:GPU:0"\nline 4 s\n0us +1us k {{{stats}}}'
    found = with_program(program([A, op("x", "custom-call", "f32[8]", "a", custom_call_target="mine")]), text)
    table = gpu_ops(found, device_planes(found), None, HloOps(found))
    assert (table.flops.tolist(), table.bytes.tolist()) == ([5], [9])


RUNS = """
plane 0 "/host:metadata"
metadata "m(7)" id=7 {{"Hlo Proto"=0x{first}}}
metadata "n(8)" id=8 {{"Hlo Proto"=0x{second}}}
plane 1 "/device:GPU:0"
line 4 stream
0us +1us k {{hlo_op="x", program_id=7, group_id=3{stats}}}
10us +2us k {{hlo_op="x", program_id=8, group_id=3}}
20us +4us k {{hlo_op="x", program_id=8, group_id=5}}
30us +8us k {{tf_op="a:B", group_id=5}}
40us +16us k {{hlo_op="x", program_id=7, group_id=5}}
line 5 stream
0us +32us k {{hlo_op="x", program_id=8, group_id=5}}
10us +64us k {{hlo_op="x", program_id=7}}
"""


def run_table(stats=""):
    call = op("x", "custom-call", "f32[8]", "a", custom_call_target="mine")
    text = RUNS.format(first=program([A, call]).hex(), second=program([A, call]).hex(), stats=stats)
    found = load(np.frombuffer(build(text), np.uint8))
    return gpu_ops(found, device_planes(found), preprocess(found), HloOps(found))


def test_consecutive_events_of_one_name_and_group_count_for_the_first_ones_program():
    table = run_table()
    rows = zip(table.module, table.name, (table.self_ps // US).tolist(), table.occurrences.tolist(), strict=True)
    assert sorted(rows) == [(0, "a/k", 8, 1), (7, "x", 1 + 2 + 16 + 64, 4), (8, "x", 4 + 32, 2)]


def test_costs_recorded_with_events_count_once_per_event_of_the_run():
    table = run_table(", flops=5, bytes_accessed=9")
    costs = dict(zip(table.module, zip(table.flops.tolist(), table.bytes.tolist(), strict=True), strict=True))
    assert costs == {0: (0, 0), 7: (10, 18), 8: (0, 0)}


@pytest.mark.parametrize(
    ("name", "kind", "training"),
    [
        ("jit(f)/transpose(jvp(g))/dot", "", True),
        ("jit(f)/transpose/dot", "", False),
        ("gradient_tape/model/MatMul", "MatMul", True),
        ("model/transpose(x)/MatMul", "MatMul", False),
        ("model/MatMul", "MatMul", False),
    ],
)
def test_gradients_in_the_program_mean_training(name, kind, training):
    assert is_training(with_program(program([op("x", "add", "f32[]", op_name=name, op_type=kind)]))) == training


@pytest.mark.parametrize(
    ("kernel", "vendor", "uses"),
    [
        ("volta_h884gemm_64x64", "Nvidia", True),
        ("volta_h884gemm_64x64", "AMD", False),
        ("volta_h884gemm_64x64", "", False),
        ("sgemm", "Nvidia", False),
        ("nvjet_tst_128x256_64x4_2x1_v_bz_TNT", "Nvidia", True),
        ("nvjet_sm100_qqtst_128x256_128x6_2x1_2cta_h_bz_TNT", "Nvidia", True),
        ("nvjet_tst_128x256_64x4_2x1_v_bz_TNT", "AMD", False),
        ("void cutlass::Kernel2<cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_32x32_128x2_tn_align8>", "Nvidia", True),
        ("cutlass3x_sm100_tensorop_s128x256x16gemm_bf16_bf16_f32_void_bf16", "Nvidia", True),
        ("cutlass_80_simt_sgemm_64x64_8x5_nt_align1", "Nvidia", False),
        ("sm80_xmma_fprop_implicit_gemm_tf32f32_nhwckrsc_nhwc_tensor16x8x8_kernel__5x_cudnn", "Nvidia", True),
        ("cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7", "Nvidia", True),
        ("void flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128>>(Flash_fwd_params)", "Nvidia", True),
        ("void pytorch_flash::flash_fwd_splitkv_combine_kernel<a>", "Nvidia", False),
        ("flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel", "Nvidia", True),
        ("flash_bwd_dot_do_o_kernel", "Nvidia", False),
        ("void cutlass::device_kernel<flash::enable_sm90<flash::FlashAttnFwdSm90<a>>>", "Nvidia", True),
        ("fmha_cutlassF_bf16_aligned_64x64_rf_sm80(Params)", "Nvidia", True),
        ("fmha_cutlassF_f32_aligned_64x64_rf_sm80(Params)", "Nvidia", False),
        ("Cijk_Ailk_MT64x32_MI16x16x1_SN", "AMD", True),
        ("Cijk_Ailk_MT64x32_MI16x16x1_SN", "Nvidia", False),
        ("Cijk_Ailk_Bljk", "AMD", False),
        ("Custom_Cijk_Ailk", "AMD", True),
        ("ck_tile::FmhaBwdOGradDotO", "AMD", False),
        ("FmhaFwd<TileFmhaShape<a>>", "AMD", True),
        ("TileFmhaShape", "AMD", False),
        ("gemm_MI16x16", "AMD", False),
        ("gemm_mi16x16x4", "AMD", False),
    ],
)
def test_names_of_matrix_kernels(kernel, vendor, uses):
    assert uses_tensor_core(kernel, vendor) == uses


def test_names_of_matrix_ops():
    assert is_eligible("model/dense/MatMul")
    assert is_eligible("jit(f)/dot_general")
    assert is_eligible("jit(f)/ragged_dot_general:")
    assert not is_eligible("MatMul_grad")


@pytest.mark.parametrize(
    ("op", "eligible"),
    [
        ("Net_0/Linear_1/AddmmBackward0/aten::mm", True),
        ("aten::_scaled_mm", True),
        ("aten::linear", True),
        ("aten::cudnn_convolution", True),
        ("ConvolutionBackward0/aten::convolution_backward", True),
        ("aten::_scaled_dot_product_flash_attention", True),
        ("flash_attn::_flash_attn_varlen_backward", True),
        ("aten::addmm_/aten::copy_", False),
        ("aten::mean", False),
        ("aten::_convert_weight_to_int4pack", False),
    ],
)
def test_matrix_ops_of_pytorch(op, eligible):
    assert is_eligible(op) == eligible
