"""Programs that every device runs on the same values: by the shardings of their arguments and what is inside."""

from __future__ import annotations

from typing import Any

import pytest
from builders.profiles.findings import cpu, evidence, told
from builders.programs.hlo import Op, op, program

OF = "f32[64,64]{1,0}"
LINE = {"source_file": "/home/me/model.py", "source_line": 7}
WHOLE: dict[str, Any] = {"type": 0}
ROWS = {"type": 3, "tile_assignment_dimensions": [4, 1], "iota_reshape_dims": [4], "iota_transpose_perm": [0]}


def step(*shardings: dict[str, Any], devices: int = 4, more: tuple[Op, ...] = ()) -> bytes:
    """A product and its tanh, of two arguments with these shardings, on so many devices."""
    entry = [
        op("batch", "parameter", OF),
        op("weights", "parameter", OF, parameter_number=1),
        *more,
        op("dot.1", "dot", OF, "batch", "weights", **LINE),
        op("tanh.2", "tanh", OF, "dot.1"),
    ]
    header = {
        "spmd_parameters_shardings": list(shardings),
        "device_assignment": {"replica_count": 1, "computation_count": devices},
    }
    return program(entry, module="jit_step", more=header)


def profile(proto: bytes, dot: int = 60) -> str:
    ops = [("dot.1", dot), ("tanh.2", 20)]
    return cpu(ops, ops, proto=proto)


def test_a_replicated_batch() -> None:
    found = told("replicated_work", profile(step(WHOLE, WHOLE)))
    assert found["title"] == (
        "Each of 4 devices computes the same in jit_step(5), which costs up to 60.0% of the step, most of it in dot.1 "
        "(model.py:7)"
    )
    # Three quarters of 80 us.
    assert (found["saving_ps_per_step"], found["confidence"]) == (60_000_000, "high")
    shown = evidence(found)
    assert shown["Ops of programs that do the same on each device, of the time of all ops"] == (100.0, "%", "")
    assert shown["Devices that compute the same"] == (4, "", "")
    assert found["advice"].startswith("Shard the batch over the mesh")


@pytest.mark.parametrize(
    "proto",
    [
        step(ROWS, WHOLE),
        step(WHOLE, {"type": 2, "tuple_shardings": [WHOLE, ROWS]}),
        step(WHOLE, {"type": 4}),
        step(),
        step(WHOLE, WHOLE, devices=1),
        step(WHOLE, WHOLE, more=(op("id", "partition-id", "u32[]"),)),
    ],
    ids=["sharded batch", "part of a tuple", "manual", "not partitioned", "one device", "by its number"],
)
def test_devices_with_values_of_their_own(proto: bytes) -> None:
    assert told("replicated_work", profile(proto))["reason"] == (
        "Work that several devices repeat takes 0.0% of the step."
    )


def test_a_tuple_whose_parts_are_replicated() -> None:
    found = told("replicated_work", profile(step(WHOLE, {"type": 2, "tuple_shardings": [WHOLE, WHOLE]})))
    assert found["share"] == 0.6


@pytest.mark.parametrize(("dot", "finds"), [(20, True), (19, False)])
def test_a_tenth_of_the_step(dot: int, finds: bool) -> None:
    ops = [("dot.1", dot)]
    found = told("replicated_work", cpu(ops, ops, proto=step(WHOLE, WHOLE, devices=2)))
    assert found.get("share") == (0.1 if finds else None)
