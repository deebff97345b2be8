"""Which advice parts of the step get: by what ops are called, what they are a part of, and whose work they may be."""

from __future__ import annotations

import pytest

from tpu_profile_plugin.analysis.findings.model import Advice
from tpu_profile_plugin.analysis.findings.part_advice import (
    HOST,
    PARTS,
    REPEATED,
    SCALARS,
    advice_after,
    advice_of_function,
    advice_of_ops,
    advice_within,
    by_framework,
    led,
)
from tpu_profile_plugin.analysis.ops.op_nature import Nature


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("a b\nc", Advice("a b c")),
        ("a\njax: b\nc d\npytorch: e\njax: f", Advice("a", jax="b c d f", pytorch="e")),
        ("a\nnote: b\njax c", Advice("a note: b jax c")),  # names of no framework are words
        ("general: a\nkeras: b", Advice("a", keras="b")),
    ],
)
def test_words_for_a_framework_begin_with_its_name(lines, expected):
    assert by_framework([line.split() for line in lines.split("\n")]) == expected


def test_a_sentence_before_all_advice():
    assert led("First.", Advice("a", jax="b")) == Advice("First. a", jax="First. b")
    assert led("", Advice("a")) == Advice("a")


START = {
    "matrix": "Matrix products are what a model is made of",
    "ordinary": "This is where the time goes",
    "movement": "Such ops only move",
    "rare": "Most programs spend little on such ops",
    "sort": "Sorting everything",
    "gather": "Reading and writing by index",
    "fft": "A transform",
    "elementwise": PARTS["elementwise"].general,
    "eager": PARTS["eager"].general,
    "optimizer": PARTS["optimizer"].general,
    "backward again": PARTS["backward again"].general,
    "host": HOST.general,
}


@pytest.mark.parametrize(
    ("nature", "kind", "within", "ordinary", "expected"),
    [
        # Ops that are called by a name of their own,
        (Nature.OTHER, "sort", "", False, "sort"),
        (Nature.OTHER, "sort", "", True, "sort"),
        (Nature.MOVEMENT, "gather", "fft", False, "gather"),
        # rare ones by what they are a part of,
        (Nature.OTHER, "x", "fft", False, "fft"),
        (Nature.MOVEMENT, "x", "fft", False, "fft"),
        (Nature.OTHER, "x", "fft", True, "ordinary"),
        (Nature.MOVEMENT, "x", "fft", True, "ordinary"),
        (Nature.MATRIX, "x", "fft", False, "matrix"),
        # else by their kind.
        (Nature.OTHER, "x", "", False, "rare"),
        (Nature.OTHER, "x", "y", True, "ordinary"),
        (Nature.MOVEMENT, "x", "y", False, "movement"),
        (Nature.MATRIX, "x", "", False, "matrix"),
        (Nature.MATRIX, "x", "", True, "matrix"),
        # Groups have advice of their own, where they are not the work of a model.
        (Nature.ELEMENTWISE, "sort", "", False, "elementwise"),
        (Nature.ELEMENTWISE, "sort", "", True, "elementwise"),
        (Nature.EAGER, "sort", "", True, "eager"),
        (Nature.OPTIMIZER, "x", "", False, "optimizer"),
        (Nature.OPTIMIZER, "x", "", True, "ordinary"),
        (Nature.BACKWARD_AGAIN, "x", "", False, "backward again"),
        (Nature.RANGE, "x", "", False, "host"),
        (Nature.RANGE, "x", "", True, "ordinary"),
    ],
)
def test_advice_of_ops(nature, kind, within, ordinary, expected):
    found = advice_of_ops(nature, kind, within, ordinary=ordinary)
    assert found.general.startswith(START[expected])
    often = advice_of_ops(nature, kind, within, ordinary=ordinary, often=True)
    assert often.general == f"{REPEATED} {found.general}"
    few = advice_of_ops(nature, kind, within, ordinary=ordinary, often=True, few=True)
    assert few.general == f"{PARTS['few rows'].general} {found.general}"


@pytest.mark.parametrize(
    ("nature", "within", "often", "sums"),
    [
        (Nature.OTHER, "jit(f)/transpose(jvp())/while/body/closed_call/add_any", True, True),
        (Nature.OTHER, "jit(f)/transpose(jvp())/while/body/closed_call/add_any", False, False),
        (Nature.MATRIX, "jit(f)/transpose(jvp())/while/body/closed_call/add_any", True, False),
        (Nature.OTHER, "jit(f)/jvp()/while/body/closed_call/add_any", True, False),
        (Nature.OTHER, "jit(f)/transpose(jvp())/add_any", True, False),
        (Nature.OTHER, "jit(f)/transpose(jvp())/while/body/add_any/mul", True, False),
    ],
)
def test_gradients_that_a_loop_adds_up(nature, within, often, sums):
    found = advice_of_ops(nature, "add", within, ordinary=True, often=often)
    assert (found == PARTS["sums of a loop"]) == sums


def test_advice_of_functions_beside_the_model():
    assert advice_of_function([]) is HOST
    assert advice_of_function(["sort", "fft"]).general.startswith(START["sort"])
    assert advice_of_function(["x", "fft"]).general.startswith("Ask whether every step needs this")
    assert advice_of_function(["x"], traced=True).general.startswith("This function has no matrix products")
    assert advice_of_function(["x", "aten::item"]) is SCALARS


@pytest.mark.parametrize(
    ("calls", "within", "after"),
    [
        ([], "", ""),
        (["$x.py:1 y"], "", ""),
        (["$x.py:1 y", "$torch/optim/adam.py:3 step"], "The Python code of an optimizer", ""),
        (["after DeleteTensorHandle"], "", "Freeing a tensor"),
    ],
)
def test_code_of_the_host_by_what_it_calls_or_follows(calls, within, after):
    told = advice_within(calls, HOST), advice_after(" ".join(calls), HOST)
    for found, start in zip(told, (within, after), strict=True):
        assert found.general.startswith(start or HOST.general)
        assert found.general.endswith(HOST.general)
