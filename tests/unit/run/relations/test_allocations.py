"""The table `allocations` of typed-in memory events."""

from __future__ import annotations

from typing import Any

from builders.answers import answer, run_of
from builders.relation_rows import rows, table

from tpu_profile_plugin.tools.memory.memory_profile import TOOL

US = 10**6


def event(time_us: int, kind: str, address: int, size: int, heap: int, **more: Any) -> str:
    """A memory event of allocator 0, of which 1000 bytes are managed."""
    facts = {"bytes_reserved": 5, "bytes_allocated": heap, "bytes_available": 1000 - heap, "peak_bytes_in_use": 900}
    facts |= {"index_on_host": 0, "requested_bytes": size - 1, "allocation_bytes": size, "addr": address, **more}
    listed = ", ".join(f"{key}={value}" for key, value in facts.items())
    return f"{time_us}us +0us Memory{kind} {{{listed}}}"


MEMORY = "\n".join(
    [
        'plane 1 "/host:CPU"',
        'line 7 "t" @5us',
        event(1, "Allocation", 64, 10, 10, tf_op='"a"', region_type='"temp"', data_type=1, shape='"[2]"'),
        event(3, "Allocation", -1, 30, 40, tf_op='"b"', fragmentation="0.5d"),
        event(4, "Allocation", 7, 1, 1, allocator_name='"GPU_0_bfc"'),
        event(5, "Deallocation", 64, 10, 30),
        event(8, "Allocation", 0, 20, 50),
        event(9, "Deallocation", -1, 30, 20),
    ]
)


def test_events_by_allocator_and_time_on_the_axis_of_the_trace() -> None:
    run = run_of(MEMORY)
    what = ("run", "host", "allocator", "kind", "begin_ps", "bytes", "requested_bytes", "address", "framework_op")
    assert rows(run, "allocations", *what) == [
        ("run", "h0", "0", "allocation", 6 * US, 10, 9, 64, "a"),
        ("run", "h0", "0", "allocation", 8 * US, 30, 29, 2**64 - 1, "b"),
        ("run", "h0", "0", "deallocation", 10 * US, 10, 9, 64, "a"),
        ("run", "h0", "0", "allocation", 13 * US, 20, 19, None, None),
        ("run", "h0", "0", "deallocation", 14 * US, 30, 29, 2**64 - 1, "b"),
        ("run", "h0", "GPU_0_bfc", "allocation", 9 * US, 1, 0, 7, None),
    ]
    sizes = ("in_use_bytes", "stack_bytes", "heap_bytes", "free_bytes", "peak_bytes", "fragmentation")
    assert rows(run, "allocations", *sizes)[:2] == [(15, 5, 10, 990, 900, 0), (45, 5, 40, 960, 900, 0.5)]
    texts = ("region", "data_type", "shape", "step")
    assert rows(run, "allocations", *texts)[0] == ("temp", "float", "[2]", None)


def test_what_is_live_at_the_peak() -> None:
    """The peak of allocator 0 is after its last allocation: what was freed before it does not count."""
    assert rows(run_of(MEMORY), "allocations", "at_peak", "bytes") == [
        (False, 10), (True, 30), (False, 10), (True, 20), (False, 30), (True, 1),
    ]  # fmt: skip
    of_page = answer(TOOL, MEMORY)["memoryProfilePerAllocator"]["0"]
    shown = [line for line in of_page["activeAllocations"] if int(line["snapshotIndex"]) >= 0]
    assert sum(int(line["numOccurrences"]) for line in shown) == 2


def test_events_in_a_step_have_its_number_in_the_run() -> None:
    """The second host records one step before those that both have."""

    def recorded(*steps: int) -> str:
        lines = ['plane 1 "/host:CPU"', "line 3 main @0us"]
        for step in steps:
            lines += [
                f"{100 * step}us +90us train {{_r=1, step_num={step}}}",
                event(100 * step + 5, "Allocation", 8, 1, 1),
            ]
        return "\n".join([*lines, event(2000, "Allocation", 9, 1, 1)])

    assert rows(run_of(recorded(4, 5, 6)), "allocations", "step") == [(0,), (1,), (2,), (None,)]
    assert rows(run_of(recorded(5, 6), recorded(4, 5, 6)), "allocations", "host", "step") == [
        *[("h0", 0), ("h0", 1), ("h0", None)],
        *[("h1", None), ("h1", 0), ("h1", 1), ("h1", None)],
    ]


def test_hosts_below_each_other() -> None:
    run = run_of(MEMORY, 'plane 1 "/host:CPU"\nline 1 main\n0us +5us train', MEMORY)
    found = table(run, "allocations")
    assert (len(found), set(found.column("host"))) == (12, {"h0", "h2"})
