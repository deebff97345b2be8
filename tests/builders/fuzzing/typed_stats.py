"""Names of planes, lines, events and stats that profilers write, with values of the usual type, and odd values."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

Value: TypeAlias = int | float | str | bytes
Kind: TypeAlias = Literal["int64_value", "double_value", "str_value", "bytes_value"]
NAN, INFINITY = float("nan"), float("inf")

ODD_INTEGERS = (0, 1, -1, 2, 7, 2**31, 2**32, 2**53 + 1, 2**62, 2**63 - 1, -(2**63), -(2**31))
ODD_DOUBLES = (0.0, -0.0, 0.5, -1.0, 1e300, -1e300, 5e-324, NAN, INFINITY, -INFINITY, 1e18)
ODD_TEXTS = ("", "0", "nan", "1e999", "a/b:Add", "ü/ß", "x" * 300, "IDLE", "unknown", "<b>", "\n", "%", "(7)")
ODD_NUMBERS = ("0", "-1", "0.5", "1e20", "-1e20", "1e300", "-1e300", "5e-324", "1e999", "nan", "9223372036854775807")
"""Texts of request parameters."""


@dataclass(frozen=True)
class Stat:
    """The usual type of a stat, and how a usual value is made."""

    kind: Kind
    make: Callable[[random.Random], Value]


@dataclass(frozen=True)
class LineKind:
    """Events of a line: their names, and the stats that most of them (`usual`) or their metadata (`known`) have."""

    events: Sequence[str]
    stats: Mapping[str, Stat]
    usual: Sequence[str] = ()
    known: Sequence[str] = ()


def _choice(*values: int) -> Stat:
    return Stat("int64_value", lambda rng: rng.choice(values))


def _texts(*values: str) -> Stat:
    return Stat("str_value", lambda rng: rng.choice(values))


def _blobs(*values: bytes) -> Stat:
    return Stat("bytes_value", lambda rng: rng.choice(values))


def _doubles(*values: float) -> Stat:
    return Stat("double_value", lambda rng: rng.choice(values))


SMALL = Stat("int64_value", lambda rng: rng.randrange(0, 6))
BIG = Stat("int64_value", lambda rng: rng.randrange(0, 10**9))
PERCENT = Stat("double_value", lambda rng: rng.random() * 100)

CATEGORIES = (
    *("loop fusion", "convolution fusion", "megacore fusion", "custom-call", "while", "call", "conditional"),
    *("infeed", "outfeed", "host send", "host recv-done", "async-done", "all-reduce", "all-gather-start"),
    *("copy-start", "copy-done", "sparsecorev0 infeed", "sparsecorev0 infeed wait", "sparsecorev0 outfeed"),
    *("IDLE", "unknown", ""),
)
TF_OPS = (
    *("jit(f)/add:", "transpose(jvp(f))/mul:", "a/MatMul:MatMul", "gradients/x:MatMul", "Iterator::Batch:Dataset"),
    *("foo", "", "XLA_Args", ":Add", "MEMCPYHtoD", "x:XlaSendToHost"),
)
KERNEL_DETAILS = (
    "regs:32 static_shared:0 dynamic_shared:16 grid:160,1,1 block:8,1,1 occ_pct:50.0",
    "regs:-1 grid:x block:-1",
    "occ_pct:nan grid:99999999999999999999,1",
    "",
)
_SERVING = "/tensorflow/serving/batching/"

_OPS: dict[str, Stat] = {
    "group_id": SMALL,
    "run_id": SMALL,
    "program_id": _choice(7, 8),
    "tf_op": _texts(*TF_OPS),
    "flow": SMALL,
    "correlation_id": SMALL,
    "hlo_op": _texts("n1", "fusion.1", "a::c1", ""),
    "hlo_module": _texts("jit_f"),
    "long_name": _texts("%fusion.1 = f32[8] fusion()", "Iterator::Batch::Map#parallelism=1#"),
    "queue_id": SMALL,
    "device_ordinal": _choice(0, 1),
    "core_type": _choice(0, 1, 2),
    "is_async": _choice(0, 1),
    "_a": _choice(0, 1),
}
HOST_STATS: dict[str, Stat] = {
    **_OPS,
    "step_num": SMALL,
    "step_name": _texts("1", "train 5", ""),
    "graph_type": _texts("train", ""),
    "_r": _choice(-1, 0, 1, 2, 4),
    "_pt": _choice(1, 5, 9, 11, 12, 17),
    "_p": SMALL,
    "_ct": _choice(1, 5, 9, 11, 12, 17),
    "_c": SMALL,
    "_pid": SMALL,
    "device_id": _choice(0, 1),
    "is_eager": _choice(0, 1),
    "is_func": _choice(0, 1),
    "iter_num": SMALL,
    "id": SMALL,
    "element_id": SMALL,
    "iterator_id": SMALL,
    "parent_id": SMALL,
    "request_id": SMALL,
    "queue_addr": SMALL,
    "iterator_name": _texts("Batch", "Map"),
    "tensor_shapes": _texts("f32[2,3]", ""),
    "shape": _texts("[2,3]", ""),
    "model_id": _texts("m:1", "k:2"),
    "padding_amount": SMALL,
    "batch_size_after_padding": SMALL,
    "batching_input_task_size": SMALL,
    "_ipl_stage_id": SMALL,
    "_ipl_stage_name": _texts("Batch", ""),
    "_ipl_stage_cat": _texts("read", "preprocessing", "enqueue", "transform"),
    "dcn_label": _texts("all-reduce.1_5"),
    "duration_us": SMALL,
    "source": _texts("file.py:3"),
    "cuda_graph_exec_id": SMALL,
}
MEMORY_STATS: dict[str, Stat] = {
    "index_on_host": _choice(0, 1),
    "device_ordinal": _choice(0, 1),
    "allocator_name": _texts("0", "GPU_0_bfc", ""),
    "bytes_reserved": SMALL,
    "bytes_allocated": BIG,
    "bytes_available": BIG,
    "fragmentation": _doubles(0.0, 0.25, 1.0),
    "peak_bytes_in_use": BIG,
    "requested_bytes": BIG,
    "allocation_bytes": BIG,
    "addr": SMALL,
    "tf_op": _texts(*TF_OPS),
    "id": SMALL,
    "group_id": SMALL,
    "data_type": _choice(0, 1, 3, 99, 101),
    "region_type": _texts("output", "temp", ""),
    "shape": _texts("[2,3]", ""),
}
DEVICE_STATS: dict[str, Stat] = {
    **_OPS,
    "step_num": SMALL,
    "hlo_category": _texts(*CATEGORIES),
    "symbol_id": _choice(1, 2, 3, 4, 5, 0),
    "flops": BIG,
    "model_flops": BIG,
    "bytes_accessed": BIG,
    "raw_bytes_accessed": BIG,
    "memory_access_breakdown": _blobs(b"\x0a\x06\x08\x01\x10\x01\x18\x40", b"\xff\xff", b""),
    "deduplicated_name": _texts("", "fusion.1"),
    "shape_with_layout": _texts("f32[8]{0}"),
    "device_offset_ps": BIG,
    "device_duration_ps": BIG,
    "step_idle_time_ps": BIG,
    "Time Scale Multiplier": _doubles(1.0, 0.5, 2.0),
    "dma_stall_duration_ps": BIG,
    "all_reduce_id": SMALL,
    "all_reduce_unique_id": SMALL,
    "tc_offload_start_id": SMALL,
    "offload_core_id": _choice(0, 1),
    "source": _texts("file.py:3"),
    "source_stack": _texts("file.py:3:1\nmain.py:9:2\n", ""),
    "kernel_details": _texts(*KERNEL_DETAILS),
    "memcpy_details": _texts("kind_src:pinned kind_dst:device size:64 dest:0 async:1", "size:x", ""),
    "graph_id": SMALL,
    "cuda_graph_id": SMALL,
    "is_eager": _choice(0, 1),
    "counter_value": BIG,
    "performance_counter_id": SMALL,
    "occ_pct": PERCENT,
}
_WATTS = "peak_{}_bw_gigabytes_per_second"
PLANE_STATS: dict[str, Stat] = {
    "peak_teraflops_per_second": _doubles(100.0, 918.0),
    **{_WATTS.format(name): _doubles(1640.0, 2.0) for name in ("hbm", "cmem_rd", "vmem_rd", "vmem_wr", "sram_rd")},
    "device_type_string": _texts("TPU v6 Lite", "TPU v4", "GPU", ""),
    "device_vendor": _texts("Nvidia", "AMD", ""),
    "compute_cap_major": _choice(8, 9, 0),
    "compute_cap_minor": _choice(0, 9),
    "clock_rate": BIG,
    "core_count": SMALL,
    "memory_bandwidth": BIG,
    "memory_size": BIG,
    "gpu_device_name": _texts("gfx942", "gfx", ""),
    "has_megacore": _choice(0, 1),
    "has_merged_vmem": _choice(0, 1),
    "core_details": _blobs(b"\x08\x01\x10\x02", b"\xff\xff", b""),
    "global_chip_id": SMALL,
    "local_chip_id": SMALL,
    "matrix_unit_utilization_percent": PERCENT,
    "hbm_utilization_percent": PERCENT,
    "process_id": SMALL,
    "profile_start_time": BIG,
    "profile_stop_time": BIG,
}
METRIC_STATS: dict[str, Stat] = {
    **{f"{_SERVING}{name}{{model_name=m}}": SMALL for name in ("num_batch_threads", "max_batch_size", "x")},
    _SERVING + "allowed_batch_sizes{model_name=m, op_name=o}": _texts("1,2", ""),
}

_ROOTS = ("train", "TraceContext", "SessionRun", "FunctionRun", "RunGraph", "ExecutorState::Process", "test 3")
_SERVER = (
    *("SessionRun", "BatchingSessionRun", "TfrtModelRun", "ProcessBatch", "OrbaxServing::ProcessBatch"),
    *("ModelServerRequest_x", "ConcatInputTensors", "MergeInputTensors", "ScheduleWithSplit"),
    *("tpu::System::Execute", "TPUPartitionedCallOp-ExecuteLocal", "DoEnqueueProgram", "CompleteCallbacks"),
    *("WriteHbm", "ReadHbm", "tpu::System::TransferToDevice=>IssueEvent"),
    "tpu::System::TransferToDevice=>IssueEvent=>Done",
)
_INPUT = (
    *("IteratorGetNext", "IteratorGetNextOp::DoCompute", "Iterator::Root", "Iterator::Root::Prefetch"),
    *("Iterator::Prefetch::Generator", "Iterator::Batch::Map", "Iterator::Map::TFRecord", "PrefetchProduce"),
    *("PrefetchConsume", "ParallelMapProduce", "ParallelMapConsume", "InfeedEnqueueTuple:InfeedEnqueueTuple"),
)
_PYTHON = (
    *("$file.py:3 f", "PjitFunction(f)", "cuLaunchKernel", "cudaMemcpyAsync", "EagerExecute", "EagerKernelExecute"),
    *("ThreadpoolListener::StartRegion", "ThreadpoolListener::StopRegion", "ThreadpoolListener::Record"),
    *("EnqueueRequestLocked", "TpuExecuteOp", "WhileOp-StartBody", "InstantiatedCapturedFunction::Run", ""),
    *("MatMul:MatMul", "jit(f)/add:", "Lambda:TransferH2DRequest", "TransferH2DRequest"),
)
HOST_LINES: dict[str, LineKind] = {
    "main": LineKind((*_ROOTS, "MatMul:MatMul", "jit(f)/add:"), HOST_STATS, ("_r", "step_num")),
    "python": LineKind(_PYTHON, HOST_STATS, ("correlation_id", "device_id")),
    "server": LineKind(_SERVER, HOST_STATS, ("_pt", "_p", "_ct", "_c", "_r")),
    "tf_data_iterator/1": LineKind(_INPUT, HOST_STATS, ("id", "parent_id", "element_id")),
    "allocator": LineKind(("MemoryAllocation", "MemoryDeallocation"), MEMORY_STATS, tuple(MEMORY_STATS)),
    "MegaScale: x": LineKind(("MegaScale: Communication Transport Send", ""), HOST_STATS, ("dcn_label", "run_id")),
}

_KNOWN_OP = ("hlo_category", "program_id", "symbol_id", "tf_op")
_XLA_OPS = (
    *("fusion.1", "n1", "c1", "while.2", "infeed.3", "copy-start.4", "copy-done.4", "all-reduce.5"),
    *("%fusion.9 = f32[] x()", "%copy-start.1 = (f32[8]{0:S(5)}, f32[8]) copy-start()", "%copy-done.1 = f32[8]"),
)
_KERNELS = (
    *("loop_add_fusion", "volta_fp16_gemm", "MemcpyHtoD", "MemcpyD2D", "Memset", "ncclAllReduce", ""),
    *("Cijk_MI16x16x16x1", "cudnn_infer_xmma_gemm"),
)
XLA_OPS = LineKind(_XLA_OPS, DEVICE_STATS, ("run_id",), _KNOWN_OP)
MODULES = LineKind(("jit_f(7)", "jit_g(8)", "0"), DEVICE_STATS, ("run_id", "group_id"))
KERNELS = LineKind(_KERNELS, DEVICE_STATS, ("hlo_op", "hlo_module", "program_id", "kernel_details", "correlation_id"))
METRICS = LineKind(("before", "after"), METRIC_STATS, tuple(METRIC_STATS))
