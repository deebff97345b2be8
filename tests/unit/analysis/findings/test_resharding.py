"""Collectives that the compiler inserts to change shardings: which count, from which share on; source lines."""

from __future__ import annotations

from typing import Any

import pytest
from builders.profiles.findings import cpu, evidence, told, window
from builders.programs.hlo import op, program

SHARD, WHOLE = "f32[64,512]{1,0}", "f32[512,512]{1,0}"
LINE = {"source_file": "/home/me/model.py", "source_line": 9}
ROWS = {"type": 3, "tile_assignment_dimensions": [8, 1], "iota_reshape_dims": [8], "iota_transpose_perm": [0]}
PARTITIONED = {"spmd_parameters_shardings": [ROWS], "spmd_output_sharding": {"type": 0}}


def gathered(op_name: str = "jit(f)/dot_general", reduced: str = "jit(f)/dot_general", **header: Any) -> bytes:
    """A sharded argument is gathered and multiplied; another collective reduces."""
    entry = [
        op("weights.1", "parameter", SHARD, op_name="weights"),
        op("copy.1", "copy", SHARD, "weights.1"),
        op("all-gather.1", "all-gather", WHOLE, "copy.1", op_name=op_name, **LINE),
        op("all-reduce.2", "all-reduce", WHOLE, "all-gather.1", op_name=reduced, **LINE),
        op("dot.1", "dot", WHOLE, "all-gather.1", "all-reduce.2"),
    ]
    return program(entry, more=header or PARTITIONED)


def profile(gather: int, reduce: int, proto: bytes) -> str:
    ops = [("dot.1", 30), ("all-gather.1", gather), ("all-reduce.2", reduce)]
    return cpu(ops, ops, proto=proto)


def test_a_gather_that_the_compiler_inserted() -> None:
    found = told("resharding", profile(40, 10, gathered()))
    assert found["title"] == (
        "Changing shardings takes 40.0% of the step, most of it in all-gather.1 (model.py:9): "
        "f32[64,512] to f32[512,512]"
    )
    assert (found["saving_ps_per_step"], found["share"], found["confidence"]) == (40_000_000, 0.4, "high")
    shown = evidence(found)
    assert shown["By kind of collective"] == ("all-gather 100%", "", "")
    assert shown["A device gives"] == ("f32[64,512]", "", "communication")
    assert shown["A device has afterwards"] == ("f32[512,512]", "", "communication")
    assert shown["Sharding of argument weights"] == ("{devices=[8,1]<=[8]}", "", "")
    assert window(found) == {"host": "h0", "window": "0,110000000", "find": "all-gather.1"}
    other = told("exposed_communication", profile(40, 10, gathered()))
    assert other["reason"] == "It follows from another finding (resharding)."


@pytest.mark.parametrize(
    ("gather", "reduce", "finds"),
    [(10, 10, True), (9, 1, False), (20, 21, False)],
)
def test_from_a_tenth_of_the_step_and_half_of_the_exposed_communication_on(
    gather: int, reduce: int, finds: bool
) -> None:
    found = told("resharding", profile(gather, reduce, gathered()))
    assert ("share" in found) is finds
    if not finds:
        of_all = f"{gather / (gather + reduce):.0%}"
        assert found["reason"] == (
            f"Exposed collectives that change shardings take {gather}.0% of the step, {of_all} of the exposed "
            "communication."
        )


@pytest.mark.parametrize(("gather", "finds"), [(10, True), (9, False)])
def test_time_while_another_device_uses_the_same_cores_does_not_decide(gather: int, finds: bool) -> None:
    """Device 1 gathers 20 us longer, while device 0 computes: half of that on average."""
    first = [("dot.1", 30), ("all-gather.1", gather), ("dot.2", 40)]
    second = [("dot.1", 30), ("all-gather.1", gather + 20), ("dot.2", 10)]
    found = told("resharding", cpu(first, second, proto=gathered()))
    assert ("share" in found) is finds
    if finds:
        assert found["share"] == 0.2
    else:
        assert found["reason"].startswith("Exposed collectives that change shardings take 19.0% of the step, 100%")


@pytest.mark.parametrize(
    "proto",
    [gathered("jit(f)/shard_map/all_gather"), gathered("AllGather"), gathered(input_output_alias={})],
    ids=["asked for in JAX", "asked for elsewhere", "not partitioned"],
)
def test_collectives_of_the_program_do_not_count(proto: bytes) -> None:
    found = told("resharding", profile(40, 10, proto))
    assert found["reason"] == (
        "Exposed collectives that change shardings take 0.0% of the step, 0% of the exposed communication."
    )
    exposed = told("exposed_communication", profile(40, 10, proto))
    assert exposed["title"] == ("50.0% of the step is exposed communication, most of it in all-gather.1 (model.py:9)")


def test_a_reduction_that_stands_for_a_gather() -> None:
    found = told("resharding", profile(10, 40, gathered(reduced="jit(f)/gather")))
    assert evidence(found)["By kind of collective"] == ("all-reduce 80%, all-gather 20%", "", "")
    assert found["share"] == 0.5


def test_without_programs_nothing_is_known() -> None:
    found = told("resharding", cpu([("dot.1", 40), ("all-gather.1", 40)], [("dot.1", 40), ("all-gather.1", 40)]))
    assert (found["reason"], found["state"]) == ("No collectives of known programs recorded.", "unknown")
