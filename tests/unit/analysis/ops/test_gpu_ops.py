"""GPU ops over several runs: occurrences, times, costs from the program or from the events, and what no op claims."""

from __future__ import annotations

from collections import Counter

import pytest
from builders.asked import ask, rows
from builders.programs.buffers import profile
from builders.programs.hlo import op, program

from tpu_profile_plugin.analysis.ops.gpu_kernels import (
    KernelTimes,
    Launch,
    combine_kernel_times,
    parse_launch,
)
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
