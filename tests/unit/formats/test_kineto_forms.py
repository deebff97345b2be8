"""Traces of PyTorch in other forms: bare lists, old categories, texts as numbers, several ranks, other accelerators."""

from __future__ import annotations

import json
from typing import Any

import pytest
from builders import kineto
from builders.kineto import Event, frame, kernel, launch, memory, op, step, trace
from builders.spaces import events, facts, loaded, plane

from tpu_profile_plugin.columns.arrays import byte_array
from tpu_profile_plugin.formats import format_of, unpack

OLD = {
    "user_annotation": "Operator", "cpu_op": "Operator", "cuda_runtime": "Runtime", "kernel": "Kernel",
    "gpu_memcpy": "Memcpy", "gpu_memset": "Memset", "python_function": "Python Function",
}  # fmt: skip


def events_of(text: bytes) -> list[Event]:
    return list(json.loads(text)["traceEvents"])


def small(rank: int = 0, late: float = 0.0) -> list[Event]:
    """Two steps of a rank, each with an op and its kernel of 30 us; the ids are the same on all ranks."""
    found: list[Event] = []
    for number in (1, 2):
        at = 100.0 * number + late
        found += [
            step(number, at, 99),
            op(f"aten::r{rank}", at + 1, 9, External_id=number, Sequence_number=number),
            launch(at + 2, number),
            kernel(f"k{rank}", at + 20, 30, number, **{"External id": number}),
        ]
    return found


def kernels(text: bytes) -> dict[str, list[tuple[str, str, int]]]:
    """By device the names of kernels, their ops and groups."""
    space = loaded(text)
    devices = [one.name for one in space.planes if one.name.startswith("/device:GPU:")]
    return {
        device: [(name, stats.get("tf_op", ""), stats.get("group_id", -1)) for name, *_, stats in events(space, device)]
        for device in devices
    }


RANKS = {f"/device:GPU:{rank}": [(f"k{rank}", f"aten::r{rank}:PyTorch", group) for group in (0, 1)] for rank in (0, 1)}


def merged(place: Any, *, late: float = 40.0, sort: bool = False) -> bytes:
    """The events of two ranks as a merge leaves them: `place` changes those of a rank, on the host or its device."""
    found = []
    for rank in (0, 1):
        for event in small(rank, late * rank):
            place(event, rank, event["cat"] == "kernel")
            found.append(event)
    if sort:
        found.sort(key=lambda event: float(event["ts"]))
    return trace(*found)


def labelled(form: str) -> Any:
    def place(event: Event, rank: int, on_device: bool) -> None:
        event["pid"] = form.format(rank=rank, pid=event["pid"] if on_device else 80 + rank)

    return place


def shifted(stride: int, *, threads: bool = False, own_device: bool = False) -> Any:
    def place(event: Event, rank: int, on_device: bool) -> None:
        if own_device and on_device:
            event["pid"] = event["args"]["device"] = rank
        event["pid"] += stride * rank
        event["tid"] += stride * rank if threads else 0

    return place


def by_thread(event: Event, rank: int, on_device: bool) -> None:
    event["pid"], event["tid"] = ("GPU 0", f"stream 7 (rank {rank})") if on_device else ("CPU", f"main (rank {rank})")


def side_by_side(event: Event, rank: int, on_device: bool) -> None:
    """Two texts in one file: processes have their own numbers, and so have devices."""
    event["pid"] = rank if on_device else 100 + rank
    event["args"] |= {"device": rank} if on_device else {}


@pytest.mark.parametrize("sort", [False, True], ids=["one after the other", "interleaved"])
@pytest.mark.parametrize(
    "place",
    [
        labelled("[TP{rank:02d}] {pid}"),
        labelled("[rank {rank}] {pid}"),
        labelled("rank_{rank}_{pid}"),
        labelled("{pid} (rank {rank})"),
        labelled("node-{rank}/{pid}"),
        labelled("Rank {rank}"),
        shifted(1_000_000),
        shifted(10_000, threads=True),
        shifted(1_000_000, own_device=True),
        by_thread,
        side_by_side,
    ],
)
def test_ranks_of_a_merged_trace_have_their_own_devices_launches_and_the_same_steps(place: Any, sort: bool) -> None:
    text = merged(place, sort=sort)
    assert kernels(text) == RANKS
    host = [stats for name, *_, stats in events(loaded(text), "/host:CPU") if name == "ProfilerStep"]
    leading, following = ([one for one in host if ("_r" in one) == leads] for leads in (True, False))
    assert [(one["_p"], one["step_num"]) for one in leading] == [(1, 1), (2, 2)]
    assert [(one["_c"], one["step_num"]) for one in following] == [(1, 1), (2, 2)]


def test_threads_of_merged_ranks_are_named_after_them() -> None:
    space = loaded(merged(labelled("[TP{rank:02d}] {pid}")))
    assert list(plane(space, "/host:CPU").lines.name) == ["TP00: thread 20", "TP01: thread 20"]
    assert len(set(plane(space, "/host:CPU").lines.id.tolist())) == 2
    assert list(space.hostnames) == []


def test_devices_of_merged_ranks_are_what_their_number_there_says() -> None:
    boards = [{"id": 0, "name": "AMD Instinct MI300X"}, {"id": 1, "name": "Tesla T4"}]
    found = json.loads(merged(labelled("[TP{rank:02d}] {pid}")))
    space = loaded(json.dumps({**found, "deviceProperties": boards}).encode())
    names = [facts(space, one, one.stats)["gpu_device_name"] for one in space.planes if "GPU" in one.name]
    assert names == ["AMD Instinct MI300X"] * 2


def test_memory_of_merged_ranks_is_apart() -> None:
    found = []
    for rank in (0, 1):
        for event in [*small(rank), memory(150, 64, 8, 64)]:
            labelled("[TP{rank:02d}] {pid}")(event, rank, event["cat"] == "kernel")
            found.append(event)
    stats = [stats for name, *_, stats in events(loaded(trace(*found)), "/host:CPU") if name == "MemoryAllocation"]
    assert [one["allocator_name"] for one in stats] == ["GPU_0_caching", "GPU_1_caching"]


def test_functions_of_merged_ranks_are_their_own() -> None:
    """Ids of Python functions are counted per process."""
    found = []
    for rank in (0, 1):
        calls = [frame(f"r{rank}.py(1): f", 101 + 40 * rank, 50), frame(f"r{rank}.py(2): g", 101 + 40 * rank, 30)]
        for number, call in enumerate(calls):
            call |= {"tid": 0, "args": {"Python id": number + 1, "Python parent id": number or None}}
        for event in [*small(rank, 40.0 * rank), *calls]:
            labelled("[TP{rank:02d}] {pid}")(event, rank, event["cat"] == "kernel")
            found.append(event)
    space = loaded(trace(*found))
    for rank in (0, 1):
        first = events(space, f"/device:GPU:{rank}")[0][3]
        assert first["source_stack"] == f"r{rank}.py:2 (g)\nr{rank}.py:1 (f)"


def test_a_single_rank_with_texts_keeps_its_steps_and_device() -> None:
    found = small()
    for event in found:
        event["pid"] = event["pid"] if event["cat"] == "kernel" else "host1"
    assert kernels(trace(*found)) == {"/device:GPU:0": RANKS["/device:GPU:0"]}
    for event in found:
        event["pid"] = "GPU 0" if event["cat"] == "kernel" else event["pid"]
    assert kernels(trace(*found)) == {"/device:GPU:0": RANKS["/device:GPU:0"]}


def test_texts_are_places_of_their_own() -> None:
    space = loaded(
        trace(
            {**op("aten::a", 1, 2), "pid": "x", "tid": "loop"},
            {**op("aten::b", 1, 2), "pid": "y", "tid": "loop"},
            {**kernel("k", 5, 1, 1), "tid": "stream 9", "args": {"device": 0}},
            {**kernel("l", 5, 1, 1), "tid": "copies", "args": {"device": 0}},
        )
    )
    assert list(plane(space, "/host:CPU").lines.name) == ["loop", "loop"]
    assert len(set(plane(space, "/host:CPU").lines.id.tolist())) == 2
    assert sorted(plane(space, "/device:GPU:0").lines.name) == ["Stream #9(Compute)", "Stream copies(Compute)"]


def test_one_event_of_another_process_is_no_rank() -> None:
    stray = {**launch(150, 9), "pid": "worker"}
    text = trace(*small(), stray)
    assert kernels(text) == {"/device:GPU:0": RANKS["/device:GPU:0"]}
    assert "thread 20" in list(plane(loaded(text), "/host:CPU").lines.name)


def test_a_bare_list_gives_the_same_planes_as_an_object() -> None:
    found = events_of(kineto.training(2))
    whole, bare = (unpack(json.dumps(form).encode()).space for form in ({"traceEvents": found}, found))
    assert bare.tobytes() == whole.tobytes()
    cut = json.dumps(found)[:-1].encode()
    made = unpack(cut)
    assert (made.space.tobytes(), made.skipped) == (whole.tobytes(), ()), "the closing bracket is optional"


def test_old_categories_are_those_of_today() -> None:
    """Steps are marked by their name; ids of ops had another name, and threads were texts."""
    found = small()
    old = []
    for event in found:
        args = {("external id" if key == "External id" else key): value for key, value in event["args"].items()}
        tid = f"stream {event['tid']}" if event["cat"] == "kernel" else str(event["tid"])
        old.append({**event, "cat": OLD[event["cat"]], "tid": tid, "args": args})
    assert unpack(trace(*old)).space.tobytes() == unpack(trace(*found)).space.tobytes()


def test_the_list_of_the_profiler_before_kineto_has_ops_and_kernels() -> None:
    found = [
        {"name": "aten::mm", "ph": "X", "ts": 100, "dur": 60, "tid": 1, "pid": "CPU functions", "args": {}},
        {"name": "sgemm", "ph": "X", "ts": 150, "dur": 40, "tid": 0, "pid": "CUDA functions", "args": {}},
        {"name": "f", "ph": "s", "ts": 100, "tid": 1, "pid": "CPU functions", "id": 1, "cat": "cpu_to_cuda"},
    ]
    text = json.dumps(found).encode()
    assert format_of(byte_array(text)).name == "PyTorch trace"
    assert [name for name, *_ in events(loaded(text), "/host:CPU")] == ["aten::mm:PyTorch"]
    assert [name for name, *_ in events(loaded(text), "/device:GPU:0")] == ["sgemm"]


def work(category: str, at: float, correlation: int | None, **args: Any) -> Event:
    own = {} if correlation is None else {"correlation": correlation}
    return {
        "ph": "X", "cat": category, "name": "matmul", "pid": 9, "tid": 3, "ts": at, "dur": 5, "args": {**own, **args}
    }  # fmt: skip


@pytest.mark.parametrize(
    "own",
    [
        work("mtia_ccp_events", 20, 1, device=9, stream=3),
        work("npu_kernel", 20, 1),
        work("anything", 20, None, device=9, stream=3),
        work("anything", 20, None, device="9", stream="stream 3"),
        work("", 20, 1),
    ],
)
def test_work_of_an_unknown_category_is_told_by_its_launch_or_its_arguments(own: Event) -> None:
    call = {**launch(12, 1), "cat": "mtia_runtime"}
    space = loaded(trace(op("aten::mm", 10, 5), call, own, deviceProperties=[]))
    (found,) = events(space, "/device:GPU:9")
    assert found[0] == "matmul"
    assert ("tf_op" in found[3]) == ("correlation" in own["args"])
    assert list(plane(space, "/device:GPU:9").lines.id) == [3]


def test_a_listed_device_tells_its_work() -> None:
    space = loaded(trace(op("aten::mm", 10, 5), work("engine", 20, None), deviceProperties=[{"id": 9, "name": "X"}]))
    assert [name for name, *_ in events(space, "/device:GPU:9")] == ["matmul"]


def test_copies_of_an_unknown_category_are_copies() -> None:
    text = trace(launch(1, 1), work("privateuse1_memcpy", 20, 1, device=9, stream=3, bytes=64))
    assert list(plane(loaded(text), "/device:GPU:9").lines.name) == ["Stream #3(MemcpyOther)"]


def test_ranges_beside_known_work_are_no_work() -> None:
    """What is not launched, on a device whose kernels are known, would count its time twice."""
    note = {**kernel("range", 1, 90, 0), "cat": "npu_range", "args": {"device": 0, "stream": 7}}
    space = loaded(trace(launch(1, 1), kernel("k", 5, 1, 1), note))
    assert [name for name, *_ in events(space, "/device:GPU:0")] == ["k"]
    assert plane(space, "/device:CUSTOM:GPU 0 annotations").event_metadata.names == ["range"]


def test_calls_of_unknown_categories_launch() -> None:
    call = {**launch(12, 1), "cat": "npu_launch"}
    space = loaded(trace(op("aten::mm", 10, 5), call, work("npu_engine", 20, 1)))
    assert events(space, "/device:GPU:9")[0][3]["tf_op"] == "aten::mm:PyTorch"


def test_what_is_not_read_is_counted_and_named() -> None:
    strays = [{**op("x", at, 1), "cat": "npu_insight", "pid": 77, "tid": 5} for at in (1, 2)]
    begun = {**op("y", 3, 1), "ph": "B"}
    text = trace(op("aten::mm", 10, 5), launch(11, 1), kernel("k", 20, 1, 1), *strays, begun)
    assert [(part.code, part.sentence) for part in unpack(text).skipped] == [
        (
            "unread_events",
            "2 events of category npu_insight not read: neither on a thread of the host nor on a known device.",
        ),
        ("unread_events", "1 event of phase B not read: the profiler writes whole events, of phase X."),
    ]
    assert unpack(trace(*small())).skipped == ()
