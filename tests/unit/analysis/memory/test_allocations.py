"""Blocks of an allocator: lives, sums by region, op and step, and what no event tells."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from builders.shown import profile

from tpu_profile_plugin.analysis.common.planes import host_plane
from tpu_profile_plugin.analysis.environment.environment import Hardware
from tpu_profile_plugin.analysis.memory.allocations import (
    LINE,
    OP,
    OTHERS,
    REGION,
    REST,
    STACK,
    STEP,
    Allocations,
    DeviceMemory,
    RecordedMemory,
    SpecialAllocation,
    TextColumn,
    _type_name,
    allocations,
    by_time,
    device_memory,
    has_only_allocations,
    memory_peak,
    memory_use,
    recorded_memory,
    runs_by_address,
    timeline,
    with_matches,
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


# Typed-in columns.

NUMBERS = ("stack", "heap", "free", "peak", "requested", "allocated", "address", "segments", "largest_free")
TEXTS = ("memory", "op", "region", "data_type", "shape", "source", "stack_of_calls")


def recorded(*rows: dict[str, Any]) -> Allocations:
    """Events of an allocator; what is left out is 0, "" and an allocation, one event per ps in step 0."""
    columns: dict[str, Any] = {name: np.array([row.get(name, 0) for row in rows], np.int64) for name in NUMBERS}
    for name in TEXTS:
        texts = tuple(dict.fromkeys(["", *(row.get(name, "") for row in rows)]))
        columns[name] = TextColumn(np.array([texts.index(row.get(name, "")) for row in rows], np.int32), texts)
    return Allocations(
        event=np.arange(len(rows)), time_ps=np.array([row.get("at", i) for i, row in enumerate(rows)], np.int64),
        allocates=np.array([not row.get("frees", False) for row in rows], np.bool_),
        step=np.array([row.get("step", 0) for row in rows], np.int64), fragmentation=np.zeros(len(rows)), **columns,
    )  # fmt: skip


def alloc(address: int, size: int = 0, heap: int = 0, **more: Any) -> dict[str, Any]:
    return {"address": address, "allocated": size, "requested": size, "heap": heap, **more}


def free(address: int, size: int = 0, heap: int = 0, **more: Any) -> dict[str, Any]:
    return {**alloc(address, size, heap), "frees": True, **more}


@pytest.mark.parametrize(
    ("number", "name"),
    [
        (0, "INVALID"), (1, "float"), (30, "uint4"), (31, "unknown dtype enum (31)"), (-1, "unknown dtype enum (-1)"),
        (99, "unknown dtype enum (99)"), (100, "unknown dtype enum (100)"), (101, "float_ref"), (130, "uint4_ref"),
        (131, "unknown dtype enum (131)"),
    ],
)  # fmt: skip
def test_names_of_element_types(number: int, name: str) -> None:
    assert _type_name(number) == name


@pytest.mark.parametrize(
    ("values", "limit", "shown"),
    [
        ([1, 5, 2], 3, [0, 1, 2]),
        ([1, 5, 2], 4, [0, 1, 2]),
        ([], 3, []),
        # Of each bucket the first of its largest, the shorter buckets first.
        ([1, 5, 5, 2], 3, [0, 1, 2]),
        ([1, 5, 2, 9], 3, [0, 1, 3]),
        ([3, 3, 1, 2, 2], 3, [0, 1, 3]),
        ([1, 2, 4, 3, 0, 0], 3, [1, 2, 4]),
        ([1, 2, 0, 7, 7, 3, 9], 3, [1, 3, 6]),
        ([0, 1, 2, 3, 4, 5, 6, 7], 3, [1, 4, 7]),
        ([5, 4, 3, 2, 1, 0, 9, 8], 3, [0, 2, 6]),
    ],
)
def test_the_highest_of_each_stretch(values: list[int], limit: int, shown: list[int]) -> None:
    assert timeline(np.array(values, np.int64), limit).tolist() == shown


def test_events_outside_of_steps_belong_to_the_step_after_the_last() -> None:
    steps = [-1, 3, -1, 5, -1, -1, 2, -1]
    times = [1, 2, 3, 4, 5, 6, 7, 8]
    assert by_time(recorded(*({"step": step} for step in steps)))[1].step.tolist() == [0, 3, 4, 5, 6, 6, 2, 3]
    order, found = by_time(recorded(*({"step": one, "at": 9 - at} for one, at in zip(steps, times, strict=True))))
    assert order.tolist() == [7, 6, 5, 4, 3, 2, 1, 0]
    assert found.step.tolist() == [0, 2, 3, 3, 5, 6, 3, 4]
    assert by_time(recorded({"step": -1}))[1].step.tolist() == [0]


def test_runs_at_an_address_end_with_what_frees_it() -> None:
    rows = [alloc(7), alloc(9), alloc(7), free(7), free(7), alloc(7), free(9), free(8)]
    order, begin = runs_by_address(recorded(*rows))
    assert order.tolist() == [0, 2, 3, 4, 5, 7, 1, 6]
    assert begin.tolist() == [0, 0, 0, 3, 4, 5, 6, 6]


def test_what_is_freed_has_the_use_of_its_allocation() -> None:
    use = {"op": "f", "region": "temp", "data_type": "int8", "shape": "[2]", "source": "a:1", "stack_of_calls": "a"}
    found = with_matches(
        recorded(alloc(7, **use), free(9, op="g"), alloc(7, op="h"), free(7, op="later"), free(7, op="i"))
    )
    assert [found.op.texts[code] for code in found.op.code] == ["f", "g", "h", "f", "i"]
    for name, text in use.items():
        column = getattr(found, name)
        assert column.texts[column.code[3]] == text


A, B = {"op": "a", "region": "temp", "data_type": "float", "shape": "[8]", "source": "m:1"}, {"op": "b"}


@pytest.mark.parametrize(
    ("rows", "peak", "step", "lines", "special"),
    [
        # Equal allocations are one line, the largest come first.
        ([alloc(1, 10, 10, **A), alloc(2, 30, 40, **B), alloc(3, 10, 50, **A)], 2, 0, [(30, 1), (10, 2)], []),
        ([alloc(1, 10, 10, **A), alloc(2, 10, 20, **{**A, "source": "m:2"})], 1, 0, [(10, 1), (10, 1)], []),
        ([alloc(1, 10, 10), {**alloc(2, 10, 20), "requested": 9}], 1, 0, [(10, 1), (10, 1)], []),
        # What was freed before is not there; the last event of the largest is the peak.
        ([alloc(1, 30, 30), free(1, 30, 0), alloc(2, 30, 30), alloc(3, 0, 30)], 3, 0, [(30, 1), (0, 1)], []),
        # What no event allocated, or was allocated in an earlier step.
        ([alloc(1, 10, 25), free(2, 5, 20)], 0, 0, [(15, 1), (10, 1)], [("unused", 15)]),
        ([alloc(1, 10, 15), free(9, 5, 10), alloc(2, 20, 30)], 2, 0, [(20, 1), (10, 1)], []),
        ([alloc(1, 10, 14), free(9, 5, 9), alloc(2, 20, 29)], 2, 0, [(20, 1), (10, 1)], []),
        ([alloc(1, 10, 16), free(9, 5, 11), alloc(2, 20, 31)], 2, 0, [(20, 1), (10, 1), (1, 1)], [("unused", 1)]),
        ([alloc(1, 10, 10, step=4), alloc(2, 20, 30, step=5)], 1, 5, [(20, 1), (10, 1)], [("unused", 10)]),
        # The stack of programs is told apart.
        ([alloc(1, 10, 10, stack=0), alloc(2, 20, 30, stack=25)], 1, 0, [(25, 1), (20, 1), (10, 1)], [("stack", 25)]),
        ([alloc(1, 10, 30, stack=1)], 0, 0, [(20, 1), (10, 1), (1, 1)], [("unused", 20), ("stack", 1)]),
        # Nothing is ever in use.
        ([alloc(1, 10, -5), free(1, 10, -9)], None, 0, [], []),
        ([free(1, 10, 0)], 0, 0, [], []),
    ],
)
def test_what_holds_the_memory_at_the_peak(
    rows: list[dict[str, Any]], peak: int | None, step: int, lines: list[tuple[int, int]], special: list[Any]
) -> None:
    found = memory_peak(recorded(*rows))
    sizes = [found.special[-1 - row].bytes if row < 0 else int(found.rows.allocated[row]) for row in found.active]
    assert (found.peak, found.step, list(zip(sizes, found.count, strict=True))) == (peak, step, lines)
    names = {"unused": "unused preallocated device memory"}
    regions = {"unused": "persist/dynamic", "stack": "stack"}
    assert list(found.special) == [
        SpecialAllocation(names.get(name, name), regions[name], size) for name, size in special
    ]
    assert found.timeline.tolist() == list(range(len(rows)))


def test_the_peak_in_the_order_of_time() -> None:
    """Events of the file that are not in the order of time, in two steps."""
    rows = [
        alloc(2, 20, 30, at=5, peak=40, step=2),
        alloc(1, 10, 10, at=1, peak=50, step=1),
        free(1, 10, 20, at=7, step=2, peak=60),
    ]
    found = memory_peak(recorded(*rows))
    assert (found.peak, found.step, found.lifetime_peak, found.live.tolist()) == (1, 2, 60, [1])
    assert found.rows.time_ps.tolist() == [1, 5, 7]
    again = memory_peak(recorded(alloc(1, 9, 9, step=1), free(1, 9, 0, step=1), alloc(2, 9, 9, step=3)))
    assert (again.peak, again.step) == (2, 3)
    equal = memory_peak(
        recorded(alloc(1, 9, 9, at=8, step=3), free(1, 9, 0, at=5, step=2), alloc(2, 9, 9, at=2, step=1))
    )
    assert (equal.peak, equal.step, equal.live.tolist()) == (0, 3, [])


def test_parts_of_blocks_at_the_peak_and_ever() -> None:
    rows = [
        alloc(1, 10, 10, op="a", source="m:1"), alloc(2, 20, 30, op="b", source="m:2", stack=4),
        free(1, 10, 20, stack=4), alloc(3, 5, 27, op="c", stack=9), free(2, 20, 7, stack=9), free(3, 5, 2, stack=1),
    ]  # fmt: skip
    found = recorded_memory(recorded(*rows))
    assert found.heap.tolist() == [10, 34, 24, 36, 16, 3]
    assert (found.peak, found.rest.tolist()) == (3, [0, 4, 4, 11, 11, 3])
    assert {name: part.tolist() for name, part in found.stacks(LINE).items()} == {
        "m:2": [0, 20, 20, 20, 0, 0], "no line recorded": [0, 0, 0, 5, 5, 0], "m:1": [10, 10, 0, 0, 0, 0],
        STACK: [0, 4, 4, 9, 9, 1], REST: [0, 0, 0, 2, 2, 2],
    }  # fmt: skip
    # In the order of what they have at the peak, then of what they ever had.
    assert list(found.stacks(OP)) == ["b", "c", "a", STACK, REST]
    many = [alloc(i, 100 - i, op=f"op{i}") for i in range(1, 9)]
    freed = [row for i, one in enumerate(many) for row in ((one, free(i + 1, 99 - i)) if i else (one,))]
    sizes = recorded_memory(recorded(*many, *freed[1:]))
    assert list(sizes.stacks(OP)) == [*(f"op{i}" for i in range(1, 7)), OTHERS]


def test_parts_with_equal_memory_at_the_peak_by_what_they_ever_had() -> None:
    rows = [alloc(1, 5, op="a"), free(1, 5), alloc(2, 9, op="b"), free(2, 9), alloc(3, 20, op="c"), alloc(4, 1, op="d")]
    found = recorded_memory(recorded(*rows))
    assert list(found.stacks(OP)) == ["c", "d", "b", "a"]


def test_an_address_that_is_allocated_again_before_it_is_freed() -> None:
    found = recorded_memory(recorded(alloc(7, 10), alloc(7, 20), alloc(8, 5), alloc(7, 3)))
    lives = list(zip(found.size.tolist(), found.first.tolist(), found.last.tolist(), found.freed.tolist(), strict=True))
    assert lives == [(10, 0, 3, -1), (5, 2, 3, -1)]


@pytest.mark.parametrize(
    ("events", "only"),
    [
        (("MemoryAllocation",), True),
        (("MemoryDeallocation", "snapshot", "out of memory"), True),
        (("snapshot",), False),
        (("MemoryAllocation", "train"), False),
        ((), False),
    ],
)
def test_profiles_of_allocations_alone(events: tuple[str, ...], only: bool) -> None:
    lines = [f'{at}us +0us "{name}"' for at, name in enumerate(events)]
    space = profile("\n".join(['plane 1 "/host:CPU"', 'line 7 "t"', *lines]))
    assert has_only_allocations(space.planes[0]) is only


def test_use_of_allocators_by_name() -> None:
    lines = [
        "1us +0us MemoryAllocation {index_on_host=1, bytes_reserved=5, bytes_allocated=60, bytes_available=40}",
        '2us +0us MemoryAllocation {allocator_name="b", bytes_reserved=1, bytes_allocated=2, bytes_available=3}',
        "3us +0us other {index_on_host=1, bytes_allocated=99}",
        "4us +0us MemoryDeallocation {device_ordinal=1, bytes_allocated=7}",
        '5us +0us MemoryAllocation {index_on_host=1, allocator_name="b", bytes_allocated=9}',
        '6us +0us MemoryAllocation {allocator_name="b", device_ordinal=1, bytes_allocated=8}',
        "7us +0us MemoryAllocation {bytes_allocated=11}",
    ]
    space = profile("\n".join(['plane 1 "/host:CPU"', 'line 7 "t"', *lines]))
    plane = host_plane(space)
    assert plane is not None
    found = memory_use(space, plane)
    assert {name: (one.in_use.tolist(), one.free.tolist()) for name, one in found.items()} == {
        "": ([11], [0]), "1": ([65, 7, 8], [40, 0, 0]), "b": ([3, 9], [3, 0]),
    }  # fmt: skip
    by_name = allocations(space, plane)
    assert by_name is not None
    assert {name: rows.heap.tolist() for name, rows in by_name.by_memory().items()} == {
        "": [11], "1": [60, 7, 8], "b": [2, 9],
    }  # fmt: skip


GIB = 1 << 30


@pytest.mark.parametrize(
    ("planes", "expected"),
    [
        ('plane 1 "/host:CPU"', (Hardware.CPU_ONLY, "", 0, "")),
        ('plane 1 "/device:TPU:0" {device_type_string="TPU v5 Lite"}',
         (Hardware.TPU, "TPU v5 Lite", 16 * GIB, "model")),
        ('plane 1 "/device:TPU:0" {device_type_string="TPU v5p"}', (Hardware.TPU, "TPU v5p", 95 * GIB, "model")),
        ('plane 1 "/device:TPU:0" {device_type_string="TPU v5p", has_megacore=1}',
         (Hardware.TPU, "TPU v5p", 95 * GIB, "model")),
        ('plane 1 "/device:TPU:0" {device_type_string="TPU v5p", has_megacore=0}',
         (Hardware.TPU, "TPU v5p", 95 * GIB // 2, "model")),
        ('plane 1 "/device:TPU:0" {device_type_string="TPU v3"}', (Hardware.TPU, "TPU v3", 16 * GIB, "model")),
        ('plane 1 "/device:TPU:0" {device_type_string="TPU v3", has_megacore=1}',
         (Hardware.TPU, "TPU v3", 16 * GIB, "model")),
        ('plane 1 "/device:TPU:0" {device_type_string="TPU v9"}', (Hardware.TPU, "TPU v9", 0, "")),
        ('plane 1 "/device:TPU:0" {device_type_string="TPU v3", memory_size=77}',
         (Hardware.TPU, "TPU v3", 77, "device")),
        ('plane 1 "/device:GPU:0" {gpu_device_name="TPU v3"}', (Hardware.GPU, "TPU v3", 0, "")),
        ('plane 1 "/device:GPU:0" {gpu_device_name="A", memory_size=77}', (Hardware.GPU, "A", 77, "device")),
        ('plane 1 "/device:TPU:0" {device_type_string="TPU v3"}\nplane 2 "/device:GPU:0" {gpu_device_name="A"}',
         (Hardware.GPU, "A", 0, "")),
    ],
)  # fmt: skip
def test_the_memory_of_a_device(planes: str, expected: Any) -> None:
    assert device_memory(profile(planes)) == DeviceMemory(*expected)


@pytest.mark.parametrize(
    ("device", "names", "size", "source"),
    [
        # The smallest of those that tell what is free.
        ("TPU", {"0": (60, 40), "1": (30, 20)}, 50, "allocator"),
        ("TPU", {"0": (60, 40), "1": (30, 0)}, 100, "allocator"),
        ("TPU", {"0": (60, 0)}, 0, ""),
        ("TPU", {"GPU_0_bfc": (60, 40), "cpu": (1, 1)}, 0, ""),
        ("GPU", {"GPU_0_bfc": (60, 40), "cpu": (1, 1), "gpu_host_bfc": (1, 1)}, 100, "allocator"),
        ("GPU", {"0": (60, 40)}, 100, "allocator"),
        ("TPU", {"0": (-60, 40)}, 0, ""),
    ],
)
def test_the_memory_of_a_device_by_its_allocators(
    device: str, names: dict[str, tuple[int, int]], size: int, source: str
) -> None:
    events = [
        f'{at}us +0us MemoryAllocation {{allocator_name="{name}", bytes_allocated={used}, bytes_available={rest}}}'
        for at, (name, (used, rest)) in enumerate(names.items())
    ]
    found = device_memory(
        profile("\n".join([f'plane 1 "/device:{device}:0"', 'plane 9 "/host:CPU"', "line 1 t", *events]))
    )
    assert (found.bytes, found.source) == (size, source)
