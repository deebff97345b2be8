"""Where collectives come from: their instructions, the sharding that they change, and the one with most time."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from builders.programs.hlo import Op, metadata_plane, op, program
from builders.xspace_text import build

from tpu_profile_plugin.analysis.devices.collectives import CollectiveKey
from tpu_profile_plugin.analysis.findings.evidence.device import collectives
from tpu_profile_plugin.analysis.findings.evidence.device.collectives import (
    Origin,
    _origin,
    _row,
    _shapes,
    collectives_of,
    most_of_it,
    most_waited_in,
)
from tpu_profile_plugin.analysis.hlo.program_rows import ProgramRows
from tpu_profile_plugin.analysis.hlo.programs import hlo_programs
from tpu_profile_plugin.columns import load

SHARD, WHOLE = "f32[64,512]{1,0}", "f32[512,512]{1,0}"
ROWS = {"type": 3, "tile_assignment_dimensions": [8, 1], "iota_reshape_dims": [8], "iota_transpose_perm": [0]}
SAME = {"type": 0}
GATHER = CollectiveKey("all-gather.1", 7, "all-gather")


def rows_of(entry: list[Op], more: dict[str, Any] | None = None, **computations: list[Op]) -> ProgramRows:
    text = metadata_plane(jit_f=(7, program(entry, more=more, **computations)))
    decoded = hlo_programs(load(np.frombuffer(build(text), np.uint8))).program(7)
    assert decoded is not None
    return ProgramRows(decoded)


@pytest.mark.parametrize(
    ("name", "kind", "found"),
    [
        ("all-gather.1", "all-gather", "all-gather-start.1"),
        ("all-reduce.2", "all-reduce", "all-reduce.2"),
        ("gathered", "all-gather", "gathered-start"),
        ("copy.3", "all-gather", None),
        ("part.z", "all-gather", None),
        ("all-gather.4", "all-gather", None),
    ],
)
def test_the_instruction_of_a_collective(name, kind, found):
    rows = rows_of([
        op("x", "parameter", SHARD),
        op("all-gather-start.1", "all-gather-start", WHOLE, "x"),
        op("all-reduce.2", "all-reduce", SHARD, "x"),
        op("gathered-start", "all-gather-start", WHOLE, "x"),
        op("copy.3", "copy", SHARD, "x"),
        op("part-start.z", "all-gather-start", WHOLE, "x"),
    ])  # fmt: skip
    row = _row(rows, name, kind)
    assert (None if row is None else rows.program.names[row]) == found


def origin(entry: list[Op], name: str = "all-gather.1", **header: Any) -> Origin:
    rows = rows_of(entry, header)
    row = rows.row(name)
    assert row is not None
    return _origin(rows, row, GATHER)


@pytest.mark.parametrize(
    ("header", "op_name", "inserted"),
    [
        ({"spmd_output_sharding": SAME}, "jit(f)/dot_general", True),
        ({"spmd_parameters_shardings": [ROWS]}, "jit(f)/dot_general", True),
        ({}, "jit(f)/dot_general", False),
        ({"spmd_output_sharding": SAME}, "jit(f)/all_gather", False),
    ],
)
def test_collectives_that_the_partitioner_inserts(header, op_name, inserted):
    entry = [op("x", "parameter", SHARD), op("all-gather.1", "all-gather", WHOLE, "x", op_name=op_name)]
    found = origin(entry, **header)
    assert found.inserted is inserted
    assert found.change == "f32[64,512] to f32[512,512]"
    assert [one.value for one in found.evidence[:2]] == ["f32[64,512]", "f32[512,512]"]


@pytest.mark.parametrize(
    ("number", "shardings", "told"),
    [
        (0, [ROWS, SAME], "{devices=[8,1]<=[8]}"),
        (1, [SAME, ROWS], "{devices=[8,1]<=[8]}"),
        (1, [ROWS], "unknown"),
        (0, [], "unknown"),
    ],
)
def test_the_sharding_of_the_argument_that_a_collective_gives(number, shardings, told):
    entry = [
        op("other", "parameter", SHARD, parameter_number=1 - number),
        op("x", "parameter", SHARD, parameter_number=number, op_name="weights"),
        op("copy.1", "copy", SHARD, "x"),
        op("all-gather.1", "all-gather", SHARD, "copy.1"),
    ]
    found = origin(entry, spmd_parameters_shardings=shardings)
    assert [(one.label, one.value) for one in found.evidence[2:]] == [("Sharding of argument weights", told)]
    assert found.change == ""


def test_what_no_argument_is_has_no_sharding():
    """Values that the program computes, and parameters of its loops."""
    computed = [
        op("x", "parameter", SHARD), op("y", "add", SHARD, "x", "x"), op("all-gather.1", "all-gather", WHOLE, "y"),
    ]  # fmt: skip
    assert len(origin(computed, spmd_parameters_shardings=[ROWS]).evidence) == 2
    body = [op("p", "parameter", SHARD), op("all-gather.1", "all-gather", SHARD, "p")]
    entry = [op("x", "parameter", SHARD), op("c", "call", SHARD, "x", called=["body"])]
    rows = rows_of(entry, {"spmd_parameters_shardings": [ROWS]}, body=body)
    row = rows.row("all-gather.1")
    assert row is not None
    assert len(_origin(rows, row, GATHER).evidence) == 2


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (["a"], "f32[64,512]"),
        (["a", "b"], "2 x f32[64,512]"),
        (["a", "c"], "f32[64,512], f32[512,512]"),
        (["a", "b", "c", "d"], "f32[64,512], f32[512,512]"),
        (["t"], "f32[64,512], f32[512,512]"),
        (["a", "c", "e", "d"], "f32[64,512], f32[512,512], s32[4]"),
        ([], ""),
    ],
)
def test_types_and_sizes_of_results(names, told):
    rows = rows_of([
        op("a", "parameter", SHARD), op("b", "parameter", SHARD, parameter_number=1),
        op("c", "parameter", WHOLE, parameter_number=2), op("d", "parameter", "pred[2]", parameter_number=3),
        op("e", "parameter", "s32[4]{0}", parameter_number=4), op("t", "tuple", [SHARD, WHOLE], "a", "c"),
    ])  # fmt: skip
    assert _shapes(rows, [one for name in names if (one := rows.row(name)) is not None]) == told


def sums(name: str, exposed: int, *, program: int = 7, wait: int = 0, most: int = 0) -> Any:
    return SimpleNamespace(
        key=CollectiveKey(name, program, "all-gather"), own_exposed_ps=exposed, wait_ps=wait, most_wait_ps=most,
        device=1, begin_ps=10**9, end_ps=3 * 10**9,
    )  # fmt: skip


def test_the_collectives_of_a_host_with_most_time_are_read(monkeypatch):
    monkeypatch.setattr(collectives, "_MOST", 4)
    rows = rows_of([
        op("x", "parameter", SHARD), *(op(f"all-gather.{i}", "all-gather", WHOLE, "x") for i in range(1, 4)),
    ])  # fmt: skip
    all_ = [sums("all-gather.1", 5), sums("all-gather.2", 20), sums("gone.1", 30), sums("all-gather.9", 40, program=8)]
    all_ += [sums("all-gather.3", 10)]
    host: Any = SimpleNamespace(
        communication=SimpleNamespace(sums=all_),
        hlo=SimpleNamespace(rows=lambda program: rows if program == 7 else None),
        budget=SimpleNamespace(shared_ps=77),
        derived={},
    )
    found = collectives_of(host)
    assert list(found.origins) == [("all-gather.2", 7), ("all-gather.3", 7)]
    assert found.shared_ps == 77


def run_of(*all_: Any) -> Any:
    devices = [SimpleNamespace(host=0), SimpleNamespace(host=1)]
    return SimpleNamespace(hosts=["h0", "h1"], communication=SimpleNamespace(devices=devices, sums=all_))


@pytest.mark.parametrize(
    ("exposed", "place", "told", "label"),
    [
        (51, "m.py:3", ", most of it in all-gather.1 (m.py:3)", "Most of it in"),
        (51, "", ", most of it in all-gather.1", "Most of it in"),
        (51, None, ", most of it in all-gather.1", "Most of it in"),
        (
            50,
            "m.py:3",
            "; the collective all-gather.1 (m.py:3) has the largest part, 50%",
            "The collective with the largest part",
        ),
        (0, None, "; the collective all-gather.2 has the largest part, 0%", "The collective with the largest part"),
    ],
)
def test_the_collective_that_most_of_it_is_in(exposed, place, told, label):
    origins = {} if place is None else {("all-gather.1", 7): Origin(place, False, "", ())}
    all_ = [sums("all-gather.2", (100 - exposed) // 2 if exposed else 0), sums("all-gather.1", exposed)]
    all_.append(sums("all-gather.3", 100 - exposed - all_[0].own_exposed_ps if exposed else 0))
    title, evidence = most_of_it(run_of(), all_, origins)
    assert title == told
    assert evidence[0].label == label
    assert (evidence[-1].value, evidence[-1].unit, evidence[-1].query["host"]) == (2.0, "ms", "h1")


def test_the_collective_that_devices_wait_in():
    found = most_waited_in(run_of(sums("all-gather.1", 9, wait=10), sums("b", 0, wait=11, most=4 * 10**9)), "Waits in")
    assert [(one.label, one.value) for one in found] == [
        ("Waits in", "b"), ("Longest wait in this collective", 4.0), ("Longest run of b", 2.0),
    ]  # fmt: skip
    assert most_waited_in(run_of(sums("a", 9), sums("b", 8)), "Waits in") == []
