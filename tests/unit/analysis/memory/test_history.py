"""The memory of a program at each instant: pieces, their sums, and what lives when."""

from __future__ import annotations

import numpy as np
import pytest
from builders.programs.buffers import allocation, assignment, buffer, instruction_id, profile, trace
from builders.programs.hlo import op, program
from builders.shown import profile as columns

from tpu_profile_plugin.analysis.hlo.programs import hlo_programs
from tpu_profile_plugin.analysis.memory.buffers import DEFAULT_SPACE, MemoryHistory, MemoryLayout, memory_history

ENTRY = [
    op("p", "parameter", "f32[16384]", op_name="x"),
    op("a", "add", "f32[8192]", "p", "p"),
    op("b", "negate", "f32[8192]", "a"),
    op("c", "multiply", "f32[4096]", "a", "a"),
    op("out", "negate", "f32[16384]", "c"),
]
PAIR = ("f32[8192]", "f32[8192]")
PARTS = (
    buffer(1, 64, instruction_id(0)),
    buffer(2, 40, instruction_id(1)),
    buffer(3, 32, instruction_id(2)),
    buffer(4, 16, instruction_id(3)),
    buffer(5, 64, instruction_id(4)),
    buffer(6, 8, 12345),
    allocation(0, 64, [(1, 0, 64)], "parameter"),
    allocation(1, 64, [(5, 0, 64)], "live_out"),
    allocation(2, 80, [(2, 0, 40), (3, 40, 32), (4, 0, 16), (6, 72, 8)]),
)
TAKEN_OVER = trace(
    "alloc 2 a", "alloc 3 b", "alloc 6 b", "free 2 b", "share 4 2 c", "free 3 c", "free 6 c", "free 4 out"
)


def history(*traces: bytes, entry=ENTRY, parts=PARTS) -> MemoryHistory:
    space = columns(profile(jit_f=program(entry) + assignment(*parts, *traces)))
    found = hlo_programs(space).program(1)
    assert found is not None
    return memory_history(MemoryLayout(found, DEFAULT_SPACE))


def names(found: MemoryHistory, instant: int) -> list[str]:
    rows = found.row[found.live(instant)].tolist()
    return [found.layout.buffers.position(row).name for row in rows]


def test_the_pieces_add_up_to_the_heap_of_the_memory_viewer() -> None:
    found = history(TAKEN_OVER)
    replay = found.layout.replay
    assert replay is not None
    assert found.heap.tolist() == [128, 168, 200, 208, 168, 208, 176, 168, 128]
    assert found.heap.tolist() == (replay.heap + found.layout.indefinite_bytes).tolist()
    assert (found.peak, int(found.heap.max())) == (3, found.layout.peak_bytes)


def test_storage_that_another_buffer_takes_over_keeps_its_size() -> None:
    found = history(TAKEN_OVER)
    assert names(found, 3) == ["p", "out", "a", "b", ""]
    assert names(found, 5) == ["p", "out", "c", "b", ""]
    taken = found.live(5)[2]
    assert found.size[taken] == 40  # of the storage; c needs 16


def test_kinds_of_pieces() -> None:
    found = history(TAKEN_OVER)
    assert found.categories == ("parameter", "output", "temporary", "temporary", "unknown", "temporary")


def test_sums_by_group_are_exact_at_every_instant() -> None:
    found = history(TAKEN_OVER)
    groups = np.arange(len(found)) % 3
    assert found.series(groups, 3).sum(axis=0).tolist() == found.heap.tolist()
    alone = found.series(np.where(np.array(found.categories) == "temporary", 1, 0), 2)
    assert alone[1].tolist() == [0, 40, 72, 72, 32, 72, 40, 40, 0]


def test_without_a_heap_there_is_one_instant() -> None:
    found = history()
    assert (found.instants, found.heap.tolist(), names(found, 0)) == (1, [128], ["p", "out"])


@pytest.mark.parametrize(
    ("root", "held", "flags", "expected"),
    [
        # The last op of the entry, the buffers of an allocation with its flags, and what it is shown to hold.
        (op("t", "tuple", PAIR, "b", "c"), (2, 3), ("live_out",), "b"),
        (op("t", "tuple", PAIR, "b", "c"), (2, 4), ("live_out",), "c"),
        (op("t", "tuple", PAIR, "b", "c"), (2, 3, 4), ("live_out",), "a"),
        (op("t", "tuple", PAIR, "b", "c"), (2,), ("live_out",), "a"),
        (op("t", "tuple", PAIR, "b", "c"), (2, 3), ("live_out", "parameter"), "a"),
        (op("t", "tuple", PAIR, "b", "c"), (2, 3), ("constant",), "a"),
        (op("t", "tuple", PAIR, "p", "p"), (2, 1), ("live_out",), "p"),
        (op("t", "bitcast", "f32[8192]", "b"), (2, 3), ("live_out",), "b"),
        (op("t", "negate", "f32[8192]", "b"), (2, 3), ("live_out",), "a"),
        (op("t", "tuple", PAIR, "t", "b"), (2, 3), ("live_out",), "b"),  # a damaged one that has itself as a part
        # Part of a result is none; a buffer that is not listed is skipped.
        (op("t", "tuple", PAIR, "b", "c"), (2, 7), ("live_out",), "a"),
        (op("t", "tuple", PAIR, "b", "c"), (2, 99, 3), ("live_out",), "b"),
    ],
)
def test_what_an_allocation_holds_in_the_end(root, held, flags, expected: str) -> None:
    found = history(
        entry=[*ENTRY[:4], root],
        parts=(
            *(buffer(id_, size, instruction_id(row)) for id_, size, row in ((1, 30, 0), (2, 40, 1), (3, 32, 2))),
            *(buffer(4, 16, instruction_id(3)), buffer(7, 9, instruction_id(2), 1)),
            allocation(0, 64, [(id_, 0, 8) for id_ in held], *flags),
        ),
    )
    assert [found.layout.buffers.position(row).name for row in found.result.tolist()] == [expected]
    assert [found.layout.buffers.position(row).name for row in found.row.tolist()] == ["a"]


def test_an_allocation_without_buffers_holds_nothing_that_is_known() -> None:
    found = history(parts=(*PARTS[:6], allocation(0, 64, [], "live_out"), allocation(1, 9, [(99, 0, 9)], "live_out")))
    assert (found.row.tolist(), found.result.tolist(), found.size.tolist()) == ([-1, -1], [-1, -1], [64, 9])
    assert found.categories == ("output", "output")
    # Of no allocation, and of no instruction.
    found = history(trace("alloc 1 p", "alloc 6 b"), parts=PARTS[:6])
    assert (found.allocation.tolist(), found.categories) == ([-1, -1], ("temporary", "unknown"))


def test_buffers_without_bytes_are_not_at_the_peak() -> None:
    for size, live in ((0, ()), (1, (2,))):
        parts = (buffer(1, 64, instruction_id(0)), buffer(2, size, instruction_id(1)), allocation(0, 8, [(2, 0, 8)]))
        replay = history(trace("alloc 2 a"), parts=parts).layout.replay
        assert replay is not None
        assert (replay.live, replay.peak_bytes) == (live, size)
