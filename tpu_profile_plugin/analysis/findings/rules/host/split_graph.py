"""PyTorch/XLA runs several graphs per step because values are read within it, or one graph for several steps.

Fires if at least {SPLIT:g} graphs per step follow the read of a value in the same step, and devices are idle from these
reads to the next graph for at least {LEAST_SHARE:.0%} of the time from step to step; or if there are {STEPS_OF_GRAPH:g}
steps or more per graph.

Read values after the step has been launched; end each step with `torch_xla.sync()`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.analysis.common.planes import spans_at
from tpu_profile_plugin.analysis.common.spans import Times, union
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.findings.limits import LEAST_SHARE
from tpu_profile_plugin.analysis.findings.model import Advice, Evidence, Finding, Rule, Silence
from tpu_profile_plugin.analysis.findings.places import TIMELINE, per_step, share_of, timeline
from tpu_profile_plugin.analysis.findings.run_view import RunView
from tpu_profile_plugin.columns import EventFilter, Plane
from tpu_profile_plugin.columns.arrays import I64

_GRAPH = re.compile(r"SyncTensorsGraph\Z")
"""PyTorch/XLA ends a graph and runs it: at the end of a step, or because a value is read."""
_READ = re.compile(r"(?:PjRt|Ifrt)ComputationClient::TransferFromDevice\Z")
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


@dataclass(frozen=True, slots=True, eq=False)
class LazyGraphs:
    """Graphs of one host.

    Attributes:
      steps, graphs: how many steps, and graphs that begin in them; split: graphs that follow a read value in the step.
      lost_ps: idle time from such a value's read to the end of the next graph's launch, summed over steps and devices;
        by_part: the same by part of the time budget, int64[c + 1].
      window: the step with most graphs.
    """

    steps: int
    graphs: int
    split: int
    lost_ps: int
    by_part: I64
    window: tuple[int, int]


def gather(host: HostView) -> LazyGraphs | None:
    """The graphs of one host; None without steps, or if PyTorch/XLA was not recorded."""
    plane = host.plane
    begin, end = host.marks
    if plane is None or not len(begin) or not any(map(_GRAPH.match, plane.declared.event_metadata.names)):
        return None
    if not plane.decoded:
        wanted = EventFilter(plane, event=lambda name: any(one.match(name) for one in (_GRAPH, _READ)))
        (plane,) = host.space.filtered(wanted)
    graph, read = union(*_spans(plane, _GRAPH)), union(*_spans(plane, _READ))
    step = np.searchsorted(begin, graph[0], side="right") - 1
    inside = (step >= 0) & (graph[0] < end[np.maximum(step, 0)])
    since = np.concatenate([[np.iinfo(np.int64).min], graph[1][:-1]])
    # The last value that was read since the graph before, in the same step.
    last = np.searchsorted(read[0], graph[0]) - 1
    when = read[0][np.maximum(last, 0)] if len(read[0]) else np.zeros(len(last), np.int64)
    split = inside & (last >= 0) & (when >= since) & (when >= begin[np.maximum(step, 0)])
    split &= np.append(False, step[1:] == step[:-1])
    times = union(when[split], graph[1][split])
    by_part = host.by_part([times] * max(len(host.devices), 1))
    count = np.bincount(step[inside], minlength=len(begin))
    most = int(count.argmax())
    window = int(begin[most]), int(end[most])
    return LazyGraphs(len(begin), int(inside.sum()), int(split.sum()), int(by_part.sum()), by_part, window)


def _spans(plane: Plane, pattern: re.Pattern[str]) -> Times:
    named = np.array([pattern.match(name) is not None for name in plane.event_metadata.names], np.bool_)
    return spans_at(plane, np.flatnonzero(named[plane.events.metadata]))


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
