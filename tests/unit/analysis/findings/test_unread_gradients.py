"""Gradients of PyTorch that no optimizer reads: what of a trace shows them, and the time that counts."""

from __future__ import annotations

from typing import Any

import pytest
from builders.kineto import Event, event, kernel, launch, op, step, trace
from builders.profiles.findings import cpu, evidence, told

from tpu_profile_plugin.analysis.ops.torch_inputs import operand_shapes

LENGTH = 1000
HEAD, BODY = [8, 64], [64, 32]


def shaped(name: str, begin: float, length: float, *shapes: Any) -> Event:
    return op(name, begin, length, Input_Dims=list(shapes))


def training(
    *, updated: Any = (HEAD,), update: str = "aten::addcdiv_", head: Any = HEAD, body: Any = BODY, gpu: bool = False,
    body_first: bool = False, also: Any = (), optimizer: str = "Adam",
) -> bytes:  # fmt: skip
    """Per step 400 us of forward pass, 100 of the head's gradients, 300 of the body's, and an update of some shapes."""
    events: list[Event] = list(also)
    for number in range(4):
        at = 1000.0 + LENGTH * number
        of_head, of_body = (at + 700, at + 400) if body_first else (at + 400, at + 500)
        events += [step(number, at, LENGTH), shaped("aten::conv2d", at, 400, [1, 3, 8, 8], [4, 3, 3, 3])]
        events += [shaped("aten::mm", of_head, 90, [8, 16], [16, 64])]
        events += [shaped("torch::autograd::AccumulateGrad", of_head + 90, 10, head)]
        events += [shaped("aten::mm", of_body, 190, [16, 8], [8, 32])]
        events += [shaped("aten::mm", of_body + 190, 90, [64, 16], [16, 32])]
        events += [shaped("torch::autograd::AccumulateGrad", of_body + 280, 10, body)]
        events += [event("user_annotation", f"Optimizer.step#{optimizer}.step", at + 820, 100)]
        for row, shape in enumerate(updated):
            events += [shaped(update, at + 825 + 10 * row, 8, shape, shape, [])]
        if gpu:
            for row, begin in enumerate((400, 510, 700)):
                events += [launch(at + begin + 5, 100 * number + row + 1)]
                events += [kernel("gemm", at + 800 + 50 * row, 40, 100 * number + row + 1)]
    return trace(*events)


def test_the_backward_pass_after_the_last_gradient_that_is_read() -> None:
    found = told("unread_gradients", training())
    assert found["title"] == (
        "1 of 2 gradients per update are of parameters that no optimizer updates, which takes 29.0% of the step"
    )
    assert (found["share"], found["confidence"]) == (0.29, "medium")
    shown = evidence(found)
    assert shown["Gradients per update"] == (2, "", "")
    assert shown["Of parameters that no optimizer updates"] == (1, "", "")
    assert shown["The largest of these"] == ("64 x 32", "", "")
    assert found["advice"].startswith("Exclude parameters that are not trained from the backward pass")


def test_before_the_last_gradient_that_is_read_products_of_the_size_of_a_parameter() -> None:
    assert told("unread_gradients", training(body_first=True))["share"] == 0.09
    assert told("unread_gradients", training(body_first=True, body=[32, 64]))["share"] == 0.09
    assert "share" not in told("unread_gradients", training(body_first=True, body=[32, 65]))


def test_on_gpus_the_kernels_that_the_backward_pass_launches() -> None:
    assert told("unread_gradients", training(gpu=True))["share"] == 0.08


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        pytest.param({"updated": (HEAD, BODY)}, "take 0.0% of the step", id="all are updated"),
        pytest.param({"updated": ([HEAD, BODY],), "update": "aten::_foreach_addcdiv_"}, "take 0.0%", id="in a list"),
        pytest.param({"body": []}, "take 0.0% of the step", id="scalars are compared with none"),
        pytest.param({"update": "aten::addcdiv"}, "No gradients and updates of known", id="nothing is updated"),
        pytest.param({"updated": ([1],)}, "No gradients and updates of known", id="no gradient is read"),
        pytest.param(
            {"also": [op("c10d::_reduce_scatter_base_", 900, 10)]}, "No gradients and updates of known", id="sharded"
        ),
        pytest.param({"optimizer": "FusedAdam"}, "No gradients and updates of known", id="an optimizer of others"),
        pytest.param(
            {"updated": (HEAD, []), "update": "aten::_foreach_add_"},
            "No gradients and updates of known",
            id="a list that is not known",
        ),
        pytest.param({"head": "x", "body": [[2], "y", ["z"]]}, "No gradients and updates", id="shapes that are none"),
    ],
)
def test_no_finding(program: Any, reason: str) -> None:
    found = told("unread_gradients", training(**program))
    assert reason in found["reason"]


def test_other_frameworks() -> None:
    assert told("unread_gradients", cpu([("dot", 90)]))["reason"] == "No program of PyTorch recorded."


@pytest.mark.parametrize("text", ["", "[", "[" * 100_000, "1", "{}", "]", "[[1]]]"])
def test_shapes_that_cannot_be_read(text: str) -> None:
    assert operand_shapes(text) == []


def test_shapes_of_operands() -> None:
    assert operand_shapes("[[8, 64], [], [[2], [3, 4]], null, [[]]]") == [[(8, 64)], [()], [(2,), (3, 4)], [], [()]]
    assert operand_shapes(f"[[-1], [{10**18}], [[x], [2]]]") == [[], [], [(2,)]]


def distilling(
    *, first: Any = ("dw",), last: Any = ("dw", "dx"), teacher: str = "Net_0/Teacher_0", batch: int = 16,
    also: str = "Net_0/Student_0/Linear_0", once: bool = True,
) -> bytes:  # fmt: skip
    """Per step 300 us of a student's gradients, which are read, and 400 of a teacher's two layers in products of 100 us
    each (`first` and `last`: which) and in sums of 50.
    """
    events: list[Event] = []

    def layer(name: str, begin: float, products: Any, rows: int, columns: int) -> None:
        node, length = f"{name}/AddmmBackward0", 100 * len(products) + 50
        events.append(op(node, begin, length))
        if once:
            events.append(op(node, begin + 0.5, length - 1))
        for number, product in enumerate(products):
            shapes = [[rows, batch], [batch, columns]] if product == "dw" else [[batch, rows], [rows, columns]]
            events.append(shaped(f"{node}/aten::mm", begin + 1 + 100 * number, 98, *shapes))

    for number in range(4):
        at = 1000.0 + LENGTH * number
        events.append(step(number, at, LENGTH))
        layer(f"{teacher}/Linear_1", at, last, 64, 32)
        layer(f"{teacher}/Linear_0", at + 300, first, 64, 32)
        events.append(shaped("torch::autograd::AccumulateGrad", at + 590, 5, [64, 32]))
        layer(also, at + 600, ("dw",), 8, 64)
        events.append(shaped("torch::autograd::AccumulateGrad", at + 760, 5, [8, 64]))
        events.append(event("user_annotation", "Optimizer.step#Adam.step", at + 820, 100))
        events.append(shaped("aten::addcdiv_", at + 825, 8, HEAD, HEAD, []))
    return trace(*events)


@pytest.mark.parametrize(
    ("program", "share"),
    [
        pytest.param({}, 0.4, id="nothing before the teacher gets a gradient"),
        pytest.param({"once": False}, 0.4, id="each node is recorded once"),
        pytest.param({"first": ("dw", "dx")}, 0.196, id="what is before it does"),
        pytest.param({"first": ("dw", "dw")}, 0.294, id="two gradients in a node"),
        pytest.param({"teacher": "Teacher_0"}, 0.4, id="beside the student"),
        pytest.param({"also": "Net_0/Teacher_0/Linear_2"}, 0.196, id="a layer of the same module is updated"),
        pytest.param({"also": "Net_0/Teacher_01/Linear_2"}, 0.4, id="one of like name is"),
        pytest.param({"teacher": ""}, 0.196, id="layers that are in no module"),
        pytest.param({"last": ("dx",), "first": ("dw",)}, 0.15, id="one layer alone"),
    ],
)
def test_the_whole_backward_pass_of_a_teacher(program: Any, share: float) -> None:
    assert told("unread_gradients", distilling(**program))["share"] == pytest.approx(share, abs=0.002)
