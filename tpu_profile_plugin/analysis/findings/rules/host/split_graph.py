"""PyTorch/XLA runs several graphs per step because values are read within it, or one graph for several steps.

Fires if at least {SPLIT:g} graphs per step follow the read of a value in the same step, and devices are idle from these
reads to the next graph for at least {LEAST_SHARE:.0%} of the time from step to step; or if there are {STEPS_OF_GRAPH:g}
steps or more per graph.

Read values after the step has been launched; end each step with `torch_xla.sync()`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from tpu_profile_plugin.analysis.common.planes import rows_named, spans_at
from tpu_profile_plugin.analysis.common.spans import Times, union
from tpu_profile_plugin.analysis.findings.host_loss import HostLoss, verdict
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.findings.lost import LEAST_SHARE as LEAST_SHARE
from tpu_profile_plugin.analysis.findings.model import Evidence, Finding, Rule, Silence
from tpu_profile_plugin.analysis.findings.part_advice import PARTS
from tpu_profile_plugin.analysis.findings.places import TIMELINE, timeline
from tpu_profile_plugin.analysis.findings.run_view import RunView
from tpu_profile_plugin.columns import EventFilter, Plane

_GRAPH = re.compile(r"SyncTensorsGraph\Z")
"""PyTorch/XLA ends a graph and runs it: at the end of a step, or because a value is read."""
_READ = re.compile(r"(?:PjRt|Ifrt)ComputationClient::TransferFromDevice\Z")
SPLIT = 0.5
"""Graphs per step after a value was read: values that are read every N-th step split fewer."""
STEPS_OF_GRAPH = 1.5
"""Steps per graph: a loop that ends each step runs at least one, and a recording may cut off the last."""

ADVICE = PARTS["split graph"]
MISSING = PARTS["graph not compiled"]


def gather(host: HostView) -> tuple[HostLoss, float] | None:
    """The graphs of one host, and how many steps there are for each; None without steps, or without PyTorch/XLA.

    What is lost is idle time from the read of a value to the end of the next graph's launch.
    """
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
    count = np.bincount(step[inside], minlength=len(begin))
    most = int(count.argmax())
    graphs, reads = float(count.mean()), int(split.sum()) / len(begin)
    evidence = (
        Evidence(
            "Graphs per step", round(graphs, 1), "", TIMELINE, timeline(host.name, int(begin[most]), int(end[most]))
        ),
        Evidence("Of these after the read of a value", round(reads, 1)),
    )
    by_part = host.by_part([times] * max(len(host.devices), 1))
    numbers = f"{graphs:.1f} graphs per step, {reads:.1f} of them after the read of a value."
    few = numbers if reads < SPLIT else ""
    return HostLoss(by_part, f"{graphs:.1f}", evidence, ADVICE, harmless=few), 1 / graphs if graphs else 0.0


def _spans(plane: Plane, pattern: re.Pattern[str]) -> Times:
    return spans_at(plane, np.flatnonzero(rows_named(plane, pattern.match)[plane.events.metadata]))


def judge(run: RunView, gathered: Sequence[tuple[HostLoss, float] | None]) -> Finding | Silence:
    """The verdict on the host whose graphs are split most, else on the one with fewest."""
    known = run.present(gathered)
    if not known or run.whole_recording:
        return Silence("No graphs of PyTorch/XLA were recorded in steps.")
    (worst, steps), host = max(known, key=lambda one: one[0][0].ps)
    found = verdict(
        run,
        [one and one[0] for one in gathered],
        title="{what} graphs run per step, because values are read within it: devices are idle {share} of the {base} "
        "until the next graph",
        label="Devices idle after such reads",
        formula="idle time from the read of a value to the launch of the next graph of the same step, per step and "
        "device",
        nothing="",
        little="After the reads of values devices are idle {share} of the {base}.",
    )
    if isinstance(found, Finding) or run.inferred or steps < STEPS_OF_GRAPH:
        return found
    where = worst.evidence[0].query
    evidence = (Evidence("Steps per graph", round(steps, 1), "", TIMELINE, where),)
    title = f"One graph holds {steps:.1f} steps: nothing ends the graph of each step"
    return Finding(title, 0, "no direct cost", "medium", evidence, MISSING, (host,))


RULE = Rule("split_graph", "Several graphs per step (PyTorch/XLA)", judge, gather)
