"""The graph of a run from those of typed-in hosts, its steps, and what equal devices would take."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tpu_profile_plugin.analysis.devices.model import Work
from tpu_profile_plugin.analysis.replay import equal_ranks, graph
from tpu_profile_plugin.analysis.replay.graph import Graph
from tpu_profile_plugin.analysis.replay.host_graph import Why

ORDER, LAUNCH, RESULT, MEETING = Why.ORDER, Why.LAUNCH, Why.RESULT, Why.MEETING


def ints(*values: Any) -> np.ndarray:
    return np.array(values, np.int64)


def host_of(nodes, edges=(), runs=(), waits=()) -> Any:
    """Nodes: begin, end, chain. Edges: target, source, lag, why. Runs: where a device arrives and leaves."""
    begin, end, chain = (ints(*column) for column in zip(*nodes, strict=True))
    target, source, lag, why = (ints(*column) for column in zip(*edges, strict=True)) if edges else [ints()] * 4
    arrival, leave = (ints(*column) for column in zip(*runs, strict=True))
    return SimpleNamespace(
        begin_ps=begin, end_ps=end, chain=chain, waits=np.isin(np.arange(len(end)), waits), runs=None,
        target=target, source=source, lag_ps=lag, why=why.astype(np.uint8), arrival=arrival, leave=leave,
    )  # fmt: skip


def test_hosts_are_joined_by_their_collectives(monkeypatch: pytest.MonkeyPatch) -> None:
    hosts = (
        # The main thread waits for node 4 of a queue; node 3 waits for a collective. Two edges lead back in time.
        host_of(
            [(0, 10, 0), (10, 30, 0), (5, 12, 1), (12, 20, 1), (20, 28, 1)],
            [(1, 0, 0, ORDER), (3, 2, 0, ORDER), (4, 3, 0, ORDER), (1, 4, 2, RESULT), (2, 0, 0, LAUNCH),
             (4, 0, 11, LAUNCH)],
            [(2, 3), (-1, -1), (4, -1), (0, -1)], waits=[1],
        ),
        # 3 ps behind.
        host_of(
            [(1, 4, 0), (4, 11, 1), (11, 19, 1)], [(1, 0, 0, ORDER), (2, 1, 0, ORDER)],
            [(1, 2), (0, -1), (1, -1), (0, -1)],
        ),
        # Its clock is not known.
        host_of([(0, 20, 0), (1, 20, 1)], runs=[(0, 1)]),
    )  # fmt: skip
    # A collective in which both arrive, one in which one does, one without waits, and one that nothing matches.
    joined = SimpleNamespace(
        instance=ints(7, 7, 8, 8, 9, 9, -1, -1), device=ints(0, 1, 0, 1, 0, 1, 0, 1), key=ints(1, 1, 0, 0, 2, 2, 0, 0),
        source=ints(0, 4, 1, 5, 3, 7, 2, 6), end_ps=ints(20, 21, 40, 40, 11, 12, 50, 50),
        keys=tuple(SimpleNamespace(name=name) for name in "abc"),
    )  # fmt: skip
    monkeypatch.setattr(graph, "clock_offsets", lambda runs: (None, SimpleNamespace(offset_ps=3), None))
    monkeypatch.setattr(graph, "match_hosts", lambda runs, offsets: SimpleNamespace(runs=joined))
    found = graph.graph_of(hosts, SimpleNamespace())
    assert [new.tolist() for new in found.new] == [[1, 11, 3, 8, 10], [0, 4, 9], [5, 6]]
    assert found.host.tolist() == [1, 0, -1, 0, 1, 2, 2, -1, 0, 1, 0, 0]
    assert found.chain.tolist() == [0, 0, -1, 1, 1, 0, 1, -1, 1, 1, 1, 0]
    assert found.begin_ps.tolist() == [4, 0, 10, 5, 7, 0, 1, 14, 12, 14, 20, 10]
    assert found.end_ps.tolist() == [7, 10, 11, 12, 14, 20, 20, 20, 20, 22, 28, 30]
    assert found.delay_ps.tolist() == [4, 0, 0, 5, 0, 0, 1, 0, 0, 0, 0, 0]
    assert found.duration_ps.tolist() == [3, 10, 1, 7, 7, 20, 19, 6, 0, 0, 8, 0]
    edges = [column.tolist() for column in (found.target, found.source, found.lag_ps, found.why)]
    assert list(zip(*edges, strict=True)) == [
        (2, 1, 0, MEETING), (2, 0, 0, MEETING), (4, 0, 0, ORDER), (7, 3, 0, MEETING), (7, 4, 0, MEETING),
        (8, 7, 0, MEETING), (8, 3, 0, ORDER), (9, 7, 2, MEETING), (9, 4, 0, ORDER), (10, 8, 0, ORDER),
        (11, 1, 0, ORDER), (11, 10, 2, RESULT),
    ]  # fmt: skip
    assert found.shift_ps == (0, 3, 0)
    met = found.meetings
    assert (met.names, met.name.tolist(), met.node.tolist()) == (("a", "b", "c"), [1, 2], [7, 2])
    columns = [column.tolist() for column in (met.instance, met.device, met.arrival, met.leave)]
    assert columns == [[0, 0, 1, 1], [0, 1, 0, 1], [3, 4, 1, 0], [8, 9, -1, -1]]


def steps_of(takes: str = "xx xx xx", *, between: float = 0.0, sources: tuple[str, ...] = ("host",)) -> Any:
    """The budget of steps in which some devices take part."""
    marks = np.array([[one == "x" for one in row] for row in takes.split()])
    budget = SimpleNamespace(
        takes_part=marks, cells=int(marks.sum()), gaps=int(marks.any(axis=0).sum()) * (len(marks) - 1),
        between_step_ps=between, sources=sources,
    )  # fmt: skip
    run = SimpleNamespace(budget=budget)
    return SimpleNamespace(budget=budget, even=Graph.even.__get__(run))


@pytest.mark.parametrize(
    ("run", "begins", "ends", "steps", "mean"),
    [
        # 20, 30, 20 and 30, 30, 30 ps; the time until the next step is 10, 10 and 10, 20.
        (steps_of(), None, None, [25, 30, 25], 160 / 6),
        (steps_of(between=1.0), None, None, [35, 45, 25], (160 + 50) / 6 + 50 / 4 - 50 / 6),
        (steps_of("xx .x x."), None, None, [25, 30, 20], 25),
        (steps_of("x. x. x."), None, None, [20, 30, 20], 70 / 3),
        (steps_of("x. x. x.", between=1.0), None, None, [30, 40, 20], 70 / 3 + 20 / 2),
        (steps_of("x. .. x."), None, None, [20, 0, 20], 20),
        (steps_of(".. .. .."), None, None, [0, 0, 0], 0),
        # All of the time divided evenly: 90 and 120 ps.
        (steps_of(sources=("host", "dispatch")), None, None, [35, 35, 35], 35),
        (steps_of("x. x. x.", sources=("dispatch",)), None, None, [30, 30, 30], 30),
        # One step.
        (steps_of("xx", between=1.0), [(7, 9)], [(17, 29)], [15], 15),
        (steps_of("xx", sources=("dispatch",)), [(7, 9)], [(17, 29)], [15], 15),
    ],
)
def test_steps_of_a_replay(run: Any, begins, ends, steps: list[float], mean: float) -> None:
    found = SimpleNamespace(
        begins=np.array(begins or [(10, 20), (40, 60), (80, 110)]),
        ends=np.array(ends or [(30, 50), (70, 90), (100, 140)]),
    )
    assert Graph.of_steps_ps(run, found).tolist() == steps
    assert Graph.mean_ps(run, found) == pytest.approx(mean)


@pytest.mark.parametrize(
    ("takes", "nodes", "expected"),
    [
        # The devices end their last step at 60, 90 and 70 ps. Of what the end is bound to, the later one.
        ("xx. x.x", [(4, -1)], 14),
        ("xx. xxx", [(3, -1)], 13),
        ("xx. xxx", [(0, 1)], 11),
        ("xx. xxx", [(1, 0)], 11),
        ("xx. xxx", [(-1, 0)], 10),
        ("xxx x..", [(0, -1)], 2),
    ],
)
def test_the_node_with_which_the_last_step_ends(takes: str, nodes, expected: int) -> None:
    """The bounds of the second host are the same for all steps and devices but the one that is asked for."""
    steps = steps_of(takes)
    node, after = (np.full((3, 2, 2), value) for value in (7, -1))
    at = {14: 1, 13: 0, 11: 0, 10: 0, 2: 0}[expected]
    node[1, at, 1], after[1, at, 1] = nodes[0]
    first = SimpleNamespace(bounds=SimpleNamespace(node=ints([[5, 0]], [[5, 2]]), after=np.full((2, 1, 2), -1)))
    run = SimpleNamespace(
        budget=steps.budget, first_device=[0, 1, 3], rows=[ints(0, 1)] * 2, new=[np.arange(9), np.arange(9) + 10],
        hosts=[first, SimpleNamespace(bounds=SimpleNamespace(node=node, after=after))],
    )  # fmt: skip
    found = SimpleNamespace(ends=ints((20, 30, 95), (60, 90, 70)), end=np.arange(30))
    assert Graph.last_node(run, found) == expected


def test_bounds_of_steps_as_replayed() -> None:
    bounds = SimpleNamespace(
        node=ints([[2, 1]], [[0, 0]], [[1, 2]]), offset_ps=ints([[0, 4]], [[-3, 5]], [[0, 0]]),
        at_begin=np.array([[[True, False]], [[True, False]], [[False, True]]]),
        after=ints([[-1, -1]], [[-1, -1]], [[0, 2]]),
    )  # fmt: skip
    run = SimpleNamespace(hosts=[SimpleNamespace(bounds=bounds)], new=[ints(1, 2, 0)])
    end, duration = ints(70, 90, 50), ints(7, 9, 5)
    found = Graph._bounds(run, 0, end, duration, ints(0, 1, 2))
    # Node 0 ends at 90, 1 at 50 and 2 at 70.
    assert found.tolist() == [[[63, 54]], [[78, 95]], [[90, 70]]]
    assert Graph._bounds(run, 0, end, duration, ints(2)).tolist() == [[[90, 70]]]


def of_run(**facts: Any) -> Any:
    none = SimpleNamespace(instance=ints(), device=ints(), arrival=ints())
    return SimpleNamespace(**{"meetings": none, **facts})


def test_periods_between_collectives_of_all_devices() -> None:
    met = SimpleNamespace(instance=ints(0, 0, 1, 2, 2), device=ints(0, 1, 0, 1, 0), arrival=ints(0, 1, 2, 3, 4))
    steps = SimpleNamespace(begins=ints((25, 6), (5, 26)), ends=ints((45, 25), (24, 46)))
    periods = equal_ranks._Periods(
        of_run(meetings=met, recorded=steps, first_device=[0, 2], begin_ps=ints(10, 20, 14, 40, 30))
    )
    # Device 0 arrives at 10 and 30, device 1 at 20 and 40; one collective is of device 0 only.
    assert periods.at(0, ints(4, 5, 10, 11, 24, 25, 30, 31, 44, 45)).tolist() == [-1, 1, 1, 2, 2, 3, 3, 4, 4, -1]
    assert periods.at(1, ints(5, 6, 20, 21, 25, 26, 40, 41, 45, 46)).tolist() == [-1, 1, 1, 2, 2, 3, 3, 4, 4, -1]
    alone = SimpleNamespace(begins=ints((5,)), ends=ints((9,)))
    alone_periods = equal_ranks._Periods(of_run(recorded=alone, first_device=[0, 1], begin_ps=ints()))
    assert alone_periods.at(0, ints(4, 5, 8, 9)).tolist() == [-1, 1, 1, -1]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        # Rows: period, label, device, time.
        ([(0, 0, 0, 10), (0, 0, 1, 30)], [2, 2 / 3]),
        ([(0, 0, 0, 10), (0, 1, 0, 20), (0, 0, 1, 30), (0, 1, 1, 20)], [2, 1, 2 / 3, 1]),
        # The n-th run of a device and that of another one.
        ([(0, 0, 0, 10), (0, 0, 0, 30), (0, 0, 1, 20), (0, 0, 1, 20)], [1.5, 5 / 6, 0.75, 1.25]),
        # What is outside of steps, or takes no time, does not count, nor does a device without more.
        ([(-1, 0, 0, 50), (0, 0, 0, 10), (0, 0, 1, 30)], [1, 2, 2 / 3]),
        ([(0, 0, 0, 10), (0, 0, 1, 30), (0, 0, 2, 0)], [2, 2 / 3, 1]),
        ([(0, 0, 0, 10), (0, 0, 1, 30), (-1, 0, 2, 5)], [2, 2 / 3, 1]),
        # Periods are apart.
        ([(1, 0, 0, 10), (2, 0, 0, 40), (1, 0, 1, 30), (2, 0, 1, 80)], [2, 1.5, 2 / 3, 0.75]),
        # Ops that the other device lacks: half of 30 and of 10 ps.
        ([(0, 0, 0, 30), (0, 1, 1, 10)], [2 / 3, 2]),
        ([(0, 0, 0, 30), (0, 1, 0, 10), (0, 1, 1, 20)], [0.5, 1.5, 1.5]),
        ([(0, 0, 0, 0)], [1]),
        ([], []),
    ],
)
def test_factors_of_equal_devices(rows, expected: list[float]) -> None:
    columns = [ints(*column) for column in zip(*rows, strict=True)] if rows else [ints()] * 4
    assert equal_ranks._factors(*columns).tolist() == pytest.approx(expected)


def test_what_equal_ranks_take() -> None:
    """Hosts with one device, with two and with one; the second is 50 ps behind."""

    def content(device: int, *runs: tuple[int, int, int, Work]) -> Any:
        begin, end, op, work = (ints(*column) for column in zip(*runs, strict=True))
        return (1 + device, SimpleNamespace(device=device, spans=SimpleNamespace(
            begin_ps=begin, end_ps=end, op=op, work=work.astype(np.uint8))))  # fmt: skip

    ops = [SimpleNamespace(name=name, program=7) for name in "ab"]
    device = SimpleNamespace(ops=ops)
    compute, talk = Work.COMPUTE, Work.COMMUNICATION
    hosts = (
        SimpleNamespace(
            devices=[device],
            contents=(content(0, (100, 110, 0, compute), (120, 128, 1, talk), (200, 209, 0, compute)),),
        ),
        SimpleNamespace(
            devices=[device, device], contents=(content(0, (50, 70, 0, compute)), content(1, (50, 80, 0, compute)))
        ),
        SimpleNamespace(devices=[device], contents=(content(0, (96, 116, 0, compute)),)),
    )

    class Nodes(SimpleNamespace):
        def __len__(self) -> int:
            return len(self.host)

    steps = SimpleNamespace(begins=ints((100, 100, 100, 95)), ends=ints((200, 200, 200, 200)))
    run = of_run(
        hosts=hosts, first_device=[0, 1, 3, 4], shift_ps=(0, 50, 0), recorded=steps,
        begin_ps=ints(100, 101, 102, 90, 97, 103), duration_ps=ints(40, 9, 8, 7, 20, 6),
        host=ints(0, 0, 1, 2, 2, -1), chain=ints(0, 1, 0, 0, 0, -1),
    )  # fmt: skip
    found = equal_ranks.equal_ranks(Nodes(**vars(run)))
    assert [[one.tolist() for one in of_host] for of_host in found.runs] == [
        [pytest.approx([2, 1, 1])], [pytest.approx([1]), pytest.approx([2 / 3])], [pytest.approx([1])],
    ]  # fmt: skip
    # 40 and 20 ps on the main threads of the hosts with one device.
    assert found.nodes.tolist() == pytest.approx([0.75, 1, 1, 1, 1.5, 1])
