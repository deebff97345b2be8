"""Blocks of an allocator: lives, sums by region, op and step, and what no event tells."""

from __future__ import annotations

import numpy as np
from builders.shown import profile

from tpu_profile_plugin.analysis.common.planes import host_plane
from tpu_profile_plugin.analysis.memory.allocations import (
    OP,
    REGION,
    REST,
    STACK,
    STEP,
    RecordedMemory,
    allocations,
    recorded_memory,
)

# (kind, at us, address, bytes, heap after it, op, region)
EVENTS = [
    ("Allocation", 1, 10, 100, 150, "a", "output"),
    ("Allocation", 2, 20, 40, 190, "b", "temp"),
    ("Deallocation", 3, 10, 100, 90, "later", ""),
    ("Deallocation", 4, 30, 30, 60, "", ""),
    ("Allocation", 5, 10, 70, 130, "b", "temp"),
]


def memory(events: list[tuple[str, int, int, int, int, str, str]], stack: int = 0) -> RecordedMemory:
    lines = ['plane 1 "/host:CPU"', 'line 7 "t"']
    for kind, at, address, size, heap, op, region in events:
        facts = {"index_on_host": 0, "addr": address, "allocation_bytes": size, "requested_bytes": size}
        facts |= {"bytes_allocated": heap, "bytes_reserved": stack, "bytes_available": 1000 - heap}
        texts = [f'{name}="{text}"' for name, text in (("tf_op", op), ("region_type", region)) if text]
        stats = ", ".join([*(f"{name}={value}" for name, value in facts.items()), *texts])
        lines.append(f"{at}us +0us Memory{kind} {{{stats}}}")
    space = profile("\n".join(lines))
    plane = host_plane(space)
    assert plane is not None
    recorded = allocations(space, plane)
    assert recorded is not None
    return recorded_memory(recorded)


def parts(found: RecordedMemory, by: str) -> dict[str, list[int]]:
    stacks = found.stacks(by)
    assert np.array_equal(np.sum([*stacks.values()], axis=0), found.heap)
    return {name: values.tolist() for name, values in stacks.items()}


def test_blocks_live_from_their_allocation_until_what_frees_them() -> None:
    found = memory(EVENTS)
    lives = list(zip(found.size.tolist(), found.first.tolist(), found.last.tolist(), found.freed.tolist(), strict=True))
    # The block at address 30 was allocated before; address 10 is used a second time.
    assert sorted(lives) == [(30, 0, 2, 3), (40, 1, 4, -1), (70, 4, 4, -1), (100, 0, 1, 2)]
    assert found.freeing.texts[int(found.freeing.code[2])] == "later"
    assert found.size[found.live(1)].tolist() == [100, 40, 30]
    assert (found.peak, found.heap.tolist()) == (1, [150, 190, 90, 60, 130])


def test_memory_by_region_op_and_step() -> None:
    found = memory(EVENTS)
    assert parts(found, OP) == {
        "a": [100, 100, 0, 0, 0],
        "b": [0, 40, 40, 40, 110],
        "no op recorded": [30, 30, 30, 0, 0],
        REST: [20, 20, 20, 20, 20],
    }
    assert parts(found, REGION)["temp"] == [0, 40, 40, 40, 110]
    assert parts(found, STEP) == {"step 0": [130, 170, 70, 40, 110], REST: [20, 20, 20, 20, 20]}


def test_the_stack_is_a_part_of_its_own() -> None:
    assert parts(memory(EVENTS, stack=500), OP)[STACK] == [500] * 5


def test_the_largest_parts_at_the_peak_come_first_and_the_others_are_one() -> None:
    many = [("Allocation", at, at, at, sum(range(1, at + 1)), f"op{at}", "") for at in range(1, 15)]
    found = parts(memory(many), OP)
    assert [*found] == [*(f"op{at}" for at in range(14, 8, -1)), "others"]
    assert found["others"][-1] == sum(range(1, 9))


def test_blocks_count_where_the_allocator_does_not() -> None:
    silent = [(kind, at, address, size, 0, op, region) for kind, at, address, size, _, op, region in EVENTS]
    assert memory(silent).heap.tolist() == [130, 170, 70, 40, 110]


def test_a_block_that_the_first_event_frees_lived_at_no_instant() -> None:
    assert len(memory([("Deallocation", 1, 5, 10, 0, "", "")])) == 0
