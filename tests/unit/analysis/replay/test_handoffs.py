"""What threads hand to each other, and where the main thread causes what devices run."""

from __future__ import annotations

import numpy as np
import pytest
from builders.planes import host
from builders.spaces import plane
from builders.xspace_text import build

from tpu_profile_plugin import columns
from tpu_profile_plugin.analysis.common.planes import HOST_THREADS
from tpu_profile_plugin.analysis.devices.launches import HostCalls
from tpu_profile_plugin.analysis.devices.model import NO_LAUNCH, Device, OpSpans
from tpu_profile_plugin.analysis.replay.handoffs import handoffs
from tpu_profile_plugin.analysis.replay.links import launch_points
from tpu_profile_plugin.columns import Plane
from tpu_profile_plugin.units import PS_PER_US

GET, PUT = "$queue.py:154 get", "$queue.py:122 put"
ACQUIRE, RELEASE = "$threading.py:440 acquire", "$threading.py:487 release"


def decoded(*threads: str) -> Plane:
    space = columns.load(build(host(*threads)))
    found = plane(space, HOST_THREADS)
    space.decode([found])
    return found


def rows(*threads: str) -> list[tuple[float, ...]]:
    """Line, begin and end of each wait, and what it waited for: line and time; times in us."""
    found = handoffs(decoded(*threads))
    times = (found.line, found.begin_ps / PS_PER_US, found.end_ps / PS_PER_US, found.source)
    return list(zip(*(column.tolist() for column in (*times, found.source_ps / PS_PER_US)), strict=True))


@pytest.mark.parametrize(
    ("threads", "expected"),
    [
        # An item is there when the call that puts it ends, at the latest when it is taken.
        ((f"10 20 {GET}", f"15 5 {PUT}"), [(0, 10, 30, 1, 20)]),
        ((f"10 20 {GET}", f"15 20 {PUT}"), [(0, 10, 30, 1, 30)]),
        # A call of 10 us waits, a shorter one does not.
        ((f"10 10 {GET}", f"10 2 {PUT}"), [(0, 10, 20, 1, 12)]),
        ((f"10 9 {GET}", f"12 2 {PUT}"), []),
        # What begins before the wait, or when it ends, is no reason; a put that ended before is an item in store.
        ((f"10 20 {GET}", f"9 5 {PUT}"), []),
        ((f"10 20 {GET}", f"30 5 {PUT}"), []),
        ((f"10 20 {GET}", f"10 0 {PUT}"), [(0, 30, 30, 1, 10)]),
        ((f"10 20 {GET}", f"4 6 {PUT}"), [(0, 30, 30, 1, 10)]),
        ((f"10 20 {GET}", f"4 7 {PUT}"), []),
        # A thread does not wait for itself.
        ((f"10 20 {GET}\n12 5 {PUT}", "1 2 a"), []),
        ((f"2 5 {PUT}\n10 20 {GET}", "1 2 a"), []),
        # Of several threads the one that gives last, of equal ones the first; of one thread its last call.
        ((f"10 20 {GET}", f"12 5 {PUT}", f"14 6 {PUT}", f"11 9 {PUT}"), [(0, 10, 30, 2, 20)]),
        ((f"10 20 {GET}", f"12 2 {PUT}\n15 4 {PUT}\n29 9 {PUT}"), [(0, 10, 30, 1, 30)]),
        ((f"10 5 {GET}", f"1 2 {PUT}\n3 1 {PUT}", f"2 3 {PUT}", f"1 4 {PUT}"), [(0, 15, 15, 2, 5)]),
        ((f"1 2 {PUT}", f"10 5 {GET}"), [(1, 15, 15, 0, 3)]),
        # The waiting thread need not be the first; waits for items come before waits for room.
        ((f"15 5 {PUT}", f"10 20 {GET}"), [(1, 10, 30, 0, 20)]),
        ((f"10 20 {PUT}\n45 5 {PUT}", f"15 5 {GET}\n40 15 {GET}"), [
            (1, 40, 55, 0, 50), (0, 10, 30, 1, 20),
        ]),
        # A signal ends a wait at most 10 ms before it goes on.
        ((f"10 10010 {ACQUIRE}", f"18 2 {RELEASE}"), [(0, 10, 10020, 1, 20)]),
        ((f"10 10010 {ACQUIRE}", f"17 2 {RELEASE}"), []),
        # A wait inside another one, or inside a call of a queue, is part of that.
        ((f"10 20 {ACQUIRE}\n10 15 {ACQUIRE}\n12 18 {ACQUIRE}\n30 15 {ACQUIRE}", f"13 2 {RELEASE}\n35 4 {RELEASE}"), [
            (0, 10, 30, 1, 15), (0, 30, 45, 1, 39),
        ]),
        ((f"10 15 {ACQUIRE}\n30 40 {ACQUIRE}\n35 20 {ACQUIRE}", f"12 2 {RELEASE}\n40 2 {RELEASE}"), [
            (0, 10, 25, 1, 14), (0, 30, 70, 1, 42),
        ]),
        ((f"10 40 {GET}\n12 20 {ACQUIRE}", f"13 2 {RELEASE}"), []),
        ((f"10 40 {PUT}\n20 30 {ACQUIRE}\n51 15 {ACQUIRE}", f"22 2 {RELEASE}\n53 2 {RELEASE}"), [(0, 51, 66, 1, 55)]),
        # Each thread has calls of its own.
        ((f"10 40 {GET}", f"12 20 {ACQUIRE}", f"14 2 {RELEASE}"), [(1, 12, 32, 2, 16)]),
        (("1 2 a",), []),
    ],
)  # fmt: skip
def test_what_a_thread_waits_for(threads: tuple[str, ...], expected: list[tuple[float, ...]]) -> None:
    assert rows(*threads) == expected


def followed(
    launches: tuple[int, ...], keys: list[int], *threads: str, kind: str = "tpu", main: int = 0
) -> list[float]:
    """When the main thread caused starts of work at 100, 200, ... us; -1 if unknown.

    Calls with keys 1, 2, ... are the events called `run` in their order.
    """
    own = decoded(*threads)
    named = np.array([name == "run" for name in own.event_metadata.names])
    calls = np.flatnonzero(named[own.events.metadata])
    begin = own.events.begin_ps[calls]
    starts = (np.arange(len(keys)) + 1) * 100 * PS_PER_US
    device = Device("a", kind, 0, 0, (), OpSpans(), starts=starts, launch_key=np.array(keys))
    of_key = HostCalls(np.arange(len(calls)) + 1, calls, begin, begin + 1)
    times = np.array(launches, np.int64) * PS_PER_US
    found = launch_points(own, device, of_key, main, (times, times + 1))
    return [-1 if when == NO_LAUNCH else when / PS_PER_US for when in found.tolist()]


CHAIN = (
    "1 9 main {_pt=3, _p=1}",
    "20 30 a {_ct=3, _c=1}\n25 1 b {_pt=3, _p=2}",
    "30 9 c {_ct=3, _c=2}\n32 1 d {_pt=3, _p=3}",
    "35 9 e {_ct=3, _c=3}\n40 1 f {_pt=3, _p=4}",
    "45 9 g {_ct=3, _c=4}\n50 1 run",
    "60 9 h {_ct=3, _c=4}\n61 1 i {_pt=3, _p=5}",
    "70 1 run {_ct=3, _c=5}",
)
"""The main thread, four threads behind each other, and one behind the last of them."""


@pytest.mark.parametrize(
    ("kind", "launches", "keys", "threads", "expected"),
    [
        # As many calls of XLA's CPU backend as starts, none after its start, launch them in order.
        ("cpu", (100, 150), [0, 0], ("1 1 a",), [100, 150]),
        ("cpu", (100, 201), [0, 0], ("1 1 a",), [-1, -1]),
        ("cpu", (50,), [0, 0], ("1 1 a",), [-1, -1]),
        ("tpu", (100, 150), [0, 0], ("1 1 a",), [-1, -1]),
        # Calls on the main thread launch what has their key, unless that began before.
        ("tpu", (), [2, 1, 1, 9], ("40 1 run\n100 1 run",), [100, 40, 40, -1]),
        ("tpu", (), [1, 2], ("101 1 run\n200 1 run",), [-1, 200]),
        # Those of a GPU's runtime do on every thread.
        ("gpu", (), [1, 2], ("40 1 run", "50 1 run"), [40, 50]),
        # Other threads are followed by contexts: from the last one consumed before, to the first that produced it.
        ("tpu", (), [1, 2], ("40 1 run", "50 1 run"), [40, -1]),
        ("tpu", (), [1], ("5 9 m {_pt=3, _p=0}\n6 1 n {_pt=3, _p=0}", "20 9 w {_ct=3, _c=0}\n25 1 run"), [5]),
        ("tpu", (), [1], ("5 9 m {_pt=3, _p=1}", "20 9 w {_ct=4, _c=1}\n25 1 run"), [-1]),
        ("tpu", (), [1], ("5 9 m {_pt=3, _p=1}\n6 1 n", "20 9 w {_ct=4, _c=1}\n25 1 run"), [-1]),
        ("tpu", (), [1], ("1 1 a\n2 1 b", "25 1 run {_ct=3, _c=1}"), [-1]),
        ("tpu", (), [1], ("5 1 m {_pt=3, _p=1}", "6 1 w {_ct=3, _c=1}", "25 1 run"), [-1]),
        ("tpu", (), [1], ("5 9 m {_pt=3, _p=1}", "25 1 run {_ct=3, _c=1}"), [5]),
        ("tpu", (), [1], ("5 9 m {_pt=3, _p=1}", "25 1 run\n26 9 w {_ct=3, _c=1}"), [-1]),
        ("tpu", (), [1], ("1 1 a", "25 1 run {_ct=3, _c=1}"), [-1]),
        ("tpu", (), [1], ("1 1 a {_pt=3, _p=1}", "25 1 run"), [-1]),
        (
            "tpu", (), [1, 2],
            (
                "5 1 m {_pt=3, _p=1}\n6 1 n {_pt=3, _p=2}\n7 1 o {_pt=3, _p=3}",
                "20 1 w {_ct=3, _c=1}\n25 1 run\n30 1 w {_ct=3, _c=2}\n35 1 run\n40 1 w {_ct=3, _c=3}",
            ),
            [5, 6],
        ),
        # Through four threads, not through five.
        ("tpu", (), [1, 2], CHAIN, [1, -1]),
    ],
)  # fmt: skip
def test_where_the_main_thread_launches(kind, launches, keys, threads, expected) -> None:
    assert followed(launches, keys, *threads, kind=kind) == expected


def test_the_main_thread_need_not_be_the_first() -> None:
    assert followed((), [1], "20 9 w {_ct=3, _c=1}\n25 1 run", "5 9 m {_pt=3, _p=1}", main=1) == [5]
