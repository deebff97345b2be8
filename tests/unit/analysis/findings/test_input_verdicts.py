"""What is told of input and uploads, on typed-in tables of ops, runs and calls."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from tpu_profile_plugin.analysis.blame.host_blame import BETWEEN
from tpu_profile_plugin.analysis.blame.stacks import NOWHERE, Stacks
from tpu_profile_plugin.analysis.budget.categories import (
    CATEGORIES,
    COMPUTE,
    IDLE_HOST,
    IDLE_INPUT,
    INPUT_COPY,
)
from tpu_profile_plugin.analysis.budget.purpose import Purpose
from tpu_profile_plugin.analysis.common.op_names import DATASET
from tpu_profile_plugin.analysis.common.spans import PartTimes
from tpu_profile_plugin.analysis.devices.model import Device, Op, OpSpans, Work
from tpu_profile_plugin.analysis.devices.windows import StepWindows
from tpu_profile_plugin.analysis.findings.host_loss import HostLoss
from tpu_profile_plugin.analysis.findings.lost import Lost
from tpu_profile_plugin.analysis.findings.part_advice import HOST
from tpu_profile_plugin.analysis.findings.rules.data import input_bound, output_bound, repeated_transfer
from tpu_profile_plugin.analysis.ops.op_tables import OpTable
from tpu_profile_plugin.analysis.ops.thread_ops import HostOps, InfeedEnqueue

US, MS = 10**6, 10**9


def spent(us, part=IDLE_INPUT):
    by_part = np.zeros(len(CATEGORIES) + 1, np.int64)
    by_part[part] = us * US
    return by_part


# Ops of the input pipeline.


def table(*ops):
    """(name, category, ms) of each."""
    names, categories, ms = zip(*ops, strict=True)
    time, ones = (np.array(ms) * MS).astype(np.int64), np.ones(len(ops), np.int64)
    return OpTable(
        module=(0,) * len(ops), name=names, category=categories, provenance=("",) * len(ops), occurrences=ones,
        time_ps=time, self_ps=time, total_ps=int(time.sum()),
    )  # fmt: skip


PIPELINE = table(
    ("InfeedEnqueueTuple", "InfeedEnqueueTuple", 4), ("Iterator::Map", DATASET, 6), ("Iterator::TFRecord", DATASET, 2),
    ("Iterator::Prefetch::TFRecord", DATASET, 1),
)  # fmt: skip


@pytest.mark.parametrize(
    ("infeed", "labels"),
    [
        (InfeedEnqueue(2 * MS, 4 * MS), 5),
        (InfeedEnqueue(), 3),  # nothing tells how enqueuing and preparing share the time
    ],
)
def test_the_op_of_the_input_with_most_time(infeed, labels):
    found = input_bound._ops(HostOps(PIPELINE, infeed))
    assert len(found) == labels
    assert [(one.value, one.unit) for one in found[-3:]] == [("Iterator::Map", ""), (6.0, "ms"), ("Preprocessing", "")]
    if labels == 5:
        # Half of the time between enqueues goes to enqueuing, so as much as that takes to preparing.
        assert [(one.value, one.unit) for one in found[:2]] == [(4.0, "ms"), (pytest.approx(4.0), "ms")]
    assert input_bound._ops(HostOps(table(("x", "y", 1)))) == []


def copies(*given):
    """Copies to a GPU as (memory they are from, us); "" for other ops."""
    names = tuple(f"MemcpyHtoD/Memcpy HtoD ({kind} -> Device)" if kind else "kernel" for kind, _ in given)
    return OpTable(name=names, time_ps=np.array([us * US for _, us in given]))


@pytest.mark.parametrize(
    ("given", "share"),
    [
        ([("Pageable", 30), ("Pinned", 10), ("", 50)], 0.75),
        ([("Pinned", 10)], 0.0),
        ([("Pageable", 10), ("Pageable", 30)], 1.0),
        ([("", 50)], None),
    ],
)
def test_copies_from_pageable_memory(given, share):
    assert input_bound._pageable_share(copies(*given)) == share


# What the host waits in.

CALLS = Stacks(
    np.array([0, 10, 20]) * US, np.array([9, 19, 29]) * US, np.array([0, 1, 2]), np.full(3, -1), np.arange(3),
    ("IteratorGetNext", "$data.py:3 load", "$queue.py:154 get"), np.array([False, True, False]), np.full(3, -1),
)  # fmt: skip


def waiting(monkeypatch, rows, *, devices=1, inside=None, runs=()):
    """Rows of a blame as (op, node, us) with a call each; runs of an op of input as (begin, end) in us."""
    op, node, ps = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    blame = SimpleNamespace(op=op, node=node, ps=ps * US)
    calls = SimpleNamespace(
        tells=np.arange(3),
        most=lambda told, times: max(
            ((CALLS.names[n], int(times[told == n].sum())) for n in np.unique(told)), key=lambda one: one[1]
        ),
    )
    monkeypatch.setattr(input_bound, "calls_of", lambda host: calls)
    monkeypatch.setattr(input_bound, "largest_group", lambda blame, parts: inside)
    begin, end = (np.array([one[i] for one in runs], np.int64) * US for i in (0, 1))
    spans = OpSpans(begin, end, np.zeros(len(runs), np.int32), np.full(len(runs), Work.INPUT, np.uint8), begin * 0)
    device = Device("TPU 0", "tpu", 0, 0, (Op("infeed.3", 0, Work.INPUT),), spans)
    time = SimpleNamespace(
        windows=(np.array([0]), np.array([100 * US])), between=(np.array([100 * US]), np.array([200 * US]))
    )
    host = SimpleNamespace(blame=blame, devices=(device,) * devices, spent=SimpleNamespace(devices=(time,) * devices))
    return host


EVERY = np.ones(3, np.bool_)
ROWS = [(-1, 0, 30), (-1, 1, 40), (0, 2, 90)]
"""Waits of 30 and 40 us, and an op of 90."""


def test_the_longest_wait_of_each_device(monkeypatch):
    host = waiting(monkeypatch, ROWS)
    assert input_bound._longest(host, EVERY, between=False) == ("$data.py:3 load", 40 * US, ())
    assert input_bound._longest(host, np.array([True, False, True]), between=False) == ("IteratorGetNext", 30 * US, ())
    assert input_bound._longest(waiting(monkeypatch, ROWS, devices=2), EVERY, between=False)[1] == 20 * US


@pytest.mark.parametrize(
    ("runs", "between", "found"),
    [
        ([(10, 60)], False, ("infeed.3", 50)),
        ([(10, 30), (40, 59)], False, ("$data.py:3 load", 40)),
        ([(80, 130)], False, ("$data.py:3 load", 40)),
        ([(80, 130)], True, ("infeed.3", 50)),
    ],
)
def test_ops_of_devices_that_wait_for_input(monkeypatch, runs, between, found):
    host = waiting(monkeypatch, ROWS, runs=runs)
    name, ps, calls = input_bound._longest(host, EVERY, between=between)
    assert (name, ps // US, calls) == (*found, ())


@pytest.mark.parametrize(
    ("name", "us", "devices", "told"),
    [
        ("$data.py:9 batch", 36, 1, True),  # nine tenths of the wait
        ("$data.py:9 batch", 35, 1, False),
        ("$data.py:9 batch", 36, 2, True),
        ("$data.py:9 batch", 35, 2, False),
        ("$queue.py:154 get", 39, 1, False),  # of a library
    ],
)
def test_a_function_that_makes_the_batch(monkeypatch, name, us, devices, told):
    inside = SimpleNamespace(name=name, ps=us * US, calls=("$numpy sort",))
    host = waiting(monkeypatch, ROWS, devices=devices, inside=inside)
    found = input_bound._longest(host, EVERY, between=False)
    expected = (name, us * US // devices, ("$numpy sort",)) if told else ("$data.py:3 load", 40 * US // devices, ())
    assert found == expected


# Waits for input, of a host as a whole.


def windows(begin, *, devices=1, length=90, source="device"):
    """Steps of `length` us at these times."""
    since = np.array([begin] * devices, np.int64).T * US
    return StepWindows(np.arange(len(begin)), ("",) * len(begin), since, since + length * US, source)


BLAMED = (IDLE_INPUT, INPUT_COPY, IDLE_HOST, BETWEEN, BETWEEN + IDLE_INPUT, BETWEEN + IDLE_HOST, COMPUTE)
"""The parts of the rows of a blame: the first two and the fifth are waits for input."""


def gathered(monkeypatch, us, *, in_steps=200, lost=200, sent=None, call=("$data.py:3 load", 80), waits=None,
             parts=((1, 1), (1, 1)), cpus=False):  # fmt: skip
    """The waits of a host for input, us in all; its two devices have two steps of 1000 us at 300 and 1400 us.

    Args:
      in_steps, lost: us of the average step that waits for input, and with what is between steps.
      sent: us of uploads that are a finding of their own.
      call: the call with most of the waits, and its us per device.
      waits: us per step and device; parts: which take part; cpus: they are CPUs.
    """
    steps = windows([300, 1400], devices=2, length=1000)
    chosen = []

    def longest(host, rows, *, between):
        chosen.append((rows.tolist(), between))
        return call[0], call[1] * US, ()

    monkeypatch.setattr(input_bound, "input_time", lambda host: (spent(us), False))
    monkeypatch.setattr(input_bound, "lost_to", lambda time, *parts: Lost(lost * US, lost / 1000, parts))
    uploads = None if sent is None else HostLoss(spent(sent), "", (), HOST)
    monkeypatch.setattr(repeated_transfer, "of_its_own", lambda host: uploads)
    monkeypatch.setattr(input_bound, "_longest", longest)
    monkeypatch.setattr(input_bound, "slowest_stage", lambda host: None)
    time = SimpleNamespace(
        base_ps=1000 * US, cells=4, part_ps=lambda name: in_steps * US,
        takes_part=np.array(parts, np.bool_),
        time_ps=PartTimes((2, 2), {} if waits is None else {IDLE_INPUT: np.array(waits) * US}),
    )  # fmt: skip
    summary = SimpleNamespace(
        input_events=False, host=HostOps(table(("x", "y", 1))), device=copies(("Pageable", 3), ("Pinned", 1))
    )
    host = SimpleNamespace(
        name="h0", steps=steps, time=time, base="step", devices=(0, 1), on_cpus=cpus, summary=summary,
        blame=SimpleNamespace(part=np.array(BLAMED)),
    )  # fmt: skip
    return input_bound.gather(host), chosen


KERAS, EVALUATE = "$site-packages/keras/src/trainer.py:521 predict", "$site-packages/keras/src/trainer.py:455 evaluate"


@pytest.mark.parametrize(
    ("first", "call", "function", "maker", "taken"),
    [
        (
            "$train.py:3 handle",
            KERAS,
            0,
            ", in keras/src/trainer.py:521 predict, in train.py:3 handle",
            [2, 3, 4, 5, 6],
        ),
        ("$train.py:3 <lambda>", KERAS, NOWHERE, ", in keras/src/trainer.py:521 predict", [2, 3, 4, 5, 6]),
        # The end of an iterator waits for what its threads do, which is needed in an evaluation.
        ("$train.py:3 f", EVALUATE, 0, ", in keras/src/trainer.py:455 evaluate, in train.py:3 f", [3, 4]),
    ],
)
def test_functions_that_make_pipelines_in_steps(monkeypatch, first, call, function, maker, taken):
    """Of what is there for that the calls of Python, or all that a call does that needs none of it."""
    names = (
        first, "$traceback_utils.py:9 error_handler", call, "$dataset_ops.py:9 map", "EagerExecute",
        "TFE_DeleteTensorHandle", "TFE_DeleteTensorHandle",
    )  # fmt: skip
    stacks = Stacks(parent=np.array([-1, 0, 1, 2, 3, 2, 0]), name=np.arange(7), names=names)
    purpose = np.full(8, Purpose.UNKNOWN, np.uint8)
    purpose[3:7] = Purpose.ITERATOR
    calls = SimpleNamespace(
        stacks=stacks, tells=np.array([0, 1, 2, 3, 3, 5, 6, -1]), times=lambda nodes: nodes.tolist(), purpose=purpose,
        function=np.array([function] * 7 + [-1]), name=lambda node: names[node] if node >= 0 else "",
    )  # fmt: skip
    monkeypatch.setattr(input_bound, "calls_of", lambda host: calls)
    host = SimpleNamespace(devices=(None, None), by_part=lambda times, parts: (times, sorted(parts)))
    (times, parts), found = input_bound._made(host)
    assert (times, found) == ([[node in taken for node in range(8)]] * 2, maker)
    assert IDLE_HOST in parts
    assert IDLE_INPUT not in parts
    purpose[3:7] = Purpose.UNKNOWN
    assert input_bound._made(host)[1] == ""


def told(loss):
    return {one.label: one.value for one in loss.evidence}


@pytest.mark.parametrize(
    ("us", "sent", "evident", "harmless"),
    [
        (199, None, False, False),
        (200, None, True, False),  # a twentieth of four steps of 1000 us
        (500, 300, True, False),  # or of what is left without uploads
        (500, 301, False, True),
    ],
)
def test_the_least_time_that_a_host_waits_for_input(monkeypatch, us, sent, evident, harmless):
    loss, _ = gathered(monkeypatch, us, sent=sent)
    assert (bool(loss.evidence), bool(loss.harmless)) == (evident, harmless)
    assert loss.ps == (us - (sent or 0)) * US


@pytest.mark.parametrize(
    ("lost", "between", "rows", "label", "ms"),
    [
        (400, False, [True, True, False, False, False, False, False], "Length of the step that waits longest", 1.0),
        (401, True, [True, True, False, False, True, False, False], "Longest time from step to step", 1.1),
    ],
)
def test_waits_for_input_between_steps(monkeypatch, lost, between, rows, label, ms):
    """More than as much as within the 200 us of the steps: then the time until the next step is looked at."""
    loss, chosen = gathered(monkeypatch, 800, lost=lost)
    assert chosen == [(rows, between)]
    assert told(loss)[label] == ms


@pytest.mark.parametrize(
    ("waits", "parts", "begin"),
    [
        ([[0, 0], [0, 300]], ((1, 1), (1, 1)), 1400),
        ([[0, 900], [300, 900]], ((1, 0), (1, 0)), 1400),
        (None, ((0, 0), (1, 1)), 1400),  # none waits: pipelines take the time of processors
        (None, ((1, 0), (1, 1)), 300),
    ],
)
def test_the_step_that_waits_longest(monkeypatch, waits, parts, begin):
    """Of the devices that take part."""
    loss, _ = gathered(monkeypatch, 800, waits=waits, parts=parts)
    where = next(one.query["window"] for one in loss.evidence if one.label == "Length of the step that waits longest")
    assert where == f"{max(begin - 1000, 0) * US},{(begin + 2000) * US}"


@pytest.mark.parametrize(
    ("us", "what"),
    [
        (80, "; the call data.py:3 load has the largest part, 40%"),  # of two devices each
        (101, ", most of it in data.py:3 load"),
    ],
)
def test_the_share_of_the_call_that_is_waited_in(monkeypatch, us, what):
    loss, _ = gathered(monkeypatch, 400, call=("$data.py:3 load", us))
    assert loss.what == what
    shown = told(loss)
    assert shown["Time in this event per step"] == us / 2 / 1000
    assert shown["Copies from pageable memory, of the time of copies to the device"] == 75.0


@pytest.mark.parametrize(
    ("us", "call", "cpus", "confidence", "harmless"),
    [
        (799, "$data.py:3 load", True, "medium", True),
        (800, "$data.py:3 load", True, "high", False),  # a fifth
        (799, "DevicePut", True, "medium", False),
        (799, "$data.py:3 load", False, "medium", False),
    ],
)
def test_input_of_cpus_is_prepared_on_the_same_processors(monkeypatch, us, call, cpus, confidence, harmless):
    loss, _ = gathered(monkeypatch, us, call=(call, 80), cpus=cpus)
    assert (loss.confidence, bool(loss.harmless)) == (confidence, harmless)


@pytest.mark.parametrize(
    ("sleeps", "devices", "told"),
    [
        ([0, 200], 2, ("", False)),  # half of 200 us on each of two devices
        ([0, 201], 2, ("1 10 80", True)),
        ([51, 50], 1, ("0 10 80", True)),
        ([], 1, ("", False)),
    ],
)
def test_another_thread_that_sleeps_while_a_queue_is_empty(monkeypatch, sleeps, devices, told):
    """The main thread waits three times in the queue, from 10 to 80, once within what that calls."""
    stacks = Stacks(
        np.array([5, 10, 30, 60]), np.array([6, 15, 40, 80]), np.array([0, 1, 2, 1]), np.array([-1, 0, 1]),
        np.array([0, 2, 1]), ("run", "wait", "$queue.py:154 get"), np.zeros(3, np.bool_), np.full(4, -1),
    )  # fmt: skip
    calls = SimpleNamespace(
        stacks=stacks, times=lambda nodes: (stacks.begin_ps[nodes[stacks.node]], stacks.end_ps[nodes[stacks.node]])
    )
    threads = SimpleNamespace(
        inside_ps=lambda purposes, begin, end: np.array(sleeps, np.int64) if begin.tolist() == [10, 30, 60] else None,
        function=lambda *which: " ".join(map(str, which)),
    )
    monkeypatch.setattr(input_bound, "calls_of", lambda host: calls)
    monkeypatch.setattr(input_bound, "other_threads", lambda host: threads)
    monkeypatch.setattr(input_bound, "holding", lambda host, waits, ps: "")
    host = SimpleNamespace(devices=(0,) * devices)
    assert input_bound._meanwhile(host, "$queue.py:154 get", 200 if devices > 1 else 100) == told


# Output.


@pytest.mark.parametrize(
    ("works", "us", "waits"),
    [
        ([[Work.COMPUTE], [Work.COMPUTE, Work.OUTPUT]], 5, True),
        ([[Work.COMPUTE], [Work.COMPUTE, Work.INPUT]], 5, False),
        ([[Work.OUTPUT]], 0, False),
        ([], 5, False),
    ],
)
def test_devices_that_wait_for_an_outfeed(works, us, waits):
    devices = [SimpleNamespace(ops=[Op("a", 7, work) for work in one]) for one in works]
    host = SimpleNamespace(time=SimpleNamespace(part_ps=lambda name: us * (name == "idle_transfer")), devices=devices)
    assert output_bound.gather(host) is waits


# Uploads.


@pytest.mark.parametrize(
    ("source", "count"),
    [("annotated", [2, 0, 1]), ("dispatch", [1, 1, 2])],  # those of a dispatch have their part of the four
)
def test_how_many_uploads_begin_in_each_step(source, count):
    begin = np.array([[0], [100], [200]]) * US
    given = {"source": source, "begin_ps": begin, "end_ps": begin + 90 * US, "__len__": lambda self: 3}
    steps = type("Steps", (), given)()
    assert repeated_transfer._counts(np.array([0, 50, 95, 200]) * US, steps).tolist() == count


@pytest.mark.parametrize(
    ("us", "steps", "per", "harmless", "own"),
    [
        (100, 3, "step", "", True),  # a tenth of three steps of 1000 us on an average of a third of it each
        (99, 3, "step", "", False),
        (100, 2, "step", "", False),
        (100, 3, "recording", "", False),
        (100, 3, "step", "seldom", False),
        (None, 3, "step", "", False),
    ],
)
def test_uploads_that_are_a_finding_of_their_own(us, steps, per, harmless, own):
    sent = None if us is None else HostLoss(spent(us * steps), "", (), HOST, harmless=harmless)
    time = type("Time", (), {"base_ps": 1000 * US, "cells": steps, "__len__": lambda self: steps})()
    host = SimpleNamespace(time=time, per=per, derived={repeated_transfer.gather.__wrapped__: sent})
    assert (repeated_transfer.of_its_own(host) is not None) == own


def test_a_host_without_events_sends_nothing():
    for plane in (None, SimpleNamespace(declared=SimpleNamespace(event_metadata=SimpleNamespace(names=("infeed",))))):
        found = repeated_transfer._host_events(SimpleNamespace(plane=plane))
        assert [one.tolist() for one in found] == [[], [], []]


def test_the_largest_arguments_of_the_program_with_most_time():
    def program(*shapes):
        made = [
            SimpleNamespace(shape=SimpleNamespace(element_type=11, dimensions=one, tuple_shapes=[])) for one in shapes
        ]
        return SimpleNamespace(arguments=lambda: range(len(made)), instruction=made.__getitem__)

    programs = {7: program([4], [16], [8]), 8: program([2])}
    ops = (Op("a", 8, Work.COMPUTE), Op("b", 7, Work.COMPUTE), Op("c", 7, Work.COMPUTE))
    begin = np.array([9000, 1100, 1200]) * US
    # 50 us of one program, 30 and 30 of the other, which run earlier.
    spans = OpSpans(
        begin, begin + np.array([50, 30, 30]) * US, np.arange(3, dtype=np.int32), np.zeros(3, np.uint8), begin
    )
    host = SimpleNamespace(devices=(Device("TPU 0", "tpu", 0, 0, ops, spans),), hlo=SimpleNamespace(rows=programs.get))
    assert [one.shape.dimensions for one in repeated_transfer._arguments(host)] == [[16], [8], [4]]


def sending(monkeypatch, shows, *, share=0.5, by_us=None, sizes=None, copies=None, begins=(), arguments=(), parts=None):
    """The uploads of a host with steps of 1000 us at 200, 1300, ...

    Args:
      shows: us that no computation hides, of each step per device.
      share: of the time budget's input; by_us: what lies in it, all of `shows` by default.
      sizes, copies: bytes and number of the devices' own copies, of each step per device.
      begins: when uploads of the host begin, us; arguments: sizes of the program's arguments in bytes.
      parts: which devices take part.
    """
    count, devices = len(shows), len(shows[0])
    columns = [np.array(one if one is not None else np.zeros((count, devices))) for one in (shows, sizes, copies)]
    steps = windows([200 + 1100 * i for i in range(count)], devices=devices, length=1000)
    takes = np.ones((count, devices), np.bool_) if parts is None else np.array(parts)
    total = spent(sum(map(sum, shows)) if by_us is None else by_us)

    def exposed(host, steps, number, begin, end):
        shows, sizes, copies = (one[:, number] for one in columns)
        return (), (shows * US, sizes, copies.astype(np.int64))

    monkeypatch.setattr(repeated_transfer, "_host_events", lambda host: (np.zeros(0, np.int64),) * 3)
    monkeypatch.setattr(repeated_transfer, "_exposed", exposed)
    monkeypatch.setattr(repeated_transfer, "_longest", lambda *_: ("DevicePut", np.array(begins, np.int64) * US))
    monkeypatch.setattr(repeated_transfer, "calls_of", lambda host: SimpleNamespace(calling=lambda begins: ""))
    shape = [SimpleNamespace(shape=size) for size in arguments]
    monkeypatch.setattr(repeated_transfer, "_arguments", lambda host: shape)
    monkeypatch.setattr(repeated_transfer, "byte_size", lambda size: size)
    monkeypatch.setattr(repeated_transfer, "_named", lambda one: f"f32[{one.shape}]")
    time = SimpleNamespace(share=lambda name: share, base_ps=1000 * US, cells=int(takes.sum()), takes_part=takes)
    host = SimpleNamespace(
        name="h0", steps=steps, time=time, devices=(0,) * devices, derived={}, by_part=lambda spans, parts: total
    )
    return repeated_transfer.gather(host)


@pytest.mark.parametrize(
    ("share", "by_us", "known", "evident"),
    [(0.0999, 900, False, False), (0.1, 900, True, True), (0.5, 600, True, True), (0.5, 599, True, False)],
)
def test_the_least_time_of_uploads(monkeypatch, share, by_us, known, evident):
    """A tenth of what the time budget has, and of three steps of 1000 us on two devices."""
    loss = sending(monkeypatch, [[100, 200]] * 3, share=share, by_us=by_us)
    assert (loss is not None) == known
    assert bool(loss and loss.evidence) == evident


def test_uploads_of_each_step_and_device(monkeypatch):
    """Two devices, of which the second works in two of three steps; 3, 1 and 2 copies in them."""
    loss = sending(
        monkeypatch, [[300, 900], [500, 100], [100, 400]], sizes=[[2 << 20, 9 << 20], [6 << 20, 2 << 20], [0, 8 << 20]],
        copies=[[3, 9], [0, 1], [2, 2]], parts=[[True, False], [True, True], [True, True]],
    )  # fmt: skip
    assert told(loss) == {
        "Steps with uploads, of 3": 3,
        "Uploads per step, median": 2,
        "Median of the steps' uploads": 0.3,  # 300, 600 / 2 and 500 / 2
        "Sent per step and device": 4.0,  # 2, 8 / 2 and 8 / 2
        "Event": "DevicePut",
    }
    where = next(one.query["window"] for one in loss.evidence if one.label == "Event")
    assert where == f"{300 * US},{3300 * US}"  # around the step with 600 us
    assert not loss.harmless
    assert "so the data is new" in loss.advice.general


@pytest.mark.parametrize(
    ("shows", "begins", "steps", "median", "often"),
    [
        ([400, 0, 300, 0, 200], (), 3, 1, False),  # nothing tells how many: one where there is any
        ([400, 10, 300, 0, 200], (), 4, 1, True),  # four of five steps
        ([400, 0, 300, 0, 200], (200, 210, 1200, 2400, 3600, 3700, 4601, 5599), 4, 2, True),
        ([400, 0, 300, 0, 200], (200, 2400, 3600), 3, 1, False),
    ],
)
def test_how_many_steps_have_uploads(monkeypatch, shows, begins, steps, median, often):
    loss = sending(monkeypatch, [[one] for one in shows], begins=begins)
    shown = told(loss)
    assert (shown["Steps with uploads, of 5"], shown["Uploads per step, median"]) == (steps, median)
    assert bool(loss.harmless) != often


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        ((900_000, 50_000, 30_000), ": f32[900000]"),  # 80,000 bytes take no 400 us
        ((900_000, 50_000, 30_001), ""),
        ((900_000,), ": f32[900000]"),
        ((), ""),
    ],
)
def test_the_argument_that_alone_is_large_enough(monkeypatch, arguments, what):
    assert sending(monkeypatch, [[400]] * 3, arguments=arguments).what == what


def test_uploads_that_no_computation_hides(monkeypatch):
    """Copies of a device before, in, at the end of and between two steps of 100; the device computes from 30 to 40."""
    begin = np.array([-5, 20, 95, 100, 150, 250, 299, 310])
    runs = OpSpans(begin, begin + 15, np.zeros(8, np.int32), np.full(8, Work.UPLOAD, np.uint8), np.arange(8))
    device = SimpleNamespace(runs=runs, compute=lambda: (np.array([30]), np.array([40])))
    monkeypatch.setattr(repeated_transfer, "_copies", lambda space, one: (np.arange(8), 2.0 ** np.arange(8)))
    since = np.array([[0], [200]])
    steps = StepWindows(np.arange(2), ("", ""), since, since + 100, "device")
    host = SimpleNamespace(space=None, devices=(device,))
    uploads = np.array([60]), np.array([70])
    times, (shows, sizes, copies) = repeated_transfer._exposed(host, steps, 0, *uploads)
    spans = list(zip(*(one.tolist() for one in times), strict=True))
    assert spans == [(-5, 10), (20, 30), (60, 70), (95, 115), (150, 165), (250, 265), (299, 325)]
    assert (shows.tolist(), sizes.tolist(), copies.tolist()) == ([10 + 10 + 10 + 5, 15 + 1], [2 + 4, 32 + 64], [2, 2])


@pytest.mark.parametrize(
    ("steps", "whole", "looked"), [(2, False, False), (3, False, True), (3, True, False), (1, True, False)]
)
def test_steps_that_show_a_repetition(steps, whole, looked):
    run = SimpleNamespace(
        has_devices=True, steps=steps, whole_recording=whole, present=lambda gathered: [], base="step",
        lost_within=lambda group, by_part: Lost(0.0, 0.0, ()),
    )  # fmt: skip
    found = repeated_transfer.judge(run, [])
    assert found.looked == looked
    assert found.reason.startswith("Input takes less than 10%" if looked else "Fewer than 3 steps")
