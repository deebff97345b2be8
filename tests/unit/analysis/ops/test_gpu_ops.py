"""GPU ops over several runs: occurrences, times, costs from the program or from the events, and what no op claims."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from builders.asked import ask, rows
from builders.programs.buffers import profile
from builders.programs.hlo import op, program
from builders.shown import profile as typed
from builders.xspace_text import build

from tpu_profile_plugin.analysis.common.planes import device_planes
from tpu_profile_plugin.analysis.derived.preprocess import preprocess
from tpu_profile_plugin.analysis.hlo.instructions import Instructions, category
from tpu_profile_plugin.analysis.hlo.ops import HloOps
from tpu_profile_plugin.analysis.hlo.programs import hlo_programs, is_training
from tpu_profile_plugin.analysis.ops.gpu_kernels import (
    KernelTimes,
    Launch,
    combine_kernel_times,
    is_eligible,
    kernel_rows,
    kernel_times,
    parse_launch,
    uses_tensor_core,
)
from tpu_profile_plugin.analysis.ops.gpu_ops import executions, framework_sources, gpu_ops
from tpu_profile_plugin.analysis.ops.op_tables import OpText, hlo_records
from tpu_profile_plugin.columns import load
from tpu_profile_plugin.tools.ops import framework_op_stats, hlo_stats, kernel_stats, op_profile

GIB = 2**30 / 1e9
OF = "f32[8,128]"  # 1024 elements, 4096 bytes
# An addition costs 3 operations per element and moves 3 x 4096 bytes, a copy 2 x 4096; a bitcast costs nothing.
PROGRAM = program(
    [
        op("x", "parameter", OF),
        op("y", "parameter", OF),
        op("add.1", "add", OF, "x", "y", op_name="jit(f)/add"),
        op("copy.2", "copy", OF, "add.1"),
        op("free.3", "bitcast", OF, "copy.2"),
    ]
)
MODULES = profile(jit_f=PROGRAM)
DEVICE = 'plane 3 "/device:GPU:0" {device_vendor="Nvidia", compute_cap_major=9, core_count=1, clock_rate=1000000}'


def streams_of(*lines: str, modules: str = MODULES) -> str:
    """A GPU with one stream per text; `OP` in it stands for what each kernel of a program says."""
    streams = (f'line {5 + i} "Stream #{5 + i}"\n{text}' for i, text in enumerate(lines))
    return "\n".join([modules, DEVICE, *streams]).replace("OP", "program_id=1, hlo_op")


SEVERAL_RUNS = streams_of(
    """
    5us +2us k {kernel_details="grid:1", OP="add.1"}
    10us +2us k {kernel_details="grid:2", OP="outer::add.1"}
    20us +4us k {kernel_details="", OP="add.1"}
    30us +1us c {kernel_details="grid:1", OP="copy.2", flops=1000, bytes_accessed=5}
    40us +1us c {kernel_details="grid:1", OP="copy.2", flops=1000, bytes_accessed=5}
    50us +1us b {kernel_details="grid:1", OP="free.3", flops=2000, bytes_accessed=4000}
    60us +5us unmeasured {kernel_details="", OP="x"}
    """
)


def test_times_are_of_all_runs_and_averages_of_one() -> None:
    names = ("hlo_op_name", "occurrences", "total_time", "avg_time", "total_self_time", "avg_self_time")
    # Every event of an op is a run, whether it has a kernel's details or not.
    assert rows(ask(hlo_stats.TOOL, SEVERAL_RUNS), *names) == [
        ("add.1", 3, 8, pytest.approx(8 / 3), 8, pytest.approx(8 / 3)),
        ("x", 1, 5, 5, 5, 5),
        ("copy.2", 2, 2, 1, 2, 1),
        ("free.3", 1, 1, 1, 1, 1),
    ]


def test_costs_are_of_all_runs() -> None:
    names = ("hlo_op_name", "normalized_flop_rate", "model_flop_rate", "measured_memory_bw", "hbm_bw")
    found = {name: values for name, *values in rows(ask(hlo_stats.TOOL, SEVERAL_RUNS), *names)}
    moved = 3 * 3 * 4096 / 8000 / GIB
    assert found["add.1"] == pytest.approx([3 * 3072 / 8000, 3 * 3072 / 8000, moved, moved])
    # The program knows the bytes of a copy, the event the operations.
    moved = 2 * 2 * 4096 / 2000 / GIB
    assert found["copy.2"] == pytest.approx([2 * 1000 / 2000, 2 * 1000 / 2000, moved, moved])
    assert found["free.3"] == pytest.approx([2, 2, 4 / GIB, 4 / GIB])


def test_derived_lines_hold_no_runs() -> None:
    derived = 'line 3735928564 "XLA Ops"\n5us +2us k {kernel_details="grid:1", OP="copy.2"}'
    names = ("hlo_op_name", "occurrences", "total_time")
    with_line = ask(hlo_stats.TOOL, SEVERAL_RUNS + derived.replace("OP", "program_id=1, hlo_op"))
    assert rows(with_line, *names) == rows(ask(hlo_stats.TOOL, SEVERAL_RUNS), *names)


def test_sums_of_a_tree_are_those_of_its_ops() -> None:
    root = ask(op_profile.TOOL, SEVERAL_RUNS)["byProgramExcludeIdle"]
    (of_program,) = root["children"]
    for node in (root, of_program):
        metrics = node["metrics"]
        assert metrics["rawTime"] == 16_000_000  # of all records, the unmeasured one among them
        assert metrics["rawFlops"] == metrics["bf16Flops"] == 3 * 3072 + 2 * 1000 + 2000
        assert metrics["rawBytesAccessedArray"] == [3 * 3 * 4096 + 2 * 2 * 4096, 0, 0]


def test_stacks_of_framework_ops() -> None:
    """Of several sources the first; what has no source or no op tells nothing."""
    space = typed(
        """
        plane 1 "/device:GPU:0"
        line 1 "Stream #1"
        0us +1us k {tf_op="x:X", source="a.py:7", source_stack="a.py:7\\nb.py:9"}
        1us +1us k {tf_op="x:X", source="a.py:8", source_stack="c"}
        2us +1us k {tf_op="y:Y", source="b.py"}
        3us +1us k {tf_op="z:Z", source_stack="c"}
        4us +1us k {source="d.py:1", source_stack="c"}
        plane 2 "/device:GPU:1"
        line 1 "Stream #1"
        0us +1us k {tf_op="w:W", source="w.py:7"}
        """
    )
    assert framework_sources(space, space.planes) == {"x:X": ("a.py", 7, "a.py:7\nb.py:9"), "y:Y": ("", -1, "")}


def test_programs_with_large_ids() -> None:
    modules = MODULES.replace('"jit_f(1)" id=1 ', f'"jit_f({2**64 - 300})" id=-300 ')
    text = streams_of(
        f"""
        5us +2us k {{kernel_details="grid:1", program_id=-300, hlo_op="add.1"}}
        9us +2us k {{kernel_details="grid:1", program_id=u{2**64 - 300}, hlo_op="add.1"}}
        20us +1us add_1 {{kernel_details="grid:1"}}
        """,
        modules=modules,
    )
    (row,) = rows(ask(hlo_stats.TOOL, text, unattributed="true"), "program_id", "occurrences", "total_time")
    assert row == (str(2**64 - 300), 3, 5)
    assert rows(ask(kernel_stats.TOOL, text), "op_name", "occurrences") == [("jit(f)/add", 2), ("", 1)]
    host = 'plane 1 "/host:CPU"\nline 1 a\n0us +1us launch {correlation_id=5, program_id=-300, hlo_op="copy.2"}\n'
    launched = host + streams_of('5us +3us graphed {correlation_id=5, kernel_details="grid:1"}', modules=modules)
    (row,) = rows(ask(hlo_stats.TOOL, launched, unattributed="true"), "hlo_op_name", "program_id", "total_time")
    assert row == ("copy.2", str(2**64 - 300), 3)


def test_what_ran_eagerly() -> None:
    text = streams_of(
        """
        5us +4us a {kernel_details="grid:1", tf_op="a/x:Relu", is_eager=0}
        10us +2us b {kernel_details="grid:1", tf_op="a/y:Relu", is_eager=1}
        20us +1us b {kernel_details="grid:1", tf_op="a/y:Relu", is_eager=0}
        """
    )
    _, table = ask(framework_op_stats.TOOL, text)
    assert rows(table, "operation", "eager") == [("a/x", "Function"), ("a/y", "Eager")]


def test_kernels_that_no_eager_call_launched_did_not_run_eagerly() -> None:
    kernel = 'kernel_details="grid:1", tf_op="a/x:Relu", is_eager=1'
    text = streams_of(f"5us +4us a {{{kernel}, correlation_id=1}}")
    _, table = ask(framework_op_stats.TOOL, text)
    assert rows(table, "operation", "eager") == [("a/x", "Function")]


def test_ops_of_the_host_use_no_matrix_units() -> None:
    host = 'plane 2 "/host:CPU"\nline 1 main\n0us +1us "m/MatMul:MatMul"\n'
    text = host + streams_of('0us +2us ampere_h16816gemm {kernel_details="grid:1", tf_op="m/MatMul:MatMul"}')
    _, table = ask(framework_op_stats.TOOL, text)
    found = rows(table, "host_or_device", "operation", "gpu_tensorcore_utilization")
    assert found == [("Device", "m/MatMul", 1), ("Host", "m/MatMul", 0)]


def test_identical_instructions_are_duplicates() -> None:
    ops = [op(f"add.{i}", "add", OF, "x", "x", deduplicated_name="add.1") for i in (1, 2)]
    modules = profile(jit_f=program([op("x", "parameter", OF), *ops]))
    text = streams_of('0us +2us k {OP="add.1"}\n5us +3us k {OP="add.2"}', modules=modules)
    (category,) = ask(op_profile.TOOL, text)["byProgramExcludeIdle"]["children"][0]["children"]
    (both,) = category["children"]
    assert (both["name"], [one["name"] for one in both["children"]]) == (
        "add.2 and its duplicate(s)",
        ["add.2", "add.1"],
    )


def test_the_share_of_time_on_matrix_units() -> None:
    text = streams_of(
        """
        0us +1000ps ampere_h16816gemm {kernel_details="grid:1", tf_op="m/d/MatMul:MatMul"}
        1us +3999ps helper {kernel_details="grid:1", tf_op="m/d/MatMul:MatMul"}
        2us +999ps ampere_h16816gemm {kernel_details="grid:1", tf_op="m/d/MatMul:MatMul"}
        3us +5us other {kernel_details="grid:1", tf_op="m/d/Add:Add"}
        """
    )
    _, table = ask(framework_op_stats.TOOL, text)
    # Kernels below a nanosecond were not measured; the others count in whole ones.
    found = dict(rows(table, "operation", "gpu_tensorcore_utilization"))
    assert found == {"m/d/MatMul": 0.25, "m/d/Add": 0}


def test_kernel_times_of_several_gpus_add_up() -> None:
    first = KernelTimes(Counter(a=4, b=1), Counter(a=1), frozenset("a"))
    found = combine_kernel_times([first, KernelTimes(Counter(a=4), Counter(a=3), frozenset("c"))])
    assert (found.total_ns, found.matrix_ns, found.eligible) == ({"a": 8, "b": 1}, {"a": 4}, {"a", "c"})
    assert (found.matrix_share("a"), found.matrix_share("b"), found.matrix_share("x")) == (0.5, 0, 0)


HOST = """
plane 2 "/host:CPU"
line 1 main
0us +1us launch {correlation_id=6, program_id=1, hlo_op="add.1"}
2us +1us launch {correlation_id=7, program_id=1, hlo_op="copy.2"}
4us +1us launch {correlation_id=0, program_id=1, hlo_op="add.1"}
"""
UNCLAIMED = HOST + streams_of(
    """
    0us +4us lib {correlation_id=0, OP="x::lost.9", tf_op="a/b:C", kernel_details="grid:1"}
    10us +2us k {correlation_id=1, OP="add.1", kernel_details="grid:1"}
    20us +2us k {correlation_id=2, OP="copy.2", kernel_details="grid:1"}
    30us +2us helper {correlation_id=1, kernel_details="grid:1"}
    40us +2us helper {correlation_id=2, kernel_details="grid:1"}
    50us +2us helper {correlation_id=0, kernel_details="grid:1"}
    60us +2us graphed {correlation_id=7, kernel_details="grid:1"}
    70us +1us add_1 {kernel_details="grid:1"}
    80us +1us t {tf_op="a/b:C", kernel_details="grid:1"}
    90us +1us t {tf_op="a/d:E", kernel_details="grid:1"}
    """
)


def test_events_that_no_op_claims() -> None:
    table = ask(hlo_stats.TOOL, UNCLAIMED, unattributed="true")
    assert rows(table, "hlo_op_name", "category", "occurrences", "total_time") == [
        # Its own kernel, one of the same launch, one of the graph that its op launched.
        ("copy.2", "data formatting", 3, 6),
        # Its own kernel, one of the same launch, and one that has its name.
        ("add.1", "non-fusion elementwise", 3, 5),
        # No such op is in the program; a launch with number 0 says nothing.
        ("lost.9", "unattributed", 1, 4),
        ("helper", "unattributed", 1, 2),
        ("a/b/t", "C", 1, 1),
        ("a/d/t", "E", 1, 1),
    ]
    notes = ask(hlo_stats.TOOL, UNCLAIMED, page=True, unattributed="true")["notes"]
    assert (notes["cores"], notes["unattributed_share"], notes["limits"]["gflops_per_s"]) == (1, 6 / 19, 4096)
    names = ("hlo_op_name", "normalized_flop_rate", "measured_memory_bw")
    found = {name: values for name, *values in rows(table, *names)}
    assert found["copy.2"] == pytest.approx([0, 3 * 2 * 4096 / 6000 / GIB])
    assert found["add.1"] == pytest.approx([3 * 3072 / 5000, 3 * 3 * 4096 / 5000 / GIB])


def test_an_op_that_the_gpu_names_comes_before_one_of_the_launch() -> None:
    launch = 'plane 2 "/host:CPU"\nline 1 main\n0us +1us launch {correlation_id=1, program_id=1, hlo_op="copy.2"}\n'
    events = """
    10us +2us k {correlation_id=1, OP="add.1", kernel_details="grid:1"}
    30us +3us helper {correlation_id=1, kernel_details="grid:1"}
    """
    table = ask(hlo_stats.TOOL, launch + streams_of(events), unattributed="true")
    assert rows(table, "hlo_op_name", "total_time") == [("add.1", 5)]


def test_a_name_that_two_programs_have_says_nothing() -> None:
    other = program([op("x", "parameter", OF), op("add.1", "add", OF, "x", "x"), op("only.2", "copy", OF, "add.1")])
    events = """
    0us +8us k {kernel_details="grid:1", program_id=1, hlo_op="copy.2"}
    10us +4us k {kernel_details="grid:1", program_id=2, hlo_op="only.2"}
    20us +2us add_1 {kernel_details="grid:1"}
    30us +1us only_2.kd {kernel_details="grid:1"}
    """
    table = ask(hlo_stats.TOOL, streams_of(events, modules=profile(a=PROGRAM, b=other)), unattributed="true")
    assert rows(table, "hlo_op_name", "program_id", "total_time") == [
        ("copy.2", "1", 8),
        ("only.2", "2", 5),
        ("add_1", "0", 2),
    ]


def test_numbers_of_launches_have_at_most_32_bits() -> None:
    assert parse_launch("regs:4294967295") == Launch(registers=4294967295)
    assert parse_launch("regs:4294967296") == Launch()


# Ops of GPUs: events by instruction, runs, kernels of matrix units; categories and gradients of HLO programs.


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


# Runs of GPU events: consecutive ones of a line with one name and group count for the op of the first.


TEXT = (
    'plane 1 "/device:GPU:0"\nline 1 a\n0us +1us k{}\n1us +1us k{}\nline 2 b\n0us +1us k{}\n1us +1us k{}\n2us +1us k{}'
)


def counted(name: list[int], group: list[int], *stats: str, op: tuple[int, ...] = (0, 1, 2, 3, 4)) -> list[list[int]]:
    """(event, op, FLOPs) of every event with an op."""
    listed = [f" {{{one}}}" if one else "" for one in (*stats, *[""] * (5 - len(stats)))]
    space = typed(TEXT.format(*listed))
    columns = (np.array(column, np.int64) for column in (op, name, group))
    found = executions(space, space.planes[0], *columns)
    return np.stack([found.event, found.op, found.flops], axis=1).tolist()


@pytest.mark.parametrize(
    ("name", "group", "expected"),
    [
        ([9, 9, 9, 9, 9], [1, 1, 1, 1, 1], [0, 0, 2, 2, 2]),
        ([0, 0, 0, 0, 0], [0, 0, 0, 0, 0], [0, 0, 2, 2, 2]),
        ([9, 8, 8, 8, 9], [1, 1, 1, 1, 1], [0, 1, 2, 2, 4]),
        ([-1, -1, -1, -1, -1], [1, 1, 1, 1, 1], [0, 1, 2, 3, 4]),
        ([9, 9, 9, 9, 9], [1, 2, 2, 2, 3], [0, 1, 2, 2, 4]),
        ([9, 9, 9, 9, 9], [-1, -1, -1, -1, -1], [0, 1, 2, 3, 4]),
        # A missing group counts as 0 for the event after it alone.
        ([9, 9, 9, 9, 9], [-1, 0, 0, -1, 1], [0, 0, 2, 3, 4]),
    ],
)
def test_runs_end_with_the_line_the_name_and_the_group(name: list[int], group: list[int], expected: list[int]) -> None:
    assert [op for _, op, _ in counted(name, group)] == expected


def test_events_without_an_op_are_none_and_end_no_run() -> None:
    assert counted([9] * 5, [1] * 5, op=(-1, 1, 2, -1, 4)) == [[1, 1, 0], [2, 2, 0], [4, 2, 0]]
    assert counted([9] * 5, [1] * 5, op=(-1,) * 5) == []


def test_the_last_recorded_cost_of_a_run_is_that_of_all_its_events() -> None:
    found = counted([9] * 5, [1] * 5, "flops=3", "", "flops=5", "flops=7")
    assert [flops for _, _, flops in found] == [3, 3, 7, 7, 7]
