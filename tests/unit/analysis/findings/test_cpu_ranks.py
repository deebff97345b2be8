"""Ranks of PyTorch on CPUs: they wait for the one that comes last, whatever it did before."""

from __future__ import annotations

from typing import Any

from builders.answers import answer
from builders.kineto import Event, event, frame, op, step, trace
from builders.profiles.findings import evidence, told

from tpu_profile_plugin.tools import registry

STEPS, LENGTH = 4, 10_000
GLOO = 30


def rank(number: int, *, sleeps: float = 0, works: float = 2000, ranges: bool = True, ends: float = 7000) -> bytes:
    """Steps of 10 ms, each a little longer than the one before: work, sleep, an all-reduce that ends after 7 ms."""
    events: list[Event] = []
    at = 1000.0
    for i in range(STEPS):
        length = LENGTH + 137 * i * i
        since = at + 100 + works + sleeps
        events.append(step(i, at, length - 10))
        events += [op("aten::mm", at + 100, works)]
        if sleeps:
            events.append(frame("data.py(9): read", at + 100 + works, sleeps))
            events.append(frame("<built-in function sleep>", at + 100 + works, sleeps))
        wait = at + ends - since
        events.append(op("c10d::allreduce_", since, 50 if ranges else wait))
        if ranges:
            sizes: dict[str, Any] = {"Input Dims": [[1000]], "Input type": ["float"]}
            events.append(event("user_annotation", "gloo:all_reduce", since + 20, wait - 20, GLOO, **sizes))
        at += length
    return trace(*events, distributedInfo={"backend": "gloo", "rank": number, "world_size": 2}, deviceProperties=[])


def test_a_rank_that_sleeps_is_waited_for() -> None:
    found = told("straggler", rank(0), rank(1, sleeps=3000))
    assert found["title"].startswith("h1: CPU (PyTorch) arrives late at collectives: the others wait 14.")
    shown = evidence(found)
    assert shown["Waits for this device, of all in collectives"] == (100.0, "%", "")
    assert shown["Its work before it arrives"] == shown["Work of the others before they arrive"] == (2.0, "ms", "")
    assert shown["The others wait in"][0] == "gloo:all_reduce [1000 float]"


def test_ops_alone_tell_it_as_well() -> None:
    found = told("straggler", rank(0, ranges=False), rank(1, works=4800, ranges=False))
    assert found["title"].startswith("h1: CPU (PyTorch) is late: the others wait 13.")
    assert found["title"].endswith("it has 2.4 times the work of the others")


def test_ops_that_busy_cores_delay_are_no_more_work() -> None:
    """Rank 1 runs the same ops of 100 us; in each step one of five takes 5,000 us."""

    def of(number: int, *, delayed: bool) -> bytes:
        events: list[Event] = []
        at = 1000.0
        for i in range(STEPS):
            events += [step(i, at, LENGTH - 10)]
            since = at + 100
            for each in (100, 100, 5000 if delayed else 100, 100, 100):
                events.append(op("aten::mm", since, each))
                since += each + 10
            events.append(op("c10d::allreduce_", since, at + 7000 - since))
            at += LENGTH + 137 * i * i
        return trace(*events, distributedInfo={"backend": "gloo", "rank": number, "world_size": 2}, deviceProperties=[])

    found = told("straggler", of(0, delayed=False), of(1, delayed=True))
    assert found["reason"].endswith(
        " of the time from step to step for others; the busiest has 1.83 times the median work."
    )


def test_the_page_has_the_same_collectives() -> None:
    page = answer(registry.find("communication"), rank(0), rank(1, sleeps=3000))
    assert [(one["device"], one["more_work"]) for one in page["stragglers"]] == [("h1: CPU (PyTorch)", False)]
    budget = answer(registry.find("time_budget"), rank(0), rank(1, sleeps=3000))
    names = budget["categories"]
    waits = [sum(step[device][names.index("idle_peer")] for step in budget["time_ps"]) for device in range(2)]
    assert waits == [STEPS * 3000 * 10**6, 0]


def test_waits_for_a_rank_count_as_what_makes_it_late() -> None:
    """Of steps of 10 to 11.2 ms, rank 1 sleeps 5 ms before the collective, and rank 0 waits for that in it."""
    waits, late = rank(0, ends=9900), rank(1, sleeps=5000, ends=9900)
    page = answer(registry.find("smart_suggestion"), waits, late, page=True)
    first = page["findings"][0]
    sleeps = "Devices wait 27.0% of the step for a sleep: <built-in function sleep> in data.py:9 read"
    assert first["title"] == f"{sleeps}; the others wait 23.9% of the step for this host"
    assert first["hosts"] == ["h1"]
    assert round(first["share"], 3) == 0.509
    assert "straggler" not in {one["id"] for one in page["findings"]}
