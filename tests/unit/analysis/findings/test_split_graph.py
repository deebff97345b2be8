"""PyTorch/XLA: graphs that a read value splits, and graphs of several steps."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from builders.profiles.planted import cpu, evidence, finding, findings, reason

from tpu_profile_plugin.analysis.findings.rules.host import split_graph

READ = "PjRtComputationClient::TransferFromDevice"


def split(wait=100, reads=1):
    """A step of 1000 us: a graph, `.item()` after it, and `wait` us later the second graph."""
    main = f"0 20 SyncTensorsGraph\n5 10 PjitFunction(a)\n30 370 {READ}\n" if reads else "0 20 SyncTensorsGraph\n"
    return cpu(f"{main}{400 + wait - 20} 20 SyncTensorsGraph", f"10 390 dot.1\n{400 + wait} {600 - wait} dot.2")


def test_a_value_that_is_read_splits_the_graph():
    found = findings(split())["findings"]
    assert [one["id"] for one in found] == ["split_graph"]
    assert found[0]["title"] == (
        "2.0 graphs run per step, because values are read within it: devices are idle 10.0% of the step until the next "
        "graph"
    )
    assert found[0]["saving_ps_per_step"] == 100 * 10**6
    shown = evidence(found[0])
    assert (shown["Graphs per step"], shown["Of these after the read of a value"]) == (2.0, 1.0)
    assert "torch_xla.sync()" in found[0]["advice"]


@pytest.mark.parametrize(("wait", "fires"), [(49, False), (50, True), (60, True)])
def test_idle_time_after_the_read_is_a_twentieth_of_the_step(wait, fires):
    assert (finding("split_graph", split(wait)) is not None) == fires


def test_graphs_without_a_read_in_between_are_no_split():
    assert finding("split_graph", split(reads=0)) is None
    assert reason("split_graph", split(reads=0)) == "2.0 graphs per step, 0.0 of them after the read of a value."


def test_a_read_after_the_last_graph_is_none_either():
    text = cpu(f"0 20 SyncTensorsGraph\n30 370 {READ}", "10 390 dot.1")
    assert finding("split_graph", text) is None


@pytest.mark.parametrize(("graphs", "fires"), [(5, False), (4, True), (3, True), (1, True)])
def test_graphs_of_several_steps(graphs, fires):
    """Six whole steps."""
    once = "\n".join(f"{1000 * (step + 1) + 5} 20 SyncTensorsGraph" for step in range(graphs))
    text = cpu("0 5 PjitFunction(f)", "10 980 dot.1", steps=8, once=once)
    found = finding("split_graph", text)
    assert (found is not None) == fires
    if found:
        assert found["title"] == f"One graph holds {6 / graphs:.1f} steps: nothing ends the graph of each step"
        assert found["saving_ps_per_step"] == 0


def test_other_frameworks_have_no_such_graphs():
    assert reason("split_graph", cpu("0 5 PjitFunction(f)", "10 980 dot.1")).startswith("No graphs of PyTorch/XLA")


# The rule on typed-in graphs and reads, in two steps from 100 to 200 and from 300 to 400.


def gathered(graphs, reads, *, steps=(100, 300), decoded=True):
    """The spans that are lost, graphs per step and how many of them follow a read, and steps per graph.

    `graphs`, `reads`: begin and end of each.
    """
    names = ("SyncTensorsGraph", "IfrtComputationClient::TransferFromDevice", "SyncTensorsGraphInternal")
    rows = [(0, *one) for one in graphs] + [(1, *one) for one in reads] + [(2, 100, 150)]
    name, begin, end = (np.array(column) for column in zip(*rows, strict=True))
    metadata = SimpleNamespace(names=names)
    plane = SimpleNamespace(
        events=SimpleNamespace(metadata=name, begin_ps=begin, duration_ps=end - begin), event_metadata=metadata,
        declared=SimpleNamespace(event_metadata=metadata), decoded=True,
    )  # fmt: skip
    undecoded = SimpleNamespace(declared=plane.declared, decoded=False)
    lost = []
    since = np.array(steps, np.int64)
    host = SimpleNamespace(
        name="h0", plane=plane if decoded else undecoded, marks=(since, since + 100), devices=(0, 1),
        space=None if decoded else SimpleNamespace(filtered=lambda wanted: (plane,)),
        by_part=lambda spans: lost.extend(spans) or np.zeros(1, np.int64),
    )  # fmt: skip
    found = split_graph.gather(host)
    if found is None:
        return None
    loss, per_graph = found
    assert len(lost) == 2  # the same on both devices
    assert lost[0] == lost[1]
    spans = list(zip(*(one.tolist() for one in lost[0]), strict=True))
    return spans, *(one.value for one in loss.evidence), round(per_graph, 3), bool(loss.harmless)


ONE = (110, 120)


@pytest.mark.parametrize(
    ("graphs", "reads", "found"),
    [
        ([ONE, (150, 160)], [(130, 140)], ([(130, 160)], 1.0, 0.5, 1.0, False)),
        ([ONE, (150, 160), (170, 180)], [(130, 140)], ([(130, 160)], 1.5, 0.5, 0.667, False)),
        (
            [ONE, (150, 160), (170, 180)],
            [(130, 140), (141, 142), (161, 169)],
            ([(141, 160), (161, 180)], 1.5, 1.0, 0.667, False),
        ),
        # The read begins with the end of the graph before, or before that, or with the graph itself.
        ([ONE, (150, 160)], [(120, 140)], ([(120, 160)], 1.0, 0.5, 1.0, False)),
        ([ONE, (150, 160)], [(119, 140)], ([], 1.0, 0.0, 1.0, True)),
        ([ONE, (150, 160)], [(150, 155)], ([], 1.0, 0.0, 1.0, True)),
        # It is the first graph of its step, or of none.
        ([(150, 160)], [(130, 140)], ([], 0.5, 0.0, 2.0, True)),
        ([ONE, (350, 360)], [(330, 340)], ([], 1.0, 0.0, 1.0, True)),
        ([(310, 320), (390, 410)], [(330, 340)], ([(330, 410)], 1.0, 0.5, 1.0, False)),
        ([(310, 320), (399, 410)], [(330, 340)], ([(330, 410)], 1.0, 0.5, 1.0, False)),
        ([(310, 320), (400, 410)], [(330, 340)], ([], 0.5, 0.0, 2.0, True)),
        ([(110, 120), (200, 210), (250, 260)], [(130, 140), (230, 240)], ([], 0.5, 0.0, 2.0, True)),
        ([(10, 20), (50, 60), (310, 320)], [(30, 40)], ([], 0.5, 0.0, 2.0, True)),
        ([(100, 100), (150, 160)], [(100, 140)], ([(100, 160)], 1.0, 0.5, 1.0, False)),
        ([(10, 20)], [], ([], 0.0, 0.0, 0.0, True)),
        ([ONE, (150, 160)], [], ([], 1.0, 0.0, 1.0, True)),
    ],
)
@pytest.mark.parametrize("decoded", [True, False])
def test_graphs_after_the_read_of_a_value(graphs, reads, found, decoded):
    """In the same step, since the graph before."""
    assert gathered(graphs, reads, decoded=decoded) == found


def test_graphs_without_steps():
    assert gathered([ONE], [], steps=()) is None
    assert split_graph.gather(SimpleNamespace(plane=None, marks=(np.zeros(1), np.zeros(1)))) is None
