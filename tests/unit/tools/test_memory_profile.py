"""The memory profile of typed-in events: peaks, steps, what frees match, the breakdown, the timeline."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from builders.answers import answer, rows
from builders.shown import profile

from tpu_profile_plugin.analysis.memory.allocations import allocations, timeline
from tpu_profile_plugin.errors import BadRequest, NoData
from tpu_profile_plugin.run.figures import memory as figures
from tpu_profile_plugin.tools.memory.memory_profile import TOOL


def event(time_us: int, kind: str, address: int, size: int, heap: int, **more: Any) -> str:
    facts = {"bytes_reserved": 0, "bytes_allocated": heap, "bytes_available": 1000 - heap, "peak_bytes_in_use": 900}
    facts |= {"index_on_host": 0, "requested_bytes": size - 1, "allocation_bytes": size, "addr": address, **more}
    listed = ", ".join(f"{key}={value}" for key, value in facts.items())
    return f"{time_us}us +0us Memory{kind} {{{listed}}}"


def thread(*events: str) -> str:
    return "\n".join(['plane 1 "/host:CPU"', 'line 7 "t" @5us', *events])


def memory(text: str, name: str = "0") -> Any:
    return answer(TOOL, text)["memoryProfilePerAllocator"][name]


def breakdown(one: Any) -> list[tuple[Any, ...]]:
    out = []
    for line in one["activeAllocations"]:
        number = int(line["snapshotIndex"])
        if number < 0:
            facts = one["specialAllocations"][int(line["specialIndex"])]
        else:
            assert line["specialIndex"] == "-1"
            facts = one["memoryProfileSnapshots"][number]["activityMetadata"]
        out.append((facts["tfOpName"], int(facts["allocationBytes"]), int(line["numOccurrences"])))
    return out


def test_nothing_recorded_is_an_empty_answer() -> None:
    empty = {"memoryProfilePerAllocator": {}, "numHosts": 1, "memoryIds": [], "version": 1, "hloModules": []}
    assert answer(TOOL, "") == empty
    assert answer(TOOL, thread("0us +1us other")) == empty


def test_stats_of_other_events_are_none_of_the_memorys() -> None:
    other = 'other {tf_op="x", addr=7, fragmentation=0.5d}'
    space = profile(thread(f"1us +0us {other}", event(3, "Allocation", 64, 10, 10, tf_op='"a"'), f"9us +0us {other}"))
    found = allocations(space, space.planes[0])
    assert found is not None
    assert (found.event.tolist(), found.address.tolist(), found.fragmentation.tolist()) == ([1], [64], [0])
    assert [found.op.texts[code] for code in found.op.code] == ["a"]


def test_a_snapshot_has_every_field() -> None:
    facts = {"tf_op": '"a/b"', "region_type": '&"output"', "data_type": 1, "shape": '"[2,3]"', "fragmentation": 0.25}
    one = memory(thread(event(3, "Allocation", 64, 10, 30, bytes_reserved=5, **facts)))
    assert one["sampledTimelineSnapshots"] == [
        {
            "timeOffsetPs": "3000000",
            "aggregationStats": {
                "stackReservedBytes": "5",
                "heapAllocatedBytes": "30",
                "freeMemoryBytes": "970",
                "fragmentation": 0.25,
                "peakBytesInUse": "900",
            },
            "activityMetadata": {
                "memoryActivity": "ALLOCATION",
                "requestedBytes": "9",
                "allocationBytes": "10",
                "address": "64",
                "tfOpName": "a/b",
                "stepId": "0",
                "regionType": "output",
                "dataType": "float",
                "tensorShape": "[2,3]",
            },
        }
    ]
    assert one["profileSummary"] == {
        "peakBytesUsageLifetime": "900",
        "peakStats": {
            "stackReservedBytes": "5",
            "heapAllocatedBytes": "30",
            "freeMemoryBytes": "970",
            "fragmentation": 0.25,
            "peakBytesInUse": "35",
        },
        "peakStatsTimePs": "3000000",
        "memoryCapacity": "1005",
    }


def test_of_equal_peaks_the_last_in_the_file_counts() -> None:
    one = memory(thread(event(9, "Allocation", 1, 10, 50), event(4, "Allocation", 2, 10, 50)))
    assert one["profileSummary"]["peakStatsTimePs"] == "4000000"
    assert [s["timeOffsetPs"] for s in one["sampledTimelineSnapshots"]] == ["4000000", "9000000"]


def test_the_breakdown_at_the_peak() -> None:
    one = memory(
        thread(
            event(1, "Allocation", 1, 100, 300, tf_op='"a"'),
            event(2, "Allocation", 2, 100, 400, tf_op='"a"'),
            event(3, "Allocation", 3, 40, 440, tf_op='"freed"'),
            event(4, "Deallocation", 3, 40, 400),
            event(5, "Allocation", 4, 60, 460, tf_op='"b"', bytes_reserved=7),
            event(6, "Allocation", 5, 20, 100, tf_op='"after the peak"'),
        )
    )
    # 460 in use, 260 of it seen being allocated: 200 were there before.
    assert breakdown(one) == [
        ("unused preallocated device memory", 200, 1),
        ("a", 100, 2),
        ("b", 60, 1),
        ("stack", 7, 1),
    ]
    assert [len(one[key]) for key in ("memoryProfileSnapshots", "specialAllocations")] == [2, 2]


def test_what_is_reserved_counts_for_the_peak() -> None:
    one = memory(thread(event(1, "Allocation", 1, 10, 50), event(2, "Allocation", 2, 10, 30, bytes_reserved=40)))
    assert one["profileSummary"]["peakStatsTimePs"] == "2000000"
    assert one["profileSummary"]["peakStats"]["peakBytesInUse"] == "70"


def test_allocations_that_explain_all_leave_nothing_over() -> None:
    one = memory(thread(event(1, "Allocation", 1, 100, 100, tf_op='"a"')))
    assert (breakdown(one), one["specialAllocations"]) == ([("a", 100, 1)], [])


def test_of_lines_with_equal_sizes_the_one_that_asked_for_more_comes_first() -> None:
    one = memory(
        thread(
            event(1, "Allocation", 1, 100, 200, tf_op='"a"', requested_bytes=90),
            event(2, "Allocation", 2, 100, 300, tf_op='"b"', requested_bytes=95),
        )
    )
    # 100 bytes were there before; they count as asked for in full.
    assert breakdown(one) == [("unused preallocated device memory", 100, 1), ("b", 100, 1), ("a", 100, 1)]


def test_memory_freed_without_having_been_allocated_does_not_count() -> None:
    one = memory(thread(event(1, "Deallocation", 9, 30, 100), event(2, "Allocation", 1, 50, 150)))
    # 150 - 50 + 30 would be there from before, less the 30 that were freed.
    assert breakdown(one) == [("unused preallocated device memory", 100, 1), ("", 50, 1)]


def test_a_deallocation_says_what_it_frees() -> None:
    one = memory(
        thread(
            event(1, "Allocation", 1, 10, 10, tf_op='"first"', shape='"[1]"'),
            event(2, "Allocation", 1, 10, 20, tf_op='"second"'),
            event(3, "Deallocation", 1, 10, 10),
            event(4, "Deallocation", 1, 10, 0),
        )
    )
    names = [s["activityMetadata"]["tfOpName"] for s in one["sampledTimelineSnapshots"]]
    assert names == ["first", "second", "first", ""]


def test_events_outside_of_steps_belong_to_the_next_one() -> None:
    grouped = thread(*(event(t, "Allocation", t, 1, t, group_id=g) for t, g in ((2, 4), (5, 7))))
    lines = grouped.splitlines()
    lines[3:3] = [event(3, "Allocation", 3, 1, 3)]
    lines[2:2] = [event(1, "Allocation", 1, 1, 1)]
    one = memory("\n".join(lines))
    assert [s["activityMetadata"]["stepId"] for s in one["sampledTimelineSnapshots"]] == ["0", "4", "5", "7"]


@pytest.mark.parametrize(("first", "second"), [("0", "1"), ("4", "5")])
def test_after_a_step_the_next_one_is_meant(first: str, second: str) -> None:
    one = memory(thread(event(1, "Allocation", 1, 1, 1, group_id=first), event(2, "Allocation", 2, 1, 2)))
    assert [s["activityMetadata"]["stepId"] for s in one["sampledTimelineSnapshots"]] == [first, second]


@pytest.mark.parametrize(
    ("number", "name"),
    [
        (0, "INVALID"),
        (1, "float"),
        (30, "uint4"),
        (31, "unknown dtype enum (31)"),
        (32, "unknown dtype enum (32)"),
        (33, "unknown dtype enum (33)"),
        (-1, "unknown dtype enum (-1)"),
        (100, "unknown dtype enum (100)"),
        (101, "float_ref"),
        (130, "uint4_ref"),
        (131, "unknown dtype enum (131)"),
        (132, "unknown dtype enum (132)"),
        (133, "unknown dtype enum (133)"),
    ],
)
def test_element_types(number: int, name: str) -> None:
    one = memory(thread(event(1, "Allocation", 1, 1, 1, data_type=number)))
    assert one["sampledTimelineSnapshots"][0]["activityMetadata"]["dataType"] == name


@pytest.mark.parametrize("numbers", [(1, 2**40), (2**40, -(2**40)), (-1, 1)])
def test_numbers_however_far_apart(numbers: tuple[int, int]) -> None:
    both = answer(
        TOOL, thread(*(event(i, "Allocation", i, 10 + i, 10, index_on_host=n) for i, n in enumerate(numbers)))
    )
    sizes = {
        name: one["sampledTimelineSnapshots"][0]["activityMetadata"]["allocationBytes"]
        for name, one in both["memoryProfilePerAllocator"].items()
    }
    assert sizes == {str(numbers[0]): "10", str(numbers[1]): "11"}


def test_the_last_stat_that_names_an_allocator_counts() -> None:
    named = '1us +0us MemoryAllocation {allocator_name="bfc", index_on_host=2, device_ordinal=5, allocation_bytes=8}'
    reverse = '2us +0us MemoryAllocation {device_ordinal=5, index_on_host=2, allocator_name="bfc", allocation_bytes=8}'
    unnamed = "3us +0us MemoryAllocation {allocation_bytes=8}"
    # Other events may carry such stats as well.
    found = answer(TOOL, thread(named, reverse, unnamed, "4us +1us other {index_on_host=9, fragmentation=0.5}"))
    assert found["memoryIds"] == ["", "5", "bfc"]


def test_times_count_from_the_beginning_of_the_line() -> None:
    # Times since 1970 do not fit into 64 bits of picoseconds.
    early = thread(event(3, "Allocation", 1, 1, 1))
    late = f'line 8 "u" @1700000000s\n{event(4, "Allocation", 2, 1, 2)}'
    at_the_limit = f'line 9 "v" @9223372036854776ns\n{event(5, "Allocation", 3, 1, 3)}'
    for text, times in ((early, [3]), (f"{early}\n{late}", [3, 4]), (f"{early}\n{late}\n{at_the_limit}", [3, 4, 5])):
        shown = memory(text)["sampledTimelineSnapshots"]
        assert [int(one["timeOffsetPs"]) for one in shown] == [time * 10**6 for time in times]


def test_allocators_are_kept_apart() -> None:
    named = event(1, "Allocation", 1, 10, 10, allocator_name='"bfc"')
    both = answer(
        TOOL, thread(named, event(2, "Allocation", 1, 10, 20, device_ordinal=3), event(3, "Allocation", 2, 1, 5))
    )
    assert both["memoryIds"] == ["0", "3", "bfc"]
    assert list(both["memoryProfilePerAllocator"]) == both["memoryIds"]


def test_module_runs() -> None:
    device = 'plane 2 "/device:TPU:1"\nline 3 "XLA Modules" @1us\n2us +5us "jit_f(7)"\n9us +1us "jit_f(7)"'
    text = thread(event(1, "Allocation", 1, 1, 1)) + "\n" + device
    runs = answer(TOOL, text)["hloModules"]
    # Since the start of the line, like the times of the memory events.
    first = {"name": "jit_f(7)", "startTimePs": "2000000", "endTimePs": "7000000", "id": "0", "planeName": "TPU:1"}
    assert runs == [first, {**first, "startTimePs": "9000000", "endTimePs": "10000000", "id": "1"}]
    # For the page both count from the start of the recording.
    since_recording = answer(TOOL, text, page=True, modules="true")["modules"]
    assert rows(since_recording, "module", "device", "start", "end", "duration", "id") == [
        ["jit_f(7)", "TPU 1", 3_000_000, 8_000_000, 5_000_000, "0"],
        ["jit_f(7)", "TPU 1", 10_000_000, 11_000_000, 1_000_000, "1"],
    ]
    # They are sent on demand only.
    first = answer(TOOL, text, page=True)
    assert (rows(first["modules"], "module"), first["has_modules"]) == ([], True)


def test_the_page_receives_numbers_and_no_texts_for_nothing() -> None:
    text = thread(
        event(1, "Allocation", 1, 100, 300, tf_op='"aten::mm:PyTorch"', shape='"[5]"', data_type=1),
        event(2, "Allocation", 2, 100, 400, tf_op='"(null)"', shape='"unknown"', data_type=0, bytes_reserved=7),
        event(3, "Deallocation", 2, 100, 200),
    )
    (memory,) = answer(TOOL, text, page=True)["memories"]
    assert memory["peak"] == {
        **{"time_ps": 7_000_000, "stack": 7, "heap": 400, "used": 407, "free": 600, "capacity": 1007},
        **{"lifetime": 900, "fragmentation": 0.0, "segments": None, "largest_free": None},
    }
    assert rows(memory["timeline"], "event", "allocation", "op", "dtype", "shape", "used") == [
        ["allocation", 100, "aten::mm", "float", "[5]", 300],
        ["allocation", 100, None, None, None, 407],
        ["deallocation", -100, None, None, None, 200],
    ]
    assert rows(memory["live"], "op", "allocation", "occurrences", "region") == [
        ["Allocated before or not recorded", 200, 1, "persist/dynamic"],
        [None, 100, 1, None],
        ["aten::mm", 100, 1, None],
        ["stack", 7, 1, "stack"],
    ]


def test_without_free_memory_the_capacity_is_unknown() -> None:
    (memory,) = answer(TOOL, thread(event(1, "Allocation", 1, 1, 1000)), page=True)["memories"]
    assert (memory["peak"]["used"], memory["peak"]["capacity"]) == (1000, 0)
    # It is known from another event.
    events = event(1, "Allocation", 1, 1000, 1000), event(2, "Deallocation", 1, 700, 300)
    (memory,) = answer(TOOL, thread(*events), page=True)["memories"]
    assert (memory["peak"]["used"], memory["peak"]["free"], memory["peak"]["capacity"]) == (1000, 0, 1000)


def test_several_hosts_are_refused() -> None:
    with pytest.raises(BadRequest, match="one host"):
        answer(TOOL, "", "")


def test_more_allocators_than_any_host_has_are_refused_with_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "MAX_ALLOCATORS", 1)
    one = event(1, "Allocation", 1, 10, 100)
    assert answer(TOOL, thread(one))["memoryIds"] == ["0"]
    with pytest.raises(NoData, match="names 2 allocators"):
        answer(TOOL, thread(one, event(2, "Allocation", 1, 10, 100, index_on_host=1)))


def test_odd_values_do_no_harm() -> None:
    odd = {"fragmentation": '"x"', "data_type": 9999, "tf_op": 5, "addr": -1, "shape": "0xff"}
    one = memory(thread(event(1, "Allocation", 1, 10, 2**62, bytes_reserved=2**62, **odd)))
    shown = one["sampledTimelineSnapshots"][0]
    assert shown["activityMetadata"]["address"] == "18446744073709551615"
    assert shown["activityMetadata"]["dataType"] == "unknown dtype enum (9999)"
    assert (shown["activityMetadata"]["tfOpName"], shown["activityMetadata"]["tensorShape"]) == ("", "")
    assert shown["aggregationStats"]["fragmentation"] == 0


def test_figures_count_only_as_int64_and_the_fragmentation_only_as_a_double() -> None:
    """As in XProf; profilers write no other types."""
    unsigned = {"bytes_allocated": "u7", "requested_bytes": "u7", "addr": "u7", "bytes_available": "7d"}
    shown = memory(thread(event(1, "Allocation", 1, 10, 20, fragmentation=1, data_type="u1", **unsigned)))
    stats, facts = (shown["sampledTimelineSnapshots"][0][key] for key in ("aggregationStats", "activityMetadata"))
    assert [stats[key] for key in ("heapAllocatedBytes", "freeMemoryBytes", "fragmentation")] == ["0", "0", 0]
    assert [facts[key] for key in ("requestedBytes", "address", "allocationBytes")] == ["0", "0", "10"]
    assert facts["dataType"] == "INVALID"


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        (None, ""),
        (0, "INVALID"),
        (30, "uint4"),
        (31, "unknown dtype enum (31)"),
        (99, "unknown dtype enum (99)"),
        (101, "float_ref"),
        (-1, "unknown dtype enum (-1)"),
    ],
)
def test_names_of_element_types(written: int | None, shown: str) -> None:
    facts = {} if written is None else {"data_type": written}
    one = memory(thread(event(1, "Allocation", 1, 10, 30, **facts)))
    assert one["sampledTimelineSnapshots"][0]["activityMetadata"]["dataType"] == shown


def test_allocators_are_ordinals_or_names_and_may_be_empty() -> None:
    named = [
        "0us +0us MemoryAllocation {allocator_name=5}",
        '1us +0us MemoryAllocation {allocator_name=""}',
        '2us +0us MemoryAllocation {allocator_name=&"a"}',
        "3us +0us MemoryAllocation {index_on_host=u5}",
        '4us +0us MemoryAllocation {allocator_name="a", device_ordinal=3}',
        '5us +0us MemoryAllocation {device_ordinal=3, allocator_name=""}',
        "6us +0us MemoryAllocation",
    ]
    ids = answer(TOOL, thread(*named))["memoryProfilePerAllocator"]
    assert {name: len(one["sampledTimelineSnapshots"]) for name, one in ids.items()} == {"": 4, "0": 1, "3": 1, "a": 1}


def test_memory_that_is_never_in_use_has_no_peak() -> None:
    one = memory(thread(event(1, "Deallocation", 1, 10, -40)))
    assert one["profileSummary"]["peakStats"]["heapAllocatedBytes"] == "0"
    assert (one["profileSummary"]["peakStatsTimePs"], one["profileSummary"]["memoryCapacity"]) == ("0", "0")
    assert (one["activeAllocations"], one["specialAllocations"]) == ([], [])


def test_lines_of_the_breakdown_number_what_is_in_neither_list() -> None:
    one = memory(thread(event(1, "Allocation", 1, 10, 40, bytes_reserved=100)))
    lines = [(line["snapshotIndex"], line["specialIndex"]) for line in one["activeAllocations"]]
    assert lines == [("-2", "1"), ("-1", "0"), ("0", "-1")]


def test_events_of_one_time_are_in_the_order_of_the_reference() -> None:
    """An unstable sort of more than 16 events swaps equal ones."""
    one = memory(thread(*(event(1, "Allocation", address, 10, 100) for address in range(18))))
    order = [int(shown["activityMetadata"]["address"]) for shown in one["sampledTimelineSnapshots"]]
    assert sorted(order) == list(range(18))
    assert order == [9, 17, 16, 15, 14, 13, 12, 11, 10, 0, 8, 7, 6, 5, 4, 3, 2, 1]


def test_orbax_batches_open_groups_as_well() -> None:
    batches = [f'{begin}us +10us "OrbaxServing::ProcessBatch"' for begin in (0, 20)]
    shown = memory(thread(*batches, event(21, "Allocation", 1, 10, 30)))
    assert shown["sampledTimelineSnapshots"][0]["activityMetadata"]["stepId"] == "1"


@pytest.mark.parametrize("count", [1, 999, 1000, 1001, 1500, 2000, 2500])
def test_the_timeline_keeps_the_highest_of_each_neighbourhood(count: int) -> None:
    values = np.random.default_rng(count).integers(0, 50, count)
    places = timeline(values)
    assert len(places) == min(count, 1000)
    assert (np.diff(places) > 0).all()
    width = max(1, count // 1000)
    narrow = 1000 * (width + 1) - count if count > 1000 else count
    begin = 0
    for box, place in enumerate(places.tolist()):
        size = width if box < narrow else width + 1
        inside = values[begin : begin + size].tolist()
        assert place == begin + inside.index(max(inside))
        begin += size
    assert begin == count


@pytest.mark.parametrize(("heap", "peak"), [(-1, "0"), (0, "1000000"), (1, "1000000")])
def test_a_peak_of_no_bytes_is_one(heap: int, peak: str) -> None:
    summary = memory(thread(event(1, "Allocation", 1, 10, heap)))["profileSummary"]
    assert summary["peakStatsTimePs"] == peak


def test_module_runs_are_numbered_over_all_cores() -> None:
    line = 'line 3 "XLA Modules"\n2us +5us m\n9us +1us n\nline 4 "XLA Modules"\n20us +1us m'
    text = f'plane 2 "/device:TPU:0"\n{line}\nplane 3 "/device:GPU:0"\n{line}\nplane 4 "/device:TPU:1"\n{line}'
    runs = answer(TOOL, thread(event(1, "Allocation", 1, 1, 1)) + "\n" + text)["hloModules"]
    cores = ["TPU:0"] * 3 + ["TPU:1"] * 3
    expected = list(zip("012345", ["m", "n", "m"] * 2, cores, strict=True))
    assert [(run["id"], run["name"], run["planeName"]) for run in runs] == expected
