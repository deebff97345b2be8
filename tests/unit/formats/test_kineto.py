"""Traces of PyTorch's profiler: what the events say is in the columns; damaged ones are read as far as they go."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from typing import Any

import pytest
from builders import kineto
from builders.kineto import frame, kernel, launch, memory, op, step, trace
from builders.spaces import events, facts, loaded, plane

from tpu_profile_plugin import columns
from tpu_profile_plugin.errors import CorruptProfile
from tpu_profile_plugin.formats import Skipped, unpack
from tpu_profile_plugin.formats import packing as compression

TRAINING = kineto.training(2)


def test_kernels_have_the_op_the_step_and_the_line_that_launched_them() -> None:
    space = loaded(TRAINING)
    gpu = plane(space, "/device:GPU:0")
    assert list(gpu.lines.name) == ["Stream #7(Compute,MemcpyH2D)", "Stream #20(Compute)"]
    (copy, forward, backward, update, *_, reduction, _) = events(space, "/device:GPU:0")
    assert copy[:3] == ("Memcpy HtoD (Pageable -> Device)", 10_000, 10_000)
    assert copy[3]["memcpy_details"] == "kind_src:pageable kind_dst:device size:65536"
    assert forward[3]["kernel_details"] == "regs:90 static_shared:4096 grid:8,2,1 block:128,1,1 occ_pct:25"
    assert (forward[3]["correlation_id"], forward[3]["group_id"]) == (2, 0)
    assert forward[3]["tf_op"] == "Linear_0/aten::addmm:PyTorch"
    assert (forward[3]["source"], forward[3]["source_stack"]) == ("train.py:12", "train.py:12 (train_step)")
    assert (forward[3]["flops"], forward[3]["bytes_accessed"]) == (2 * 64 * 256 * 256 + 64 * 256, 394_240)
    assert backward[3]["tf_op"] == "Linear_0/AddmmBackward0/aten::mm:PyTorch"
    assert backward[3]["source"] == "train.py:12", "that of the forward op with the same sequence number"
    assert update[3]["tf_op"] == "Optimizer.step#SGD.step/aten::add_:PyTorch"
    assert (reduction[3]["In msg nelems"], reduction[3]["Group size"]) == (65536, 2)


def test_ops_of_the_backward_pass_without_a_forward_op_keep_their_name() -> None:
    """Gradients are accumulated by nodes that belong to no forward op: they have no sequence number."""
    node = "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad"
    text = trace(
        op(node, 10, 20), op("torch::autograd::AccumulateGrad", 12, 10), launch(14, 1), kernel("add", 20, 5, 1)
    )
    host = [name for name, *_ in events(loaded(text), "/host:CPU")]
    assert host[:2] == ["torch::autograd::AccumulateGrad:PyTorch", "torch::autograd::AccumulateGrad:PyTorch"]


def test_host_threads_have_ops_frames_calls_steps_and_allocations() -> None:
    space = loaded(TRAINING)
    host = plane(space, "/host:CPU")
    assert list(host.lines.name) == ["thread 20 (python)", "thread 21 (pt_autograd_0)"]
    first = {name: (begin, stats) for name, begin, _, stats in reversed(events(space, "/host:CPU"))}
    assert first["ProfilerStep"] == (0, {"_r": 1, "step_num": 0})
    assert first["$train.py:12 train_step"] == (0, {})
    assert first["cudaMemcpyAsync"] == (4000, {"correlation_id": 1, "device_id": 0})
    assert first["Linear_0/aten::addmm:PyTorch"][1]["Input Dims"] == "[[256], [64, 256], [256, 256]]"
    allocation = first["MemoryAllocation"][1]
    assert (allocation["allocator_name"], allocation["addr"], allocation["allocation_bytes"]) == (
        "GPU_0_caching",
        4096,
        65536,
    )
    assert allocation["bytes_available"] == 85_000_000_000 - (1 << 20)
    assert first["MemoryDeallocation"][1]["peak_bytes_in_use"] == 1 << 20
    shown = dict(zip(host.event_metadata.names, host.event_metadata.display_names, strict=True))
    assert shown["Linear_0/aten::addmm:PyTorch"] == "aten::addmm"


def test_devices_have_the_peaks_that_the_profiler_does_not_record() -> None:
    space = loaded(TRAINING)
    gpu = plane(space, "/device:GPU:0")
    assert facts(space, gpu, gpu.stats) == {
        "device_vendor": "Nvidia",
        "gpu_device_name": "NVIDIA H100 80GB HBM3",
        "memory_size": 85_000_000_000,
        "compute_cap_major": 9,
        "compute_cap_minor": 0,
        "core_count": 132,
        "clock_rate": 1_830_000,
        "memory_bandwidth": 3_350_000_000_000,
    }


@pytest.mark.parametrize(
    ("device", "call", "wanted"),
    [
        ("", "hipLaunchKernel", "AMD"),
        ("", "cudaLaunchKernel", "Nvidia"),
        ("AMD Instinct MI300X", "", "AMD"),
        ("Tesla V100-SXM2-16GB", "", "Nvidia"),
        ("", "", None),
        ("Gaudi 3", "launchKernel", None),
    ],
)
def test_an_unknown_vendor_is_left_out(device: str, call: str, wanted: str | None) -> None:
    launches = [launch(1, 1, name=call)] if call else []
    properties = [{"id": 0, "name": device}] if device else []
    space = loaded(trace(*launches, kernel("k", 2, 1, 1), deviceProperties=properties))
    gpu = plane(space, "/device:GPU:0")
    assert facts(space, gpu, gpu.stats).get("device_vendor") == wanted


def test_devices_that_are_not_listed_are_as_those_that_are_if_all_are_alike() -> None:
    """AMD's runtime numbers devices after the processors, and lists them from 0."""
    own = {**kernel("k", 2, 1, 1, device=9), "pid": 9}
    boards = [{"id": i, "name": "AMD Instinct MI300X", "numSms": 304} for i in (0, 1)]
    space = loaded(trace(own, deviceProperties=boards))
    gpu = plane(space, "/device:GPU:9")
    assert facts(space, gpu, gpu.stats)["clock_rate"] == 2_100_000
    space = loaded(trace(own, deviceProperties=[boards[0], {"id": 1, "name": "AMD Instinct MI325X"}]))
    assert facts(space, plane(space, "/device:GPU:9"), plane(space, "/device:GPU:9").stats) == {}


def test_a_rank_is_a_host() -> None:
    assert list(loaded(kineto.training(1, rank=3)).hostnames) == ["rank 3"]
    assert list(loaded(trace(step(1, 0, 1), rank=0, host_name="node7")).hostnames) == ["node7 rank 0"]


def test_times_are_exact_and_absolute() -> None:
    space = loaded(trace(op("aten::add", 1_661_938_466.265032, 0.001)))
    host = plane(space, "/host:CPU")
    assert host.lines.timestamp_ns.tolist() == [1_700_000_000_000_000_000 + 1_661_938_466_265]
    assert host.events.duration_ps.tolist() == [1000]


def test_launches_without_a_call_are_found_by_their_external_id() -> None:
    own = kernel("k", 20, 5, 77, **{"External id": 5})
    (found,) = events(loaded(trace(op("aten::relu", 1, 3, External_id=5), own)), "/device:GPU:0")
    assert found[3]["tf_op"] == "aten::relu:PyTorch"


def test_costs_are_shared_among_the_kernels_of_an_op() -> None:
    product = op("aten::mm", 1, 9, Input_Dims=[[2, 3], [3, 5]], Input_type=["float", "float"])
    text = trace(product, launch(2, 1), launch(4, 2), kernel("split", 20, 30, 1), kernel("reduce", 50, 10, 2))
    assert [stats["flops"] for *_, stats in events(loaded(text), "/device:GPU:0")] == [45, 15]


def unknown(name: str, begin: float, duration: float, number: int, parent: int | None) -> Any:
    args = {"Python id": number, "Python parent id": parent}
    return {**frame(name, begin, duration), "pid": 0, "tid": 0, "args": args}


def test_functions_of_an_unnamed_thread_are_apart_from_a_thread_with_functions() -> None:
    """A monitor's frames enclose those of the program, and are not its callers."""
    monitor = [unknown("monitor.py(1): run", 0, 20, 1, None), unknown("threading.py(9): wait", 0, 20, 2, 1)]
    own = {**frame("train.py(3): step", 1, 8), "args": {"Python id": 3, "Python parent id": None}}
    called = unknown("train.py(7): loss", 2, 5, 4, 3)
    work = (op("aten::relu", 3, 2), launch(4, 1), kernel("k", 5, 1, 1))
    space = loaded(trace(step(1, 0, 10), *monitor, own, called, *work))
    stats = events(space, "/device:GPU:0")[0][3]
    assert stats["source_stack"] == "train.py:7 (loss)\ntrain.py:3 (step)"
    assert list(plane(space, "/host:CPU").lines.name) == ["unknown thread", "thread 20 (python)"]


def test_of_unnamed_threads_that_with_most_functions_is_that_of_the_steps() -> None:
    frames = [
        unknown("monitor.py(1): run", 0, 20, 1, None),
        unknown("train.py(3): step", 1, 8, 2, None),
        unknown("train.py(7): loss", 2, 5, 3, 2),
    ]
    space = loaded(trace(step(1, 0, 10), *frames, op("aten::relu", 3, 2), launch(4, 1), kernel("k", 5, 1, 1)))
    assert events(space, "/device:GPU:0")[0][3]["source_stack"] == "train.py:7 (loss)\ntrain.py:3 (step)"


def test_functions_of_an_unnamed_thread_go_to_that_of_the_steps() -> None:
    unnamed = {**frame("a.py(1): f", 1, 8), "pid": 0, "tid": 0}
    space = loaded(trace(step(1, 0, 10), unnamed, op("aten::relu", 2, 3), launch(3, 1), kernel("k", 4, 1, 1)))
    assert events(space, "/device:GPU:0")[0][3]["source"] == "a.py:1"


def test_annotations_are_beside_the_streams_and_no_ops() -> None:
    note = {**step(3, 1, 5), "cat": "gpu_user_annotation", "pid": 0, "tid": 7, "args": {"stream": 7}}
    space = loaded(trace(note, kernel("k", 2, 1, 1), kineto.event("user_annotation", "a:b", 1, 2)))
    assert plane(space, "/device:CUSTOM:GPU 0 annotations").event_metadata.names == ["ProfilerStep#3"]
    host = plane(space, "/host:CPU").event_metadata
    assert (host.names, host.display_names) == (["a:b "], ["a:b"]), "not the op `a` of type `b`"


def test_host_allocations_do_not_tell_how_much_there_is() -> None:
    (found,) = events(loaded(trace(memory(1, 64, 8, 64, device=None))), "/host:CPU")
    assert (found[3]["allocator_name"], found[3]["bytes_available"]) == ("CPU", 0)


@pytest.mark.parametrize("compress", [gzip.compress, lambda text: zstd(text)], ids=["gzip", "zstd"])
def test_compressed_traces_give_the_same_space(compress: Any) -> None:
    assert unpack(compress(TRAINING)).space.tobytes() == unpack(TRAINING).space.tobytes()


def zstd(content: bytes) -> bytes:
    """A Zstandard frame of raw blocks."""
    blocks = [content[at : at + 100_000] for at in range(0, len(content), 100_000)]
    parts = [(len(block) * 8 + (i == len(blocks) - 1)).to_bytes(3, "little") + block for i, block in enumerate(blocks)]
    return b"\x28\xb5\x2f\xfd\xa0" + len(content).to_bytes(4, "little") + b"".join(parts)


def test_a_trace_that_is_cut_off_is_shown_with_a_warning() -> None:
    end = TRAINING.index(b'"aten::mm"')
    whole, (skipped,) = unpack(TRAINING[:end])[:2]
    begin = TRAINING.rindex(b' {"ph"', 0, end)
    assert skipped == Skipped(begin, end - begin, "the text ends in the middle: the trace was cut off", "cut_off")
    assert "Linear_0/aten::addmm:PyTorch" in plane(columns.load(whole), "/host:CPU").event_metadata.names


def test_a_damaged_event_is_left_out_and_named() -> None:
    damaged = TRAINING.replace(b'"name": "aten::copy_"', b'"name": aten::copy_', 1)
    _, (skipped,) = unpack(damaged)[:2]
    where = damaged.index(b"aten::copy_")
    assert skipped.reason == f"an event is no JSON: expected value at byte {where:,}"
    whole = damaged[skipped.offset :][: skipped.bytes]
    assert (whole[:5], whole[-2:], whole.count(b'"name"')) == (b'{"ph"', b"}}", 1)
    twice = damaged.replace(b'"name": "aten::mm"', b'"name": aten::mm')
    (skipped,) = unpack(twice)[1]
    assert skipped.reason.endswith(f"at byte {where:,}, nor are 2 later ones")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b'{"schemaVersion": 1, "traceEvents": [{"ph": "X"', "truncated PyTorch trace at byte 47"),
        (b'{"schemaVersion": 1, x', "unexpected character in PyTorch trace at byte 21"),
        (b'{"schemaVersion": 1, "traceEvents": [1]}', "unexpected character in PyTorch trace at byte 37"),
    ],
)
def test_other_text_is_refused_with_the_reason(text: bytes, message: str) -> None:
    with pytest.raises(CorruptProfile, match=message):
        unpack(text)


def test_a_compressed_trace_that_grows_beyond_the_limit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compression, "MAX_BYTES", 1 << 16)
    with pytest.raises(CorruptProfile, match="decompresses to more than 0 MiB"):
        unpack(gzip.compress(kineto.training(100)))
    with pytest.raises(CorruptProfile, match="damaged"):
        unpack(b"\x28\xb5\x2f\xfd\xff\xff\xff\xff")


_PEAK = """
import gzip, resource, sys
from tpu_profile_plugin import formats
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
formats.unpack(open(sys.argv[1], "rb").read())
before = peak()
formats.unpack(open(sys.argv[2], "rb").read())
print(peak() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_memory_is_bounded_by_the_size_of_the_text(tmp_path: Any) -> None:
    text = kineto.training(4000)
    files = []
    for name, content in (("small", kineto.training(1)), ("large", text)):
        files.append(tmp_path / name)
        files[-1].write_bytes(gzip.compress(content, 1))
    ran = subprocess.run([sys.executable, "-c", _PEAK, *map(str, files)], capture_output=True, text=True, check=True)
    assert int(ran.stdout) < 1.5 * len(text)


def test_the_builder_writes_json() -> None:
    assert json.loads(TRAINING)["schemaVersion"] == 1
