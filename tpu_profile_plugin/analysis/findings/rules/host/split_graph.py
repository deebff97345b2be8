"""PyTorch/XLA runs several graphs per step because values are read within it, or one graph for several steps.

Fires if at least {SPLIT:g} graphs per step follow the read of a value in the same step, and devices are idle from these
reads to the next graph for at least {LEAST_SHARE:.0%} of the time from step to step; or if there are {STEPS_OF_GRAPH:g}
steps or more per graph.

Read values after the step has been launched; end each step with `torch_xla.sync()`.
"""

from __future__ import annotations

from collections.abc import Sequence

from tpu_profile_plugin.analysis.findings.evidence.host.lazy_graphs import LazyGraphs, lazy_graphs
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.findings.limits import LEAST_SHARE
from tpu_profile_plugin.analysis.findings.model import Advice, Evidence, Finding, Rule, Silence
from tpu_profile_plugin.analysis.findings.places import TIMELINE, per_step, share_of, timeline
from tpu_profile_plugin.analysis.findings.run_view import RunView

SPLIT = 0.5
"""Graphs per step after a value was read: values that are read every N-th step split fewer."""
STEPS_OF_GRAPH = 1.5
"""Steps per graph: a loop that ends each step runs at least one, and a recording may cut off the last."""

ADVICE = Advice(
    "Do not read values of tensors (.item(), print, if) within the step: each read ends the graph, runs it and waits. "
    "Collect them and read them every N-th step after torch_xla.sync(), or with xm.add_step_closure.",
)
MISSING = Advice(
    "End each step with torch_xla.sync() (xm.mark_step() in older versions), or iterate over a MpDeviceLoader, which "
    "does. Without it the graph grows over several steps, takes long to compile and keeps their memory.",
)


def gather(host: HostView) -> LazyGraphs | None:
    """The graphs of one host."""
    return lazy_graphs(host)


def judge(run: RunView, gathered: Sequence[LazyGraphs | None]) -> Finding | Silence:
    """The verdict on the host whose graphs are split most, else on the one with fewest."""
    known = run.present(gathered)
    if not known or run.whole_recording:
        return Silence("No graphs of PyTorch/XLA were recorded in steps.")
    worst, host = max(known, key=lambda one: one[0].lost_ps)
    graphs = worst.graphs / worst.steps
    lost = run.located([one.by_part for one, _ in known])
    where = timeline(host, *worst.window)
    if worst.split >= SPLIT * worst.steps and lost.share >= LEAST_SHARE:
        return Finding(
            f"{graphs:.1f} graphs run per step, because values are read within it: devices are idle {lost.share:.1%} "
            f"of the {run.base} until the next graph",
            lost.ps,
            "idle time from the read of a value to the launch of the next graph of the same step, per step and device",
            "high",
            (
                share_of("Devices idle after such reads", lost, run.base),
                per_step("Devices idle after such reads", lost, run.per),
                Evidence("Graphs per step", round(graphs, 1), "", TIMELINE, where),
                Evidence("Of these after the read of a value", round(worst.split / worst.steps, 1)),
            ),
            ADVICE,
            (host,),
            lost.segments,
        )
    if worst.graphs and not run.inferred and worst.steps >= STEPS_OF_GRAPH * worst.graphs:
        per = worst.steps / worst.graphs
        steps = Evidence("Steps per graph", round(per, 1), "", TIMELINE, where)
        title = f"One graph holds {per:.1f} steps: nothing ends the graph of each step"
        return Finding(title, 0, "no direct cost", "medium", (steps,), MISSING, (host,))
    return Silence(f"{graphs:.1f} graphs per step, {worst.split / worst.steps:.1f} of them after the read of a value.")


RULE = Rule("split_graph", "Several graphs per step (PyTorch/XLA)", judge, gather)
