"""Traces of PyTorch's profiler, typed in: events of Kineto's JSON, and a small training step on a GPU."""

from __future__ import annotations

import json
from typing import Any, TypeAlias

Event: TypeAlias = dict[str, Any]

MAIN, BACKWARD = 20, 21
"""Threads: the program's, and that of the backward pass."""
PID, GPU, STREAM = 10, 0, 7
H100 = {
    "id": 0, "name": "NVIDIA H100 80GB HBM3", "totalGlobalMem": 85_000_000_000, "computeMajor": 9, "computeMinor": 0,
    "numSms": 132,
}  # fmt: skip


def event(category: str, name: str, begin: float, duration: float, tid: int = MAIN, **args: Any) -> Event:
    """An event of a host thread; times in microseconds."""
    return {
        "ph": "X", "cat": category, "name": name, "pid": PID, "tid": tid, "ts": begin, "dur": duration, "args": args
    }  # fmt: skip


def step(number: int, begin: float, duration: float) -> Event:
    """A step as `prof.step()` marks it."""
    return event("user_annotation", f"ProfilerStep#{number}", begin, duration)


def op(name: str, begin: float, duration: float, tid: int = MAIN, **args: Any) -> Event:
    """An op; keyword arguments with underscores for spaces: `Input_Dims`, `Input_type`, `Sequence_number`."""
    return event("cpu_op", name, begin, duration, tid, **{key.replace("_", " "): value for key, value in args.items()})


def frame(name: str, begin: float, duration: float, tid: int = MAIN) -> Event:
    """A Python function, `train.py(3): step`, or a module, `nn.Module: Linear_0`."""
    return event("python_function", name, begin, duration, tid)


def launch(begin: float, correlation: int, tid: int = MAIN, name: str = "cudaLaunchKernel") -> Event:
    """A call of the runtime of one microsecond."""
    return event("cuda_runtime", name, begin, 1, tid, correlation=correlation)


def kernel(name: str, begin: float, duration: float, correlation: int, stream: int = STREAM, **args: Any) -> Event:
    """A kernel, or a copy (`Memcpy ...`) or fill (`Memset ...`) by its name."""
    category = {"Memcpy": "gpu_memcpy", "Memset": "gpu_memset"}.get(name[:6], "kernel")
    ours = {"device": GPU, "stream": stream, "correlation": correlation, **args}
    return {
        "ph": "X", "cat": category, "name": name, "pid": GPU, "tid": stream, "ts": begin, "dur": duration, "args": ours
    }  # fmt: skip


def memory(begin: float, size: int, address: int, total: int, device: int | None = GPU) -> Event:
    """An allocation, or with a negative size its release; `device` None: of the host."""
    args = {
        "Total Reserved": 2 * total, "Total Allocated": total, "Bytes": size, "Addr": address,
        "Device Id": -1 if device is None else device, "Device Type": 0 if device is None else 1,
    }  # fmt: skip
    return {
        "ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": PID, "tid": MAIN, "ts": begin,
        "args": args,
    }  # fmt: skip


def trace(*events: Event, rank: int | None = None, **header: Any) -> bytes:
    """The text of a trace."""
    names = [
        {"ph": "M", "name": "thread_name", "pid": PID, "tid": tid, "ts": 0, "args": {"name": name}}
        for tid, name in ((MAIN, "thread 20 (python)"), (BACKWARD, "thread 21 (pt_autograd_0)"))
    ]
    info = {} if rank is None else {"distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 2}}
    known = {"schemaVersion": 1, "deviceProperties": [H100], **info, **header}
    base = {"displayTimeUnit": "ms", "baseTimeNanoseconds": 1_700_000_000_000_000_000}
    return json.dumps({**known, "traceEvents": [*events, *names], **base}).encode()


def training(steps: int = 3, *, rank: int | None = None, late: float = 0.0) -> bytes:
    """Steps of 200 us: a copy, a Linear forward and backward, an all-reduce that begins `late`, and an optimizer."""
    events: list[Event] = []
    for number in range(steps):
        events += _step(number, 1000.0 + 200 * number, late)
    return trace(*events, rank=rank)


def _step(number: int, at: float, late: float) -> list[Event]:
    first = 100 * number
    floats = {"Input_type": ["float", "float", "float"]}
    product = "sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x32"
    sent = {"Collective name": "allreduce", "dtype": "Float", "In msg nelems": 65536, "Group size": 2}
    return [
        step(number, at, 195),
        frame("train.py(12): train_step", at, 190),
        op("aten::copy_", at + 2, 6, Input_Dims=[[64, 256], [64, 256]], **floats),
        launch(at + 4, first + 1, name="cudaMemcpyAsync"),
        kernel("Memcpy HtoD (Pageable -> Device)", at + 10, 10, first + 1, bytes=65536),
        frame("nn.Module: Linear_0", at + 20, 20),
        op("aten::addmm", at + 22, 12, Input_Dims=[[256], [64, 256], [256, 256]], Sequence_number=number, **floats),
        memory(at + 23, 65536, 4096 * (number + 1), 1 << 20),
        launch(at + 25, first + 2),
        kernel(product, at + 30, 20, first + 2, **{"registers per thread": 90, "shared memory": 4096, "grid": [8, 2, 1],
            "block": [128, 1, 1], "est. achieved occupancy %": 25}),
        op("autograd::engine::evaluate_function: AddmmBackward0", at + 50, 30, BACKWARD, Sequence_number=number,
            Fwd_thread_id=1),
        op("aten::mm", at + 55, 10, BACKWARD, Input_Dims=[[256, 64], [64, 256]], **floats),
        launch(at + 57, first + 3, BACKWARD),
        kernel(product, at + 60, 40, first + 3),
        op("record_param_comms", at + 82, 6, BACKWARD, Collective_name="allreduce", dtype="Float"),
        launch(at + 84, first + 4, BACKWARD),
        kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", at + 105 + late, 35 - late,
            first + 4, 20, **sent),
        event("user_annotation", "Optimizer.step#SGD.step", at + 140, 40),
        op("aten::add_", at + 145, 10),
        launch(at + 147, first + 5),
        kernel("void at::native::vectorized_elementwise_kernel<4>", at + 150, 10, first + 5),
        memory(at + 185, -65536, 4096 * (number + 1), (1 << 20) - 65536),
    ]  # fmt: skip
