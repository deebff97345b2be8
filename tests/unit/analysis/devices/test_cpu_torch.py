"""PyTorch on the CPU as a device: outermost ops, data loaders in the same process, collectives."""

from __future__ import annotations

from typing import Any

import numpy as np
from builders.kineto import BACKWARD, MAIN, Event, event, frame, op, step, trace
from builders.spaces import loaded, plane

from tpu_profile_plugin import columns
from tpu_profile_plugin.analysis.common.planes import host_plane
from tpu_profile_plugin.analysis.devices.cpu_torch import NAME, pytorch_devices
from tpu_profile_plugin.analysis.devices.model import Device, OpSpans, Work
from tpu_profile_plugin.analysis.devices.thread_axis import ThreadAxis, fits_one_axis
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


def test_compiled_functions_are_their_graphs_and_ops_and_what_is_left() -> None:
    (device,) = devices(
        op("Torch-Compiled Region: 0/0", 0, 30),
        op("## Call CompiledFxGraph f1 ##", 5, 20),
        op("aten::addmm", 10, 5),
        op("Torch-Compiled Region: 1/0", 40, 30),
        op("aten::mul", 45, 10),
        op("aten::item", 56, 2),
    )
    first = int(device.runs.begin_ps.min())
    spans = (device.runs.op.tolist(), device.runs.begin_ps.tolist(), device.runs.end_ps.tolist())
    assert [
        (device.ops[number].name, (begin - first) // 1_000_000, (end - first) // 1_000_000)
        for number, begin, end in zip(*spans, strict=True)
    ] == [
        ("Torch-Compiled Region: 0/0", 0, 5),
        ("## Call CompiledFxGraph f1 ##", 5, 10),
        ("aten::addmm", 10, 15),
        ("## Call CompiledFxGraph f1 ##", 15, 25),
        ("Torch-Compiled Region: 0/0", 25, 30),
        ("Torch-Compiled Region: 1/0", 40, 45),
        ("Torch-Compiled Region/aten::mul", 45, 55),
        ("Torch-Compiled Region: 1/0", 55, 56),
        ("Torch-Compiled Region/aten::item", 56, 58),
        ("Torch-Compiled Region: 1/0", 58, 70),
    ]


def test_what_runs_a_compiled_graph_is_its_ops_and_what_is_left() -> None:
    (device,) = devices(
        op("Torch-Compiled Region: 0/0", 0, 40),
        op("Net_0/CompiledFunction", 5, 30),
        op("aten::addmm", 10, 5),
        op("## Call CompiledFxGraph f1 ##", 20, 10),
        op("aten::add", 36, 2),
        op("CompiledFunctionBackward", 50, 20),
        op("aten::mm", 50, 15),
    )
    first = int(device.runs.begin_ps.min())
    spans = (device.runs.op.tolist(), device.runs.begin_ps.tolist(), device.runs.end_ps.tolist())
    assert [
        (device.ops[number].name, (begin - first) // 1_000_000, (end - first) // 1_000_000)
        for number, begin, end in zip(*spans, strict=True)
    ] == [
        ("Torch-Compiled Region: 0/0", 0, 5),
        ("Net_0/CompiledFunction", 5, 10),
        ("aten::addmm", 10, 15),
        ("Net_0/CompiledFunction", 15, 20),
        ("## Call CompiledFxGraph f1 ##", 20, 30),
        ("Net_0/CompiledFunction", 30, 35),
        ("Torch-Compiled Region: 0/0", 35, 36),
        ("Torch-Compiled Region/aten::add", 36, 38),
        ("Torch-Compiled Region: 0/0", 38, 40),
        ("aten::mm", 50, 65),
        ("CompiledFunctionBackward", 65, 70),
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


# The threads of a plane on one axis, and profiles for which there is none.


YEARS = 1e12 * 6
"""Two months in microseconds, which fill half of an axis of int64 picoseconds."""


def test_events_are_within_those_of_their_own_thread() -> None:
    host = plane(loaded(trace(op("a", 0, 10), op("b", 2, 3), op("c", 2, 3, BACKWARD))), "/host:CPU")
    axis = ThreadAxis(host)
    everything = np.arange(3)
    assert axis.inside(everything, np.array([0])).tolist() == [True, True, False]


def test_times_that_are_too_far_apart_have_no_axis_and_no_device() -> None:
    space = loaded(trace(op("aten::add", 0, 1)))
    near = plane(space, "/host:CPU")
    assert fits_one_axis(near)
    assert len(pytorch_devices(space, near)) == 1
    many = [op("aten::add", at + 2 * i, 1) for at in (0, YEARS) for i in range(8)]
    space = loaded(trace(*many, op("b", 1, 1, BACKWARD)))
    far = plane(space, "/host:CPU")
    assert not fits_one_axis(far)
    assert pytorch_devices(space, far) == []


# Collectives of PyTorch on CPUs: ops that start them, ranges of gloo on its own threads, and waits.


GLOO = 30
WAIT = "<built-in method wait of PyCapsule object at 0x7f86ee9d7480>"


def device(*events: Event) -> Device:
    space = loaded(trace(*events))
    (found,) = pytorch_devices(space, plane(space, "/host:CPU"))
    return found


def exchanged(found: Device) -> OpSpans:
    """Its collectives."""
    return found.runs.where(found.runs.work == Work.COMMUNICATION)


def computed(found: Device) -> OpSpans:
    """Its other ops."""
    return found.runs.where(found.runs.work != Work.COMMUNICATION)


def told(found: Device, spans: OpSpans) -> list[tuple[str, str, float, float]]:
    """Name, kind, begin and end in microseconds since the first event, which begins at 0."""
    return [
        (found.ops[number].name, found.ops[number].collective, begin / 1e6, end / 1e6)
        for number, begin, end in zip(spans.op, spans.begin_ps, spans.end_ps, strict=True)
    ]


def gloo(name: str, begin: float, duration: float, tid: int = GLOO, size: int = 0) -> Event:
    sizes = {"Input Dims": [[size]], "Input type": ["float"]} if size else {}
    return event("user_annotation", f"gloo:{name}", begin, duration, tid, **sizes)


def test_a_collective_lasts_from_its_op_to_the_end_of_the_range_on_another_thread() -> None:
    found = device(
        op("aten::mm", 0, 10),
        op("c10d::allreduce_", 10, 2),
        op("aten::mul", 12, 8),
        op("c10d::allreduce_", 20, 1),
        gloo("all_reduce", 11, 20, size=100),
        gloo("all_reduce", 33, 5, size=7),
        frame(WAIT, 21, 17),
    )
    assert told(found, computed(found)) == [("aten::mm", "", 0, 10), ("aten::mul", "", 12, 20)]
    assert told(found, exchanged(found)) == [
        ("gloo:all_reduce [100 float]", "all-reduce", 10, 31),
        ("gloo:all_reduce [7 float]", "all-reduce", 20, 38),
    ]
    assert [found.ops[number].operand_bytes for number in exchanged(found).op] == [400, 28]
    assert set(exchanged(found).work.tolist()) == {Work.COMMUNICATION}


def test_without_ranges_a_collective_lasts_to_the_end_of_the_wait() -> None:
    found = device(
        op("aten::mm", 0, 10),
        op("_c10d_functional::all_reduce", 10, 3),
        op("c10d::allreduce_", 11, 1),
        op("aten::relu", 13, 4),
        op("_c10d_functional::wait_tensor", 20, 10),
        op("c10d::barrier", 30, 2),
        frame(WAIT, 32, 6),
        # Handed over, and its end is not recorded.
        op("c10d::broadcast_", 40, 1),
    )
    assert told(found, exchanged(found)) == [
        ("_c10d_functional::all_reduce", "all-reduce", 10, 30),
        ("c10d::barrier", "barrier", 30, 38),
    ]
    assert told(found, computed(found)) == [("aten::mm", "", 0, 10), ("aten::relu", "", 13, 17)]


def test_ops_alone_last_as_long_as_they_take() -> None:
    found = device(op("aten::mm", 0, 10), op("c10d::allreduce_", 10, 30))
    assert told(found, exchanged(found)) == [("c10d::allreduce_", "all-reduce", 10, 40)]


def test_waits_alone_are_communication() -> None:
    found = device(op("aten::mm", 0, 10), frame(WAIT, 12, 6))
    assert told(found, exchanged(found)) == [(WAIT.replace(" at 0x7f86ee9d7480", ""), "wait", 12, 18)]


def test_an_op_computes_except_while_it_waits_for_a_collective() -> None:
    found = device(
        op("Torch-Compiled Region: 0/0", 0, 50),
        op("_c10d_functional::all_gather_into_tensor", 10, 2),
        op("_c10d_functional::wait_tensor", 20, 20),
        op("autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", 60, 10, BACKWARD),
        op("c10d::allreduce_", 65, 3, BACKWARD),
        op("_c10d_functional::wait_tensor", 70, 5, BACKWARD),
    )
    name = "Torch-Compiled Region: 0/0"
    assert [(since, until) for own, _, since, until in told(found, computed(found)) if own == name] == [
        (0, 10),
        (12, 20),
        (40, 50),
    ]
    assert [(since, until) for _, _, since, until in told(found, exchanged(found))] == [(10, 40), (65, 75)]


def test_arguments_tell_the_group() -> None:
    sent = {"Collective name": "allreduce", "dtype": "Float", "In msg nelems": 8, "Group size": 2}
    inner = event("cpu_op", "record_param_comms", 11, 1, MAIN, **sent, **{"Process Group Name": "7"})
    found = device(op("aten::mm", 0, 10), op("c10d::allreduce_", 10, 9), inner)
    ((name, kind, *_),) = told(found, exchanged(found))
    assert (name, kind) == ("c10d::allreduce_ [8 Float, group 7]", "all-reduce")
    assert found.ops[exchanged(found).op[0]].ranks == 2


def test_collectives_of_devices_that_were_not_recorded() -> None:
    launched = [op("aten::mm", 0, 10), op("c10d::allreduce_", 10, 2), op("nccl:all_reduce", 11, 1)]
    assert len(exchanged(device(*launched))) == 0
    found = device(*launched, gloo("all_gather", 14, 5))
    assert told(found, exchanged(found)) == [("gloo:all_gather", "all-gather", 14, 19)]


BACKWARD_PASS = "<built-in method run_backward of torch._C._EngineBase object at 0x7f87af74ef30>"


def test_one_of_several_ranks_waits_at_the_end_of_a_backward_pass() -> None:
    """Without any recorded collective: DistributedDataParallel waits there for the gradients of the other ranks."""
    events = [op("aten::mm", 0, 10), frame(BACKWARD_PASS, 20, 50), op("MmBackward0", 25, 15, BACKWARD)]
    several = {"distributedInfo": {"backend": "gloo", "rank": 0, "world_size": 2}}
    space = loaded(trace(*events, **several))
    (found,) = pytorch_devices(space, plane(space, "/host:CPU"))
    assert told(found, exchanged(found)) == [("gradients of other ranks (run_backward)", "wait", 40, 70)]
    assert len(exchanged(device(*events))) == 0
    space = loaded(trace(*events, gloo("all_reduce", 41, 20), **several))
    (found,) = pytorch_devices(space, plane(space, "/host:CPU"))
    assert told(found, exchanged(found)) == [("gloo:all_reduce", "all-reduce", 41, 61)]


def test_python_within_an_op_is_no_computation_but_what_it_calls_is() -> None:
    """As in debug modes: each op takes a stack trace, which calls an op itself."""
    trace_of = frame("torch/fx/traceback.py(504): format_stack", 10, 40)
    found = device(op("aten::linear", 0, 100), trace_of, op("aten::detach", 20, 5), op("aten::mul", 120, 10))
    assert [(since, until) for _, _, since, until in told(found, found.runs)] == [
        (0, 10), (20, 25), (50, 100), (120, 130),
    ]  # fmt: skip


def test_an_op_and_the_range_for_it_that_begin_at_once() -> None:
    found = device(op("aten::mm", 0, 10), op("c10d::allreduce_", 10, 2), gloo("all_reduce", 10, 20))
    assert told(found, exchanged(found)) == [("gloo:all_reduce", "all-reduce", 10, 30)]


def test_of_ops_in_each_other_the_outer_one_counts_with_its_arguments() -> None:
    def sent(size: int) -> dict[str, Any]:
        return {"Collective name": "allreduce", "dtype": "Float", "In msg nelems": size, "Group size": 2}

    found = device(
        event("cpu_op", "c10d::allreduce_", 0, 30, MAIN, **sent(8)),
        event("cpu_op", "c10d::_allreduce_", 0, 5, MAIN, **sent(9)),
        op("aten::mm", 40, 10),
    )
    assert told(found, exchanged(found)) == [("c10d::allreduce_ [8 Float]", "all-reduce", 0, 30)]
    assert [found.ops[number].operand_bytes for number in exchanged(found).op] == [32]


def test_arguments_of_the_first_event_tell_what_its_range_sends() -> None:
    sent = {"Collective name": "allreduce", "dtype": "Float", "In msg nelems": 8, "Group size": 2}
    first = event("cpu_op", "c10d::allreduce_", 0, 5, MAIN, **sent)
    found = device(first, gloo("all_reduce", 1, 20), op("aten::mm", 40, 10))
    assert told(found, exchanged(found)) == [("gloo:all_reduce [8 Float]", "all-reduce", 0, 21)]
