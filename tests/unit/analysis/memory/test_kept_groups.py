"""Buffers that are kept for the backward pass, together by the line that makes them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tpu_profile_plugin.analysis.memory import kept_for_backward as module
from tpu_profile_plugin.analysis.memory.kept_for_backward import (
    Kept,
    KeptBuffer,
    KeptGroup,
    _grouped,
    has_backward_pass,
)


def kept(name: str, size: int, made_by: str = "", place: str = "") -> KeptBuffer:
    return KeptBuffer(f"{name}{{0}}", name, "f32[8]", size, made_by, place)


def test_groups_are_of_one_line_and_else_of_one_op() -> None:
    buffers = [
        kept("a", 30, "f/dot", "m.py:1"), kept("b", 10, "g/mul"), kept("c", 50, "f/add", "m.py:1"),
        kept("d", 25, "g/mul"), kept("e", 34, "g/mul", "m.py:2"), kept("f", 35, "", "m.py:3"), kept("g", 30, "f/dot"),
        kept("h", 50, "h", "m.py:1"), kept("i", 90),
    ]  # fmt: skip
    groups = _grouped(buffers, 35)
    assert [(group.size, [one.op for one in group.buffers]) for group in groups] == [
        (130, ["c", "h", "a"]), (90, ["i"]), (35, ["f"]), (35, ["d", "b"]),
    ]  # fmt: skip
    assert Kept("m", 1, 200, groups).size == 290
    assert _grouped([], 0) == ()


@pytest.mark.parametrize(
    ("made_by", "place", "label"),
    [
        ("jit(f)/jvp(g)/dot", "m.py:4", "jvp(g)/dot (m.py:4)"),
        ("g/dot", "", "g/dot"),
        ("dot", "", "dot"),
        ("", "m.py:4", "a{0} (m.py:4)"),
        ("", "", "a{0}"),
    ],
)
def test_a_group_is_called_by_the_end_of_its_op_and_its_line(made_by: str, place: str, label: str) -> None:
    assert KeptGroup((kept("a", 2, made_by, place), kept("b", 1, "other", "m.py:9"))).label == label


def test_marks_of_a_backward_pass() -> None:
    marks = (b"..jit(f)/transpose(jvp(g))/dot", b"gradient_tape/f", b"a/gradients/b")
    assert [has_backward_pass(mark) for mark in (*marks, b"transpose(g)", b"gradients_1/", b"")] == [True] * 3 + [
        False
    ] * 3


@pytest.mark.parametrize(
    ("buffers", "peak", "kept_rows"),
    [
        # Temporaries from a hundredth of the peak on, of a known instruction that the forward pass made.
        ([(1, 10, 0, "Temporary")], 1000, [1]),
        ([(1, 9, 0, "Temporary")], 1000, []),
        ([(1, 500, 0, "Output")], 1000, []),
        ([(1, 500, -1, "Temporary")], 1000, []),
        ([(1, 500, 3, "Temporary"), (2, 400, 0, "Temporary")], 1000, [1, 2]),
        ([(None, 500, 0, "Temporary")], 1000, []),
        ([(0, 500, 0, "Temporary")], 1000, []),
        # Groups from a twentieth on.
        ([(1, 50, 0, "Temporary"), (2, 49, 0, "Temporary")], 1000, [1]),
        ([(1, 500, 0, "Temporary")], 99, None),
    ],
)
def test_buffers_at_the_peak_that_are_kept(
    monkeypatch: pytest.MonkeyPatch, buffers: list[Any], peak: int, kept_rows: list[int] | None
) -> None:
    """Per buffer its instruction, of which 0 is no part of the forward pass, bytes, allocation and kind."""
    least = 0.05 if len(buffers) > 1 and buffers[1][1] < 100 else 0.0
    rows = SimpleNamespace(op_name=lambda maker: "", place=lambda maker: f"m.py:{maker}")
    monkeypatch.setattr(module, "ProgramRows", lambda program: rows)
    monkeypatch.setattr(module, "ValueFlow", lambda rows: None)
    monkeypatch.setattr(module, "_maker", lambda rows, flow, row, index: row or None)
    found: Any = SimpleNamespace(
        position=lambda row: SimpleNamespace(row=buffers[row][0], index=(), full_name=f"b{row}"),
        category=lambda allocation: next(kind for *_, at, kind in buffers if at == allocation),
        shape=lambda row: SimpleNamespace(text="f32[8]"),
    )
    at_peak = [SimpleNamespace(row=i, size=size, allocation=at) for i, (_, size, at, _) in enumerate(buffers)]
    program = SimpleNamespace(module=SimpleNamespace(name="jit_f(5)"), program_id=5, names=[f"i{i}" for i in range(9)])
    layout: Any = SimpleNamespace(peak_bytes=peak, program=program, buffers=found, at_peak=(at_peak, 0))
    kept_found = module.kept_buffers(layout, 100, least)
    if kept_rows is None:
        assert kept_found is None
    else:
        assert kept_found is not None
        assert [one.op for group in kept_found.groups for one in group.buffers] == [f"i{row}" for row in kept_rows]
        assert (kept_found.module, kept_found.program_id, kept_found.peak) == ("jit_f(5)", 5, peak)


@pytest.mark.parametrize(
    ("opcode", "name", "inside", "jax", "forward"),
    [
        ("add", "jit(f)/jvp(g)/add", (), True, True),
        ("add", "jit(f)/transpose(jvp(g))/add", (), True, False),
        ("add", "jit(f)/add", (), True, False),
        ("add", "model/add", (), False, True),
        ("add", "", (), False, False),
        ("add", "", ("", "model/add"), False, True),
        ("add", "", ("jit(f)/jvp(g)/add",), True, True),
        ("add", "", ("jit(f)/jvp(g)/add", "gradient_tape/x"), True, False),
        # Values that buffers begin with, unless they are named.
        ("constant", "", ("model/add",), False, False),
        ("iota", "model/iota", (), False, True),
        ("custom-call", "jit(f)/jvp(g)/exp", (), True, True),
        ("custom-call", "", ("jit(f)/jvp(g)/exp",), True, False),
    ],
)
def test_what_the_forward_pass_makes(opcode: str, name: str, inside: tuple[str, ...], jax: bool, forward: bool) -> None:
    """The instruction 0, and those in it; the last one of the program may be of a backward pass of JAX."""
    last = "jit(f)/transpose(jvp(g))/neg" if jax else "gradient_tape/neg"
    rows: Any = SimpleNamespace(
        opcodes=[opcode], inside=lambda row: range(1, len(inside) + 1),
        program=SimpleNamespace(op_names=[name, *inside, last]),
    )  # fmt: skip
    assert module._is_forward(rows, 0) is forward
