"""Worked numbers of the op tools, on recorded profiles beside the checkout (../shared); skipped without them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from builders.asked import ask, rows

from tpu_profile_plugin.tools.ops import hlo_stats, kernel_stats, op_profile, roofline_model

LOGDIR = Path(__file__).parents[3] / "shared" / "traces" / "logdir"
pytestmark = pytest.mark.skipif(not LOGDIR.is_dir(), reason="the recorded profiles (../shared/traces) are not here")

INFERENCE, TRAINING, GPU = "tpu_v6e4_inference", "tpu_v6e_training_2hosts", "gpu_mi300_conv"


def files(run: str) -> list[Path]:
    return sorted((LOGDIR / run).glob("plugins/profile/*/*.xplane.pb"))


def near(*values: Any) -> Any:
    return pytest.approx(values, rel=1e-9)


@pytest.mark.parametrize(
    ("run", "total", "busy"),
    [
        (INFERENCE, 363729698768750, 315117903706250),
        (TRAINING, 727459397537500, 623132179953873),
        (GPU, 832149873000, 27550676000),
    ],
)
def test_total_and_busy_time(run: str, total: int, busy: int) -> None:
    answer = ask(op_profile.TOOL, *files(run))
    assert answer["byProgram"]["metrics"]["rawTime"] == total
    assert answer["byProgramExcludeIdle"]["metrics"]["rawTime"] == busy
    idle = [node for node in answer["byProgram"]["children"] if node["name"] == "IDLE"]
    assert idle[0]["metrics"]["rawTime"] == total - busy


def test_hlo_stats_of_inference() -> None:
    table = ask(hlo_stats.TOOL, *files(INFERENCE))
    names = ("hlo_op_name", "occurrences", "total_time", "total_self_time_percent", "normalized_flop_rate")
    found = {row[0]: row[1:] for row in rows(table, *names, "measured_memory_bw")}
    assert len(found) == 17
    assert found["copy-done.4"] == near(400, 77773215.73125, 21.382146136132867, 0, 25.71579407120209)
    fusion = near(400, 3262107.41375, 0.8968493430128079, 164.5779380951876, 1226.2011922537356)
    assert found["broadcast_add_fusion.1"] == fusion
    assert found["all-reduce"] == near(12, 1460345.25875, 0.40149189458363416, 11.028985963077137, 82.17234882024778)
    assert found["broadcast.2"] == near(1, 4443.76625, 0.0012217221373570686, 0, 1125.171694168207)


def test_hlo_stats_of_two_hosts() -> None:
    both = ask(hlo_stats.TOOL, *files(TRAINING))
    names = ("hlo_op_name", "category", "occurrences", "total_time", "total_self_time", "total_self_time_percent")
    assert rows(both, *names)[0][:3] == ("copy-done.2", "outfeed", 800)
    assert rows(both, *names)[0][3:] == near(158549764.408731, 158061934.061027, 21.727938988220853)
    rates = ("hlo_op_name", "model_flop_rate", "normalized_flop_rate", "measured_memory_bw", "hbm_bw")
    found = {row[0]: row[1:] for row in rows(both, *rates)}
    assert found["copy-done.4"] == near(185.88075625503558, 191.62964562478678, 24.380640340456377, 26.515190023139887)
    alone = ask(hlo_stats.TOOL, files(TRAINING)[0])
    assert rows(alone, *names)[0][2:5] == near(400, 79198157.120376, 78864194.602424)


def test_hlo_stats_of_gpus() -> None:
    table = ask(hlo_stats.TOOL, *files(GPU))
    names = ("hlo_op_name", "occurrences", "total_time", "measured_memory_bw", "hbm_bw", "operational_intensity")
    found = {row[0]: row[1:] for row in rows(table, *names)}
    assert len(found) == 4
    convolution = near(79, 12531.616, 3399.7948268037426, 41.362667388876666, 56.49655172413793)
    assert found["cudnn-conv.1"] == convolution
    assert found["input_transpose_fusion"][:3] == near(40, 14344.14, 2971.2010431067147)


def test_op_profile_of_inference() -> None:
    root = ask(op_profile.TOOL, *files(INFERENCE))["byProgram"]
    metrics = root["metrics"]
    assert metrics["flops"] == pytest.approx(5.6233710772358405e-06)
    assert metrics["bandwidthUtils"][0] == pytest.approx(0.04347867965403492)
    assert metrics["rawFlops"] == 1626718863360
    assert metrics["rawBytesAccessedArray"][0] == pytest.approx(25904021503999.996)
    assert root["numChildren"] == 4
    program = next(node for node in root["children"] if node["name"] == "jit_f(12190760917235803885)")
    fusions = next(node for node in program["children"] if node["name"] == "loop fusion")
    (shared,) = fusions["children"]
    assert shared["name"] == "broadcast_add_fusion.1 and its duplicate(s)"
    inside = [[child["name"].partition(".")[0] for child in one["children"]] for one in shared["children"]]
    assert inside == [["constant", "broadcast", "add"]] * 3


def test_op_profile_of_training() -> None:
    root = ask(op_profile.TOOL, *files(TRAINING))["byProgram"]
    metrics = root["metrics"]
    assert (metrics["bf16Flops"], metrics["rawFlops"]) == (480193300892720, 465844839678320)
    assert metrics["normalizedTimePs"] == 623650906301195
    program = next(node for node in root["children"] if node["name"].startswith("jit_f("))
    assert program["metrics"]["flops"] == pytest.approx(0.0007184101153059767)
    # Ops with others inside have no node, and with them their category.
    assert "outfeed" not in {node["name"] for node in program["children"]}
    assert len(program["children"]) == 7


def test_roofline() -> None:
    table, _ = ask(roofline_model.TOOL, *files(INFERENCE))
    names = ("total_time", "measured_flop_rate", "measured_memory_bw", "hbm_bw", "roofline_efficiency")
    assert len(table["rows"]) == 38
    program = near(363729698.76875, 4.472328954348669, 99.31825782245883, 66.3267258122303, 0.04347867965403494)
    assert rows(table, *names)[0] == program
    table, diagnostics = ask(roofline_model.TOOL, *files(TRAINING))
    found = {(row[0], row[2]): row[1] for row in rows(table, "step", "total_time", "include_infeed_outfeed") if row[1]}
    assert (len(table["rows"]), len(diagnostics["rows"])) == (85, 0)
    assert found["Average", True] == pytest.approx(7445265.674242083)
    assert found["1", True] == pytest.approx(6813023.816376)
    assert found["0", True] == pytest.approx(8185357.186066)
    totals = [
        row[1] for row in rows(table, "operation", "total_time", "step") if row[0] == "Program" and row[2] == "Total"
    ]
    assert totals == [pytest.approx(727459397.5375), pytest.approx(568909633.128769)]
    table, _ = ask(roofline_model.TOOL, *files(GPU))
    ops = {row[0]: row[1:] for row in rows(table, "operation", "optimal_flop_rate", "roofline_efficiency")}
    assert len(table["rows"]) == 10
    assert ops["cudnn-conv.1"] == near(1307443.2, 0.1577435787122122)


def test_kernels() -> None:
    table = ask(kernel_stats.TOOL, *files(GPU))
    names = ("kernel_name", "grid_dim", "occurrences", "total_duration_us", "avg_duration_us", "min_duration_us")
    flags = ("is_op_tensor_core_eligible", "is_kernel_using_tensor_core", "op_name")
    found = rows(table, *names, *flags)
    assert len(found) == 8
    op = "jit(forward_3d_conv)/conv_general_dilated"
    first = ("input_transpose_fusion.kd", "69840,1,1", 40, 14344.14, 358.603, 338.681, True, False, op)
    assert found[0] == first
    assert found[1][1:] == ("219,40,1", 40, 11852.414, 296.31, 288.76, True, True, op)
    assert found[3] == ("__amd_rocclr_copyBuffer.kd", "16,1,1", 35, 563.521, 16.1, 13.44, False, False, "")


def test_ops_of_the_cpu_backend() -> None:
    answer = ask(op_profile.TOOL, *files("jax_mlp"), backend="auto")
    busy = answer["byProgramExcludeIdle"]
    (program,) = busy["children"]
    assert program["name"] == "jit_step(14)"
    assert program["metrics"]["rawTime"] == busy["metrics"]["rawTime"] == 154939969000
    assert sum(node["metrics"]["occurrences"] for node in program["children"]) == 940
