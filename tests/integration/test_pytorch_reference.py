"""Traces of PyTorch against reference tables that another tool made of them; and what all samples have in common."""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from builders.answers import answer

from tpu_profile_plugin import columns
from tpu_profile_plugin.analysis.common.spans import intersect, times_of, total
from tpu_profile_plugin.analysis.devices.host import devices_of
from tpu_profile_plugin.analysis.devices.model import Work
from tpu_profile_plugin.analysis.hlo.programs import hlo_programs
from tpu_profile_plugin.columns.stats import ints
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
    assert budget["steps"]
    for step, of_devices in zip(budget["steps"], budget["time_ps"], strict=True):
        assert [sum(parts) for parts in of_devices] == step["duration_ps"]


PEERS = {
    "pair_before/rank-0": (383404, 62119, 234760, 86525, 47.03),
    "pair_after/rank-0": (628371, 46910, 429216, 152245, 68.80),
    "two_ranks/rank-0": (600058, 321378, 106252, 172428, 11.81),
    "two_ranks/rank-1": (600674, 328671, 135548, 136455, 20.05),
}
"""Span, idle, compute and other time in us and overlapped communication in %, by HolisticTraceAnalysis 0.5.0."""


@pytest.mark.parametrize("name", PEERS)
def test_breakdown_and_overlap(name: str) -> None:
    """Of the kernels that it keeps: those whose launch was recorded, before the last step."""
    space = columns.load(unpack((SAMPLES / f"{name}.pt.trace.json.gz").read_bytes()).space)
    (device,) = devices_of(space, hlo_programs(space))
    host = next(plane for plane in space.planes if plane.name == "/host:CPU")
    _, is_step = ints(space, host, host.events.stats, "step_num")
    cause, launches = ints(space, host, host.events.stats, "correlation_id")
    before = launches & (host.events.begin_ps < host.events.begin_ps[is_step].max())
    runs = device.runs.where(np.isin(device.launch_key, cause[before]))
    compute, talk = (runs.times(work) for work in (Work.COMPUTE, Work.COMMUNICATION))
    span = int(runs.end_ps.max() - runs.begin_ps.min())
    busy = total(times_of(runs.begin_ps, runs.end_ps))
    ours = [span, span - busy, total(compute), busy - total(compute)]
    *wanted, overlap = PEERS[name]
    assert [time / 1e6 for time in ours] == wanted
    assert 100 * total(intersect(compute, talk)) / total(talk) == pytest.approx(overlap, abs=0.006)
