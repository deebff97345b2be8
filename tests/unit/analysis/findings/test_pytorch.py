"""Causes in programs of PyTorch on a GPU, as its own profiler records them."""

from __future__ import annotations

from typing import Any

import pytest
from builders.answers import answer
from builders.kineto import Event, event, frame, kernel, launch, op, step, trace
from builders.profiles.findings import evidence, told

from tpu_profile_plugin.tools import registry

PRODUCT = "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n"
STEPS, LENGTH = 4, 2000


def first(text: bytes) -> dict[str, Any]:
    findings = answer(registry.find("smart_suggestion"), text, page=True)["findings"]
    return dict(findings[0])


def steps(of_step: Any) -> bytes:
    """A trace of four steps of 1990 us; `of_step` gets begin and the first correlation id."""
    events: list[Event] = []
    for number in range(STEPS):
        begin = 1000.0 + LENGTH * number
        events += [step(number, begin, LENGTH - 10), frame("train.py(12): train_step", begin, LENGTH - 15)]
        events += of_step(begin + 5, 1000 * number + 1)
    return trace(*events)


def reads_values(begin: float, cause: int) -> list[Event]:
    events: list[Event] = []
    for at, own in ((begin + 490 * i, cause + 2 * i) for i in range(4)):
        events += [op("aten::mm", at, 20), launch(at + 5, own), kernel(PRODUCT, at + 10, 300, own)]
        events += [frame("train.py(14): log", at + 22, 320), op("aten::item", at + 25, 305)]
        events += [launch(at + 28, own + 1, name="cudaMemcpyAsync")]
        events += [kernel("Memcpy DtoH (Device -> Pageable)", at + 311, 2, own + 1, bytes=4)]
        events += [event("cuda_runtime", "cudaStreamSynchronize", at + 30, 290)]
    return events


def tiny(begin: float, cause: int, end: float) -> list[Event]:
    events: list[Event] = []
    for i in range(int(end - begin) // 10):
        at = begin + 10 * i
        events += [op("aten::mul_", at, 8), launch(at + 3, cause + i), kernel("elementwise", at + 6, 2, cause + i)]
    return events


def tiny_kernels(begin: float, cause: int) -> list[Event]:
    return tiny(begin, cause, begin + 1950)


def plain_optimizer(begin: float, cause: int) -> list[Event]:
    update = event("user_annotation", "Optimizer.step#Adam.step", begin + 495, 1480)
    forward = [op("aten::mm", begin, 10), launch(begin + 3, cause + 900), kernel(PRODUCT, begin + 10, 450, cause + 900)]
    return [*forward, update, *tiny(begin + 500, cause, begin + 1950)]


def pageable_batches(begin: float, cause: int) -> list[Event]:
    events = [op("aten::copy_", begin, 798), launch(begin + 2, cause, name="cudaMemcpyAsync")]
    events += [kernel("Memcpy HtoD (Pageable -> Device)", begin + 5, 780, cause, bytes=10_000_000)]
    for i in range(4):
        at, own = begin + 810 + 12 * i, cause + 1 + i
        events += [op("aten::mm", at, 8), launch(at + 3, own), kernel(PRODUCT, begin + 815 + 280 * i, 275, own)]
    return events


@pytest.mark.parametrize(
    ("program", "rule", "title", "advice"),
    [
        (reads_values, "host_sync", "after 4 calls of .item() per step in train.py:14 log", "call .item(), .cpu()"),
        (tiny_kernels, "launch_bound", "most kernels are shorter than 10 us", "CUDA graph"),
        (plain_optimizer, "launch_bound", "99% of the kernels are of the optimizer Adam", "fused=True"),
        (pageable_batches, "input_bound", "for input", "pinned memory"),
    ],
)
def test_the_first_finding_names_the_cause(program: Any, rule: str, title: str, advice: str) -> None:
    found = first(steps(program))
    assert found["id"] == rule
    assert title in found["title"]
    assert advice in found["advice"]
    assert "torch_xla" not in found["advice"]


def test_copies_from_pageable_memory_are_evidence() -> None:
    evidence = {one["label"]: one["value"] for one in first(steps(pageable_batches))["evidence"]}
    assert evidence["Copies from pageable memory, of the time of copies to the device"] == 100


def test_half_of_the_kernels_make_an_optimizer_the_cause() -> None:
    """As many outside of it: none of either is named."""

    def half(begin: float, cause: int) -> list[Event]:
        update = event("user_annotation", "Optimizer.step#SGD.step", begin + 1105, 845)
        return [*tiny(begin, cause, begin + 1100), update, *tiny(begin + 1110, cause + 500, begin + 1940)]

    assert "optimizer" not in first(steps(half))["title"]


def gap_without_frames() -> bytes:
    """Four steps of 1990 us in which the device works for 300 us and Python functions are not recorded."""
    events: list[Event] = []
    for number in range(STEPS):
        begin = 1000.0 + LENGTH * number
        events += [step(number, begin, LENGTH - 10), op("aten::mm", begin + 5, 20)]
        events += [launch(begin + 10, number + 1), kernel(PRODUCT, begin + 15, 300, number + 1)]
    return trace(*events)


def test_python_functions_are_recorded_by_the_program_itself() -> None:
    found = first(gap_without_frames())
    assert found["id"] == "slow_host_code"
    assert found["advice"].startswith("Record again with with_stack=True of torch.profiler.profile:")
    assert evidence(found)["Python functions"] == ("not recorded", "", "")


def test_checks_say_how_pytorch_records_python_functions() -> None:
    reason = told("host_sync", gap_without_frames())["reason"]
    how = "with_stack=True of torch.profiler.profile records them."
    assert reason.endswith(f"Python functions were not recorded: {how}")


def frees_its_cache(begin: float, cause: int) -> list[Event]:
    """`torch.cuda.empty_cache()` in each step: blocks are freed, which waits for the device, and allocated again."""
    events = [op("aten::mm", begin, 20), launch(begin + 3, cause), kernel(PRODUCT, begin + 10, 400, cause)]
    events += [frame("train.py(31): clean", begin + 22, 1300)]
    events += [frame("torch/cuda/memory.py(170): empty_cache", begin + 23, 1298)]
    events += [event("cuda_runtime", "cudaFree", begin + 30 + 320 * i, 318) for i in range(4)]
    events += [op("aten::empty", begin + 1330, 400), event("cuda_runtime", "cudaMalloc", begin + 1335, 390)]
    events += [op("aten::mm", begin + 1740, 20), launch(begin + 1745, cause + 1)]
    return [*events, kernel(PRODUCT, begin + 1750, 220, cause + 1)]


def products_in_single_precision(begin: float, cause: int) -> list[Event]:
    """A busy device: float32 without `torch.set_float32_matmul_precision("high")`."""
    events: list[Event] = []
    floats = {"Input_Dims": [[2048, 2048], [2048, 2048]], "Input_type": ["float", "float"]}
    for i in range(6):
        at = begin + 10 * i
        events += [op("aten::mm", at, 9, **floats), launch(at + 3, cause + i)]
        events += [kernel("ampere_sgemm_128x64_tn", begin + 8 + 325 * i, 324, cause + i)]
    return events


@pytest.mark.parametrize(
    ("program", "rule", "title", "advice"),
    [
        (
            frees_its_cache,
            "slow_host_code",
            "for allocations of device memory: cudaFree in train.py",
            "empty_cache",
        ),
        (products_in_single_precision, "low_precision_unused", "Matrix products in float32 take 100.0%", "autocast"),
    ],
)
def test_further_programs_with_a_planted_cause(program: Any, rule: str, title: str, advice: str) -> None:
    found = first(steps(program))
    assert found["id"] == rule
    assert title in found["title"]
    assert advice in found["advice"]
