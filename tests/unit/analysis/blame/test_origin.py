"""Where the time of ops comes from: the functions that share it."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from tpu_profile_plugin.analysis.blame import origin
from tpu_profile_plugin.analysis.blame.origin import common, of_stack, scopes, shared
from tpu_profile_plugin.analysis.blame.stacks import NOWHERE, Stacks

STEP, LOSS = ("m.py", "step", 9), ("m.py", "loss", 7)
ENCODE, LATER, DECODE = ("m.py", "encode", 3), ("m.py", "encode", 4), ("m.py", "decode", 5)


@pytest.mark.parametrize(
    ("chains", "told"),
    [
        # All of it passes through step and loss, which say nothing.
        ({(STEP, LOSS, ENCODE): 55, (STEP, LOSS, DECODE): 45}, [("m.py:3 encode", 0.55), ("m.py:5 decode", 0.45)]),
        # One function called on two lines is told by the line with most time.
        ({(ENCODE,): 20, (LATER,): 35, (DECODE,): 45}, [("m.py:4 encode", 0.55), ("m.py:5 decode", 0.45)]),
        # Time of the caller itself has no function of its own; less than a tenth is left out.
        ({(STEP,): 40, (STEP, ENCODE): 52, (STEP, DECODE): 8}, [("m.py:3 encode", 0.52)]),
        # A single way down to one function does not share anything.
        ({(STEP, LOSS, ENCODE): 100}, []),
        ({(STEP, LOSS): 95, (): 5}, []),
        ({(): 100}, []),
        ({}, []),
        # A tenth is enough, nine tenths are nearly all.
        ({(STEP, ENCODE): 90, (STEP, DECODE): 10}, []),
        ({(STEP, ENCODE): 89, (STEP, DECODE): 10, (STEP,): 1}, [("m.py:3 encode", 0.89), ("m.py:5 decode", 0.1)]),
        # No more than three.
        (
            {(("", f"layer_{i}", 0),): 28 - 2 * i for i in range(4)},
            [("layer_0", 0.28), ("layer_1", 0.26), ("layer_2", 0.24)],
        ),
    ],
)  # fmt: skip
def test_functions_that_share_a_time(chains, told):
    assert shared(list(chains.items())) == told


@pytest.mark.parametrize(
    ("chains", "told"),
    [
        ({(STEP, LOSS, ENCODE): 55, (STEP, LOSS, DECODE): 45}, "m.py:7 loss"),
        ({(STEP, ENCODE): 30, (STEP, LATER): 62, (STEP,): 8}, "m.py:4 encode"),
        ({(STEP,): 45, (ENCODE,): 55}, ""),
        ({(ENCODE,): 100}, "m.py:3 encode"),
        ({}, ""),
    ],
)
def test_the_function_that_nearly_all_is_in(chains, told):
    assert common(list(chains.items())) == told


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("jit(step)/jvp(Model)/Dense_0/dot_general", ["Model", "Dense_0"]),
        ("jit(step)/jvp(Model)/mul;jit(step)/jvp(Loss)/add", ["Model"]),
        ("jit(step)/transpose(jvp(Model))/while/body/Dense_0/transpose", ["Model", "Dense_0"]),
        ("StatefulPartitionedCall/gradient_tape/functional_1/gate_1/MatMul", ["functional_1", "gate_1"]),
        ("matmul_4/MatMul", []),
        ("jit(f)/jvp(bhqk,bkhd->bqhd)/dot_general", []),
        ("MatMul", []),
        ("", []),
    ],
)
def test_named_scopes_of_an_op(name, told):
    assert [scope for _, scope, _ in scopes(name)] == told


def test_functions_that_launched_something_and_those_of_tensorflow() -> None:
    names = "$train.py:3 step", "$lib.py:1 call", "EagerLocalExecute: __inference_f_7", "$train.py:5 <lambda>", "Mul"
    user = np.array([name.startswith("$train") for name in names])
    stacks = Stacks(parent=np.arange(-1, 4), name=np.arange(5), names=names, user=user)
    step, function = ("", "train.py:3 step", 0), ("", "__inference_f_7", 0)
    found = [of_stack(stacks, node) for node in (NOWHERE, 0, 1, 2, 3, 4)]
    assert found == [(), (step,), (step,), (step, function), (step, function), (step, function)]


@pytest.mark.parametrize(
    ("near", "told"),
    [
        (True, ["step", "loss", "Dense_0"]),
        (False, ["Dense_0"]),
    ],
)
def test_functions_that_an_instruction_was_traced_in(monkeypatch, near, told):
    """Neither those without a name of their own, nor those of libraries; then named scopes."""
    calls = [
        ("m.py", "loss", 7), ("m.py", "<lambda>", 8), ("/usr/lib/python3.12/site-packages/jax/_src/api.py", "grad", 9),
        ("m.py", "step", 9), ("m.py", "<module>", 10), ("m.py", "", 11),
    ]  # fmt: skip
    monkeypatch.setattr(origin, "call_stack", lambda program, row: calls if (program, row) == ("p", 3) else [])
    rows = SimpleNamespace(
        program="p",
        near_source=lambda row, deepest: (3, None) if near else None,
        op_name=lambda row: "jit(step)/Dense_0/dot_general",
    )
    assert [function for _, function, _ in origin.of_program(rows, 5)] == told
