"""Kernels of replayed graphs of CUDA and HIP: with the ops of a trace of the capture, else by graph."""

from __future__ import annotations

import gzip
from typing import Any

import pytest
from builders.kineto import event, frame, kernel, launch, op, trace
from builders.spaces import events, loaded

GEMM, ADD, NORM = "Cijk_Ailk_Bljk", "vectorized_add", "rms_norm"


def captured(begin: float, correlation: int, name: str, grid: int | None = None, call: str = "hipLaunchKernel") -> Any:
    """A launch while a thread captures; AMD's runtime tells the kernel, CUDA's does not."""
    args = (
        {"correlation": correlation}
        if grid is None
        else {"correlation": correlation, "kernel": name, "grid": [grid, 1, 1]}
    )
    return event("cuda_runtime", call, begin, 0.5, **args)


def capture(*launches: Any, rows: int = 4, layer: str = "Layer_0", at: float = 0.0) -> list[Any]:
    """The capture of a product and what follows it."""
    return [
        event("cuda_runtime", "hipStreamBeginCapture", at + 1, 0.5, correlation=1000),
        frame(f"nn.Module: {layer}", at + 2, 20),
        frame("model.py(5): forward", at + 2, 20),
        op("aten::mm", at + 3, 5, Input_Dims=[[rows, 8], [8, 16]], Input_type=["float", "float"]),
        *launches,
        op("aten::add", at + 10, 5),
        event("cuda_runtime", "hipStreamEndCapture", at + 30, 0.5, correlation=1001),
    ]


def replay(*kernels: Any, call: str = "hipGraphLaunch", at: float = 0.0) -> list[Any]:
    return [launch(at + 100, int(at) + 7, name=call), *kernels]


def named(name: str, begin: float, grid: int = 1, correlation: int = 7, stream: int = 7, **args: Any) -> Any:
    return kernel(name, begin, 2, correlation, stream, grid=[grid, 1, 1], **args)


def owners(text: bytes) -> list[tuple[str, str, int]]:
    """Kernel, op and FLOPs of what devices ran."""
    found = events(loaded(text), "/device:GPU:0")
    return [(name, stats["tf_op"].removesuffix(":PyTorch"), stats.get("flops", 0)) for name, *_, stats in found]


AMD = capture(captured(4, 1, GEMM, 2), captured(11, 2, ADD, 3))
WORK = replay(named(GEMM, 101, 2), named(ADD, 104, 3))


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_replay_has_the_ops_of_the_capture(order: tuple[int, int]) -> None:
    texts = trace(*WORK), trace(*AMD)
    space = loaded(b"".join(texts[i] for i in order))
    first, second = events(space, "/device:GPU:0")
    assert (first[3]["tf_op"], first[3]["source"]) == ("Layer_0/aten::mm:PyTorch", "model.py:5")
    assert (first[3]["Input Dims"], first[3]["flops"]) == ("[[4, 8], [8, 16]]", 2 * 4 * 8 * 16)
    assert second[3]["tf_op"] == "Layer_0/aten::add:PyTorch"
    assert [name for name, *_ in events(space, "/host:CPU")] == ["hipGraphLaunch"], "the capture is not of the run"


def test_costs_of_each_replay_are_those_of_the_op() -> None:
    again = [launch(200, 8, name="hipGraphLaunch"), named(GEMM, 201, 2, 8), named(ADD, 204, 3, 8)]
    assert [flops for *_, flops in owners(trace(*WORK, *again) + trace(*AMD))] == [1024, 0, 1024, 0]


def test_captured_and_replayed_in_one_recording() -> None:
    assert [op for _, op, _ in owners(trace(*AMD, *WORK))] == ["Layer_0/aten::mm", "Layer_0/aten::add"]


def test_the_capture_with_the_same_grids_is_taken() -> None:
    other = capture(captured(4, 1, GEMM, 9), captured(11, 2, ADD, 3), rows=64)
    assert [flops for *_, flops in owners(trace(*WORK) + trace(*other) + trace(*AMD))] == [1024, 0]


def test_layers_with_equal_graphs_are_replayed_in_turn() -> None:
    layers = [
        part
        for i in range(2)
        for part in capture(
            captured(100 * i + 4, 1, GEMM, 2), captured(100 * i + 11, 2, ADD, 3), layer=f"Layer_{i}", at=100 * i
        )
    ]
    again = [launch(200, 8, name="hipGraphLaunch"), named(GEMM, 201, 2, 8), named(ADD, 204, 3, 8)]
    found = owners(trace(*WORK, *again) + trace(*layers))
    assert [op for _, op, _ in found] == [f"Layer_{i}/aten::{name}" for i in range(2) for name in ("mm", "add")]


def test_work_of_several_streams_is_found_by_its_kernels() -> None:
    swapped = replay(named(ADD, 101, 3, stream=8), named(GEMM, 104, 2))
    assert sorted((name, op) for name, op, _ in owners(trace(*swapped) + trace(*AMD))) == [
        (GEMM, "Layer_0/aten::mm"),
        (ADD, "Layer_0/aten::add"),
    ]


def test_kernels_that_the_profiler_lost_are_left_out() -> None:
    assert owners(trace(*replay(named(ADD, 101, 3))) + trace(*AMD)) == [(ADD, "Layer_0/aten::add", 0)]


def test_cuda_does_not_tell_kernels_so_that_their_number_and_kind_must_agree() -> None:
    own = capture(captured(4, 1, GEMM, call="cudaLaunchKernel"), captured(11, 2, ADD, call="cudaMemcpyAsync"))
    copy = kernel("Memcpy DtoD (Device -> Device)", 104, 1, 7, bytes=8)
    fits = replay(named(GEMM, 101), copy, call="cudaGraphLaunch")
    assert [op for _, op, _ in owners(trace(*fits) + trace(*own))] == ["Layer_0/aten::mm", "Layer_0/aten::add"]
    two = replay(named(GEMM, 101), named(ADD, 104), call="cudaGraphLaunch")
    assert [op for _, op, _ in owners(trace(*two) + trace(*own))] == ["CUDA graph of 2 nodes"] * 2
    batches = capture(
        captured(4, 1, GEMM, call="cudaLaunchKernel"), captured(11, 2, ADD, call="cudaMemcpyAsync"), rows=64
    )
    ambiguous = owners(trace(*fits) + trace(*own) + trace(*batches))
    assert [flops for *_, flops in ambiguous] == [0, 0], "either batch may be meant"


def test_without_a_capture_work_belongs_to_its_graph() -> None:
    both = [
        *replay(named(GEMM, 101, **{"graph id": 3}), named(ADD, 104, **{"graph id": 3}), call="cudaGraphLaunch"),
        launch(200, 8, name="cudaGraphLaunch"),
        named(NORM, 201, correlation=8, **{"graph id": 5}),
    ]
    assert [op for _, op, _ in owners(trace(*both))] == ["CUDA graph 3", "CUDA graph 3", "CUDA graph 5"]
    within = [op("aten::_foreach_add_", 99, 5), *WORK]
    assert [op for _, op, _ in owners(trace(*within))] == ["aten::_foreach_add_/HIP graph of 2 nodes"] * 2


def test_texts_behind_each_other_are_read_from_compressed_files() -> None:
    together = gzip.compress(trace(*WORK)) + gzip.compress(trace(*AMD))
    assert owners(together) == owners(trace(*WORK) + trace(*AMD))
    assert owners(gzip.compress(trace(*AMD)) + trace(*WORK)) == owners(together)


@pytest.mark.parametrize("blank", [b"", b"\n", b" \n\t"])
def test_plain_texts_follow_compressed_ones(blank: bytes) -> None:
    run = gzip.compress(trace(*WORK))
    assert owners(run + blank + trace(*AMD)) == owners(trace(*WORK) + trace(*AMD))
    assert owners(run + blank + trace(*AMD) + blank + trace()) == owners(trace(*WORK) + trace(*AMD))
