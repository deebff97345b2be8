"""Allocations over time: sums by region, op and step, and the blocks at a moment with their lives."""

from __future__ import annotations

import pytest
from builders import planes
from builders.answers import answer, rows

from tpu_profile_plugin.errors import BadRequest, NoData
from tpu_profile_plugin.tools.memory.over_time import ALLOCATOR


def event(kind: str, at: int, device: int, address: int, size: int, heap: int, op: str) -> str:
    stats = f"index_on_host={device}, addr={address}, allocation_bytes={size}, requested_bytes={size - 1}"
    return f'{at}us +0us Memory{kind} {{{stats}, bytes_allocated={heap}, tf_op="{op}"}}'


PROFILE = "\n".join(
    (
        'plane 1 "/host:CPU"',
        'line 7 "t"',
        event("Allocation", 1, 0, 1, 64, 64, "a"),
        event("Allocation", 2, 0, 2, 32, 96, "b"),
        event("Deallocation", 4, 0, 1, 64, 32, "free"),
        event("Allocation", 3, 1, 1, 8, 8, "c"),
    )
)


def test_the_memory_of_an_allocator_and_its_blocks_at_the_peak() -> None:
    found = answer(ALLOCATOR, PROFILE)
    assert (found["memory"], found["instants"], found["peak"], found["heap"]) == ("0", 3, 1, [64, 96, 32])
    assert found["time_ps"] == [1_000_000, 2_000_000, 4_000_000]
    assert {one["name"]: one["bytes"] for one in found["stacks"]["op"]} == {"a": [64, 64, 0], "b": [0, 32, 32]}
    assert (found["instant"], found["at_ps"], found["live_bytes"], found["blocks"], found["rest_bytes"]) == (
        *(1, 2_000_000, 96, 2, 0),
    )
    assert rows(found["live"], "op", "size", "requested", "allocated_ps", "freed_ps", "freed_by") == [
        ["a", 64, 63, 1_000_000, 4_000_000, "free"],
        ["b", 32, 31, 2_000_000, None, ""],
    ]


def test_another_allocator_and_moment() -> None:
    assert answer(ALLOCATOR, PROFILE, memory_id="1")["heap"] == [8]
    assert rows(answer(ALLOCATOR, PROFILE, instant="2")["live"], "op") == [["b"]]


@pytest.mark.parametrize("params", [{"memory_id": "2"}, {"instant": "3"}])
def test_what_does_not_exist_is_refused(params: dict[str, str]) -> None:
    with pytest.raises(BadRequest):
        answer(ALLOCATOR, PROFILE, **params)


def test_without_allocations_it_says_so() -> None:
    with pytest.raises(NoData):
        answer(ALLOCATOR, 'plane 1 "/host:CPU"')


def test_the_line_is_that_of_the_op_itself_not_of_a_scope_around_it() -> None:
    line = "/src/train.py:4"
    device = planes.tpu("0us +4us %dot", more=f', tf_op="model/dense/MatMul:MatMul", source="{line}"')
    allocations = ("model/dense/MatMul", "model/dense/MatMul:MatMul", "model/dense", "model", "")
    host = [event("Allocation", 1 + at, 0, 1 + at, 64 - at, 64, op) for at, op in enumerate(allocations)]
    found = answer(ALLOCATOR, "\n".join(['plane 9 "/host:CPU"', 'line 7 "t"', *host, device]))
    assert rows(found["live"], "op", "source") == [
        list(row) for row in zip(allocations, (line, line, "", "", ""), strict=True)
    ]
