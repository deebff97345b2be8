"""What a recording of PyTorch lacks, by what is in it."""

from __future__ import annotations

from builders import kineto
from builders.kineto import frame, kernel, launch, memory, op, step, trace

from tpu_profile_plugin import columns
from tpu_profile_plugin.analysis.common.planes import host_plane
from tpu_profile_plugin.analysis.summary.torch_recording import not_recorded
from tpu_profile_plugin.formats import unpack


def missing(text: bytes) -> list[str]:
    plane = host_plane(columns.load(unpack(text).space))
    assert plane is not None
    return [gives.partition(":")[0] for gives in not_recorded(plane)]


def test_options_that_were_off() -> None:
    off = ["record_shapes=True", "with_stack=True", "with_modules=True", "profile_memory=True"]
    assert missing(trace(op("aten::add", 1, 2))) == [*off, "prof.step() after each step"]
    assert missing(kineto.training(1)) == []
    everything = (step(1, 0, 9), frame("a.py(1): f", 0, 9), memory(1, 8, 8, 8), op("aten::add", 2, 1, Input_Dims=[[1]]))
    assert missing(trace(*everything)) == ["with_modules=True"]


def test_kernels_of_graphs_have_no_ops() -> None:
    text = trace(launch(1, 1, name="cudaGraphLaunch"), kernel("a", 3, 1, 1), kernel("b", 4, 1, 1))
    assert missing(text)[-1] == "some steps without CUDA graphs"
    space = columns.load(unpack(text).space)
    gpu = next(plane for plane in space.planes if plane.name.startswith("/device:GPU"))
    assert "cudaGraphLaunch:PyTorch" in gpu.stat_metadata.names
