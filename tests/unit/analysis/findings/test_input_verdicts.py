"""What is told of input and uploads, on typed-in tables of ops, runs and calls."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from tpu_profile_plugin.analysis.blame.stacks import Stacks
from tpu_profile_plugin.analysis.budget.categories import CATEGORIES, IDLE_INPUT
from tpu_profile_plugin.analysis.common.op_names import DATASET
from tpu_profile_plugin.analysis.devices.model import Device, Op, OpSpans, Work
from tpu_profile_plugin.analysis.findings.host_loss import HostLoss
from tpu_profile_plugin.analysis.findings.part_advice import HOST
from tpu_profile_plugin.analysis.findings.rules.data import input_bound, repeated_transfer
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
ROWS = [(-1, 0, 30), (-1, 1, 40), (5, 2, 90)]
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


def test_the_largest_arguments_of_the_program_with_most_time():
    def program(*shapes):
        made = [
            SimpleNamespace(shape=SimpleNamespace(element_type=11, dimensions=one, tuple_shapes=[])) for one in shapes
        ]
        return SimpleNamespace(arguments=lambda: range(len(made)), instruction=made.__getitem__)

    programs = {7: program([4], [16], [8]), 8: program([2])}
    ops = (Op("a", 8, Work.COMPUTE), Op("b", 7, Work.COMPUTE), Op("c", 7, Work.COMPUTE))
    begin = np.array([1000, 1100, 1200]) * US
    # 50 us of one program, 30 and 30 of the other.
    spans = OpSpans(
        begin, begin + np.array([50, 30, 30]) * US, np.arange(3, dtype=np.int32), np.zeros(3, np.uint8), begin
    )
    host = SimpleNamespace(devices=(Device("TPU 0", "tpu", 0, 0, ops, spans),), hlo=SimpleNamespace(rows=programs.get))
    assert [one.shape.dimensions for one in repeated_transfer._arguments(host)] == [[16], [8], [4]]
