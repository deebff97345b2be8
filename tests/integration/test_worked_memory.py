"""Known figures of the memory tools on real profiles."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest
from builders.answers import answer

from tpu_profile_plugin.tools.memory import memory_profile, memory_viewer
from tpu_profile_plugin.tools.ops import graph_viewer

LOGDIR = Path(__file__).parents[3] / "shared" / "traces" / "logdir"
TPU = "tpu_v6e4_inference/plugins/profile/2025_03_11_19_41_39/t1v-n-0.xplane.pb"
GPU = "gpu_mi300_conv/plugins/profile/2026_02_20_13_53_59/tw003.xplane.pb"
OLD_GPU = "gpu_mi300_conv_legacy/plugins/profile/2025_09_10_15_08_48/chi-mi300x-013.ord.vultr.cpe.ice.amd.com.xplane.pb"
JAX = "jax_mlp/plugins/profile/2026_11_20_09_09_17/vm.xplane.pb"
SCAN = "jax_scan_conv/plugins/profile/2026_11_20_09_09_18/vm.xplane.pb"
KERAS = "tf_keras/train/plugins/profile/2026_11_20_09_11_54/vm.xplane.pb"
FORWARD = "jit_f(12190760917235803885)"
PSUM = "jit__psum(9646411105960254074)"

pytestmark = pytest.mark.skipif(not LOGDIR.exists(), reason="needs ../shared/traces beside the checkout")


@cache
def recorded(file: str) -> Any:
    return answer(memory_profile.TOOL, LOGDIR / file)


def memory(file: str, name: str) -> Any:
    return recorded(file)["memoryProfilePerAllocator"][name]


def module(file: str, name: str, **params: str) -> Any:
    return answer(memory_viewer.TOOL, LOGDIR / file, module_name=name, **params)


@pytest.mark.parametrize(
    ("file", "name", "snapshots", "lifetime", "peak", "time_ps", "capacity"),
    [
        (TPU, "0", 234, 16106341504, 21492569216, 72829493952000, 33550237696),
        (TPU, "1", 224, 10737555584, 21492671104, 15663163355000, 33550237696),
        (TPU, "2", 224, 10737555584, 21492671104, 17280622911000, 33550237696),
        (TPU, "3", 224, 10737555584, 21492569216, 72829465652000, 33550237696),
        (GPU, "GPU_0_bfc", 20, 1730171904, 1730171904, 137292002000, 154606239744),
        (GPU, "GPU_1_bfc", 30, 1732169984, 1732169984, 137296102000, 154606239744),
        (OLD_GPU, "GPU_0_bfc", 40, 1737217024, 1730171904, 32440599000, 153800933376),
        (KERAS, "mklcpu", 176, 15392768, 15310848, 42958798000, 25276510208),
    ],
)
def test_peaks(file: str, name: str, snapshots: int, lifetime: int, peak: int, time_ps: int, capacity: int) -> None:
    one = memory(file, name)
    summary = one["profileSummary"]
    assert len(one["sampledTimelineSnapshots"]) == snapshots
    assert int(summary["peakBytesUsageLifetime"]) == lifetime
    assert int(summary["peakStats"]["peakBytesInUse"]) == peak
    assert int(summary["peakStatsTimePs"]) == time_ps
    assert int(summary["memoryCapacity"]) == capacity


def rows(one: Any) -> list[tuple[int, int]]:
    out = []
    for line in one["activeAllocations"]:
        number, special = int(line["snapshotIndex"]), int(line["specialIndex"])
        facts = (
            one["memoryProfileSnapshots"][number]["activityMetadata"]
            if number >= 0
            else one["specialAllocations"][special]
        )
        out.append((int(facts["allocationBytes"]), int(line["numOccurrences"])))
    return out


def test_breakdowns() -> None:
    assert rows(memory(TPU, "0"))[:3] == [(21491712000, 1), (821760, 1), (29696, 1)]
    assert (len(rows(memory(TPU, "0"))), rows(memory(TPU, "0"))[-1][1]) == (6, 32)
    assert rows(memory(TPU, "1"))[:3] == [(21491712000, 1), (821760, 1), (105984, 1)]
    assert rows(memory(GPU, "GPU_0_bfc")) == [(579072256, 1), (572026880, 2), (7045888, 1)]
    assert rows(memory(GPU, "GPU_1_bfc")) == [(579072256, 1), (572026880, 2), (9043968, 1)]
    assert rows(memory(OLD_GPU, "GPU_0_bfc")) == [(579072256, 1), (572026880, 2)]
    keras = memory(KERAS, "mklcpu")
    assert rows(keras)[:3] == [(10465280, 1), (1384448, 1), (1384448, 1)]
    assert len(rows(keras)) == 7
    first = keras["memoryProfileSnapshots"][0]["activityMetadata"]
    assert first["tfOpName"].endswith("MaxPoolGrad")
    assert [first[key] for key in ("stepId", "regionType", "dataType", "tensorShape")] == [
        "10",
        "output",
        "float",
        "[32,26,26,16]",
    ]


def test_profiles_without_memory_events_and_module_runs() -> None:
    assert recorded(JAX)["memoryIds"] == []
    assert len(recorded(TPU)["hloModules"]) == 414
    assert recorded(GPU)["memoryIds"] == [f"GPU_{i}_bfc" for i in range(8)]


@pytest.mark.parametrize(
    ("file", "name", "peak", "position", "points", "entries"),
    [
        (JAX, "jit_step(14)", 16801896, 7, 35, 21),
        (JAX, "jit__normal(4)", 4194424, 64, 95, 5),
        (JAX, "jit_broadcast_in_dim(12)", 524292, 0, 0, 2),
        (SCAN, "jit_conv(12)", 795664, 7, 19, 4),
        (TPU, FORWARD, 21474836512, 3, 13, 5),
        (TPU, PSUM, 10737418240, 0, 0, 2),
        (GPU, "jit_forward_3d_conv(15)", 1158144000, 2, 7, 6),
    ],
)
def test_programs(file: str, name: str, peak: int, position: int, points: int, entries: int) -> None:
    found = module(file, name)
    assert found["peakHeapMib"] * 2**20 == peak
    assert found.get("peakHeapSizePosition", 0) == position
    assert len(found.get("heapSizes", [])) == points
    assert len(found["maxHeap"]) == entries


def mib(found: Any, *names: str) -> list[int]:
    return [round(found[name] * 2**20) for name in names]


def test_the_training_step_in_detail() -> None:
    found = module(JAX, "jit_step(14)")
    sums = mib(
        found,
        "totalBufferAllocationMib",
        "indefiniteBufferAllocationMib",
        "entryComputationParametersMib",
        "maybeLiveOutMib",
        "nonReusableMib",
    )
    assert sums == [16801896, 12607592, 6303744, 6303840, 168]
    ids = [entry["logicalBufferId"] for entry in found["maxHeap"]]
    assert ids[12:] == [237, 240, 244, 248, 252, 256, 260, 261, -1]
    assert found["maxHeap"][-1]["logicalBufferSizeMib"] * 2**20 == 24680
    spans = {key: (span.get("start", 0), span["limit"]) for key, span in found["logicalBufferSpans"].items()}
    assert [spans[key] for key in ("237", "240", "244", "260", "261")] == [(0, 32), (1, 28), (2, 23), (6, 9), (7, 10)]
    assert len(found["bufferBlocks"]) == 18
    assert (found["bufferBlocks"][0]["size"], found["bufferBlocks"][0]["endStep"]) == (4194304, 34)
    assert found["heapSizes"][8] == found["peakHeapMib"]


def test_memory_spaces() -> None:
    on_host, fast = (module(TPU, FORWARD, memory_space=space) for space in ("5", "1"))
    assert (on_host["peakHeapMib"], on_host.get("maxHeap", [])) == (15360, [])
    assert (fast["maxScopedVmemAllocationMib"], fast["maxScopedVmemAllocationInstructionName"]) == (
        24,
        "broadcast_add_fusion.2",
    )
    reduced = module(TPU, PSUM, memory_space="1")
    assert (reduced["maxScopedVmemAllocationMib"], reduced["maxScopedVmemAllocationInstructionName"]) == (
        30.984375,
        "all-reduce",
    )


def test_neighbours() -> None:
    def ask(name: str) -> Any:
        return answer(graph_viewer.TOOL, LOGDIR / JAX, module_name="jit_step(14)", type="adj_nodes", node_name=name)

    assert ask("dot.1") == {
        "consumer_names": ["multiply_subtract_fusion.9"],
        "operand_names": ["broadcast_maximum_fusion", "compare_select_fusion.1"],
    }
    assert ask("multiply_select_fusion") == {
        "consumer_names": ["ynn_fusion.10", "dot.5", "ynn_fusion"],
        "operand_names": ["ynn_fusion.11", "p_5__1_.1"],
    }
