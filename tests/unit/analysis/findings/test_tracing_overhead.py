"""What recording costs the steps, and that savings leave it out."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from builders import kineto
from builders.profiles.planted import cpu, evidence, finding, reason

from tpu_profile_plugin.analysis.budget.categories import (
    CATEGORIES,
    COMPUTE,
    IDLE_HOST,
    IDLE_LAUNCH,
    IDLE_OTHER,
    IDLE_TRANSFER,
)
from tpu_profile_plugin.analysis.budget.recorded_events import Recorded
from tpu_profile_plugin.analysis.findings.evidence.host import recording_cost
from tpu_profile_plugin.analysis.findings.evidence.host.recording_cost import (
    ANNOTATIONS,
    CALLS,
    PYTORCH_OPS,
    RecordingCost,
    _of_device,
)
from tpu_profile_plugin.analysis.findings.lost import LEAST_SHARE

LEFT_OUT = "The recording's own cost, of this time (estimated, left out of the saving)"


def row_of(calls, start=1, period=400, lasting=100, steps=2, length=10_000):
    """Calls of 0.1 us, one every 0.4 us, from `start` us in each step; `period` and `lasting` are nanoseconds."""
    return "\n".join(
        f'{(step * length + start) * 1000 + period * number}ns +{lasting}ns "$train.py:50 one"'
        for step in range(steps)
        for number in range(calls)
    )


def traced(calls):
    """A step of 10 ms in which the main thread calls a function again and again, then launches 3 ms of work.

    With the function that calls it, these are `calls` calls.
    """
    main = "0 7000 $train.py:42 prepare\n7000 10 PjitFunction(f)"
    return cpu(main, "7000 3000 dot.1", length=10_000, steps=2, once=row_of(calls - 1))


@pytest.mark.parametrize(("calls", "fires"), [(2499, False), (2500, True)])
def test_a_tenth_of_the_step_is_recording(calls, fires):
    """2500 calls of 0.4 us are 1 ms of 10."""
    assert (finding("tracing_overhead", traced(calls)) is not None) == fires
    if not fires:
        assert reason("tracing_overhead", traced(calls)) == "Recording takes about 10.0% of the step."


def test_what_recording_costs_is_no_saving():
    found = finding("tracing_overhead", traced(5000))
    title = "About 20.0% of the step is the recording itself, of 5,000 calls of Python functions per step"
    assert (found["title"], found["saving_ps_per_step"]) == (title, 0)
    assert evidence(found) == {
        "Recording, of the step (estimated)": 20.0,
        "The same, from least to most, of the step": "14% to 31%",
        "Recording per step": 2.0,
        "Calls of Python functions per step": 5000,
        "Cost of each call, as measured in this profile": 0.4,
    }
    assert found["advice"].startswith("Record again with python_tracer_level=0")


def preparing(calls):
    """The step of `traced` with these calls."""
    main = "0 7000 $train.py:42 prepare\n7000 10 PjitFunction(f)"
    return cpu(main, "7000 3000 dot.1", length=10_000, steps=2, once=calls)


def test_a_call_costs_what_it_does_where_calls_are_close():
    """1000 calls in a row, and 1300 with work between them: each costs 1.3 times 0.4 us."""
    calls = f"{row_of(1000)}\n{row_of(1299, start=401, period=5000, lasting=4000)}"
    found = evidence(finding("tracing_overhead", preparing(calls)))
    assert found["Cost of each call, as measured in this profile"] == 0.52
    assert found["Recording per step"] == 2300 * 0.52 / 1000


def test_calls_that_are_nowhere_close_tell_no_cost():
    """600 calls, one every 10 us: what is between them is the program's."""
    text = preparing(row_of(600, period=10_000, lasting=9000))
    assert reason("tracing_overhead", text).startswith(
        "Devices hardly wait for the host, or its events are too few or too far apart"
    )


@pytest.mark.parametrize(("waits", "share"), [(False, 20.0), (True, None)])
def test_calls_while_the_device_works_make_later_launches_late(waits, share):
    """The calls are over before the device is; what is prepared then is launched sooner without them.

    If the host has waited for results meanwhile, it has lost nothing by them.
    """
    call = "4000 990 $array.py:298 __float__\n" if waits else ""
    main = (
        f"0 10 PjitFunction(f)\n10 4000 $train.py:9 log\n{call}5000 4900 $train.py:42 prepare\n9900 10 PjitFunction(g)"
    )
    ops = "10 4990 dot.1\n9910 90 dot.2"
    text = cpu(main, ops, length=10_000, steps=2, once=row_of(4998, start=11))
    found = finding("tracing_overhead", text)
    assert (found and evidence(found)["Recording, of the step (estimated)"]) == share


def test_calls_while_the_device_is_never_idle_cost_nothing():
    text = cpu("0 10 PjitFunction(f)", "10 9990 dot.1", length=10_000, steps=2, once=row_of(6000, start=11))
    assert finding("tracing_overhead", text) is None


@pytest.mark.parametrize(("calls", "left", "cost"), [(749, 6000, 0), (750, 5846.154, 5), (2500, 5454.545, 16.667)])
def test_savings_leave_the_cost_out(calls, left, cost):
    """From a twentieth of the time on: 750 calls of 0.4 us are 300 us of 6000, with the function that calls them."""
    main = "0 6000 $train.py:42 load_batch\n6000 10 PjitFunction(f)"
    text = cpu(main, "6000 4000 dot.1", length=10_000, steps=2, once=row_of(calls - 1))
    found = finding("slow_host_code", text)
    assert found["saving_ps_per_step"] == pytest.approx(left * 10**6, rel=1e-6)
    assert evidence(found).get(LEFT_OUT, 0) == pytest.approx(cost, abs=0.001)


@pytest.mark.parametrize(
    ("ops", "calls", "share", "advice"),
    [
        (99, 0, 50.0, "Record again without record_shapes, profile_memory and with_stack"),
        (39, 100, 50.0, "Record again with with_stack=False"),
    ],
)
def test_ops_of_pytorch_on_the_cpu(ops, calls, share, advice):
    """In each step of 100 us ops of 0.3 us, one every 0.5 us, and calls of 0.1 us, one every 0.3 us.

    The marker of the step counts as an op: 50 us for 100 of them, 20 and 30 us for 40 and 100 calls.
    """
    events = []
    for number in range(4):
        at = 1000.0 + 100 * number
        events.append(kineto.step(number, at, 100))
        events += [kineto.op("aten::add", at + 0.5 + 0.5 * i, 0.3) for i in range(ops)]
        events += [kineto.frame("train.py(3): step", at + 60 + 0.3 * i, 0.1) for i in range(calls)]
    found = finding("tracing_overhead", kineto.trace(*events, deviceProperties=[]))
    # A little is lost where a few spans are shorter than their share of the cost.
    assert evidence(found)["Recording, of the step (estimated)"] == pytest.approx(share, abs=0.1)
    assert found["advice"].startswith(advice)


# What recording costs, on typed-in spans and events.


@pytest.mark.parametrize(
    ("kind", "close", "typical", "expected"),
    [
        (CALLS, 100.0, 1000.0, 130),
        (CALLS, 100.0, 120.0, 120),
        (CALLS, 0.0, 0.0, 0),
        # Events that are nowhere closer tell nothing.
        (CALLS, 1e6, 2e6, 1_300_000),
        (CALLS, 1_000_001.0, 2e6, 0),
        (PYTORCH_OPS, 1_500_000.0, 9e6, 3_150_000),
        (PYTORCH_OPS, 1_500_001.0, 9e6, 0),
        (ANNOTATIONS, 500_000.0, 9e6, 2_100_000),
        (ANNOTATIONS, 500_001.0, 9e6, 0),
    ],
)
def test_the_cost_of_an_event_is_at_most_the_usual_time_to_the_next(kind, close, typical, expected):
    assert kind.cost_ps(Recorded(np.zeros(0, np.int64), close, typical)) == expected


@pytest.mark.parametrize(("other_ps", "of_frames"), [(15, True), (16, False)])
def test_calls_of_functions_cost_more_than_other_events_or_as_much(other_ps, of_frames):
    by_part = np.arange(len(CATEGORIES) + 1)
    found = RecordingCost(4, by_part, 0.7, 1.5, 10.0, 6.0, 9, other_ps, (0, 1))
    assert found.of_frames is of_frames
    assert found.ps == len(CATEGORIES) * (len(CATEGORIES) + 1) / 8


def device(*spent, windows=((0, 320, 450), (180, 420, 680)), between=((180, 680), (200, 690))):
    """How a device spends its time: (part, begins, ends), steps and what is between them."""
    times = [(category, (np.array(begin), np.array(end))) for category, begin, end in spent]
    windows, between = (tuple(np.array(side) for side in times) for times in (windows, between))
    return SimpleNamespace(spent=times, windows=windows, between=between)


def cost_of(spent, used, events, parts, synced, of_one=10):
    """The cost of events by part, and between steps, without what has none."""
    costs = [(0, Recorded(np.arange(1000))), (of_one, Recorded(np.array(events)))]
    waits = None if synced is None else np.array(synced)
    found = _of_device(spent, np.array(used), costs, parts, waits)
    assert len(found) == len(CATEGORIES) + 1
    return {i: ps for i, ps in enumerate(found.tolist()) if ps}


IDLE = (
    (COMPUTE, (0,), (90,)),
    (IDLE_HOST, (600, 100), (700, 200)),
    (IDLE_LAUNCH, (300,), (350,)),
    (IDLE_TRANSFER, (400,), (500,)),
)
EVENTS = (50, 110, 120, 250, 260, 270, 310, 420, 550, 600, 699, 700)
BETWEEN = len(CATEGORIES)


@pytest.mark.parametrize(
    ("used", "expected"),
    [
        # Until the host waits at 380, three events while the device works take 30 of the 80 and 40 ps that are left of
        # two spans, so that they cost 40 and 20; then one takes 10 of the 80 that are left of the last, which costs 30.
        ((True, True, True), {IDLE_HOST: 32 + 24, IDLE_LAUNCH: 12, IDLE_TRANSFER: 2 + 5, BETWEEN: 8 + 3}),
        ((True, False, True), {IDLE_HOST: 32 + 24, IDLE_TRANSFER: 5, BETWEEN: 8 + 3}),
    ],
)
def test_events_while_a_device_works_shorten_later_waits(used, expected):
    parts = (IDLE_HOST, IDLE_LAUNCH, IDLE_TRANSFER)
    assert cost_of(device(*IDLE), used, EVENTS, parts, [380]) == expected
    assert cost_of(device(*IDLE), used, EVENTS, (IDLE_OTHER,), [380]) == {}


def test_events_cost_no_more_than_the_waits():
    wait = device((IDLE_HOST, (100,), (110,)), windows=((0,), (200,)), between=((), ()))
    assert cost_of(wait, [True], (10, 20, 30), (IDLE_HOST,), [0]) == {IDLE_HOST: 10}
    assert cost_of(wait, [True], (10, 20, 105), (IDLE_HOST,), [0], of_one=4) == {IDLE_HOST: 4 + 6}
    assert cost_of(wait, [True], (101, 102), (IDLE_HOST,), [0], of_one=7) == {IDLE_HOST: 10}
    # What is recorded before the last wait for results is over by then.
    assert cost_of(wait, [True], (10, 20, 105), (IDLE_HOST,), [15], of_one=3) == {IDLE_HOST: 6}
    assert cost_of(wait, [True], (10, 20, 105), (IDLE_HOST,), [100], of_one=3) == {IDLE_HOST: 3}


def test_a_thread_that_works_itself_shares_the_cost_over_sixteen_spans():
    """Spans of 10 ps every 20; eight events lie between the first two, one in the seventeenth and one before that."""
    begins = np.arange(17) * 20
    ops = device((IDLE_TRANSFER, begins, begins + 10), windows=((0, 310), (300, 400)), between=((300,), (310,)))
    events = (*range(11, 19), 315, 325)
    assert cost_of(ops, [True, True], events, (IDLE_TRANSFER,), None) == {IDLE_TRANSFER: 15 * 5 + 10, BETWEEN: 5}
    assert cost_of(ops, [True, False], events, (IDLE_TRANSFER,), None) == {IDLE_TRANSFER: 15 * 5, BETWEEN: 5}


@pytest.mark.parametrize(("share", "read"), [(LEAST_SHARE, True), (LEAST_SHARE - 1e-9, False)])
def test_events_are_read_if_devices_wait_for_the_host(monkeypatch, share, read):
    class Read(Exception):
        """Events are looked at."""

    def main_thread_of(host):
        raise Read

    monkeypatch.setattr(recording_cost, "main_thread_of", main_thread_of)
    monkeypatch.setattr(recording_cost, "lost_to", lambda time, *parts: SimpleNamespace(share=share))
    host = SimpleNamespace(
        marks=(np.zeros(2), np.ones(2)), spent=(), time=None, derived={},
        budget=SimpleNamespace(devices=[("TPU 0", 0)]),
    )  # fmt: skip
    if read:
        with pytest.raises(Read):
            recording_cost.recording_cost(host)
    else:
        assert recording_cost.recording_cost(host) is None
