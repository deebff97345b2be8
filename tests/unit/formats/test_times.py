"""Events of traces with impossible times: they are left out, and counted, before anything is told from them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from builders.answers import run_of
from builders.kineto import PID, event, frame, kernel, launch, op, step, trace
from builders.spaces import events, loaded
from builders.xspace_text import build

import tpu_profile_plugin
from tpu_profile_plugin.columns import ImpossibleTimes
from tpu_profile_plugin.columns.arrays import byte_array
from tpu_profile_plugin.formats import unpack
from tpu_profile_plugin.run.facts import host_facts
from tpu_profile_plugin.units import PS_PER_MS

EPOCH = 1_700_000_000_000_000
THREAD = "thread 20 (python)"


def steps(at: float = EPOCH, count: int = 4) -> list[dict[str, Any]]:
    """Steps of a millisecond, each with two kernels of 435 us."""
    found = []
    for i in range(count):
        begin = at + 1000 * i
        found += [step(i + 1, begin, 1000), op("aten::a", begin + 10, 50, External_id=i)]
        for j in range(2):
            found += [launch(begin + 20 + j, 10 * i + j), kernel(f"k{j}", begin + 50 + 440 * j, 435, 10 * i + j)]
    return found


def odd(begin: Any, duration: Any = 5.0, category: str = "cpu_op") -> dict[str, Any]:
    if category == "kernel":
        return kernel("k0", begin, duration, 999)
    return {**event(category, "odd", 0, 0), "ts": begin, "dur": duration}


def impossible(text: bytes) -> list[tuple[str, str, int, int]]:
    found = unpack(byte_array(text)).impossible
    return [(one.plane, one.line, one.left_out, one.shortened) for one in found]


def check(text: bytes, lost: list[tuple[str, str, int, int]]) -> None:
    """Four steps of a millisecond with 870 us of kernels, whatever is odd."""
    assert impossible(text) == lost
    run = tpu_profile_plugin.open(text).run()
    found = run.decomposition()
    assert found.names == ("ProfilerStep 1", "ProfilerStep 2", "ProfilerStep 3", "ProfilerStep 4")
    assert (found.step_ps, found.share("compute")) == (PS_PER_MS, pytest.approx(0.87))
    assert run.document("overview_page")
    ts = [one["ts"] for one in run.answer("trace_viewer")["traceEvents"] if one.get("ph") == "X"]
    assert max(ts) - min(ts) < 4000


@pytest.mark.parametrize("begin", [0, -5, -1e15, 1e30, float("nan"), float("inf"), EPOCH / 1000, 2 * EPOCH, "x"])
@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("category", ["cpu_op", "user_annotation", "python_function", "cuda_runtime"])
def test_an_impossible_begin_costs_its_event(begin: Any, first: bool, category: str) -> None:
    events = steps()
    events.insert(0 if first else 7, odd(begin, category=category))
    check(trace(*events), [("/host:CPU", THREAD, 1, 0)])


@pytest.mark.parametrize("duration", [-1, -1e18, 1e18, float("nan"), float("inf"), "x"])
def test_an_impossible_duration_on_a_thread_costs_its_event(duration: Any) -> None:
    check(trace(*steps(), odd(EPOCH + 500, duration)), [("/host:CPU", THREAD, 1, 0)])


@pytest.mark.parametrize("duration", [-1, 1e9, 1e18, float("nan")])
def test_an_impossible_duration_on_a_stream_ends_where_the_next_begins(duration: Any) -> None:
    found = steps()
    broken = next(one for one in found if one["name"] == "k0" and one["ts"] == EPOCH + 1050)
    broken["dur"] = duration
    check(trace(*found), [("/device:GPU:0", "Stream #7(Compute)", 0, 1)])


def test_half_of_the_events_without_a_time() -> None:
    more = [odd(0, category=category) for category in ("cpu_op", "kernel", "cuda_runtime") for _ in range(9)]
    lost = [("/device:GPU:0", "Stream #7(Compute)", 9, 0), ("/host:CPU", THREAD, 18, 0)]
    check(trace(*more[:13], *steps(), *more[13:]), lost)


def test_the_loss_is_told() -> None:
    run = run_of(trace(*steps(), odd(0)))
    (loss,) = host_facts(run.profiles[0]).losses
    assert (loss.code, loss.count) == ("impossible_times", 1)
    assert loss.message == (
        "1 event has an impossible time (0, negative, or far from all others) and is left out: "
        f"1 on {THREAD} of /host:CPU."
    )


def test_functions_whose_ends_are_not_recorded_are_no_callers() -> None:
    """Forty calls of a generator that never return enclose all that follows; those of the program do."""
    end = EPOCH + 4000
    outer = [frame("train.py(1): <module>", EPOCH - 10, 4010), frame("train.py(9): main", EPOCH - 5, 4005)]
    lost = [frame("data.py(3): batches", EPOCH + 100 * i, end - EPOCH - 100 * i) for i in range(40)]
    text = trace(*outer, *lost, *steps())
    assert impossible(text) == [("/host:CPU", THREAD, 40, 0)]
    stacks = {facts["source_stack"] for *_, facts in events(loaded(text), "/device:GPU:0")}
    assert stacks == {"train.py:9 (main)\ntrain.py:1 (<module>)"}


def test_times_of_any_epoch_are_exact() -> None:
    """Trace events whose times in picoseconds are too large for 64 bits."""
    found = [
        {"ph": "X", "pid": PID, "tid": 1, "ts": EPOCH + 1000 * i, "dur": 500.25, "name": f"e{i}"} for i in range(3)
    ]
    found += [
        {"ph": "B", "pid": PID, "tid": 2, "ts": EPOCH + 100, "name": "begun"},
        {"ph": "E", "pid": PID, "tid": 2, "ts": EPOCH + 350.5},
        {"ph": "X", "pid": PID, "tid": 1, "ts": 0, "dur": 1, "name": "no time"},
    ]
    text = json.dumps(found).encode()
    name = f"/device:CUSTOM:process {PID}"
    assert impossible(text) == [(name, "", 1, 0)]
    space = loaded(text)
    assert [(one, begin, lasts) for one, begin, lasts, _ in events(space, name)] == [
        ("e0", 0, 500_250), ("e1", 10**6, 500_250), ("e2", 2 * 10**6, 500_250), ("begun", 10**5, 250_500),
    ]  # fmt: skip
    assert space.origin_ns == EPOCH * 1000


def test_lines_of_two_epochs_agree_as_they_would_without_a_loss() -> None:
    """The device counts from its start, the host from 1970; the event far from both is left out."""
    kernels = "\n".join(f"{1000 * i + 30}us +600us gemm {{correlation_id={i}}}" for i in range(8))
    text = f"""
        plane 1 "/host:CPU"
        line 1 python @1700000000s
        {chr(10).join(f"{1000 * i}us +1ms train {{step_num={i}, _r=1}}" for i in range(8))}
        -7000s +1us odd
        plane 2 "/device:GPU:0"
        line 7 "Stream #7(Compute)" @0s
        {kernels}
    """
    run = run_of(build(text))
    assert run.profiles[0].lazy.impossible == (ImpossibleTimes("/host:CPU", "python", 1, 0),)
    device = next(one for one in run.profiles[0].lazy.planes if one.name == "/device:GPU:0")
    assert device.events.begin_ps.tolist() == [1_000_000_000 * i + 30_000_000 for i in range(8)]
    assert run.decomposition().step_ps == PS_PER_MS
