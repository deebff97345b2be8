"""Collectives of PyTorch on CPUs: ops that start them, ranges of gloo on its own threads, and waits."""

from __future__ import annotations

from builders.kineto import BACKWARD, MAIN, Event, event, frame, op, trace
from builders.spaces import loaded, plane

from tpu_profile_plugin.analysis.devices.cpu_torch import pytorch_devices
from tpu_profile_plugin.analysis.devices.model import Device, OpSpans, Work

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
