"""Operands of ops of PyTorch: their shapes as recorded, those of most runs, and what they cost in half precision."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from builders.kineto import MAIN, Event, event, op, trace
from builders.spaces import loaded

from tpu_profile_plugin.analysis.ops import torch_inputs
from tpu_profile_plugin.analysis.ops.torch_inputs import OpInputs, _most, half_equivalents, op_inputs, operand_shapes


@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        ("[[8, 64], [[2], [3, 4]], []]", [[(8, 64)], [(2,), (3, 4)], [()]]),
        ("[[[2], [3]], [[4]], [5], 7, [[], [6]]]", [[(2,), (3,)], [(4,)], [(5,)], [], [(), (6,)]]),
        ("[[[2], [3]], [[4]]]", [[(2,), (3,)], [(4,)]]),
        ("[[a], [1, b], [2]]", [[], [], [(2,)]]),
        ("[[123456789012345678], [1234567890123456789]]", [[(123456789012345678,)], []]),
        ("[]", []),
        ("8, 64", []),
        ("[[1], [2]", []),
        ("[[1]]]", []),
        ("[[[[1]]]]", []),
        ("x [[1]]", []),
        ("", []),
    ],
)
def test_shapes_of_operands_as_recorded(text, shapes):
    assert operand_shapes(text) == shapes


def test_operands_of_most_runs_and_the_stack_of_most():
    counted = [(3, "[[1]]", "a", ""), (2, "[[2]]", "b", "f"), (3, "[[2]]", "b", "g"), (9, "", "", "")]
    counted.append((4, "[[3]]", "c", "h"))
    assert _most(counted) == OpInputs("[[2]]", "b", "h", 3)
    assert _most([*counted[:2], (3, "[[0]]", "z", "")]) == OpInputs("[[1]]", "a", "f", 3)
    assert _most([(9, "", "", "f")]) == OpInputs("", "", "f", 0)


def test_operands_of_ops_of_the_host_by_their_names():
    def ran(name: str, begin: float, sizes: list[list[int]]) -> Event:
        return event("cpu_op", name, begin, 5, MAIN, **{"Input Dims": sizes, "Input type": ["float"]})

    events = [ran("aten::mm", 0, [[2, 3]]), ran("aten::mm", 10, [[4, 5]]), ran("aten::mm", 20, [[4, 5]])]
    events += [ran("aten::add", 30, [[7]]), op("aten::relu", 40, 5), event("user_annotation", "mine", 50, 5, MAIN)]
    space = loaded(trace(*events))
    assert op_inputs(space, space.planes) == {
        "aten::mm": OpInputs("[[4, 5]]", '["float"]', "", 2),
        "aten::add": OpInputs("[[7]]", '["float"]', "", 1),
        "aten::relu": OpInputs(),
    }


@pytest.mark.parametrize(
    ("peaks", "expected"),
    [
        ({"fp16": 8.0, "fp32": 2.0, "bf16": 8.0, "fp64": 0.5}, [4.0, 1.0, 16.0, 1.0, 4.0]),
        ({"fp32": 2.0}, [1.0] * 5),
    ],
)
def test_operations_in_half_precision_in_the_time_of_one(monkeypatch, peaks, expected):
    texts = ('["float", "float"]', '["c10::Half"]', '["double"]')
    columns = np.array([0, 1, 2, -1, 0]), texts
    monkeypatch.setattr(torch_inputs, "gpu_capabilities", lambda space, plane: SimpleNamespace(name="H100"))
    monkeypatch.setattr(torch_inputs, "plane_int", lambda space, plane, name: 80)
    monkeypatch.setattr(torch_inputs, "peaks_by_dtype", lambda name, memory: peaks)
    monkeypatch.setattr(torch_inputs.read, "strings", lambda space, plane, stats, name: columns)
    events = SimpleNamespace(stats=None, metadata=np.array([0, 0, 0, 0, 1]))
    plane = SimpleNamespace(
        stat_metadata=SimpleNamespace(row=lambda name: 0), events=events,
        event_metadata=SimpleNamespace(names=("gemm", "add")),
    )  # fmt: skip
    assert half_equivalents(None, plane, np.arange(5)).tolist() == expected
    assert half_equivalents(None, plane, np.arange(0)).tolist() == []
