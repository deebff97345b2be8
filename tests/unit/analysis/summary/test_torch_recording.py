"""What a recording of PyTorch lacks, by what is in it."""

from __future__ import annotations

from builders import kineto
from builders.kineto import frame, kernel, launch, memory, op, step, trace

from tpu_profile_plugin import columns
from tpu_profile_plugin.analysis.common.planes import device_planes, host_plane
from tpu_profile_plugin.analysis.summary.framework import not_recorded
from tpu_profile_plugin.formats import unpack


def missing(text: bytes) -> list[str]:
    space = columns.load(unpack(text).space)
    plane = host_plane(space)
    assert plane is not None
    return [lacking.remedy.general.partition(": ")[0] for lacking in not_recorded(plane, device_planes(space))]


def test_options_that_were_off() -> None:
    off = ["record_shapes=True", "with_stack=True", "with_modules=True", "profile_memory=True"]
    assert missing(trace(op("aten::add", 1, 2))) == [*off, "prof.step() after each step"]
    assert missing(kineto.training(1)) == []
    everything = (step(1, 0, 9), frame("a.py(1): f", 0, 9), memory(1, 8, 8, 8), op("aten::add", 2, 1, Input_Dims=[[1]]))
    assert missing(trace(*everything)) == ["with_modules=True"]


def test_kernels_of_graphs_have_no_ops() -> None:
    replay = (launch(31, 1, name="cudaGraphLaunch"), kernel("a", 33, 1, 1))
    assert missing(trace(*replay))[-1].startswith(
        "a trace of the capture of the graphs, in the directory capture_traces"
    )
    calls = ("cudaStreamBeginCapture", 2, 5), ("cudaLaunchKernel", 3, 6), ("cudaStreamEndCapture", 4, 7)
    capture = (launch(begin, number, name=name) for name, begin, number in calls)
    assert missing(trace(*replay) + trace(*capture, op("aten::add", 3, 1)))[-1] == "prof.step() after each step"
