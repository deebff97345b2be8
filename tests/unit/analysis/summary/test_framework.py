"""Which frameworks wrote a profile, and whether it has events of an input pipeline."""

from __future__ import annotations

import pytest
from builders.answers import summary


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
