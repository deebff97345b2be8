"""Pages of PyTorch's recordings: functions in Source, operands in tables of ops and kernels, rates by data type."""

from __future__ import annotations

from typing import Any

import pytest
from builders import kineto
from builders.answers import answer, rows, run_of
from builders.kineto import event, frame, kernel, launch, op, trace
from builders.spaces import events as host_events
from builders.spaces import loaded

from tpu_profile_plugin.analysis.common.op_names import xprof_collective
from tpu_profile_plugin.analysis.devices.inventory import RUNS_WITHIN_HOST_CALLS
from tpu_profile_plugin.analysis.environment.environment import peaks_by_dtype
from tpu_profile_plugin.analysis.ops.torch_groups import group_name
from tpu_profile_plugin.analysis.ops.torch_inputs import dtype_of
from tpu_profile_plugin.formats import unpack
from tpu_profile_plugin.run.facts import combine_facts, file_facts
from tpu_profile_plugin.run.figures.op import run_op_groups
from tpu_profile_plugin.tools.registry import find


def test_source_has_the_functions_of_the_calls() -> None:
    shown = answer(find("source_view"), kineto.training(1))
    lines = rows(shown["lines"], "file", "function", "line", "ops")
    assert ["train.py", "train_step", 12, 4] in lines


def test_framework_ops_have_shapes_types_and_calls() -> None:
    table = answer(find("framework_op_stats"), kineto.training(2))[1]
    found = {name: rest for name, *rest in rows(table, "operation", "shapes", "dtypes", "variants", "stack")}
    assert found["Linear_0/aten::addmm"] == [
        "[[256], [64, 256], [256, 256]]",
        '["float", "float", "float"]',
        1,
        "train.py:12 (train_step)",
    ]
    assert found["Optimizer.step#SGD.step/aten::add_"] == ["", "", 0, "train.py:12 (train_step)"]


def test_pages_say_which_option_gives_what_is_missing() -> None:
    """Without operands, without allocations, and without input ops, which only tf.data records."""
    plain = trace(op("aten::mm", 0, 5), launch(1, 1), kernel("gemm", 10, 1000, 1))
    note = "inputs_note"
    assert answer(find("framework_op_stats"), plain)[0]["p"][note].startswith("Shapes were not recorded: record_shapes")
    assert note not in answer(find("framework_op_stats"), kineto.training(1))[0]["p"]
    without, recorded = (file_facts("rank0", unpack(text)) for text in (plain, kineto.training(1)))
    reason = find("memory_profile").available(without)
    assert reason is not None
    assert "profile_memory=True" in reason
    both = combine_facts([without, recorded])
    assert [find("memory_profile").available(facts) for facts in (recorded, both)] == [None, None]
    page = answer(find("input_pipeline_analyzer"), plain, page=True)
    assert page["no_ops"].startswith("PyTorch's DataLoader records how long the program waits for each batch")


def test_a_backward_pass_makes_a_program_training() -> None:
    """In the same words on both pages."""
    forward = trace(op("aten::mm", 0, 5), launch(1, 1), kernel("gemm", 10, 1000, 1))
    for text, training in ((kineto.training(2), True), (forward, False)):
        task = answer(find("framework_op_stats"), text)[0]["p"]["task_type"]
        environment = answer(find("overview_page"), text)[2]["p"]
        assert (task, environment["is_training"]) == (("Training", "true") if training else ("Inference", "false"))


def product(kind: str, name: str, device: str) -> Any:
    """A product of 64 MFLOP in 1 ms."""
    shapes = {"Input_Dims": [[256, 512], [512, 256]], "Input_type": [kind, kind]}
    board = {"id": 0, "name": device, "computeMajor": 9, "computeMinor": 0, "numSms": 132}
    return trace(op("aten::mm", 0, 5, **shapes), launch(1, 1), kernel(name, 10, 1000, 1), deviceProperties=[board])


H100 = "NVIDIA H100 80GB HBM3"


@pytest.mark.parametrize(
    ("kind", "name", "device", "factor", "dtype"),
    [
        ("c10::BFloat16", "nvjet_tst", H100, 1, "bf16"),
        ("float", "sm80_xmma_gemm_f32f32_tf32f32_f32_tn", H100, 989.4 / 494.7, "tf32"),
        ("float", "cutlass_80_tensorop_s1688gemm_64x64_16x6_nn_align4", H100, 989.4 / 494.7, "tf32"),
        ("float", "ampere_sgemm_128x64_tn", H100, 989.4 / 67, "fp32"),
        ("double", "cutlass_80_tensorop_d884gemm", H100, 989.4 / 67, "fp64"),
        ("c10::Float8_e4m3fn", "nvjet_qqtst", H100, 989.4 / 1978.9, "fp8"),
        ("float", "ampere_sgemm_128x64_tn", "NVIDIA Unheard 9000", 1, "fp32"),
    ],
)
def test_operations_count_by_the_rate_of_their_type(
    kind: str, name: str, device: str, factor: float, dtype: str
) -> None:
    text = product(kind, name, device)
    table = answer(find("framework_op_stats"), text)[1]
    found = rows(table, "host_or_device", "measured_flop_rate", "model_flop_rate")
    ((measured, model),) = [rates for place, *rates in found if place == "Device"]
    assert model == pytest.approx(67.108864)
    assert measured == pytest.approx(67.108864 * factor)
    assert rows(answer(find("kernel_stats"), text), "dtype") == [[dtype]]


@pytest.mark.parametrize(
    ("name", "memory", "wanted"),
    [
        ("NVIDIA A100-SXM4-80GB", 85e9, {"tf32": 156, "fp16": 312, "int8": 624}),
        ("Tesla V100-SXM2-16GB", 17e9, {"fp32": 15.7, "fp16": 125}),
        ("NVIDIA H200", 150e9, {"fp8": 1978.9}),
        ("NVIDIA B200", 192e9, {"fp4": 9000, "fp8": 4500, "fp16": 2250}),
        ("AMD Instinct MI300X", 206e9, {"fp16": 1307.4, "fp8": 2614.9}),
        ("AMD Instinct MI355X", 309e9, {"fp4": 10066.3, "fp16": 2516.6}),
        ("NVIDIA L40S", 48e9, {"fp8": 733}),
        ("NVIDIA A10G", 24e9, {}),
        ("Gaudi", 0, {}),
    ],
)
def test_peaks_are_those_of_the_data_sheets(name: str, memory: float, wanted: dict[str, float]) -> None:
    known = peaks_by_dtype(name, int(memory))
    assert {dtype: known[dtype] for dtype in wanted} == wanted
    assert bool(known) == bool(wanted)


def test_type_of_the_first_tensor() -> None:
    assert dtype_of('["long int", "Scalar", "c10::Half"]') == "fp16"
    assert dtype_of('["", "ScalarList"]') == dtype_of("") == ""
    assert dtype_of('["float"]', "cutlass_80_tensorop_bf16_s16816gemm") == "fp32"


@pytest.mark.parametrize(
    ("kernel_name", "is_one"),
    [
        ("ncclDevKernel_AllReduce_Sum_f32_RING_LL", True),
        ("ncclKernel_SendRecv_RING_SIMPLE", True),
        ("void ncclGenericKernel<1>", True),
        ("rcclGenericKernel_Broadcast", True),
        ("gemm_nccl_like", False),
        # Our own reading knows more (`kernel_collective`).
        ("void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>", False),
    ],
)
def test_kernels_that_xprof_takes_for_collectives(kernel_name: str, is_one: bool) -> None:
    assert xprof_collective(kernel_name) == is_one


def test_devices_that_run_within_calls_of_the_host_are_both_cpus() -> None:
    assert sorted(RUNS_WITHIN_HOST_CALLS) == ["CPU (PyTorch)", "CPU (TensorFlow)"]


def test_steps_and_headline_of_a_server_without_steps() -> None:
    """vLLM and SGLang mark no steps, but ranges of what they execute."""
    events = []
    for i in range(8):
        at = 1000.0 * i
        name = "step[DECODE bs=32]" if i % 2 else "execute_32_context_0(sq0)_generation_32(sq32)"
        events += [
            event("user_annotation", name, at, 900),
            launch(at + 10, i + 1, name="hipGraphLaunch"),
            *(kernel(f"kernel_{k}", at + 20 + 100 * k, 90, i + 1) for k in range(8)),
        ]
    text = trace(*events, op("aten::add", 1, 2))
    budget = answer(find("time_budget"), text)
    durations = [ps for of_devices in budget["steps"]["duration_ps"] for ps in of_devices]
    assert durations == [900_000_000] * 6, "without the first and the last"
    space = loaded(text)
    marks = [stats for name, *_, stats in host_events(space, "/host:CPU") if name.startswith(("step[", "execute_"))]
    assert [stats["step_num"] for stats in marks] == list(range(8))


def test_pages_say_what_to_record_for_the_ops_of_graphs() -> None:
    replay = (launch(1, 1, name="cudaGraphLaunch"), kernel("a", 3, 3, 1))
    text = trace(*replay, op("aten::add", 8, 3), launch(9, 2), kernel("b", 10, 1, 2))
    table = answer(find("framework_op_stats"), text)[0]
    said = (
        "75.0% of the time of kernels and copies is that of replayed graphs, which do not tell their ops. To see them,"
    )
    assert table["p"]["graphs_note"].startswith(f"{said} record a trace of the capture of the graphs, in the directory")
    assert table["p"]["graphs_note"].endswith("or some steps without graphs.")
    assert answer(find("op_profile"), text, page=True)["notes"]["graphs"] == table["p"]["graphs_note"]
    assert "graphs_note" not in answer(find("framework_op_stats"), kineto.training(1))[0]["p"]


def test_of_nested_ranges_of_servers_the_outermost_are_steps_unless_pytorch_marks_some() -> None:
    outer = event("user_annotation", "execute_1_context_0(sq0)_generation_1(sq1)", 0, 900)
    inner = event("user_annotation", "step[DECODE bs=1]", 10, 800)
    found = {name: stats for name, *_, stats in host_events(loaded(trace(outer, inner)), "/host:CPU")}
    assert found == {outer["name"]: {"_r": 1, "step_num": 0}, inner["name"]: {}}
    marked = host_events(loaded(trace(outer, inner, kineto.step(5, 0, 950))), "/host:CPU")
    assert [stats for *_, stats in marked if stats] == [{"_r": 1, "step_num": 5}]


def grouped(group: str) -> list[list[Any]]:
    """Two runs of `aten::mm` with other kernels and shapes in a module, and one outside of it."""
    small, large = ({"Input_Dims": [[2, 3], [3, n]], "Input_type": ["float", "float"]} for n in (5, 50))
    text = trace(
        frame("nn.Module: Net_0", 0, 100),
        *(op("aten::linear", 1, 40), op("aten::mm", 2, 10, **small), launch(3, 1), kernel("gemm", 20, 100, 1)),
        *(op("aten::mm", 50, 20, **large), launch(51, 2), kernel("splitk", 120, 30, 2)),
        *(launch(53, 3), kernel("reduce", 150, 10, 3)),
        *(op("aten::mm", 200, 10, **small), launch(201, 4), kernel("gemm", 210, 60, 4)),
    )
    table = answer(find("framework_op_stats"), text, group=group)[1]
    return rows(table, "host_or_device", "operation", "shapes", "variants", "occurrences", "total_self_time")


def test_rows_by_name_count_runs_of_ops_that_choose_their_kernels() -> None:
    device = [row for row in grouped("name") if row[0] == "Device"]
    assert device == [
        ["Device", "Net_0/aten::mm", "[[2, 3], [3, 50]]", 2, 2, 140],
        ["Device", "aten::mm", "[[2, 3], [3, 5]]", 1, 1, 60],
    ]


def test_rows_by_op_and_by_input_shapes() -> None:
    assert grouped("op") == [
        ["Device", "aten::mm", "[[2, 3], [3, 5]]", 2, 3, 200],
        ["Host", "aten::mm", "[[2, 3], [3, 5]]", 2, 3, 40],
        ["Host", "aten::linear", "", 0, 1, 30],
    ]
    assert grouped("shape") == [
        ["Device", "aten::mm", "[[2, 3], [3, 5]]", 1, 2, 160],
        ["Device", "aten::mm", "[[2, 3], [3, 50]]", 1, 1, 40],
        ["Host", "aten::linear", "", 0, 1, 30],
        ["Host", "aten::mm", "[[2, 3], [3, 50]]", 1, 1, 20],
        ["Host", "aten::mm", "[[2, 3], [3, 5]]", 1, 2, 20],
    ]


def test_groups_have_rates_and_the_share_of_matrix_units() -> None:
    text = product("c10::BFloat16", "nvjet_tst", H100)
    for group in ("name", "op", "shape"):
        table = answer(find("framework_op_stats"), text, group=group)[1]
        found = rows(table, "host_or_device", "measured_flop_rate", "gpu_tensorcore_utilization")
        assert [row for row in found if row[0] == "Device"] == [["Device", pytest.approx(67.108864), 1]]
        assert table["p"]["task_type"] == "Inference"
    other = answer(find("framework_op_stats"), "", group="shape")
    assert [column["id"] for column in other[0]["cols"]][-1] == "eager", "of other programs nothing changes"


def test_kernel_times_of_groups_are_nanoseconds() -> None:
    small, large = ({"Input_Dims": [[2, 3], [3, n]], "Input_type": ["float", "float"]} for n in (5, 50))
    text = trace(
        *(op("aten::mm", 0, 5, **small), launch(1, 1), kernel("nvjet_tst", 10, 100, 1)),
        *(op("aten::mm", 10, 5, **large), launch(11, 2), kernel("splitk", 120, 30.5, 2)),
    )
    found = run_op_groups(run_of(text)).kernels
    five, fifty = (group_name("aten::mm", f"[[2, 3], [3, {n}]]", '["float", "float"]') for n in (5, 50))
    assert (found.total_ns, found.matrix_ns) == ({five: 100_000, fifty: 30_500}, {five: 100_000})


def test_operations_of_flash_attention_need_the_lengths_of_sequences() -> None:
    def rate(count: int, longest: str) -> float:
        sizes = [[300, 8, 64], [300, 2, 64], [300, 2, 64], [count], [count], [], [], [], [], [], [], []]
        values = ["", "", "", "", "", longest, longest, "0.", "0.125", "False", "-1", "-1"]
        inputs = {"Input_Dims": sizes, "Input_type": ["c10::BFloat16"] * 3, "Concrete_Inputs": values}
        name = "flash_attn::_flash_attn_varlen_forward"
        text = trace(op(name, 0, 5, **inputs), launch(1, 1), kernel("flash_fwd_kernel", 10, 1000, 1))
        return float(rows(answer(find("framework_op_stats"), text)[1], "measured_flop_rate")[0][0])

    assert rate(4, "100") == pytest.approx(4 * 3 * 100 * 100 * 8 * 64 / 1e6)
    assert rate(4, "200") == 0
