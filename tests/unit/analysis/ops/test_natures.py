"""What ops do by their opcodes and names, and what of kernels, pipelines and source lines is added up."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from builders.planes import events, gpu
from builders.programs.hlo import Op, metadata_plane, op, program
from builders.shown import profile
from builders.spaces import plane
from builders.xspace_text import build

from tpu_profile_plugin import columns
from tpu_profile_plugin.analysis.common.planes import HOST_THREADS
from tpu_profile_plugin.analysis.environment.environment import Peaks
from tpu_profile_plugin.analysis.hlo.ops import HloOps
from tpu_profile_plugin.analysis.hlo.program_rows import ProgramRows
from tpu_profile_plugin.analysis.hlo.programs import hlo_programs
from tpu_profile_plugin.analysis.ops import gpu_kernels, torch_gradients, torch_groups, tpu_ops
from tpu_profile_plugin.analysis.ops.gpu_kernels import Kernel, KernelRow, Launch, is_matrix_equation, parse_launch
from tpu_profile_plugin.analysis.ops.op_nature import Nature, by_category, by_program
from tpu_profile_plugin.analysis.ops.op_tables import HBM, READ, OpRecords, OpTable, computes, hlo_op_table, hlo_records
from tpu_profile_plugin.analysis.ops.pipeline_ops import PipelineOps, passes, pipeline_ops, work_times
from tpu_profile_plugin.analysis.ops.source_lines import NO_LOCATION, sums_by_line
from tpu_profile_plugin.analysis.ops.torch_groups import OpGroups, by_kind, group_name
from tpu_profile_plugin.analysis.ops.torch_inputs import OpInputs, dtype_of, op_inputs
from tpu_profile_plugin.analysis.ops.tree import PROGRAM, OpNode, op_tree
from tpu_profile_plugin.columns import Plane, stats
from tpu_profile_plugin.protos import message
from tpu_profile_plugin.units import PS_PER_US

MATRIX, MOVEMENT, OTHER, NOT_COUNTED = Nature.MATRIX, Nature.MOVEMENT, Nature.OTHER, Nature.NOT_COUNTED


@pytest.mark.parametrize(
    ("category", "expected"),
    [
        ("copy-start", (NOT_COUNTED, "copy-start")), ("while", (NOT_COUNTED, "while")),
        ("all-reduce", (NOT_COUNTED, "all-reduce")), ("MatMul", (MATRIX, "MatMul")),
        ("_FusedMatMul", (MATRIX, "MatMul")), ("Conv2DBackpropFilter", (MATRIX, "Conv2D")),
        ("convolution fusion", (MATRIX, "convolution fusion")), ("Einsum", (MATRIX, "Einsum")),
        ("", (Nature.UNKNOWN, "")), ("unknown", (Nature.UNKNOWN, "unknown")), ("gather", (MOVEMENT, "gather")),
        ("GatherV2", (MOVEMENT, "GatherV2")), ("loop fusion", (OTHER, "loop fusion")), ("AddV2", (OTHER, "AddV2")),
    ],
)  # fmt: skip
def test_the_nature_of_a_category(category: str, expected: tuple[Nature, str]) -> None:
    assert by_category(category) == expected


@pytest.mark.parametrize(
    ("category", "expected"),
    [
        ("fusion", True), ("copy", True), ("convolution", True), ("while", False), ("call", False),
        ("conditional", False), ("copy-start", False), ("copy-done", False), ("all-gather", False), ("send", False),
        ("infeed", False), ("host", False), ("hostile", True),
    ],
)  # fmt: skip
def test_which_categories_compute(category: str, expected: bool) -> None:
    assert computes(category) is expected


def rows_of(entry: list[Op], inside: list[Op]) -> ProgramRows:
    """The computation inside of the fusion comes first, as XLA writes it."""
    proto = message("xla.HloProto").FromString(program(entry, inside=inside))
    computations = list(proto.hlo_module.computations)[::-1]
    del proto.hlo_module.computations[:]
    proto.hlo_module.computations.extend(computations)
    found = hlo_programs(profile(metadata_plane(m=(7, proto.SerializeToString())))).program(7)
    assert found is not None
    return ProgramRows(found)


BIG, PART, LESS = "f32[100]", "f32[25]", "f32[24]"
P = op("p", "parameter", BIG)
SMALL = op("s", "parameter", PART)


@pytest.mark.parametrize(
    ("inside", "expected"),
    [
        ([P, op("t", "transpose", BIG, "p")], (MOVEMENT, "transpose")),
        ([P, op("t", "transpose", BIG, "p"), op("b", "bitcast", BIG, "t")], (MOVEMENT, "transpose")),
        ([P, op("b", "bitcast", BIG, "p")], (OTHER, "bitcast")),
        ([op("i", "iota", BIG), op("b", "bitcast", BIG, "i")], (OTHER, "iota")),
        ([P, op("a", "add", BIG, "p", "p")], (OTHER, "add")),
        # Of several results the largest.
        ([P, op("a", "add", PART, "p"), op("c", "copy", BIG, "p"), op("t", "tuple", [PART, BIG], "a", "c")],
         (MOVEMENT, "copy")),
        ([op("c", "copy", BIG, "c"), op("a", "add", PART, "c"), op("t", "tuple", [BIG, PART], "c", "a")],
         (MOVEMENT, "copy")),
        # A choice moves, if something is moved and nothing is computed.
        ([P, op("m", "broadcast", BIG, "p"), op("x", "select", BIG, "p", "m", "p")], (MOVEMENT, "select")),
        ([P, op("x", "select", BIG, "p", "p", "p")], (OTHER, "select")),
        ([P, op("m", "broadcast", BIG, "p"), op("a", "add", BIG, "m", "p"), op("x", "select", BIG, "p", "a", "p")],
         (OTHER, "select")),
        # No more arithmetic than moves, on numbers that are not whole.
        ([P, op("a", "add", BIG, "p", "p"), op("x", "slice", BIG, "a")], (MOVEMENT, "slice")),
        ([P, op("a", "add", BIG, "p", "p"), op("b", "add", BIG, "a", "p"), op("x", "slice", BIG, "b")],
         (OTHER, "slice")),
        ([op("n", "parameter", "s32[100]"), op("a", "add", "s32[100]", "n", "n"), op("b", "add", "s32[100]", "a", "n"),
          op("x", "slice", BIG, "b")], (MOVEMENT, "slice")),
        # On a quarter of the result or more, counting what is read.
        ([SMALL, op("a", "add", PART, "s"), op("b", "add", PART, "a"), op("x", "pad", BIG, "b")], (OTHER, "pad")),
        ([op("s", "parameter", LESS), op("a", "add", LESS, "s"), op("b", "add", LESS, "a"), op("x", "pad", BIG, "b")],
         (MOVEMENT, "pad")),
        ([SMALL, op("a", "compare", "pred[25]", "s"), op("b", "compare", "pred[25]", "s"), op("x", "pad", BIG, "b")],
         (OTHER, "pad")),
        ([SMALL, op("a", "tanh", PART, "s"), op("x", "pad", BIG, "a")], (OTHER, "pad")),
        ([op("s", "parameter", LESS), op("a", "tanh", LESS, "s"), op("x", "pad", BIG, "a")], (MOVEMENT, "pad")),
        # Products, also those of libraries.
        ([P, op("d", "dot", BIG, "p", "p"), op("x", "slice", BIG, "d")], (MATRIX, "dot")),
        ([P, op("d", "custom-call", BIG, "p", custom_call_target="x$gemm"), op("x", "slice", BIG, "d")],
         (MATRIX, "custom-call")),
        ([P, op("d", "custom-call", BIG, "p", custom_call_target="convert"), op("x", "slice", BIG, "d")],
         (OTHER, "slice")),
        ([P, op("gemm", "negate", BIG, "p", custom_call_target="gemm")], (OTHER, "negate")),
    ],
)  # fmt: skip
def test_the_nature_of_a_fusion(inside: list[Op], expected: tuple[Nature, str]) -> None:
    entry = [op("e", "parameter", BIG), op("f", "fusion", BIG, "e", called=["inside"])]
    rows = rows_of(entry, inside)
    assert rows.row(inside[0].name) == 0
    row = rows.row("f")
    assert row is not None
    assert by_program(rows, row, "loop fusion") == expected
    assert by_program(rows, row, "copy-start") == (NOT_COUNTED, "fusion")


@pytest.mark.parametrize(
    ("alone", "expected"),
    [
        (op("f", "gather", BIG, "e"), (MOVEMENT, "gather")),
        (op("f", "all-reduce", BIG, "e"), (NOT_COUNTED, "all-reduce")),
        (op("f", "custom-call", BIG, "e", custom_call_target="topk"), (OTHER, "custom-call")),
        (op("f", "custom-call", BIG, "e", custom_call_target="x_MatMul"), (MATRIX, "custom-call")),
        (op("f", "bitcast", BIG, "e"), (OTHER, "bitcast")),
    ],
)
def test_the_nature_of_an_op_by_itself(alone: Op, expected: tuple[Nature, str]) -> None:
    rows = rows_of([op("e", "parameter", BIG), alone], [P])
    row = rows.row("f")
    assert row is not None
    assert by_program(rows, row, "other") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("regs:32 static_shared:4294967295\ndynamic_shared:7 grid:16,2,1 block:8,4,2 occ_pct:37.5",
         Launch(32, 4294967295, 7, (8, 4, 2), (16, 2, 1), 37.5)),
        ("regs:4294967296 static_shared:x dynamic_shared: occ_pct:inf", Launch(occupancy=float("inf"))),
        ("regs:1:2 more:3 regs grid:1,2 block:1,2,3,4 occ_pct:", Launch()),
        ("grid:x,2,3 block:1,x,3 static_shared:0", Launch()),
        ("grid:1,2,x block:1,2,4294967296 dynamic_shared:0010", Launch(dynamic_shared=10)),
        ("", Launch()),
    ],
)  # fmt: skip
def test_configurations_of_launches(text: str, expected: Launch) -> None:
    assert parse_launch(text) == expected


def kernel(name: str) -> Kernel:
    return Kernel(name, (1, 1, 1), (1, 1, 1), 0, 0, 0, False, False, "")


def test_kernels_are_merged_by_what_they_are() -> None:
    a, b = kernel("a"), kernel("b")
    rows = [KernelRow(a, 10.0, 3, 70, 5, 30), KernelRow(b, 1.0, 1, 70, 70, 70), KernelRow(a, 20.0, 2, 9, 4, 40)]
    assert gpu_kernels._merged(rows) == [KernelRow(a, 10.0, 5, 79, 4, 40), rows[1]]
    assert gpu_kernels.combine_kernel_rows([rows[1:2], rows[:1]]) == [rows[0], rows[1]]


def test_kernels_without_time_or_details_are_left_out() -> None:
    details = '{kernel_details="regs:8"}'
    space = columns.load(build(gpu(f"0us +5us a {details}\n5us +0us b {details}\n6us +2us a {details}\n9us +9us c")))
    space.decode(space.planes)
    ops = SimpleNamespace(find=lambda *key: None)
    found = gpu_kernels.kernel_rows(space, space.planes, ops)  # type: ignore[arg-type]
    (one,) = found
    times = one.runs, one.total_ns, one.min_ns, one.max_ns
    assert (one.kernel.name, one.kernel.registers, times) == ("a", 8, (2, 7000, 2000, 5000))


@pytest.mark.parametrize(
    ("equation", "expected"),
    [
        ("ab,bc->ac", True), ("ab->ba", False), ("ab,bc", False), ("a,b,c->abc", False), ("a,b->c->d", False),
        ("", False),
    ],
)  # fmt: skip
def test_einsums_of_two_operands_are_products(equation: str, expected: bool) -> None:
    assert is_matrix_equation(equation) is expected


@pytest.mark.parametrize(
    ("framework_op", "equation", "uses", "expected"),
    [
        ("a/Einsum:Einsum", "ab,bc->ac", False, ("a/Einsum", True)), ("a/b:Relu", "", False, ("a/b", False)),
        ("a/b:Relu", "", True, ("a/b", True)), ("a/MatMul:MatMul", "", False, ("a/MatMul", True)),
        ("a/b:Relu", "ab,bc->ac", False, ("a/b", True)), ("", "ab,bc->ac", True, ("", False)),
    ],
)  # fmt: skip
def test_kernels_that_could_use_matrix_units(framework_op: str, equation: str, uses: bool, expected) -> None:
    named = SimpleNamespace(framework_op=framework_op, path=(), key=(0, ""))
    assert gpu_kernels._op(SimpleNamespace(), named, equation, uses=uses) == expected  # type: ignore[arg-type]


@pytest.mark.parametrize(("scaled", "op_ps", "expected"), [([30, 10], 20, 2), ([0.0], 20, 0), ([5], 0, 0), ([], 0, 0)])
def test_how_much_times_are_scaled(scaled: list[float], op_ps: int, expected: float) -> None:
    table = SimpleNamespace(op_ps=op_ps)
    assert OpRecords(table, normalized_self_ps=np.array(scaled)).time_scale == expected  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("types", "kernel", "expected"),
    [
        ('["float", "double"]', "k", "fp32"), ('["float"]', "gemm_tf32_k", "tf32"),
        ('["c10::Half"]', "gemm_tf32", "fp16"),
        ('["Scalar", "", "c10::BFloat16"]', "k", "bf16"), ('["long int", "int", "short", "double"]', "k", "fp64"),
        ('["c10::Float8_e4m3fn"]', "k", "fp8"), ('["bool", "other", "float"]', "k", ""), ("[]", "k", ""),
        ('["signed char"]', "gemm_tf32", "int8"),
    ],
)  # fmt: skip
def test_the_type_of_the_first_tensor(types: str, kernel: str, expected: str) -> None:
    assert dtype_of(types, kernel) == expected


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (', "Input Dims"="[[2]]", source_stack="f"', OpInputs("[[2]]", "", "f", 1)),
        (', "Input Dims"="[[2]]"', OpInputs("[[2]]", "", "", 1)),
        (', source_stack="f"', OpInputs("", "", "f", 0)),
        ("", None),
    ],
)
def test_operands_of_ops_that_devices_ran(facts: str, expected: OpInputs | None) -> None:
    device = gpu(
        f'0us +5us k {{tf_op="aten::mm:PyTorch"{facts}}}\n6us +5us k {{tf_op="aten::add:PyTorch"}}\n9us +3us x'
    )
    space = columns.load(build(device))
    space.decode(space.planes)
    found = op_inputs(space, space.planes)
    assert found == ({} if expected is None else {"aten::mm": expected, "aten::add": OpInputs()})


def test_nodes_of_ops_add_up() -> None:
    def node(factor: int) -> OpNode:
        return OpNode("x", "op", 2 * factor, 3.0 * factor, 5.0 * factor, 7.0 * factor,
                      (11.0 * factor, 13.0 * factor, 17.0 * factor), 19 * factor)  # fmt: skip

    total = node(1)
    total.add(node(10), runs=True)
    assert total == node(11)
    total.add(node(100), runs=False)
    assert (total.runs, total.time_ps, total.normalized_ps, total.model_flops) == (19 * 11, 222, 333, 777)
    assert (total.flops, total.bytes) == (555, (1221, 1443, 1887))


@pytest.mark.parametrize(
    ("facts", "peaks", "expected"),
    [
        # 4000 FLOPs and 3000, 0 and 500 bytes in 2 us.
        ({}, Peaks(0.5, (10.0, 0.0, 1.0, 9.0)), (0.004, (0.15, None, 0.25))),
        ({"normalized_ps": 4e6}, Peaks(0.5, (10.0, 5.0, 1.0)), (0.002, (0.15, 0, 0.25))),
        ({"normalized_ps": 4e6}, Peaks(), (None, (None, None, None))),
        ({"time_ps": 0}, Peaks(0.5, (10.0, 5.0, 1.0)), (None, (None, None, None))),
        ({"flops": 0.0, "bytes": (0.0, 0.0, 0.0)}, Peaks(0.5, (10.0, 5.0, 1.0)), (None, (0, 0, 0))),
        ({"flops": 0.0}, Peaks(0.5, (10.0, 5.0, 1.0)), (0, (0.15, 0, 0.25))),
        ({"flops": 0.0, "bytes": (0.0, 0.0, 0.0), "kind": "idle"}, Peaks(0.5, (10.0, 5.0, 1.0)),
         (None, (None, None, None))),
    ],
)  # fmt: skip
def test_how_far_ops_use_the_peaks(facts: dict[str, Any], peaks: Peaks, expected: Any) -> None:
    made = {"kind": "op", "time_ps": 2 * PS_PER_US, "flops": 4000.0, "bytes": (3000.0, 0.0, 500.0), **facts}
    node = OpNode("x", **made)
    node.rate(peaks)
    assert node.flops_use == (None if expected[0] is None else pytest.approx(expected[0]))
    assert node.memory_use == tuple(None if one is None else pytest.approx(one) for one in expected[1])


def test_sums_by_line() -> None:
    a, b, c = ("a.py", "f", 1), ("a.py", "f", 2), ("b.py", "g", 1)
    found = sums_by_line(
        [b, NO_LOCATION, a, b], np.array([1, 2, 3, 4]), np.array([10, 90, 30, 20]), np.array([1.0, 2.0, 4.0, 8.0]),
        np.array([16.0, 32.0, 64.0, 128.0]), [c, a, c, ("a.py", "h", 3)], np.array([7, 5, 8, 15]),
    )  # fmt: skip
    # Most time first, then most memory, then by name; what has no line comes last.
    assert found.line == (a, b, ("a.py", "h", 3), c, NO_LOCATION)
    assert (found.of_op.tolist(), found.of_buffer.tolist()) == ([1, 4, 0, 1], [3, 0, 3, 2])
    assert found.ops.tolist() == [1, 2, 0, 0, 1]
    assert found.buffers.tolist() == [1, 0, 1, 2, 0]
    assert (found.occurrences.tolist(), found.self_ps.tolist()) == ([3, 5, 0, 0, 2], [30, 30, 0, 0, 90])
    assert (found.flops.tolist(), found.bytes.tolist()) == ([4, 9, 0, 0, 2], [64, 144, 0, 0, 32])
    assert found.peak_bytes.tolist() == [5, 0, 15, 15, 0]


def pipelines(**threads: str) -> Plane:
    lines = ['plane 9 "/host:CPU"']
    for number, (name, text) in enumerate(threads.items(), 1):
        lines += [f"line {number} {name}", *events(text)]
    space = columns.load(build("\n".join(lines)))
    found = plane(space, HOST_THREADS)
    space.decode([found])
    return found


def test_ops_of_pipelines() -> None:
    own = pipelines(
        main="0 90 a:Conv2D\n90 1 Iterator::Root::Repeat[1]::Map",
        tf_data_private_threadpool="10 5 x/y:Decode\n40 3 x:PyFunc\n50 8 Iterator::Map",
        tf_data_private_threadpool_2="10 4 x/z:Decode\n36 2 x:EagerPyFunc\n70 1 Iterator::Repeat[4]",
        tf_data_prefetch="10 2 x:Cast",
    )
    assert pipeline_ops(own) == PipelineOps(16 * PS_PER_US, "Decode", 9 * PS_PER_US, 5 * PS_PER_US)
    found = PipelineOps(16, "Decode", 9, 4)
    assert (found.python_share, found.most_share) == (0.25, 0.5625)
    assert passes(own) == 5
    begin, end = work_times(own)
    assert [(a // PS_PER_US, b // PS_PER_US) for a, b in zip(begin.tolist(), end.tolist(), strict=True)] == [
        (10, 35), (36, 91)
    ]  # fmt: skip
    assert pipeline_ops(pipelines(main="0 90 a:Conv2D", tf_data_x="5 3 Iterator::Map")) is None
    assert passes(pipelines(main="0 90 a:Conv2D")) == 0


def test_categories_of_what_is_no_instruction() -> None:
    ops = HloOps(profile(metadata_plane(m=(7, program([op("x", "negate", "f32[5]")])))))
    keys = [(7, "x"), (0, "Memcpy"), (0, "k"), (7, "Memcpy")]
    ones = np.ones(4, np.int64)
    runs = np.array([3, 1, 1, 1])
    table = hlo_op_table(ops, keys, (runs, ones, ones, ones), "none", {(0, "Memcpy"): "copy"})
    assert table.category == ("non-fusion elementwise", "copy", "none", "none")
    assert (table.flops.tolist(), table.cores.tolist()) == ([45, 0, 0, 0], [1, 1, 1, 1])
    assert hlo_op_table(ops, keys, (runs, ones, ones, ones), "none").category == (
        "non-fusion elementwise", "none", "none", "none"
    )  # fmt: skip


def test_bytes_of_ops_of_pytorch_count_as_read() -> None:
    names = ("a/aten::mm:PyTorch", "a/b:Relu", "")
    zeros, ones = np.zeros(3, np.int64), np.ones(3, np.int64)
    table = OpTable(
        module=(0, 0, 0), name=("k", "l", "m"), category=("", "", ""), provenance=names, eager=zeros > 0,
        occurrences=ones, time_ps=ones, self_ps=ones, min_ps=ones, cores=ones, flops=zeros, model_flops=zeros,
        bytes=np.array([64.0, 32.0, 16.0]),
    )  # fmt: skip
    found = hlo_records(table, HloOps(profile(metadata_plane(m=(7, program([op("x", "negate", "f32[5]")]))))),
                        {"a/b:Relu": ("f.py", 3, "g")})  # fmt: skip
    assert found.traffic[:, HBM, READ].tolist() == [64, 0, 0]
    assert found.traffic.sum() == 64
    assert [(one.source_file, one.source_line, one.source_stack) for one in found.text] == [
        ("", -1, ""), ("f.py", 3, "g"), ("", -1, "")
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("total_ps", "observed", "idle"), [(0, False, []), (0, True, [0]), (5, False, [5]), (5, True, [5])]
)
def test_time_without_any_op_is_idle(total_ps: int, observed: bool, idle: list[int]) -> None:
    records = OpRecords(replace(OpTable(), total_ps=total_ps), observed=observed)
    root, found = op_tree(records, PROGRAM)
    assert (root.time_ps, [(one.kind, one.time_ps) for one in found]) == (0, [("idle", ps) for ps in idle])


@pytest.mark.parametrize(
    ("operands", "expected"),
    [
        ([[(2, 3)], [(4, 5)]], [(2, 5), (5, 2)]), ([[(2, 3)], [(4, 5)], [(6, 7)]], [(4, 7), (7, 4)]),
        ([[(9,)], [(2, 3)], [(4, 5)], []], [(2, 5), (5, 2)]), ([[(2, 3)], [(4, 5), (6, 7)]], []), ([[(2, 3)]], []),
        ([[(2, 3)], [(4, 5, 6)]], []), ([], []),
    ],
)  # fmt: skip
def test_the_shape_of_a_product_of_matrices(operands: Any, expected: list[tuple[int, ...]]) -> None:
    assert torch_gradients._result(operands) == expected


@pytest.mark.parametrize(
    ("read", "unread", "expected"),
    [
        # Ends of gradients before updates at 100 and 200.
        ([20], [40], [(20, 40)]), ([40], [20], []), ([40], [40], []), ([], [40], []), ([40], [], []),
        ([20, 30], [40, 90], [(30, 90)]), ([20, 130], [40, 120], [(20, 40)]), ([20], [140], []),
        ([20, 130], [40, 150], [(20, 40), (130, 150)]), ([220], [240], [(220, 240)]),
    ],
)  # fmt: skip
def test_from_the_last_gradient_that_is_read(read: list[int], unread: list[int], expected) -> None:
    ends = np.array([*read, *unread], np.int64)
    times = SimpleNamespace(begin_ps=ends - 5, duration_ps=np.full(len(ends), 5))
    which = [np.arange(len(ends)) < len(read), np.arange(len(ends)) >= len(read)]
    own = SimpleNamespace(events=times)
    found = torch_gradients._after_last(own, np.array([100, 200]), np.arange(len(ends)), which)  # type: ignore[arg-type]
    assert list(zip(*(side.tolist() for side in found), strict=True)) == expected


def torch_gpu() -> Any:
    """Two runs of a product with operands, one of other operands, and two whose types alone are known."""
    kernel, mm = 'kernel_details="regs:8"', 'tf_op="a/aten::mm:PyTorch"'
    first, second = (f'"Input Dims"="[[{size}]]", "Input type"="{kind}"' for size, kind in ((2, "f"), (3, "h")))
    text = gpu(f"""
        0us +5us k {{{mm}, {kernel}, {first}, flops=10, bytes_accessed=7}}
        5us +7us k {{{mm}, {kernel}, {first}, flops=10, bytes_accessed=7}}
        12us +3us sm80_xmma_gemm_f16f16_tn_n {{{mm}, {kernel}, {second}, flops=4}}
        20us +2us k {{tf_op="b/aten::add:PyTorch", "Input type"="f"}}
        22us +4us k {{tf_op="b/aten::add:PyTorch", "Input type"="h"}}
        30us +9us other
    """, facts='device_vendor="Nvidia"')  # fmt: skip
    space = columns.load(build(f"{text}\nline 3735928559 derived\n0us +90us k {{{mm}, {kernel}, {first}}}"))
    space.decode(space.planes)
    return space


def test_ops_of_pytorch_by_kind_and_operands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_groups, "half_equivalents", lambda space, plane, events: np.full(len(events), 2.0))
    space = torch_gpu()
    table, times = torch_groups._on_device(space, space.planes[0])
    mm, more, add = group_name("aten::mm", "[[2]]", "f"), group_name("aten::mm", "[[3]]", "h"), group_name("aten::add")
    columns_of = (
        table.name,
        table.occurrences,
        table.time_ps // PS_PER_US,
        table.flops,
        table.model_flops,
        table.bytes,
    )
    rows = {name: row for name, *row in zip(*(list(column) for column in columns_of), strict=True)}
    assert rows == {mm: [2, 12, 40, 20, 14], more: [1, 3, 8, 4, 0], add: [2, 6, 0, 0, 0]}
    assert {name: ns for name, ns in times.total_ns.items() if ns} == {mm: 12000, more: 3000}
    assert {name: ns for name, ns in times.matrix_ns.items() if ns} == {more: 3000}
    groups, most = by_kind(OpGroups(table, times, table))
    product, addition = group_name("aten::mm"), group_name("aten::add")
    assert dict(zip(groups.device.name, groups.device.occurrences.tolist(), strict=True)) == {product: 3, addition: 2}
    assert groups.host.name == groups.device.name
    assert (groups.kernels.total_ns[product], groups.kernels.matrix_ns[product]) == (15000, 3000)
    assert most == {"aten::mm": OpInputs("[[2]]", "f", "", 2)}


def test_sums_of_stats_of_events() -> None:
    space = columns.load(build(gpu("0us +5us a {x=1.5}\n5us +5us b {x=2.5}\n10us +5us a {x=4.0}\n15us +5us c {x=8.0}")))
    space.decode(space.planes)
    own = space.planes[0]
    row_of = np.array([{"a": 1, "b": 0}.get(name, -1) for name in own.event_metadata.names])
    sums = tpu_ops._EventSums(space, own, np.arange(4), row_of, 3)
    assert sums.total(stats.doubles, "x").tolist() == [2.5, 5.5, 0]
    assert sums.total(stats.doubles, "y").tolist() == [0, 0, 0]
