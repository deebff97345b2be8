"""PyTorch on the CPU as a device: outermost ops, and what its data loader does in the same process."""

from __future__ import annotations

from builders.kineto import BACKWARD, event, op, step, trace

from tpu_profile_plugin import columns
from tpu_profile_plugin.analysis.common.planes import host_plane
from tpu_profile_plugin.analysis.devices.cpu_torch import NAME, pytorch_devices
from tpu_profile_plugin.analysis.devices.model import Work
from tpu_profile_plugin.formats import unpack


def devices(*events):
    space = columns.load(unpack(trace(*events)).space)
    plane = host_plane(space)
    assert plane is not None
    return pytorch_devices(space, plane)


def test_outermost_ops_of_all_threads_and_batches() -> None:
    (device,) = devices(
        step(1, 0, 100),
        event("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 1, 20),
        op("aten::stack", 5, 10),
        op("aten::linear", 30, 20),
        op("aten::addmm", 35, 10),
        op("aten::relu", 50, 5),
        op("AddmmBackward0", 52, 20, BACKWARD),
    )
    first = int(device.runs.begin_ps.min()) - 1_000_000
    found = [
        (device.ops[number].name, (begin - first) // 1_000_000, (end - first) // 1_000_000, Work(work))
        for number, begin, end, work in zip(
            device.runs.op, device.runs.begin_ps, device.runs.end_ps, device.runs.work, strict=True
        )
    ]
    assert (device.name, device.kind) == (NAME, "cpu")
    assert found == [
        ("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 1, 21, Work.INPUT),
        ("aten::linear", 30, 50, Work.COMPUTE),
        ("aten::relu", 50, 55, Work.COMPUTE),
        ("AddmmBackward0", 52, 72, Work.COMPUTE),
    ]


def test_without_ops_there_is_no_device() -> None:
    assert devices(step(1, 0, 100)) == []


def runs_of(device, spans):
    first = 1_000_000 * 0
    return [
        (device.ops[number].name, round((begin - first) / 1e6, 3), round((end - first) / 1e6, 3), Work(work))
        for number, begin, end, work in zip(spans.op, spans.begin_ps, spans.end_ps, spans.work, strict=True)
    ]


def test_ops_of_compilation_are_no_computation() -> None:
    """Ops on values without data run while PyTorch compiles; an op around only computes after it."""
    (device,) = devices(
        step(1, 0, 100),
        op("dynamo", 0, 40),
        op("entire_frame_compile", 1, 38),
        op("aten::mm", 10, 5),
        op("Torch-Compiled Region: 0/0", 42, 8),
        op("CompiledFunctionBackward", 50, 40),
        event("user_annotation", "compile_fx_inner (dynamo_timed)", 52, 30),
        op("aten::add", 60, 5),
    )
    assert runs_of(device, device.runs) == [
        ("Torch-Compiled Region: 0/0", 42, 50, Work.COMPUTE),
        ("CompiledFunctionBackward", 50, 52, Work.COMPUTE),
        ("CompiledFunctionBackward", 82, 90, Work.COMPUTE),
    ]
