"""The memory of a device: recorded by an allocator, reported by the device, or known from its model; and clocks."""

from __future__ import annotations

from typing import Any

import pytest
from builders.answers import answer, rows
from builders.programs.buffers import allocation, assignment, buffer, instruction_id, profile
from builders.programs.hlo import op, program

from tpu_profile_plugin.tools.memory import memory_profile
from tpu_profile_plugin.tools.memory.memory_viewer import TOOL

GIB = 1 << 30
MIB = 1 << 20


def module() -> str:
    entry = [op("p", "parameter", "f32[16384]")]
    argument = allocation(0, 65536, [(1, 0, 65536)], "parameter")
    offloaded = allocation(1, 4096, [(2, 0, 4096)], color=5)
    buffers = (buffer(1, 65536, instruction_id(0)), buffer(2, 4096, instruction_id(0), color=5))
    return profile(jit_f=program(entry) + assignment(*buffers, argument, offloaded))


def shown(*planes: str, **params: str) -> Any:
    return answer(TOOL, "\n".join([module(), *planes]), page=True, **params)


def allocations(**free: int) -> str:
    """A host whose allocators each have 10 bytes on the stack, 20 on the heap, and these bytes free."""
    facts = 'allocator_name="{}", bytes_reserved=10, bytes_allocated=20, bytes_available={}'
    events = [f"{i}us +0us MemoryAllocation {{{facts.format(*one)}}}" for i, one in enumerate(free.items())]
    return "\n".join(['plane 9 "/host:CPU"', 'line 1 "t"', *events])


def chip(model: str, more: str = "") -> str:
    return f'plane 8 "/device:TPU:0" {{device_type_string="{model}"{more}}}'


def test_only_the_page_learns_of_the_device() -> None:
    page = shown(chip("TPU v4"))
    assert (page["device"]["bytes"], page["spaces"]) == (32 * GIB, [0, 5])
    assert not {"device", "memorySpaces", "spaces"} & answer(TOOL, "\n".join([module(), chip("TPU v4")])).keys()


@pytest.mark.parametrize(
    ("model", "more", "gib"),
    [
        ("TPU v2", "", 8),
        ("TPU v3", "", 16),
        ("TPU v4", "", 32),
        ("TPU v4", ", has_megacore=1", 32),
        ("TPU v4", ", has_megacore=0", 16),
        ("TPU v4 Lite", ", has_megacore=0", 8),
        ("TPU v5 Lite", "", 16),
        ("TPU v5e", "", 16),
        ("TPU v5", "", 95),
        ("TPU v5p", ", has_megacore=1", 95),
        ("TPU v6 Lite", ", has_megacore=0", 32),
        ("TPU7x", "", 96),
        ("TPU v99", "", None),
        ("", "", None),
    ],
)
def test_the_model_of_a_tpu_tells_the_memory_of_one_device(model: str, more: str, gib: int | None) -> None:
    device = shown(chip(model, more))["device"]
    assert device["hardware"] == "TPU"
    assert (device["bytes"], device["source"]) == ((0, "") if gib is None else (gib * GIB, "model"))


def test_a_gpu_reports_its_memory() -> None:
    device = shown(f'plane 8 "/device:GPU:0" {{memory_size=u{80 * GIB}}}')["device"]
    assert device == {"hardware": "GPU", "model": "", "bytes": 80 * GIB, "source": "device"}


def test_the_smallest_allocator_of_a_device_decides() -> None:
    gpu = f'plane 8 "/device:GPU:0" {{memory_size=u{80 * GIB}}}'
    host = allocations(GPU_0_bfc=5 * MIB - 30, GPU_1_bfc=4 * MIB - 30, xla_gpu_host_bfc=MIB, cpu=7)
    smallest = {"hardware": "GPU", "model": "", "bytes": 4 * MIB, "source": "allocator"}
    assert shown(gpu, host)["device"] == smallest
    other = shown(chip("TPU v4"), allocations(GPU_0_bfc=MIB))["device"]
    assert other["source"] == "model"


def test_on_a_cpu_no_memory_is_the_devices() -> None:
    device = {"hardware": "CPU_ONLY", "model": "", "bytes": 0, "source": ""}
    assert shown(allocations(cpu=MIB))["device"] == device


TWO_LINES = """
plane 1 "/host:CPU"
  line 7 "t" @5us
    1us +0us MemoryAllocation {bytes_allocated=10, bytes_available=90, allocation_bytes=10, addr=1}
  line 8 "u" @900us
    2us +0us MemoryAllocation {bytes_allocated=30, bytes_available=70, allocation_bytes=20, addr=2}
"""


def test_times_of_the_memory_profile_are_those_of_the_recording() -> None:
    of_xprof = answer(memory_profile.TOOL, TWO_LINES)["memoryProfilePerAllocator"][""]
    points = [point["timeOffsetPs"] for point in of_xprof["sampledTimelineSnapshots"]]
    assert (of_xprof["profileSummary"]["peakStatsTimePs"], points) == ("2000000", ["1000000", "2000000"])
    (memory,) = answer(memory_profile.TOOL, TWO_LINES, page=True)["memories"]
    assert memory["peak"]["time_ps"] == 902_000_000
    assert rows(memory["timeline"], "time") == [[6_000_000], [902_000_000]]
