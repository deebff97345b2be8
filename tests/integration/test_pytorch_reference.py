"""Traces of PyTorch against reference tables that another tool made of them; and what all samples have in common."""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from builders.answers import answer
from builders.pytorch_peer import figures

from tpu_profile_plugin.formats import unpack
from tpu_profile_plugin.tools.registry import find

SAMPLES = Path(__file__).parents[3] / "shared/pytorch"
REFERENCE = SAMPLES / "h100_bert/reference"
TRACES = sorted(SAMPLES.glob("*/*.pt.trace.json.gz"))
pytestmark = pytest.mark.skipif(not SAMPLES.is_dir(), reason="the recorded profiles (../shared/pytorch) are not here")
EXACT = 1e-4
"""The reference keeps times since 1970 in floating point, up to 1/4096 us."""


@cache
def unpacked(path: Path) -> bytes:
    return unpack(path.read_bytes()).space.tobytes()


def shown(tool: str, *paths: Path, **params: str) -> Any:
    return answer(find(tool), *map(unpacked, paths), **params)


def rows(table: Any) -> list[dict[str, Any]]:
    names = [column["id"] for column in table["cols"]]
    return [dict(zip(names, (cell["v"] for cell in row["c"]), strict=True)) for row in table["rows"]]


def reference(name: str) -> list[dict[str, str]]:
    with (REFERENCE / f"{name}.csv").open() as file:
        return list(csv.DictReader(file))


H100 = SAMPLES / "h100_bert/rank-0.pt.trace.json.gz"


def test_kernels_and_their_ops() -> None:
    ours: dict[tuple[str, str], list[float]] = defaultdict(lambda: [0, 0, float("inf"), 0])
    for row in rows(shown("kernel_stats", H100)):
        found = ours[row["op_name"].rpartition("/")[2], row["kernel_name"]]
        found[0] += row["occurrences"]
        found[1] += row["total_duration_us"]
        found[2] = min(found[2], row["min_duration_us"])
        found[3] = max(found[3], row["max_duration_us"])
    wanted = {
        (row["Parent cpu_op"], row["Kernel name"]): [
            float(row[f"Kernel duration (µs)_{what}"]) for what in ("count", "sum", "min", "max")
        ]
        for row in reference("kernel_summary")
        if not row["Kernel name"].startswith("Memcpy")
    }
    assert len(wanted) > 8
    assert set(ours) == set(wanted)
    for key, values in wanted.items():
        assert ours[key] == pytest.approx(values, rel=EXACT), key


def test_timeline_of_the_device() -> None:
    """Computation, communication and copies of the whole step; idle between the first and the last kernel."""
    wanted = {row["type"]: float(row["time ms"]) for row in reference("gpu_timeline")}
    budget = shown("time_budget", H100)
    parts = dict(
        zip(budget["categories"], (sum(step) for step in zip(*budget["time_ps"][0], strict=True)), strict=True)
    )
    compute = parts["compute"] + parts["data_movement"]
    copies = sum(parts[name] for name in ("exposed_copy", "input_copy", "output_copy"))
    assert compute / 1e9 == pytest.approx(wanted["computation_time"], rel=EXACT)
    assert copies / 1e9 == pytest.approx(wanted["exposed_memcpy_time"], rel=EXACT)
    assert parts["exposed_communication"] == wanted["exposed_comm_time"] == 0
    (idle,) = [row for row in rows(shown("framework_op_stats", H100)[0]) if row["host_or_device"] == "Device"][:1]
    assert (idle["type"], idle["total_self_time"] / 1e3) == ("IDLE", pytest.approx(wanted["idle_time"], rel=EXACT))


def device_ops(path: Path) -> dict[str, float]:
    """Time on the device in us by kind of op."""
    times: dict[str, float] = defaultdict(float)
    for row in rows(shown("framework_op_stats", path)[0]):
        if row["host_or_device"] == "Device" and row["type"] != "IDLE":
            times[row["type"]] += row["total_self_time"]
    return times


def test_ops() -> None:
    wanted = {row["name"]: float(row["total_direct_kernel_time_sum"]) for row in reference("ops_summary")}
    ours = device_ops(H100)
    for name, time in wanted.items():
        assert ours[name] == pytest.approx(time, rel=EXACT), name


def test_operations_and_bytes_of_matrix_products() -> None:
    """The reference counts bytes in MiB, and the products and attention with shapes as here."""
    wanted = {row["name"]: (0.0, 0.0) for row in reference("unified_perf_summary") if row["name"] == "aten::addmm"}
    for row in reference("unified_perf_summary"):
        if row["name"] in wanted:
            runs = int(row["operation_count"])
            flops, moved = wanted[row["name"]]
            wanted[row["name"]] = (
                flops + runs * float(row["GFLOPS"]) * 1e9,
                moved + runs * float(row["Data Moved (MB)"]) * 2**20,
            )
    ours = defaultdict(lambda: [0.0, 0.0])
    for row in rows(shown("framework_op_stats", H100)[0]):
        if row["host_or_device"] == "Device" and row["type"] in wanted:
            ours[row["type"]][0] += row["measured_flop_rate"] * row["total_self_time"] * 1e3
            ours[row["type"]][1] += row["measured_memory_bw"] * 2**30 * row["total_self_time"] / 1e6
    assert {name: tuple(values) for name, values in ours.items()} == {
        name: pytest.approx(values, rel=1e-6) for name, values in wanted.items()
    }


CALLS = re.compile(r"(?:cuda|cu|hip)[A-Z]")


@pytest.mark.parametrize("path", TRACES, ids=lambda path: f"{path.parent.name}/{path.name[:6]}")
def test_nearly_all_time_of_devices_has_an_op(path: Path) -> None:
    """The rest is called by its launch: no op was recorded around it."""
    times = device_ops(path)
    without = sum(time for name, time in times.items() if CALLS.match(name))
    assert without <= 0.05 * sum(times.values())
    assert sum(times.values()) > 0


@pytest.mark.parametrize("path", TRACES, ids=lambda path: f"{path.parent.name}/{path.name[:6]}")
def test_parts_of_the_steps_add_up(path: Path) -> None:
    budget = shown("time_budget", path)
    assert budget["steps"]["name"]
    for step_ps, of_devices in zip(budget["steps"]["duration_ps"], budget["time_ps"], strict=True):
        assert [sum(parts) for parts in of_devices] == step_ps


PEERS = {
    "pair_before/rank-0": (383404, 62119, 234760, 86525, 47.03, {"7": 287, "20": 10, "21": 2, "22": 22}),
    "pair_after/rank-0": (628371, 46910, 429216, 152245, 68.80, {"7": 1013, "14": 9, "15": 5, "16": 23}),
    "two_ranks/rank-0": (600058, 321378, 106252, 172428, 11.81, {"7": 76, "23": 4, "25": 8, "84": 1, "203": 1}),
    "two_ranks/rank-1": (600674, 328671, 135548, 136455, 20.05, {"7": 75, "23": 2, "25": 8, "84": 1, "203": 1}),
}
"""Span, idle, compute and other time in us, overlapped communication in %, and the longest queue of each stream, by
HolisticTraceAnalysis 0.5.0 (`scripts/soak/pytorch_peer`)."""


@pytest.mark.parametrize("name", PEERS)
def test_breakdown_overlap_and_queues(name: str) -> None:
    ours = figures(SAMPLES / f"{name}.pt.trace.json.gz")
    *parts, overlap, queues = PEERS[name]
    assert list(ours.parts_us) == parts
    assert ours.overlap_percent == pytest.approx(overlap, abs=0.006)
    assert ours.queues == queues


KERNELS = {
    "pair_before/rank-0": ("ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)", 27453),
    "pair_after/rank-0": ("ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)", 66859),
    "two_ranks/rank-0": (
        "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*, unsigned long, ncclWork*)",
        195327,
    ),
}
"""The kernel with most time of its kind, and that time in us, likewise."""


@pytest.mark.parametrize("name", KERNELS)
def test_time_of_kernels(name: str) -> None:
    kernel, time = KERNELS[name]
    assert figures(SAMPLES / f"{name}.pt.trace.json.gz").kernels[kernel] == time
