"""Derivatives that JAX computes in forward mode, one pass per direction."""

from __future__ import annotations

from typing import Any

import pytest
from builders.profiles.findings import cpu, told
from builders.programs.hlo import op, program

OF = "f32[8,64]"
JACOBIAN, HESSIAN = "jit(f)/vmap(jvp(vmap()))/mul", "jit(f)/vmap(jvp(vmap(transpose(jvp()))))/dot_general"


def derivatives(*names: str) -> bytes:
    """A program of ops with these framework names, each read by the next."""
    entry = [op("op.0", "parameter", OF)]
    entry += [
        op(f"op.{i}", "tanh", OF, f"op.{i - 1}", op_name=name, source_file="/home/me/train.py", source_line=7)
        for i, name in enumerate(names, 1)
    ]
    return program(entry, module="jit_f")


def find(*names: str, spent: int = 40) -> dict[str, Any]:
    ops = [(f"op.{i}", spent) for i in range(1, len(names))]
    return told("forward_derivatives", cpu([*ops, (f"op.{len(names)}", 20)], proto=derivatives(*names)))


@pytest.mark.parametrize(
    ("name", "what"),
    [
        (JACOBIAN, "a Jacobian"),
        ("jit(f)/while/body/closed_call/vmap(jvp())/mul", "a Jacobian"),
        ("jit(f)/convert;jit(f)/vmap(jvp(vmap(jit(fft))))/fft", "a Jacobian"),
        (HESSIAN, "a Hessian"),
        ("jit(f)/vmap(jvp(jvp()))/mul", "a Hessian"),
        ("jit(f)/vmap(jvp(transpose(jvp())))/mul", "a Hessian"),
    ],
)
def test_ops_of_forward_mode(name: str, what: str) -> None:
    found = find(name, "jit(f)/tanh")
    whole, most = (
        "Derivatives in forward mode, one pass for each direction, take 40.0% of the step",
        "op.1 (train.py:7)",
    )
    assert found["title"] == f"{whole}, most of it in {most}: {what}"
    assert (found["saving_ps_per_step"], found["confidence"]) == (40_000_000, "medium")
    assert str(found["advice"]).startswith("Use jax.grad or jax.jacrev")


def test_a_gradient_within_makes_it_a_hessian() -> None:
    title = str(find(JACOBIAN, HESSIAN, "jit(f)/tanh", spent=30)["title"])
    assert "take 60.0% of the step" in title
    assert title.endswith(": a Hessian")


@pytest.mark.parametrize(
    "names",
    [
        (JACOBIAN, "jit(f)/vmap(transpose(jvp(vmap())))/mul"),  # a gradient per example
        ("jit(f)/jvp(vmap(jvp(jvp())))/mul", "jit(f)/tanh"),  # differentiated once more, in a loss
        ("jit(f)/jvp(vmap())/mul", "jit(f)/transpose(jvp(vmap()))/mul"),
        ("jit(f)/jvp()/mul", "jit(f)/vmap()/mul"),
    ],
)
def test_other_derivatives(names: tuple[str, ...]) -> None:
    reason = "Derivatives in forward mode, one pass for each direction, take 0.0% of the step."
    assert find(*names)["reason"] == reason


@pytest.mark.parametrize(("spent", "fires"), [(9, False), (10, True)])
def test_from_a_tenth_of_the_step(spent: int, fires: bool) -> None:
    names = (JACOBIAN, "jit(f)/tanh")
    found = told("forward_derivatives", cpu([("op.1", spent), ("op.2", 60)], proto=derivatives(*names)))
    assert ("title" in found) == fires
