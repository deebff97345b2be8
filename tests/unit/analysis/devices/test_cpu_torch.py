"""PyTorch on the CPU as a device: outermost ops, and what its data loader does in the same process."""

from __future__ import annotations

from builders.kineto import BACKWARD, event, op, step, trace

from tpu_profile_plugin import columns
from tpu_profile_plugin.analysis.common.planes import host_plane
from tpu_profile_plugin.analysis.devices.cpu_torch import NAME, pytorch_devices
from tpu_profile_plugin.analysis.devices.model import Work
from tpu_profile_plugin.formats import unpack


def devices(*events):
    plane = host_plane(columns.load(unpack(trace(*events)).space))
    assert plane is not None
    return pytorch_devices(plane)


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
