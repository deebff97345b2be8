"""Kernel stats of typed-in profiles: grouping, launch details, tensor cores, several hosts."""

import math

import pytest
from builders.asked import ask, rows
from builders.programs import hlo

from tpu_profile_plugin.analysis.ops.gpu_kernels import Launch, is_matrix_equation, parse_launch
from tpu_profile_plugin.tools.ops.kernel_stats import TOOL

DETAILS = "regs:32 static_shared:16 dynamic_shared:48 grid:4,2,1 block:128,1,1 occ_pct:37.5"
GPU = f"""{hlo.metadata_plane(jit_f=(7, hlo.relu_program()))}
plane 3 "/device:GPU:0" {{device_vendor="Nvidia"}}
  line 5 "Stream #1"
    0us +4us ampere_h16816gemm {{kernel_details="{DETAILS}", tf_op="model/dense/MatMul:MatMul"}}
    10us +6us ampere_h16816gemm {{kernel_details="{DETAILS}", tf_op="model/dense/MatMul:MatMul"}}
    20us +3us fusion_1 {{kernel_details="grid:1,1,1", hlo_op="x::fusion.1", hlo_module="jit_f", program_id=7}}
    30us +0ps instant {{kernel_details="grid:1,1,1"}}
    40us +9us MemcpyH2D {{memcpy_details="size:8"}}
  line 3735928561 "Launch Stats"
    0us +99us derived {{kernel_details="grid:1,1,1"}}
plane 4 "/device:GPU:1" {{device_vendor="Nvidia"}}
  line 5 "Stream #1"
    0us +2us ampere_h16816gemm {{kernel_details="{DETAILS}", tf_op="model/dense/MatMul:MatMul"}}
    5us +1us plain {{kernel_details="grid:1,1,1", tf_op="x:Einsum", equation="ab,bc->ac"}}
"""


def test_kernels_of_all_gpus_are_grouped_by_launch_and_op():
    times = ("total_duration_us", "avg_duration_us", "min_duration_us", "max_duration_us")
    assert rows(ask(TOOL, GPU), "rank", "kernel_name", "op_name", "occurrences", *times) == [
        (1, "ampere_h16816gemm", "model/dense/MatMul", 3, 12, 4, 2, 6),
        (2, "fusion_1", "jit(f)/max", 1, 3, 3, 3, 3),
        (3, "plain", "x", 1, 1, 1, 1, 1),
    ]


def test_launch_and_tensor_cores():
    names = ("registers_per_thread", "shmem_bytes", "block_dim", "grid_dim", "occupancy_pct")
    flags = ("is_op_tensor_core_eligible", "is_kernel_using_tensor_core")
    assert rows(ask(TOOL, GPU), *names, *flags) == [
        (32, 64, "128,1,1", "4,2,1", 37.5, True, True),
        (0, 0, "1,1,1", "1,1,1", 0, False, False),
        (0, 0, "1,1,1", "1,1,1", 0, True, False),
    ]


def test_kernels_have_a_share_of_the_time_of_all():
    assert rows(ask(TOOL, GPU, page=True)["kernels"], "share") == [(12 / 16,), (3 / 16,), (1 / 16,)]


def test_hosts_are_listed_side_by_side():
    assert [row[0] for row in rows(ask(TOOL, GPU, GPU), "occurrences")] == [3, 3, 1, 1, 1, 1]


def test_averages_are_whole_nanoseconds():
    profile = """
plane 3 "/device:GPU:0"
  line 5 "Stream #1"
    0us +1000ps a {kernel_details="grid:1,1,1"}
    1us +2000ps a {kernel_details="grid:1,1,1"}
"""
    assert rows(ask(TOOL, profile), "total_duration_us", "avg_duration_us") == [(0.003, 0.001)]


OPS = """
plane 3 "/device:GPU:0" {device_vendor="VENDOR"}
  line 5 "Stream #1"
    0us +9us h884_a {kernel_details="regs:1", tf_op="a/b:Foo"}
    0us +8us h884_b {kernel_details="regs:1"}
    0us +7us h884_c {kernel_details="regs:1", hlo_op="fusion.1", program_id=7}
    0us +6us wmma_d {kernel_details="regs:1", tf_op="XlaModule", hlo_op="gone", program_id=8}
    0us +5us e {kernel_details="regs:1", tf_op="a/MatMul:MatMul", hlo_op="fusion.1", program_id=7}
    0us +4us f {kernel_details="regs:1", equation="ab,bc->ac"}
    0us +3us g {kernel_details="", tf_op="a/b:Foo"}
"""


@pytest.mark.parametrize(
    ("vendor", "uses"),
    [("Nvidia", [True, True, True, False]), ("AMD", [False, False, False, True]), ("Intel", [False] * 4)],
)
def test_matrix_kernels_depend_on_the_vendor_and_show_that_the_events_op_could(vendor, uses):
    names = ("kernel_name", "op_name", "is_kernel_using_tensor_core", "is_op_tensor_core_eligible")
    profile = hlo.metadata_plane(jit_f=(7, hlo.relu_program())) + OPS.replace("VENDOR", vendor)
    assert rows(ask(TOOL, profile), *names) == [
        ("h884_a", "a/b", uses[0], uses[0]),
        ("h884_b", "", uses[1], False),
        ("h884_c", "jit(f)/max", uses[2], False),
        ("wmma_d", "XlaModule", uses[3], uses[3]),
        ("e", "jit(f)/max", False, True),
        ("f", "", False, False),
    ]


def test_kernels_below_a_nanosecond_and_occupancies_that_are_no_numbers():
    profile = """
plane 3 "/device:GPU:0"
  line 5 "Stream #1"
    0us +0ps instant {kernel_details="occ_pct:5"}
    1us +999ps tiny {kernel_details="occ_pct:nan"}
    2us +1999ps longer {kernel_details="occ_pct:inf"}
"""
    names = ("kernel_name", "total_duration_us", "occurrences", "occupancy_pct")
    assert rows(ask(TOOL, profile), *names) == [("longer", 0.001, 1, None), ("tiny", 0, 1, None)]


def test_no_gpu():
    assert rows(ask(TOOL, 'plane 1 "/host:CPU"'), "rank") == []


@pytest.mark.parametrize(
    ("details", "expected"),
    [
        ("", Launch()),
        ("regs:1\nblock:1,2,3", Launch(registers=1, block=(1, 2, 3))),
        ("regs:-1 occ_pct:x static_shared:x grid", Launch()),
        ("group_mem:8 private_mem:8", Launch()),
        ("grid:x block:7 grid:1,2 block:1,2,3,4", Launch()),
        ("grid:4294967295,007,+1", Launch(grid=(4294967295, 7, 1))),
        ("grid:4294967296,1,1 grid:-1,1,1 grid:1.0,1,1", Launch()),
        ("grid:1,2,3 grid:x regs:4 regs:y", Launch(registers=4, grid=(1, 2, 3))),
        ("regs:3\tgrid:1,2,3 a:regs:5", Launch()),
        ("occ_pct:-1.5e1", Launch(occupancy=-15.0)),
        ("occ_pct:0x10", Launch(occupancy=16.0)),
        ("occ_pct:1_0 occ_pct:5%", Launch()),
        ("occ_pct:1e400", Launch(occupancy=math.inf)),
        ("occ_pct:0x1p2000", Launch(occupancy=math.inf)),
    ],
)
def test_launch_details(details, expected):
    assert parse_launch(details) == expected


def test_matrix_equations():
    assert is_matrix_equation("ab,bc->ac")
    assert not is_matrix_equation("ab->ba")
    assert not is_matrix_equation("ab,bc,cd->ad")
    assert not is_matrix_equation("ab,bc->ac->ca")
    assert not is_matrix_equation("")
