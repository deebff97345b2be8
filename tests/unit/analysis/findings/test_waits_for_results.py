"""How idle time of devices is matched with calls that wait, on typed-in spans."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tpu_profile_plugin.analysis.devices.model import NO_LAUNCH
from tpu_profile_plugin.analysis.findings.evidence.host.code import (
    Fetches,
    Idle,
    _fetches,
    _Gaps,
    _pieces,
    _waits_for_all,
)

US = 10**6
READ, ARRAY, READY = "$array.py:298 __float__", "$numpy asarray", "$array.py:9 block_until_ready"


def numbers(*values):
    return np.array(values, np.int64)


def lists(times):
    return [side.tolist() for side in times]


def test_idle_spans():
    idle = Idle(numbers(0, 10, 30), numbers(4, 15, 31), numbers(0, 1, 0))
    assert (len(idle), idle.total(), idle.ps.tolist(), idle.middle.tolist()) == (3, 10, [4, 5, 1], [2, 12, 30])
    assert lists(idle.of_device(0)) == [[0, 30], [4, 31]]
    assert idle.where(np.array([False, True, False])).end_ps.tolist() == [15]


@pytest.mark.parametrize(("on_cpus", "last"), [(True, [410, 460]), (False, [440, 490])])
def test_a_step_of_cpus_that_waits_far_longer_counts_as_two_usual_ones(on_cpus, last):
    """80 ps in the last of five steps, 10 in the others; a span before the first step counts to it."""
    host: Any = SimpleNamespace(windows=(numbers(0, 100, 200, 300, 400), None), on_cpus=on_cpus)
    begin, end = numbers(-2, 10, 100, 200, 300, 400, 450), numbers(0, 18, 110, 210, 310, 440, 490)
    found = Idle(begin, end, numbers(0, 1, 0, 0, 0, 0, 1)).usual(host)
    assert found.end_ps.tolist() == [0, 18, 110, 210, 310, *last]
    assert Idle().usual(host).total() == 0
    none: Any = SimpleNamespace(windows=(numbers(), None), on_cpus=on_cpus)
    assert Idle(begin, end, begin).usual(none).end_ps.tolist() == end.tolist()


def test_pieces_of_spans_that_touch_stay_apart():
    found = _pieces((numbers(0, 10, 30), numbers(10, 20, 40)), (numbers(5, 32), numbers(15, 33)))
    assert lists(found) == [[5, 10, 32], [10, 15, 33]]


@pytest.mark.parametrize(
    ("stop", "expected"),
    [
        # A device that becomes idle while an array is made, both ends included, tells that it was waited for.
        (99, [(0, 90), (90, 95), (110, 150)]),
        (100, [(0, 90), (90, 95), (100, 190)]),
        (190, [(0, 90), (90, 95), (100, 190)]),
        (191, [(0, 90), (90, 95), (110, 150)]),
        (200, [(0, 90), (90, 95), (110, 150), (200, 290)]),
    ],
)
def test_the_outermost_calls_that_wait_for_results(stop, expected):
    levels = SimpleNamespace(
        begin_ps=[numbers(0, 90, 100, 200), numbers(0, 10, 110, 210)],
        end_ps=[numbers(90, 95, 190, 290), numbers(5, 90, 150, 220)],
        name=[numbers(1, 1, 2, 2), numbers(1, 1, 1, 0)],
    )
    calls: Any = SimpleNamespace(main=SimpleNamespace(levels=levels, names=["$train.py:9 f", READ, ARRAY]))
    found = _fetches(calls, numbers(stop))
    assert list(zip(found.begin_ps.tolist(), found.end_ps.tolist(), strict=True)) == expected
    nothing: Any = SimpleNamespace(main=SimpleNamespace(levels=SimpleNamespace(begin_ps=[]), names=[]))
    assert len(_fetches(nothing, numbers(stop))) == 0


def test_waits_without_a_result_are_for_all_devices():
    calls: Any = SimpleNamespace(main=SimpleNamespace(names=[READ, READY, "BlockUntilReady"]))
    fetches = Fetches(numbers(0, 20, 40), numbers(10, 30, 50), numbers(0, 1, 2))
    assert lists(_waits_for_all(fetches, calls)) == [[20, 40], [30, 50]]
    assert lists(_waits_for_all(Fetches(), calls)) == [[], []]


def gaps(idle, *, starts=(), launches=(), fetches=None):
    """Gaps of a device whose runs begin at `starts`, each launched 50 ps before; `launches`: of any thread."""
    device = SimpleNamespace(starts=numbers(*starts), launch_key=numbers(*starts))
    times = SimpleNamespace(times=lambda keys: (keys - 50, None))
    reader = SimpleNamespace(time=SimpleNamespace(calls=times, launch=(numbers(*launches), None)))
    return _Gaps((numbers(*idle[0]), numbers(*idle[1])), device, SimpleNamespace(reader=reader), fetches or Fetches())


def test_idle_time_from_calls_that_end_in_it():
    begin, end = numbers(80, 95, 140, 350, 590), numbers(90, 100, 150, 399, 600)
    found = gaps(([100, 300, 500], [200, 400, 600]), fetches=Fetches(begin, end, begin))._from_calls()
    assert lists(found) == [[95, 350], [200, 400]]


def test_when_the_work_after_a_gap_was_launched():
    ends = [100, 250, 300, 400]
    assert gaps((ends, ends), starts=(100, 300))._launched().tolist() == [50, NO_LAUNCH, 250, NO_LAUNCH]
    assert gaps((ends, ends))._launched().tolist() == [NO_LAUNCH] * 4


@pytest.mark.parametrize(
    ("launched", "launches", "expected"),
    [
        # A launch usually takes 200 us.
        ((100, None), (), [(300, 500)]),
        ((299, None), (), [(499, 500)]),
        ((300, None), (), []),
        ((-300, 1100), (), [(0, 500), (1300, 1900)]),
        # If nothing tells which launch it was, the first one in the gap.
        ((300, None), (1200, 1300), [(1400, 1900)]),
        ((300, None), (1000,), [(1200, 1900)]),
        ((300, None), (999,), []),
        ((500, None), (100,), [(300, 500)]),
        ((300, 1600), (100, 1200), [(1800, 1900)]),
    ],
)
def test_time_after_a_launch_that_it_does_not_explain(launched, launches, expected):
    known = numbers(*(NO_LAUNCH if one is None else one * US for one in launched))
    of_host = [one * US for one in launches]
    found = gaps(([0, 1000 * US], [500 * US, 1900 * US]), launches=of_host)._long_launched(known)
    assert [(begin // US, end // US) for begin, end in zip(*lists(found), strict=True)] == expected
