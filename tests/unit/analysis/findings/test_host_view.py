"""What rules ask of one host, on typed-in times."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from tpu_profile_plugin.analysis.budget.categories import CATEGORIES, COMPUTE, IDLE_HOST, IDLE_INPUT
from tpu_profile_plugin.analysis.findings import host_view
from tpu_profile_plugin.analysis.findings.host_view import HostView, once, until_next


def times(*spans):
    return tuple(np.array([one[i] for one in spans], np.int64) for i in (0, 1))


def device(*spent, shift=0):
    """Two steps, 100 to 200 and 300 to 400, and what the time is spent on."""
    moved = [(part, times(*((begin + shift, end + shift) for begin, end in spans))) for part, spans in spent]
    windows, between = times((100 + shift, 200 + shift), (300 + shift, 400 + shift)), times((200 + shift, 300 + shift))
    return SimpleNamespace(windows=windows, between=between, spent=tuple(moved))


FIRST = device((IDLE_INPUT, [(110, 130), (190, 310)]), (IDLE_HOST, [(140, 150)]), (COMPUTE, [(150, 190), (310, 400)]))
SECOND = device((IDLE_INPUT, [(350, 390)]), (IDLE_HOST, [(100, 120)]), (IDLE_INPUT, [(210, 220)]), shift=1000)


@pytest.mark.parametrize(
    ("spans", "takes_part", "parts", "found"),
    [
        (((120, 320),), [[1], [1]], {}, {"idle_input": 10 + 10 + 10, "idle_host": 10, "between": 100}),
        (((120, 320),), [[0], [1]], {}, {"idle_input": 10, "between": 100}),
        (((0, 999),), [[1], [1]], {"parts": (COMPUTE,)}, {"compute": 130}),
        (((0, 999), (1000, 1999)), [[1, 1], [1, 1]], {}, {"idle_input": 80, "idle_host": 30, "between": 110}),
        (((0, 999), (1000, 1999)), [[1, 1], [1, 0]], {}, {"idle_input": 40, "idle_host": 30, "between": 110}),
        (((0, 999),), [[1, 1], [1, 1]], {}, {"idle_input": 40, "idle_host": 10, "between": 100}),
        ((), [[1, 1], [1, 1]], {}, {}),
    ],
)
def test_a_set_of_time_by_part_of_the_time_budget(spans, takes_part, parts, found):
    """Per device; steps in which it takes no part do not count, what is between steps is told apart."""
    host = SimpleNamespace(
        spent=SimpleNamespace(devices=(FIRST, SECOND)[: len(takes_part[0])]),
        time=SimpleNamespace(takes_part=np.array(takes_part, np.bool_)),
    )
    by_part = HostView.by_part(host, [times(one) for one in spans], **parts)
    names = (*CATEGORIES, "between")
    assert {name: ps for name, ps in zip(names, by_part.tolist(), strict=True) if ps} == found
    host.spent = None
    assert not HostView.by_part(host, [times(one) for one in spans], **parts).any()


@pytest.mark.parametrize(
    ("source", "devices", "count"),
    [("host", True, 2), ("host", False, 2), ("recording", True, 2), ("recording", False, 0), (None, False, 0)],
)
def test_marks_of_steps(source, devices, count):
    """The whole recording of a host alone has no steps."""
    begin = np.array([[5, 6], [20, 21]])
    shown = source and SimpleNamespace(source=source, begin_ps=begin, end_ps=begin + 10)
    host = SimpleNamespace(shown=SimpleNamespace(steps=shown), steps=shown if devices else None)
    marks = HostView.marks.func(host)
    assert [one.tolist() for one in marks] == [[5, 20][:count], [15, 30][:count]]


@pytest.mark.parametrize(
    ("has_device", "cpu_ops", "found"),
    [(True, True, "device"), (True, False, "device"), (False, False, "device"), (False, True, "cpu")],
)
def test_ops_of_accelerators_come_first(monkeypatch, has_device, cpu_ops, found):
    monkeypatch.setattr(host_view, "cpu_op_table", lambda space, hlo: ("cpu", None))
    summary = SimpleNamespace(has_device=has_device, cpu_ops=cpu_ops, device="device")
    assert HostView.ops.func(SimpleNamespace(summary=summary, space=None, hlo=None)) == found


def test_what_is_computed_once():
    calls = []

    @once
    def shared(host):
        calls.append(host.name)
        return None

    hosts = [SimpleNamespace(name=name, derived={}) for name in "ab"]
    assert [shared(host) for host in (*hosts, *hosts)] == [None] * 4
    assert calls == ["a", "b"]


@pytest.mark.parametrize(
    ("begin", "end", "until"),
    [([0, 10, 30], [5, 10, 40], [10, 30, 40]), ([0, 10], [15, 20], [15, 20]), ([3], [7], [7]), ([], [], [])],
)
def test_the_time_until_the_next_step(begin, end, until):
    assert until_next(*(np.array(one, np.int64) for one in (begin, end))).tolist() == until


@pytest.mark.parametrize(
    ("on_cpus", "plane", "count", "unknown", "expected"),
    [
        (True, True, 1, False, True),
        (True, True, 2, False, False),
        (True, True, None, False, False),
        (True, True, None, True, True),
        (True, True, 2, True, False),
        (True, False, 1, True, False),
        (False, True, 1, False, False),
    ],
)
def test_what_other_threads_take_of_one_processor(monkeypatch, on_cpus, plane, count, unknown, expected):
    monkeypatch.setattr(host_view, "processors", lambda plane: count)
    asked = []

    def by_part(spans, parts):
        asked.append((spans, tuple(parts)))
        return np.array([5, 0, 8]) if parts else np.zeros(3, np.int64)

    view = SimpleNamespace(on_cpus=on_cpus, plane="p" if plane else None, by_part=by_part, devices=("a", "b"))
    found = HostView.beside(view, ("begin", "end"), unknown=unknown)
    assert found.tolist() == ([2, 0, 4] if expected else [0, 0, 0])
    assert asked[0][0] == [("begin", "end")] * 2
    assert bool(asked[0][1]) is expected


@pytest.mark.parametrize(
    ("kinds", "expected"), [(("cpu", "host"), True), (("cpu", "tpu"), False), (("gpu",), False), ((), True)]
)
def test_hosts_whose_devices_are_cpus(kinds, expected):
    view = SimpleNamespace(devices=[SimpleNamespace(kind=kind) for kind in kinds])
    assert HostView.on_cpus.fget(view) is expected
