"""Nodes and edges of one host, from typed-in queues."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from builders.answers import run_of
from builders.planes import gpu, host
from builders.spaces import plane
from builders.xspace_text import build as xspace

from tpu_profile_plugin import columns
from tpu_profile_plugin.analysis.budget.host_time import HostTime, MainThread
from tpu_profile_plugin.analysis.common.planes import HOST_THREADS
from tpu_profile_plugin.analysis.common.spans import Times, no_time
from tpu_profile_plugin.analysis.devices.launches import HostCalls
from tpu_profile_plugin.analysis.devices.model import NO_LAUNCH, Device, OpSpans, Work
from tpu_profile_plugin.analysis.devices.windows import StepWindows
from tpu_profile_plugin.analysis.replay import host_graph
from tpu_profile_plugin.analysis.replay.handoffs import Handoffs
from tpu_profile_plugin.analysis.replay.host_graph import Chain, Why, _Builder, _Queue, split
from tpu_profile_plugin.columns import Plane
from tpu_profile_plugin.errors import NoData
from tpu_profile_plugin.run.figures.replay import run_replay
from tpu_profile_plugin.units import PS_PER_US

NO = NO_LAUNCH
NEVER = int(np.iinfo(np.int64).min)
LATE, EARLY = 2 * 10**9 + 1, 10**9


def column(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def flags(text: str) -> np.ndarray:
    return np.array([one == "x" for one in text], np.bool_)


def listed(*columns: np.ndarray) -> list[tuple[int, ...]]:
    return list(zip(*(one.tolist() for one in columns), strict=True))


def spans(*runs: tuple[int, int, Work]) -> OpSpans:
    begin, end, work = (np.array(values) for values in zip(*runs, strict=True)) if runs else [column()] * 3
    return OpSpans(begin, end, np.zeros(len(runs), np.int32), work.astype(np.uint8), np.arange(len(runs)))


def queue(*pieces: tuple[int, int, int], talks: str = "", inline: Times | None = None, runs: OpSpans | None = None):
    """Pieces: begin, end, launched."""
    begin, end, launched = (column(*values) for values in zip(*pieces, strict=True)) if pieces else [column()] * 3
    marks = flags(talks or "." * len(pieces))
    return _Queue(0, "q", runs or OpSpans(), begin, end, launched, marks, inline or no_time())


def edges(build: _Builder) -> list[tuple[int, ...]]:
    """Target, source, lag and why of each."""
    return [row for one in build.edges for row in listed(*one)]


def built(*chains: list[tuple[int, int]]) -> _Builder:
    build = _Builder()
    for number, nodes in enumerate(chains):
        begin, end = (column(*values) for values in zip(*nodes, strict=True)) if nodes else no_time()
        build.chain(Chain(str(number)), begin, end)
    return build


def test_nodes_of_chains_by_their_times() -> None:
    build = built([(5, 10), (12, 20)], [], [(7, 9), (9, 15)])
    times = column(4, 5, 7, 9, 10, 12, 15, 20, 21)
    assert build.ending(0, times).tolist() == [-1, -1, -1, -1, 0, -1, -1, 1, -1]
    assert build.ending(2, times).tolist() == [-1, -1, -1, 2, -1, -1, 3, -1, -1]
    assert build.beginning(0, times).tolist() == [-1, 0, -1, -1, -1, 1, -1, -1, -1]
    assert build.beginning(2, times).tolist() == [-1, -1, 2, 3, -1, -1, -1, -1, -1]
    assert build.before(0, times).tolist() == [-1, -1, -1, -1, 0, 0, 0, 1, 1]
    assert build.before(2, times).tolist() == [-1, -1, -1, 2, 2, 2, 3, 3, 3]
    assert [find(1, column(5, 9)).tolist() for find in (build.ending, build.beginning, build.before)] == [[-1, -1]] * 3
    build.edge(column(0, -1, 2, 3), column(1, 0, -1, 0), column(5, 6, 7, 8), Why.RESULT)
    assert edges(build) == [(0, 1, 5, 2), (3, 0, 8, 2)]


@pytest.mark.parametrize(
    ("times", "points", "expected"),
    [
        ([(5, 10), (20, 30)], (4, 5, 7, 10, 15, 20, 21, 21, 30, 31), [(5, 7), (7, 10), (20, 21), (21, 30)]),
        ([(5, 10)], (), [(5, 10)]),
        ([(5, 10)], (2, 3), [(5, 10)]),
        ([(5, 10)], (6, 6, 6), [(5, 6), (6, 10)]),
        ([(0, 2), (2, 5)], (2, 3), [(0, 2), (2, 3), (3, 5)]),
    ],
)
def test_spans_are_cut_at_points_inside_of_them(times, points, expected) -> None:
    begin, end = zip(*times, strict=True)
    assert listed(*split((column(*begin), column(*end)), column(*points))) == expected


def test_runs_of_a_stream_are_pieces_without_what_overlaps() -> None:
    talk, compute = Work.COMMUNICATION, Work.COMPUTE
    runs = spans(
        (5, 10, talk),
        (7, 10, compute),
        (8, 14, compute),
        (9, 12, talk),
        (20, 25, talk),
        (24, 26, compute),
        (28, 28, talk),
    )
    found = host_graph._stream(2, "s", runs, column(1, 2, 3, 4, 5, 6, 7))
    assert listed(found.begin, found.end, found.launched, found.talks) == [
        (5, 10, 1, True), (10, 14, 3, False), (20, 25, 5, True), (25, 26, 6, False),
    ]  # fmt: skip
    assert len(host_graph._stream(0, "s", OpSpans(), column()).begin) == 0


@pytest.mark.parametrize(
    ("runs", "collectives", "expected"),
    [
        # After other work on the queue, at least 1 ps after its own begin.
        ([(5, 12, Work.COMPUTE)], [(10, 20)], [12]),
        ([(5, 8, Work.COMPUTE)], [(10, 20)], [11]),
        ([(5, 8, Work.COMPUTE)], [(0, 7)], [1]),
        ([(5, 10, Work.COMMUNICATION), (5, 12, Work.COMMUNICATION)], [(5, 12)], [6]),
        ([(5, 20, Work.COMPUTE)], [(10, 20)], [20]),
        ([(5, 21, Work.COMPUTE), (0, 0, Work.MOVE)], [(10, 20)], [11]),
        ([], [(10, 20)], [11]),
        ([], [(10, 10)], [10]),
        # Of several that wait at once the one that ends first.
        ([], [(10, 40), (12, 20), (15, 30)], [30, 13, 20]),
        ([(0, 25, Work.COMPUTE)], [(10, 40), (12, 20)], [25, 13]),
        ([], [], []),
    ],
)
def test_from_when_a_queue_only_waits(runs, collectives, expected) -> None:
    begin, end = (column(*values) for values in zip(*collectives, strict=True)) if collectives else no_time()
    assert host_graph._exposed_since(spans(*runs), begin, end).tolist() == expected


@pytest.mark.parametrize(
    ("queues", "times", "expected"),
    [
        # Beside an event that waits: 20% after the last end of all.
        ([[(0, 180, NO)]], (100, 200, True), True),
        ([[(0, 179, NO)]], (100, 200, True), False),
        ([[(0, 200, NO)]], (100, 200, True), True),
        ([[(0, 201, NO)]], (100, 200, True), False),
        ([[(0, 100, NO)]], (100, 110, True), False),
        ([[(0, 150, NO), (150, 190, NO)]], (100, 200, True), True),
        ([[(0, 150, NO)], [], [(0, 190, NO)]], (100, 200, True), True),
        # After all that was launched: 5%.
        ([[(0, 195, 100)]], (100, 200, False), True),
        ([[(0, 194, 100)]], (100, 200, False), False),
        ([[(0, 195, 101)]], (100, 200, False), False),
        ([[(0, 150, 10), (150, 195, 20)]], (100, 200, False), True),
        ([[(0, 195, 10), (195, 210, 20)]], (100, 200, False), False),
        ([[(0, 195, 10), (195, 210, 120)]], (100, 200, False), True),
        ([[(0, 195, 10)], [(0, 201, 10)]], (100, 200, False), False),
        ([[]], (100, 200, False), False),
    ],
)
def test_a_silent_thread_waits_for_work_that_ends_shortly_before(queues, times, expected) -> None:
    begin, end, beside = times
    of_all = [queue(*pieces) for pieces in queues]
    assert host_graph._awaited(of_all, column(begin), column(end), flags("x" if beside else ".")).tolist() == [expected]


@pytest.mark.parametrize(
    ("queues", "launches", "expected"),
    [
        # A launch of 100 us among those of 1 us: work ends at most 2 us before it does.
        ([[198]], [(0, 1), (100, 200)], [(100, 200)]),
        ([[197]], [(0, 1), (100, 200)], []),
        ([[150, 199]], [(0, 1), (100, 200)], [(100, 200)]),
        ([[110, 150, 199]], [(0, 1), (100, 200)], []),
        ([[100, 150, 200]], [(0, 1), (100, 200)], [(100, 200)]),
        ([[199], [110, 120, 130]], [(0, 1), (100, 200)], []),
        ([[130], [199, 210]], [(0, 1), (100, 200)], [(100, 200)]),
        ([[201]], [(0, 1), (100, 200)], []),
        ([[]], [(0, 1), (100, 200)], []),
        # At least ten times as long as the shortest one, and 10 us.
        ([[200]], [(0, 10), (100, 200)], [(100, 200)]),
        ([[200]], [(0, 11), (100, 200)], []),
        ([[110]], [(0, 1), (100, 110)], [(100, 110)]),
        ([[109]], [(0, 0), (100, 109)], []),
        ([[5]], [], []),
    ],
)
def test_launches_that_wait_for_room(queues, launches, expected) -> None:
    begin, end = (column(*values) * PS_PER_US for values in zip(*launches, strict=True)) if launches else no_time()
    ends = [[(0, end * PS_PER_US, NO) for end in one] for one in queues]
    found = host_graph._full([queue(*pieces) for pieces in ends], (begin, end))
    assert [(a // PS_PER_US, b // PS_PER_US) for a, b in listed(*found)] == expected


@pytest.mark.parametrize(
    ("own", "other", "expected"),
    [
        # Pieces of the own queue, those of another one: target, source, lag of edges, and what is explained.
        (queue((20, 30, 5)), queue((0, 15, 1)), ([(1, 0, 5)], [True])),
        (queue((20, 30, 15)), queue((0, 15, 1)), ([], [False])),
        (queue((20, 30, NO)), queue((0, 20, NO)), ([(1, 0, 0)], [True])),
        (queue((20, 30, 5)), queue((0, 21, 1)), ([], [False])),
        (queue((10_000_015, 10_000_030, 5)), queue((0, 15, 1)), ([(1, 0, 10_000_000)], [True])),
        (queue((10_000_016, 10_000_030, 5)), queue((0, 15, 1)), ([], [False])),
        # In 1% of the time without anything else to wait for.
        (queue((0, 1, 0), (LATE, LATE + 5, 0)), queue((0, LATE - 2 * 10**7, 0)), ([(2, 0, 2 * 10**7)], [0, 1])),
        (queue((0, 1, 0), (LATE, LATE + 5, 0)), queue((0, LATE - 2 * 10**7 - 1, 0)), ([], [0, 0])),
        # A collective waits for what was launched before it, and for nothing launched later.
        (queue((20, 30, 18), talks="x"), queue((0, 15, 17)), ([(1, 0, 0)], [False])),
        (queue((20, 30, 18), talks="x"), queue((0, 15, 18)), ([(1, 0, 0)], [False])),
        (queue((20, 30, 18), talks="x"), queue((0, 15, 19)), ([], [False])),
        (queue((20, 30, 18), talks="x"), queue((0, 10, 3), (11, 19, 19)), ([(2, 0, 0)], [False])),
        (queue((20, 30, NO), talks="x"), queue((0, 15, NO)), ([(1, 0, 5)], [True])),
        (queue((20, 30, 18), talks="x"), queue((0, 10, 3), (11, 15, 17)), ([(2, 1, 0)], [False])),
        (queue((20, 30, 5)), queue(), ([], [False])),
        # The first work of all has no such time, other work has it from the end of the work before.
        (queue((LATE, LATE + 5, NO)), queue((0, LATE - 2 * 10**7, NO)), ([], [False])),
        (
            queue((0, EARLY, 0), (LATE + EARLY, LATE + EARLY + 5, 0)),
            queue((0, LATE + EARLY - 2 * 10**7 - 1, 0)),
            (
                [],
                [False, False],
            ),
        ),
    ],
)
def test_work_near_the_end_of_another_queue(own: _Queue, other: _Queue, expected) -> None:
    nodes = listed(other.begin, other.end)
    build = built(nodes, listed(own.begin, own.end))
    before = np.append(NEVER, own.end[:-1])
    explained = host_graph._near(build, [(0, other), (1, own)], (1, own), before)
    assert ([row[:3] for row in edges(build)], explained.tolist()) == expected
    assert {row[3] for row in edges(build)} <= {Why.NEAR}


@pytest.mark.parametrize(
    ("queues", "waits", "expected"),
    [
        # Waits of the main thread, which has nodes at 0-10, 10-20, 20-30: edges, and the nodes of waits.
        ([[(5, 15, 1)]], [(10, 20)], ([(1, 3, 5, 2)], [1])),
        ([[(5, 10, 1)]], [(10, 20)], ([], [])),
        ([[(5, 20, 1)]], [(10, 20)], ([(1, 3, 0, 2)], [1])),
        ([[(5, 21, 1)]], [(10, 20)], ([], [])),
        # Work that is launched when a wait ends is not awaited.
        ([[(5, 15, 19)]], [(10, 20)], ([(1, 3, 5, 2)], [1])),
        ([[(5, 15, 20)]], [(10, 20)], ([], [])),
        ([[(5, 12, 1), (12, 15, 2), (16, 18, 20)]], [(10, 20)], ([(1, 4, 5, 2)], [1])),
        # Of several queues the last one tells how long the wait goes on.
        ([[(5, 15, 1)], [(6, 18, 2)]], [(10, 20)], ([(1, 3, 0, 2), (1, 4, 2, 2)], [1])),
        ([[(5, 15, 1)], [(6, 15, 2)]], [(10, 20)], ([(1, 3, 5, 2), (1, 4, 5, 2)], [1])),
        ([[(5, 15, 1)], []], [(10, 20), (20, 30)], ([(1, 3, 5, 2)], [1])),
        ([[(5, 15, 1)]], [(11, 19)], ([], [])),
        ([[(2, 8, 1)]], [(0, 10)], ([(0, 3, 2, 2)], [0])),
        ([[]], [(10, 20)], ([], [])),
        ([], [(10, 20)], ([], [])),
    ],
)
def test_results_that_the_main_thread_waits_for(queues, waits, expected) -> None:
    own = [queue(*pieces) for pieces in queues]
    build = built([(0, 10), (10, 20), (20, 30)], *(listed(one.begin, one.end) for one in own))
    begin, end = (column(*values) for values in zip(*waits, strict=True))
    nodes = host_graph._results(build, own, range(1, len(own) + 1), (begin, end))
    assert (edges(build), nodes.tolist()) == expected


def test_work_on_the_main_thread_that_outlasts_its_piece() -> None:
    own = queue((10, 20, 1), (20, 30, 2), inline=(column(10), column(100)))
    build = built([(0, 90), (90, 110)], listed(own.begin, own.end))
    nodes = host_graph._results(build, [own], [1], (column(90), column(110)))
    assert (edges(build), nodes.tolist()) == ([], [1])


def test_when_runs_were_launched() -> None:
    runs = spans(*((at, at + 1, Work.COMPUTE) for at in (4, 5, 9, 10, 12)))
    assert host_graph._launched(queue((5, 8, 1), (10, 20, 7), runs=runs)).tolist() == [NO, 1, 1, 7, 7]
    assert host_graph._launched(queue(runs=runs)).tolist() == [NO] * 5


@pytest.mark.parametrize(
    ("queues", "share", "expected"),
    [
        # Launches that wait for nothing else: the usual delay is the median of the pieces that come after idle time.
        (
            [[(12, 18, 10), (25, 28, 20), (39, 45, 30)]], 1.0,
            [(5, 4, 0, 0), (6, 5, 0, 0), (4, 0, 2, 1), (5, 1, 5, 1), (6, 2, 5, 1)],
        ),
        # Queued ones: the usual gap after the work before, and the shortest delay.
        (
            [[(12, 25, 10), (26, 38, 20), (41, 45, 30)]], 1.0,
            [(5, 4, 1, 0), (6, 5, 2, 0), (4, 0, 2, 1), (5, 1, 2, 1), (6, 2, 2, 1)],
        ),
        ([[(12, 18, 10), (25, 28, NO), (39, 45, 30)]], 2 / 3, [(5, 4, 7, 0), (6, 5, 0, 0), (4, 0, 2, 1), (6, 2, 5, 1)]),
        # Launched when the work before ends, which it waits for.
        ([[(12, 20, 10), (25, 28, 20)]], 1.0, [(5, 4, 5, 0), (4, 0, 2, 1), (5, 1, 2, 1)]),
        ([[(12, 20, 10)], [(20, 30, NO)]], 0.5, [(5, 4, 0, 5), (4, 0, 2, 1)]),
        ([[(12, 18, NO)]], 0.0, []),
        ([[]], 0.0, []),
        ([], 0.0, []),
    ],
)  # fmt: skip
def test_edges_of_order_and_launches(queues, share: float, expected) -> None:
    own = [queue(*pieces) for pieces in queues]
    pieces = [(one.begin, one.end) for one in own]
    build = built([(0, 10), (10, 20), (23, 30), (30, 50)], *(listed(*times) for times in pieces))
    assert host_graph._connect(build, own, pieces, range(1, len(own) + 1)) == share
    assert edges(build)[:3] == [(1, 0, 0, 0), (2, 1, 3, 0), (3, 2, 0, 0)]
    assert edges(build)[3:] == expected


def test_queues_with_most_work_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_graph, "_MOST_COMPARED", 2)
    own = [queue((20, 22, NO)), queue((12, 20, NO), (22, 25, NO)), queue((0, 5, NO), (6, 8, NO), (9, 10, NO))]
    pieces = [(one.begin, one.end) for one in own]
    build = built([(0, 1)], *(listed(*times) for times in pieces))
    assert host_graph._connect(build, own, pieces, [1, 2, 3]) == 0
    assert [row for row in edges(build) if row[3] == Why.NEAR] == [(2, 6, 2, Why.NEAR)]


def test_delays_and_gaps_are_usual_on_each_device() -> None:
    # Device 0: a delay of 2 and a gap of 3; device 1: delays of 5 and 9, and work near the end of another queue.
    own = [
        queue((12, 20, 10), (23, 30, 20)),
        replace(queue((15, 18, 10), (29, 35, 20)), device=1),
        replace(queue((35, 40, 30)), device=1),
    ]
    pieces = [(one.begin, one.end) for one in own]
    build = built([(0, 10), (10, 20), (20, 30)], *(listed(*times) for times in pieces))
    assert host_graph._connect(build, own, pieces, [1, 2, 3]) == 1
    assert sorted(edges(build)[2:]) == [
        (3, 0, 2, 1), (4, 1, 2, 1), (4, 3, 3, 0), (5, 0, 5, 1), (6, 1, 7, 1), (6, 5, 0, 0), (7, 2, 5, 1), (7, 6, 0, 5),
    ]  # fmt: skip


def windows(*steps: tuple[int, ...], source: str = "device") -> StepWindows:
    """Of each step begin and end on every device in turn."""
    times = np.array(steps).reshape(len(steps), -1, 2)
    return StepWindows(np.arange(len(steps)), ("",) * len(steps), times[..., 0], times[..., 1], source)


GPU, TPU = (Device(kind, kind, 0, 0, (), OpSpans()) for kind in ("gpu", "tpu"))
THREAD = [(0, 10), (10, 40), (40, 60)]
"""Nodes 0 to 2."""


@pytest.mark.parametrize(
    ("device", "chains", "steps", "expected"),
    [
        # Node, offset, whether at its begin, and node after which; of begin and end of a step.
        # On the main thread, after the last work of the device.
        (GPU, [THREAD, [(5, 10), (12, 38)]], windows((10, 40), source="host"), [(0, 0, 0, 3), (1, 0, 0, 4)]),
        (GPU, [THREAD, [(12, 38)], [(14, 39)]], windows((10, 40), source="host"), [(0, 0, 0, -1), (1, 0, 0, 4)]),
        (GPU, [THREAD, [(12, 38)], [(14, 37)]], windows((10, 40), source="host"), [(0, 0, 0, -1), (1, 0, 0, 3)]),
        (GPU, [THREAD, [], [(14, 37)]], windows((10, 40), source="host"), [(0, 0, 0, -1), (1, 0, 0, 3)]),
        (GPU, [THREAD, [(12, 38)], [(14, 38)]], windows((10, 40), source="host"), [(0, 0, 0, -1), (1, 0, 0, 3)]),
        # A bound at which no node of the main thread ends is a time after the last work, or before the first.
        (GPU, [THREAD, [(5, 9), (12, 38)]], windows((11, 45), source="host"), [(3, 2, 0, 3), (4, 7, 0, 4)]),
        (GPU, [THREAD, [(12, 38)]], windows((4, 41), source="host"), [(3, -8, 1, -1), (3, 3, 0, 3)]),
        (GPU, [THREAD, [], [(13, 38)]], windows((4, 38), source="host"), [(3, -9, 1, -1), (3, 0, 0, 3)]),
        # Steps that are marked on the device: ends of its work, begins of its work, then the main thread.
        (GPU, [THREAD, [(5, 9), (12, 38)]], windows((9, 38)), [(3, 0, 0, -1), (4, 0, 0, -1)]),
        (GPU, [THREAD, [(5, 9), (12, 38)]], windows((12, 40)), [(4, 0, 1, -1), (1, 0, 0, 4)]),
        (GPU, [THREAD, [(5, 9)], [(12, 38)]], windows((12, 39)), [(4, 0, 1, -1), (4, 1, 0, 4)]),
        (GPU, [THREAD, [(5, 9), (9, 38)]], windows((5, 9)), [(3, 0, 1, -1), (3, 0, 0, -1)]),
        (GPU, [THREAD, [(5, 9)]], windows((5, 9), source="recording"), [(3, 0, 1, -1), (3, 0, 0, -1)]),
        # On a TPU not by the main thread.
        (TPU, [THREAD, [(5, 9), (12, 38)]], windows((10, 40)), [(3, 1, 0, -1), (4, 2, 0, -1)]),
        (TPU, [THREAD, [(5, 9), (12, 38)]], windows((10, 40), source="host"), [(0, 0, 0, 3), (1, 0, 0, 4)]),
        (GPU, [[], [(5, 9), (12, 38)]], windows((10, 12), source="host"), [(0, 1, 0, -1), (1, 0, 1, -1)]),
        (GPU, [[], [(5, 9), (9, 38)]], windows((9, 38)), [(0, 0, 0, -1), (1, 0, 0, -1)]),
        (GPU, [[], [(12, 38)]], windows((4, 8), source="host"), [(0, -8, 1, -1), (0, -4, 1, -1)]),
        (GPU, [[], [(5, 9), (12, 38)]], windows((4, 9), source="host"), [(0, -1, 1, -1), (0, 0, 0, -1)]),
        (GPU, [THREAD], windows((10, 41), source="host"), [(0, 0, 0, -1), (-1, 0, 0, -1)]),
    ],
)  # fmt: skip
def test_bounds_of_steps(device: Device, chains, steps: StepWindows, expected) -> None:
    build = built(*chains)
    build.chains = [Chain("main"), *(Chain("q", 0) for _ in chains[1:])]
    found = host_graph._bounds(build, [device], steps)
    rows = [one.reshape(-1).astype(int) for one in (found.node, found.offset_ps, found.at_begin, found.after)]
    assert listed(*rows) == expected


def test_bounds_of_devices_are_their_own() -> None:
    build = built([], [(5, 9), (12, 38)], [(6, 20), (21, 30)])
    build.chains = [Chain("main"), Chain("q", 0), Chain("q", 1)]
    found = host_graph._bounds(build, [TPU, TPU], windows((5, 9, 6, 20), (12, 40, 22, 31)))
    assert found.node.tolist() == [[[0, 0], [2, 2]], [[1, 1], [2, 3]]]
    assert found.offset_ps.tolist() == [[[0, 0], [0, 0]], [[0, 2], [2, 1]]]
    assert found.at_begin.tolist() == [[[True, False], [True, False]], [[True, False], [False, False]]]


def decoded(*threads: str) -> Plane:
    space = columns.load(xspace(host(*threads)))
    found = plane(space, HOST_THREADS)
    space.decode([found])
    return found


WAIT = "cudaStreamSynchronize"


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        # From when no event begins or ends for 10 us, and whether an event that waits ends or begins there.
        ("5 5 a\n20 5 b", [(10, 20, False)]),
        ("5 5 a\n19 5 b", []),
        ("5 30 a", []),
        ("5 30 a\n5 1 b", [(6, 35, False)]),
        ("5 30 a\n5 30 b", []),
        ("5 30 a\n35 1 b\n5 40 c", []),
        (f"5 5 {WAIT}\n20 5 b", [(10, 20, True)]),
        (f"5 5 a\n20 5 {WAIT}", [(10, 20, True)]),
        (f"5 5 a\n20 5 b\n25 2 {WAIT}\n40 5 c", [(10, 20, False), (27, 40, True)]),
        (f"5 5 {WAIT}\n11 1 a\n30 5 b", [(12, 30, False)]),
    ],
)
@pytest.mark.parametrize("main", [0, 1])
def test_when_a_thread_is_silent(events: str, expected, main: int) -> None:
    own = decoded(*["1 1 a\n90 1 a"] * main, events, f"0 70 x\n5 5 {WAIT}")
    begin, end, beside = host_graph._silent(own, main)
    assert listed(begin // PS_PER_US, end // PS_PER_US, beside) == expected


def test_threads_that_hand_something_over() -> None:
    own = decoded("10 50 a", "5 20 b\n40 30 c", "2 8 d", "1 1 e")
    us = PS_PER_US
    given = Handoffs(
        *(column(0, 1, 0, 1), column(20, 25, 60, 50) * us, column(30, 40, 60, 55) * us),
        *(column(1, 0, 2, 2), column(25, 35, 8, 10) * us),
    )
    build = built([(10 * us, 20 * us), (20 * us, 30 * us), (30 * us, 35 * us), (35 * us, 60 * us), (60 * us, 61 * us)])
    waits = host_graph._threads(build, own, given, 0)
    assert [(one.name, one.line) for one in build.chains[1:]] == [("worker", 1), ("worker", 2)]
    begin, end, _ = (np.concatenate(one) // us for one in zip(*build.columns, strict=True))
    assert listed(begin, end)[5:] == [(5, 25), (25, 40), (40, 50), (50, 55), (55, 70), (2, 8), (8, 10)]
    assert waits.tolist() == [1, 6, 8]
    assert [(a, b, lag // us, why) for a, b, lag, why in edges(build)] == [
        *((node + 1, node, 0, Why.ORDER) for node in (5, 6, 7, 8, 10)),
        (1, 5, 5, 4), (6, 2, 5, 4), (4, 10, 0, 4), (8, 11, 45, 4),
    ]  # fmt: skip


def collectives(*runs: tuple[int, int, int, int]) -> Any:
    """Of each its device, begin, end and source."""
    device, begin, end, source = (column(*values) for values in zip(*runs, strict=True)) if runs else [column()] * 4
    return SimpleNamespace(device=device, begin_ps=begin, end_ps=end, source=source, key=np.zeros(len(runs), np.int64))


def test_the_queue_that_a_collective_is_on() -> None:
    runs = spans(*((at, at + 1, Work.COMMUNICATION) for at in range(4)))
    devices = [replace(GPU, runs=runs), replace(GPU, runs=runs), GPU, GPU]
    queues = [
        replace(queue(runs=runs), device=1),
        *(queue(runs=runs.where(column(*rows))) for rows in ((0, 2), (1, 3))),
        replace(queue(), device=3),
    ]
    # Device 2 has no queues, and no collective is on device 3. One is a window, which no queue holds.
    of = collectives((0, 0, 1, 3), (0, 0, 1, 1), (0, 0, 1, 2), (1, 0, 1, 1), (2, 0, 1, 0), (0, 0, 1, -1))
    found = host_graph._queue_of_runs(devices, queues, of, column(0, 1, 2, 3, 4, 5))
    assert found.tolist() == [2, 2, 1, 0, 0, 1]
    assert host_graph._queue_of_runs(devices, queues, of, column(2, 3, 0)).tolist() == [1, 0, 2]
    assert host_graph._queue_of_runs(devices, [], of, column(2, 3)).tolist() == [0, 0]


@pytest.mark.parametrize(
    ("kind", "main", "expected"),
    [
        # Begin and end of each piece, when it was launched, and what the main thread runs itself.
        ("tpu", -1, ([(2, 6, NO), (8, 10, NO), (10, 29, NO), (30, 35, NO)], [])),
        ("tpu", 0, ([(2, 6, NO), (8, 10, NO), (10, 29, 1), (30, 35, 3)], [])),
        ("tpu", 1, ([(2, 6, NO), (8, 10, NO), (10, 29, 1), (30, 35, 3)], [])),
        ("cpu", 0, ([(2, 6, 2), (8, 10, NO), (10, 29, 1), (30, 35, 3)], [(2, 6), (31, 35)])),
        ("cpu", 1, ([(2, 6, NO), (8, 10, 8), (10, 29, 1), (30, 35, 3)], [(8, 25)])),
        ("cpu", -1, ([(2, 6, NO), (8, 10, NO), (10, 29, NO), (30, 35, NO)], [])),
    ],
)
def test_pieces_of_a_device(monkeypatch: pytest.MonkeyPatch, kind, main: int, expected) -> None:
    own = decoded("0 1 a\n1 1 a", "0 1 b\n1 1 b\n2 1 b", "0 1 c")
    monkeypatch.setattr(host_graph, "launch_points", lambda *_: column(1, 2, 3, 4))
    # Work of a launch lasts until the next one; nothing runs from 29 to 30, and the last one does nothing.
    runs = replace(
        spans(*((*times, Work.COMPUTE) for times in ((2, 6), (8, 11), (10, 14), (13, 25), (31, 35), (40, 40)))),
        event=column(0, 2, 3, 4, 1, 5),
    )
    control = spans((12, 29, Work.CONTROL))
    device = Device(kind, kind, 0, 0, (), runs, control, starts=column(10, 29, 30, 40))
    args = (SimpleNamespace(), own, 3, device, HostCalls(), main, HostTime())
    (found,) = host_graph._queues(*args)
    assert (listed(found.begin, found.end, found.launched), listed(*found.inline)) == expected
    assert (found.device, found.name, found.talks.tolist()) == (3, kind, [False] * 4)


@pytest.mark.parametrize("main", [-1, 0])
def test_pieces_without_launches(main: int) -> None:
    own = decoded("0 1 a\n1 1 a")
    device = Device("cpu", "cpu", 0, 0, (), spans((2, 6, Work.COMPUTE), (6, 9, Work.COMPUTE), (12, 15, Work.COMPUTE)))
    device = replace(device, runs=replace(device.runs, event=column(0, 5, 1)))
    (found,) = host_graph._queues(SimpleNamespace(), own, 0, device, HostCalls(), main, HostTime())
    expected = [(2, 9, NO), (12, 15, NO)] if main else [(2, 9, 2), (12, 15, 12)]
    assert listed(found.begin, found.end, found.launched) == expected
    (found,) = host_graph._queues(SimpleNamespace(), None, 0, device, HostCalls(), main, HostTime())
    assert listed(found.begin, found.end, found.launched) == [(2, 9, NO), (12, 15, NO)]


def nodes_of(graph: host_graph.HostGraph, unit: int = 1) -> list[tuple[int, ...]]:
    """Begin, end and chain of each node."""
    return listed(graph.begin_ps // unit, graph.end_ps // unit, graph.chain)


def test_a_graph_of_devices_alone() -> None:
    compute, talk = Work.COMPUTE, Work.COMMUNICATION
    first = spans((10, 20, compute), (20, 35, talk), (40, 50, compute), (50, 60, talk), (52, 60, compute))
    second = spans((12, 30, compute), (25, 45, talk))
    queues = [
        queue((10, 20, NO), (20, 35, NO), (40, 50, NO), (50, 60, NO), runs=first),
        replace(queue((12, 30, NO), (30, 45, NO), runs=second), device=1, name="r"),
    ]
    devices = [replace(GPU, runs=first), replace(GPU, runs=second)]
    # Device 0 waits from 21 to 35, and computes until its second collective ends; device 1 waits from 30 on.
    runs = collectives((0, 20, 35, 1), (1, 25, 45, 1), (0, 50, 60, 3))
    found = host_graph._graph(
        devices, windows((10, 50, 12, 45)), queues, runs, Any, (HostTime(), None, -1), MainThread()
    )
    assert nodes_of(found) == [
        (10, 12, 1), (12, 20, 1), (20, 21, 1), (21, 35, 1), (40, 45, 1), (45, 50, 1), (50, 51, 1), (51, 60, 1),
        (12, 26, 2), (26, 30, 2), (30, 45, 2),
    ]  # fmt: skip
    assert listed(found.target, found.source, found.lag_ps, found.why) == [
        (1, 0, 0, 0), (2, 1, 0, 0), (3, 2, 0, 0), (4, 3, 5, 0), (5, 4, 0, 0), (6, 5, 0, 0), (7, 6, 0, 0),
        (9, 8, 0, 0), (10, 9, 0, 0),
    ]  # fmt: skip
    assert (found.arrival.tolist(), found.leave.tolist()) == ([2, 8, 6], [3, 10, -1])
    assert (found.waits.any(), found.linked, found.impossible, found.lines, found.main) == (False, 0, 0, {}, -1)
    assert [(chain, one.device) for chain, one in found.contents] == [(1, 0), (2, 1)]
    assert found.bounds.node.tolist() == [[[0, 5], [8, 10]]]
    assert found.bounds.at_begin.tolist() == [[[True, False], [True, False]]]


@pytest.mark.parametrize(
    ("device", "main", "chains", "nodes", "made"),
    [
        # Where steps are marked on the device, its work is cut there, elsewhere the main thread.
        (
            TPU, 1, [("worker", -1, 1), ("main", -1, 0), ("q", 0, -1)],
            [(9, 10, 0), (10, 30, 0), (30, 31, 0), (12, 14, 1), (32, 40, 2), (40, 50, 2)],
            [(1, 3, 16, 4), (1, 0, 0, 0), (2, 1, 0, 0), (5, 4, 0, 0), (4, 2, 1, 1)],
        ),
        (
            GPU, 1, [("worker", -1, 1), ("main", -1, 0), ("q", 0, -1)],
            [(9, 10, 0), (10, 30, 0), (30, 31, 0), (31, 40, 0), (12, 14, 1), (32, 50, 2)],
            [(1, 4, 16, 4), (1, 0, 0, 0), (2, 1, 0, 0), (3, 2, 0, 0), (5, 2, 1, 1)],
        ),
        (GPU, -1, [("", -1, -1), ("q", 0, -1)], [(32, 40, 1), (40, 50, 1)], [(1, 0, 0, 0)]),
    ],
)  # fmt: skip
def test_a_graph_with_threads(device: Device, main: int, chains, nodes, made) -> None:
    us = PS_PER_US
    own = decoded("12 2 $queue.py:122 put", "10 20 $queue.py:154 get")
    one = queue((32 * us, 50 * us, 31 * us))
    steps = windows((31 * us, 40 * us), source="device")
    found = host_graph._graph([device], steps, [one], collectives(), Any, (HostTime(), own, main), MainThread())
    assert [(chain.name, chain.device, chain.line) for chain in found.chains] == chains
    assert nodes_of(found, us) == nodes
    assert [
        (*row[:2], row[2] // us, row[3]) for row in listed(found.target, found.source, found.lag_ps, found.why)
    ] == made
    assert np.flatnonzero(found.waits).tolist() == ([1] if main >= 0 else [])
    assert found.lines == ({0: 1, 1: 0} if main >= 0 else {})


def test_a_thread_waits_for_the_first_node_of_the_main_thread() -> None:
    us = PS_PER_US
    given = Handoffs(column(1), column(15) * us, column(25) * us, column(0), column(20) * us)
    build = built([(10 * us, 20 * us), (20 * us, 30 * us)])
    assert host_graph._threads(build, decoded("10 20 a", "2 40 b"), given, 0).tolist() == [3]
    assert edges(build) == [(3, 2, 0, Why.ORDER), (4, 3, 0, Why.ORDER), (3, 0, 5 * us, Why.HANDOFF)]


def test_other_threads_may_wait_for_each_other() -> None:
    us = PS_PER_US
    given = Handoffs(column(1), column(2) * us, column(25) * us, column(2), column(20) * us)
    build = built([])
    assert host_graph._threads(build, decoded("0 1 a", "2 40 b", "3 30 c"), given, 0).tolist() == [0]
    assert edges(build) == [(1, 0, 0, Why.ORDER), (3, 2, 0, Why.ORDER), (0, 2, 5 * us, Why.HANDOFF)]


ALONE = gpu("20 30 k1 {correlation_id=1}\n50 30 k2 {correlation_id=2}", "30 10 k3 {correlation_id=3}")


@pytest.mark.parametrize("more", ["", host(""), host("0 5 a {_r=1, step_num=0}")])
def test_a_host_whose_main_thread_may_be_unknown(more: str) -> None:
    (found,) = run_replay(run_of(f"{ALONE}\n{more}")).graph.hosts
    known = "step_num" in more
    assert (found.main, found.chains[0].line) == ((0, 0) if known else (-1, -1))
    assert [chain.device for chain in found.chains] == [-1, 0, 0]
    assert found.linked == 0


@pytest.mark.parametrize("before", [0, 1])
def test_ops_that_run_within_calls_are_on_the_main_thread(before: int) -> None:
    events = """
        0 100 train {_r=1, step_num=0}
        5us +90us FunctionRun
        10us +30us "ExecutorState::Process" {id=1}
        12us +20us "MatMul:MatMul"
    """
    (found,) = run_replay(run_of(host(*["1 1 a"] * before, events))).graph.hosts
    assert (len(found.chains), found.main, found.linked) == (1, before, 1)
    assert [(chain, one.device, len(one.spans) > 0) for chain, one in found.contents] == [(0, 0, True)]


@pytest.mark.parametrize("before", [0, 1])
def test_launches_of_the_main_thread_are_known(before: int) -> None:
    launches = "\n".join(f"{4 * i} 2 cudaLaunchKernel {{correlation_id={i}}}" for i in (1, 2, 3))
    calls = f"0 100 train {{_r=1, step_num=0}}\n{launches}"
    (found,) = run_replay(run_of(f"{ALONE}\n{host(*['1 1 a'] * before, calls)}")).graph.hosts
    assert (found.main, found.linked, len(found.chains)) == (before, 1, 3)


def test_a_host_has_few_queues(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_graph, "_MOST_QUEUES", 2)
    assert len(run_replay(run_of(ALONE)).graph.hosts[0].chains) == 3
    monkeypatch.setattr(host_graph, "_MOST_QUEUES", 1)
    with pytest.raises(NoData, match="2 queues"):
        _ = run_replay(run_of(ALONE)).graph
