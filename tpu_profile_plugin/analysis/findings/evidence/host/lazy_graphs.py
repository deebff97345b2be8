"""Graphs that PyTorch/XLA builds and runs: how many per step, and idle time between those that a read value splits."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.analysis.common.planes import spans_at
from tpu_profile_plugin.analysis.common.spans import Times, union
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.columns import EventFilter, Plane
from tpu_profile_plugin.columns.arrays import I64

_GRAPH = re.compile(r"SyncTensorsGraph\Z")
"""PyTorch/XLA ends a graph and runs it: at the end of a step, or because a value is read."""
_READ = re.compile(r"(?:PjRt|Ifrt)ComputationClient::TransferFromDevice\Z")


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


def lazy_graphs(host: HostView) -> LazyGraphs | None:
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
