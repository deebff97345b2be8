"""A program that computes what a larger one computes as well."""

from __future__ import annotations

import pytest
from builders import planes
from builders.profiles.findings import told
from builders.programs.hlo import metadata_plane, op, program

FORWARD = {"source_file": "/home/me/model.py", "source_line": 7, "op_name": "jit(f)/dot_general"}
BACKWARD = {**FORWARD, "source_line": 9}
ROWS, WEIGHTS = "f32[8,64]{1,0}", "f32[64,64]{1,0}"
DIMS = {"lhs_contracting_dimensions": [1], "rhs_contracting_dimensions": [0]}


def train() -> bytes:
    entry = [
        op("x", "parameter", ROWS),
        op("w", "parameter", WEIGHTS, parameter_number=1),
        op("dot.1", "dot", ROWS, "x", "w", dot_dimension_numbers=DIMS, **FORWARD),
        op("dot.2", "dot", WEIGHTS, "x", "dot.1", dot_dimension_numbers=DIMS, **BACKWARD),
    ]
    return program(entry, module="jit_train")


def loss(rows: str, *, module: str = "jit_loss", **line: object) -> bytes:
    entry = [
        op("x", "parameter", rows),
        op("w", "parameter", WEIGHTS, parameter_number=1),
        op("dot.7", "dot", rows, "x", "w", dot_dimension_numbers=DIMS, **line),
    ]
    return program(entry, module=module)


def profile(length: int, other: bytes) -> str:
    """Steps of 1 ms in which the first program runs for 600 us, the other one for `length`."""
    training = "\n".join(f"{1000 * i}us +300us dot.1\n{1000 * i + 300}us +300us dot.2" for i in range(3))
    logging = "\n".join(f"{1000 * i + 600}us +{length}us dot.7" for i in range(3))
    threads = planes.xla_on_cpu(training, program=5), planes.xla_on_cpu(logging, program=6)
    marks = planes.marked(steps=3, period=1000)
    return planes.profile(planes.host(marks, *threads), metadata_plane(jit_train=(5, train()), jit_loss=(6, other)))


def test_a_loss_for_the_log() -> None:
    found = told("repeated_work", profile(200, loss(ROWS, **FORWARD)))
    title = "20.0% of the step is computed twice: jit_loss(6) repeats products of jit_train(5)"
    title += ", most of it in dot.7 (model.py:7)"
    assert (found["title"], found["confidence"], found["saving_ps_per_step"]) == (title, "medium", 200_000_000)
    assert found["advice"].startswith("If both programs get the same data")


@pytest.mark.parametrize(
    ("length", "rows", "line"),
    [
        (90, ROWS, FORWARD),
        (200, "f32[4,64]{1,0}", FORWARD),  # other data
        (200, ROWS, {**FORWARD, "source_line": 8}),
        (200, ROWS, {}),  # of no known line
    ],
    ids=["less than a tenth", "another size", "another line", "no line"],
)
def test_other_programs(length: int, rows: str, line: dict[str, object]) -> None:
    assert "share" not in told("repeated_work", profile(length, loss(rows, **line)))


@pytest.mark.parametrize(
    ("length", "told_of_it"),
    [
        (49, "Programs that repeat products of other programs take 9.8% of the step."),
        (60, "12.0% of the step is computed twice: jit_loss(6), jit_metric(7) repeat products of jit_train(5)"),
    ],
)
def test_several_programs_that_each_take_little(length: int, told_of_it: str) -> None:
    """A loss and a metric of `length` us each beside 600 us of training."""
    metric = loss(ROWS, module="jit_metric", **FORWARD)
    runs = {5: [(0, 300, "dot.1"), (300, 300, "dot.2")], 6: [(600, length, "dot.7")], 7: [(700, length, "dot.7")]}
    threads = [
        planes.xla_on_cpu(
            "\n".join(f"{1000 * i + at}us +{us}us {name}" for i in range(3) for at, us, name in ops), program=number
        )
        for number, ops in runs.items()
    ]
    programs = metadata_plane(jit_train=(5, train()), jit_loss=(6, loss(ROWS, **FORWARD)), jit_metric=(7, metric))
    found = told("repeated_work", planes.profile(planes.host(planes.marked(steps=3, period=1000), *threads), programs))
    assert found.get("title", found.get("reason")).startswith(told_of_it)
