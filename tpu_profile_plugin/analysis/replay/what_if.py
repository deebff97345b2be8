"""What a run would gain by an edit: the step before and after, the next bottleneck, and how far the answer is known."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tpu_profile_plugin.analysis.budget.budget import SpentTime
from tpu_profile_plugin.analysis.budget.host_time import MainThread
from tpu_profile_plugin.analysis.common.spans import Times, covered_within, times_of
from tpu_profile_plugin.analysis.devices.model import Device, Work
from tpu_profile_plugin.analysis.replay.edits import Edit, Places, Rate, Shorter, kind_of, shorter
from tpu_profile_plugin.analysis.replay.graph import Graph, Replayed
from tpu_profile_plugin.analysis.replay.host_graph import MAIN, Content, Why, split
from tpu_profile_plugin.analysis.replay.parts import WAIT_OF, parts_after, shortened
from tpu_profile_plugin.columns.arrays import F64, I64

Confidence = Literal["high", "medium", "low"]
What = Literal["op", "collective", "host code", "launch", "wait", "idle"]
MOST_LIMITS, _LEAST_LIMIT = 8, 0.001
_FEW_UNEXPLAINED, _MUCH_UNEXPLAINED = 0.1, 0.3
"""Shares of the path that nothing explains, up to which confidence is high and medium."""
_WIDE = 0.1
"""Width of the interval, as a share of the step, beyond which confidence is not high."""


@dataclass(frozen=True, slots=True)
class Limit:
    """A part of the chain that determines how long steps take.

    Attributes:
      what: its kind; name: of the op, collective or event, "" without one.
      time_ps: per step, of the chain as replayed.
    """

    what: What
    name: str
    time_ps: float


@dataclass(frozen=True, slots=True)
class WhatIf:
    """The step with an edit, replayed; times in ps.

    Attributes:
      edit: what was changed.
      step_ps, after_ps: average step before and after, with the time until the next where the time budget counts that.
      low_ps, high_ps: the interval of `after_ps`: runs of CPU devices share all cores, or none.
      median_ps, after_median_ps: the median over steps.
      limits: the largest parts of the chain that determines the step afterwards, most time first; empty unless
        they were asked for.
      confidence, reasons: how far the recording tells, and what it lacks, as sentences.
      drift_ps: how much the replay without an edit differs from the recorded step.
      parts_ps: the parts of the average step afterwards, by index in `CATEGORIES`, and the time until the next; they
        add up to `after_ps`. Empty unless they were asked for.
    """

    edit: Edit
    step_ps: float
    after_ps: float
    low_ps: float
    high_ps: float
    median_ps: float
    after_median_ps: float
    limits: tuple[Limit, ...]
    confidence: Confidence
    reasons: tuple[str, ...]
    drift_ps: float
    parts_ps: tuple[float, ...] = ()

    @property
    def saving_ps(self) -> float:
        """What a step gains."""
        return self.step_ps - self.after_ps


def what_if(
    graph: Graph, places: Sequence[Places], edit: Edit, spent: Sequence[SpentTime] = (), *, limits: bool = True
) -> WhatIf:
    """The step with an edit. Raises NotFound if it names nothing.

    Args:
      graph: of the run.
      places: of each of its hosts.
      edit: what changes.
      spent: how the devices of each host spend their steps, to tell the parts of the step afterwards.
      limits: whether to tell what determines the step afterwards.
    """
    change = shorter(graph, places, edit)
    low, high = change.replay(graph)
    recorded = graph.recorded
    before, least, most = (graph.mean_ps(found) for found in (recorded, low, high))
    medians = [float(np.median(graph.of_steps_ps(found))) for found in (recorded, low, high)]
    confidence, reasons = _confidence(graph, (most - least) / before if before else 0.0, edit)
    sums = _sums(graph, high, change) if limits or spent else {}
    parts: tuple[float, ...] = ()
    if spent:
        then, now = _by_kind(_sums(graph, recorded, shorter(graph, places, Edit()))), _by_kind(sums)
        more = {kind: grown for kind, ps in now.items() if kind in WAIT_OF and (grown := ps - then.get(kind, 0.0)) > 0}
        waits = more or {kind: ps for kind, ps in now.items() if kind in WAIT_OF}
        parts = tuple(parts_after(graph, shortened(places, spent, change).kept, (low, high), waits).tolist())
    return WhatIf(
        edit, before, (least + most) / 2, least, most, medians[0], (medians[1] + medians[2]) / 2,
        _limits(graph, sums), confidence, reasons, before - graph.budget.step_ps - graph.budget.between_step_ps, parts,
    )  # fmt: skip


def _in_steps(graph: Graph, found: Replayed) -> tuple[I64, I64, I64]:
    """Of the nodes on the path: the nodes, their time as replayed in the steps, and the time before they begin."""
    path = graph.path(found)
    end, duration = found.end[path], found.duration[path]
    since = int(found.begins.min())
    before = np.append(since, np.maximum(end[:-1], since))
    begin = np.maximum(end - duration, since)
    return path, np.maximum(end - np.maximum(begin, before), 0), np.maximum(begin - before, 0)


def _confidence(graph: Graph, width: float, edit: Edit) -> tuple[Confidence, tuple[str, ...]]:
    path, time, gap = _in_steps(graph, graph.recorded)
    whole = max(int(time.sum() + gap.sum()), 1)
    binding = graph.recorded.binding[path]
    why = np.where(binding >= 0, graph.why.astype(np.int64)[np.maximum(binding, 0)] if len(graph.why) else 0, -1)
    loose = gap * ~np.isin(why, (Why.LAUNCH, Why.MEETING, Why.HANDOFF))
    silent = sum(_silent(graph, number, path, time) for number in range(len(graph.hosts)))
    unexplained = (float(loose.sum()) + silent) / whole
    reasons = []
    linked = min(host.linked for host in graph.hosts)
    if linked < 0.5:
        reasons.append("The recording does not tell which calls of the host launched the work of the devices.")
    if unexplained > _FEW_UNEXPLAINED:
        what = "delays and host code that no event explains"
        reasons.append(f"{unexplained:.0%} of the chain that determines the steps are {what}.")
    near = float(gap[why == Why.NEAR].sum() + time[why == Why.NEAR].sum()) / whole
    if near > _FEW_UNEXPLAINED:
        reasons.append(f"{near:.0%} of that chain follow work of another queue that was not recorded as awaited.")
    if impossible := sum(host.impossible for host in graph.hosts):
        reasons.append(f"{impossible} dependencies lead back in time: clocks disagree.")
    if width > _WIDE:
        reasons.append("Ops of the CPU run at the same time; how far they share cores was not recorded.")
    low = unexplained > _MUCH_UNEXPLAINED or (linked < 0.5 and bool(edit.scale or edit.input_free) and linked > 0)
    return "low" if low else "medium" if reasons else "high", tuple(reasons)


def _silent(graph: Graph, number: int, path: I64, time: I64) -> float:
    """How much of the path is the main thread of a host while no event but markers tells what it does."""
    host = graph.hosts[number]
    nodes = path[(graph.host[path] == number) & (graph.chain[path] == MAIN) & (time > 0)]
    begin, end = (column[nodes] - graph.shift_ps[number] for column in (graph.begin_ps, graph.end_ps))
    ran = [spans for on, content in host.contents if on == MAIN for spans in (content.spans,)]
    outer = host.thread.levels.begin_ps[:1], host.thread.levels.end_ps[:1]
    known = times_of(
        np.concatenate([begin[:0], *outer[0], *(spans.begin_ps for spans in ran)]),
        np.concatenate([begin[:0], *outer[1], *(spans.end_ps for spans in ran)]),
    )
    return float((end - begin - covered_within(*known, begin, end)).sum())


def _sums(graph: Graph, found: Replayed, change: Shorter) -> dict[tuple[What, str], float]:
    """The parts of the path by kind and name, summed over the steps."""
    path, time, gap = _in_steps(graph, found)
    sums: dict[tuple[What, str], float] = {}

    def add(what: What, name: str, ps: float) -> None:
        if ps > 0:
            sums[what, name] = sums.get((what, name), 0.0) + ps

    binding = found.binding[path]
    why = np.where(binding >= 0, graph.why[np.maximum(binding, 0)] if len(graph.why) else 0, Why.ORDER)
    add("launch", "", float(gap[why == Why.LAUNCH].sum()))
    add("wait", "", float(gap[why == Why.RESULT].sum()))
    add("idle", "", float(gap[(why != Why.LAUNCH) & (why != Why.RESULT)].sum()))
    name_of = np.zeros(len(graph), np.int64)
    name_of[graph.meetings.node] = graph.meetings.name
    met = graph.chain[path] < 0
    of_name = np.bincount(name_of[path[met]], time[met], minlength=len(graph.meetings.names))
    for name, ps in zip(graph.meetings.names, of_name.tolist(), strict=True):
        add("collective", name, ps)
    for number, host in enumerate(graph.hosts):
        mine = graph.host[path] == number
        for chain in np.unique(graph.chain[path[mine]]).tolist():
            rows = np.flatnonzero(mine & (graph.chain[path] == chain) & (time > 0))
            if not len(rows):
                continue
            nodes, left = path[rows], float(time[rows].sum())
            begin, end = (column[nodes] - graph.shift_ps[number] for column in (graph.begin_ps, graph.end_ps))
            for (on, content), kept in zip(host.contents, change.runs[number], strict=True):
                if on == chain:
                    if chain == MAIN:
                        kept = kept * change.threads[number][MAIN].kept(content.spans.begin_ps, content.spans.end_ps)
                    left -= _add_ops(host.devices[content.device], content, kept, times_of(begin, end), add)
            if chain == MAIN:
                left -= _add_code(host.thread, change.threads[number][MAIN], (begin, end), left, add)
            elif chain in host.lines:
                add("host code", f"thread {host.chains[chain].name}", left)
                continue
            add("host code" if chain == MAIN else "idle", "", left)
    return sums


def _by_kind(sums: Mapping[tuple[What, str], float]) -> dict[str, float]:
    kinds: dict[str, float] = {}
    for (what, _), ps in sums.items():
        kinds[what] = kinds.get(what, 0.0) + ps
    return kinds


def _limits(graph: Graph, sums: Mapping[tuple[What, str], float]) -> tuple[Limit, ...]:
    """The largest parts of the path."""
    steps = max(len(graph.budget), 1)
    least = _LEAST_LIMIT * sum(sums.values())
    most = sorted((item for item in sums.items() if item[1] >= least), key=lambda item: -item[1])[:MOST_LIMITS]
    return tuple(Limit(what, name, ps / steps) for (what, name), ps in most)


_Add = Callable[[What, str, float], None]


def _add_ops(device: Device, content: Content, kept: F64, times: Times, add: _Add) -> float:
    """Adds up ops by what they are called without numbers; returns the sum."""
    spans = content.spans
    of_op = np.bincount(
        spans.op, covered_within(*times, spans.begin_ps, spans.end_ps) * kept, minlength=len(device.ops)
    )
    for op in np.flatnonzero(of_op).tolist():
        work = device.ops[op].work
        add("collective" if work == Work.COMMUNICATION else "op", kind_of(device.ops[op]), float(of_op[op]))
    return float(of_op.sum())


def _add_code(thread: MainThread, gone: Rate, times: Times, most: float, add: _Add) -> float:
    """Adds up times of the main thread by the innermost frame of the user's code; returns the sum, at most `most`."""
    # Without frames of the user's code, any event says more than none.
    chosen = thread.user if bool(thread.user.any()) else np.ones(len(thread.names), np.bool_)
    points = [
        side[chosen[name]]
        for sides in (thread.levels.begin_ps, thread.levels.end_ps)
        for side, name in zip(sides, thread.levels.name, strict=True)
    ]
    begin, end = split(times, np.concatenate([times[0][:0], *points]))
    name = thread.levels.covering(begin, end, chosen) if len(thread.names) else np.full(len(begin), -1)
    ps = (end - begin - gone.within(begin, end))[name >= 0]
    of_name = np.bincount(name[name >= 0], ps, minlength=len(thread.names))
    share = min(1.0, most / max(float(of_name.sum()), 1.0))
    for row in np.flatnonzero(of_name > 0).tolist():
        add("host code", thread.names[row].removeprefix("$"), float(of_name[row]) * share)
    return float(of_name.sum()) * share
