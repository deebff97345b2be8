"""Which frameworks wrote a profile, and what it lacks."""

from __future__ import annotations

import numpy as np
import pytest
from builders import kineto
from builders.answers import summary
from builders.kineto import frame, kernel, launch, memory, op, step, trace

from tpu_profile_plugin import columns
from tpu_profile_plugin.analysis.common.planes import device_planes, host_plane
from tpu_profile_plugin.analysis.ops.op_tables import OpTable
from tpu_profile_plugin.analysis.summary.framework import graphs_note, not_recorded
from tpu_profile_plugin.formats import unpack


@pytest.mark.parametrize(
    ("event", "names"),
    [
        ('"PjitFunction(f)"', ("Jax",)),
        ('"EagerExecute: Add"', ("TensorFlow",)),
        ('"Iterator::Root::Map"', ("TensorFlow",)),
        ('"aten::add"', ("PyTorch/XLA",)),
        ('"Linear_0/aten::add:PyTorch"', ("PyTorch",)),
        ("work", ()),
    ],
)
def test_by_events_of_the_host(event: str, names: tuple[str, ...]) -> None:
    assert summary(f'plane 0 "/host:CPU"\nline 1 main\n0us +1us {event}').frameworks == names


@pytest.mark.parametrize(
    ("ops", "names"),
    [
        (("jit(f)/add:add", "jit(f)/mul:mul", "m/x:Add"), ("Jax",)),
        (("m/x:Add", "m/y:MatMul", "jit(f)/add:add"), ("TensorFlow",)),
        (("m/x:Add", "jit(f)/add:add"), ("Jax",)),  # the first among equals
    ],
)
def test_by_most_of_the_ops_of_the_device(ops: tuple[str, ...], names: tuple[str, ...]) -> None:
    kernels = "\n".join(f'{10 * i}us +5us k{i} {{tf_op="{op}"}}' for i, op in enumerate(ops))
    assert summary(f'plane 1 "/device:GPU:0"\nline 10 "Stream #1"\n{kernels}').frameworks == names


@pytest.mark.parametrize(
    ("event", "seen"),
    [
        ("IteratorGetNext", True),
        ('"Iterator::Root"', True),
        ('"i:InfeedEnqueueTuple"', True),
        ('stage {_ipl_stage_name="read"}', True),
        ("MemcpyHToD", False),  # a transfer alone does not tell how long the host waited
    ],
)
def test_events_of_an_input_pipeline(event: str, seen: bool) -> None:
    assert summary(f'plane 0 "/host:CPU"\nline 1 main\n0us +1us {event}').input_events is seen


# What a recording of PyTorch lacks, by what is in it.


def missing(text: bytes) -> list[str]:
    space = columns.load(unpack(text).space)
    plane = host_plane(space)
    assert plane is not None
    return [lacking.remedy.general.partition(": ")[0] for lacking in not_recorded(plane, device_planes(space))]


def test_options_that_were_off() -> None:
    off = ["record_shapes=True", "with_stack=True", "profile_memory=True"]
    assert missing(trace(op("aten::add", 1, 2))) == [*off, "prof.step() after each step"]
    assert missing(kineto.training(1)) == []
    everything = (step(1, 0, 9), frame("a.py(1): f", 0, 9), memory(1, 8, 8, 8), op("aten::add", 2, 1, Input_Dims=[[1]]))
    assert missing(trace(*everything)) == []


def test_kernels_of_graphs_have_no_ops() -> None:
    replay = (launch(31, 1, name="cudaGraphLaunch"), kernel("a", 33, 1, 1))
    assert missing(trace(*replay))[-1].startswith(
        "a trace of the capture of the graphs, in the directory capture_traces"
    )
    calls = ("cudaStreamBeginCapture", 2, 5), ("cudaLaunchKernel", 3, 6), ("cudaStreamEndCapture", 4, 7)
    capture = (launch(begin, number, name=name) for name, begin, number in calls)
    assert missing(trace(*replay) + trace(*capture, op("aten::add", 3, 1)))[-1] == "prof.step() after each step"


def test_how_much_of_the_work_is_that_of_graphs() -> None:
    def note(*ops: tuple[str, int]) -> str:
        provenance, self_ps = zip(*ops, strict=True)
        return graphs_note(OpTable(name=provenance, provenance=provenance, self_ps=np.array(self_ps), total_ps=9999))

    told = note(("CUDA graph 3:PyTorch", 200), ("aten::mm:PyTorch", 750), ("m/HIP graph of 7 nodes:PyTorch", 50))
    assert told.startswith("25.0% of ")
    assert note(("aten::mm:PyTorch", 750)) == ""
