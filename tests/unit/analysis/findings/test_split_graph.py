"""PyTorch/XLA: graphs that a read value splits, and graphs of several steps."""

from __future__ import annotations

import pytest
from builders.profiles.planted import cpu, evidence, finding, findings, reason

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
