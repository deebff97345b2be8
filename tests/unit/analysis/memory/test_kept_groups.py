"""Buffers that are kept for the backward pass, together by the line that makes them."""

from __future__ import annotations

import pytest

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
