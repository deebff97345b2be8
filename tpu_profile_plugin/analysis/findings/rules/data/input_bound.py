"""Devices wait for input: for how long, and for what.

Fires if waiting for input and copies to the device take at least {INPUT_SHARE:.0%} of the time from step to step,
{ON_CPUS:.0%} of CPUs unless a fault of a tf.data pipeline is known; with high confidence from {INPUT_SHARE_HIGH:.0%}.
Uploads that nothing hides belong to `repeated_transfer`.

Prepare batches ahead of the step, in parallel, and send the next batch to the device early. Of tf.data the slowest
transformation is named: that it works on one element at a time, or only when the program asks for one, if it takes at
least {BOTTLENECK_SHARE:.0%} of the longest call; else settings and ops tell how to do less per element.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tpu_profile_plugin.analysis.blame.host_blame import BETWEEN
from tpu_profile_plugin.analysis.blame.host_groups import NEARLY_ALL, largest_group
from tpu_profile_plugin.analysis.blame.stacks import NOWHERE, with_callees
from tpu_profile_plugin.analysis.budget.categories import members
from tpu_profile_plugin.analysis.budget.host_names import Activity, activity, is_frame, is_user_frame, passes_on
from tpu_profile_plugin.analysis.budget.purpose import Purpose, purpose
from tpu_profile_plugin.analysis.common.spans import intersect, join, times_of, total
from tpu_profile_plugin.analysis.devices.model import Work
from tpu_profile_plugin.analysis.findings.evidence.host.calls import calls_of, other_threads
from tpu_profile_plugin.analysis.findings.evidence.host.pipelines import input_time, slowest_stage
from tpu_profile_plugin.analysis.findings.host_loss import HostLoss, verdict
from tpu_profile_plugin.analysis.findings.host_view import IDLE, HostView
from tpu_profile_plugin.analysis.findings.kinds import KINDS
from tpu_profile_plugin.analysis.findings.lost import INPUT_SHARE, lost_to
from tpu_profile_plugin.analysis.findings.model import Evidence, Finding, Rule, Silence
from tpu_profile_plugin.analysis.findings.part_advice import PARTS, advice_within
from tpu_profile_plugin.analysis.findings.places import TIMELINE, most_in, shown, timeline
from tpu_profile_plugin.analysis.findings.rules.data import repeated_transfer
from tpu_profile_plugin.analysis.findings.rules.data.tf_data_advice import (
    BOTTLENECK_SHARE as BOTTLENECK_SHARE,
)
from tpu_profile_plugin.analysis.findings.rules.data.tf_data_advice import (
    advice_of,
    faulty,
    in_turn,
    of_stage,
    said,
    stage_share,
)
from tpu_profile_plugin.analysis.findings.rules.host.python_lock import holding
from tpu_profile_plugin.analysis.findings.run_view import RunView
from tpu_profile_plugin.analysis.ops.op_tables import OpTable
from tpu_profile_plugin.analysis.ops.thread_ops import HostOps
from tpu_profile_plugin.analysis.steps.breakdown import input_breakdown, input_ops
from tpu_profile_plugin.columns.arrays import I64, Bools
from tpu_profile_plugin.units import PS_PER_MS, US_PER_MS

INPUT_SHARE_HIGH = 0.20
"""From here XProf calls a run highly input-bound; the confidence is high."""
ON_CPUS = 0.20
"""The same of CPUs, unless a fault of the pipeline is known: there the input shares the processors with the work, and
takes up to 18% where it is prepared ahead or little costs."""
ADVICE = PARTS["input"]
_PREDICT = re.compile(r"\btrain(?:er|ing)\.py:\d+ predict\Z")
_UPLOAD = re.compile(r"/Memcpy HtoD \((?P<source>\w+) -> ")


def gather(host: HostView) -> HostLoss | None:
    """What a host waits for, without uploads that have a finding of their own; None if no profile could show any.

    Events are only read if devices wait for input for `INPUT_SHARE` of the steps, or pipelines work beside CPUs.
    """
    steps, lost = host.steps, lost_to(host.time, "input")
    rows, all_ps = np.isin(host.blame.part % BETWEEN, members("input")), host.time.base_ps * host.time.cells
    by_part, beside = input_time(host)
    if steps is None or by_part.sum() < INPUT_SHARE * all_ps:
        return HostLoss(by_part, "", (), ADVICE) if host.summary.input_events or lost.ps > 0 else None
    between = lost.ps > 2 * host.time.part_ps("input")
    sent = repeated_transfer.of_its_own(host)
    if sent is not None:
        by_part = np.maximum(by_part - sent.by_part, 0)
        if by_part.sum() < INPUT_SHARE * all_ps:
            uploads = f"Input takes {lost.share:.1%} of the {host.base}, nearly all of it in uploads."
            return HostLoss(by_part, "", (), ADVICE, harmless=uploads)
    name, ps, calls = _longest(host, rows & (between | (host.blame.part < BETWEEN)), between=between)
    waits = np.where(host.time.takes_part, host.time.time_ps.sum(members("input")), -1)
    if between:
        steps = replace(steps, end_ps=np.maximum(steps.end_ps, np.roll(steps.begin_ps, -1, axis=0)))
        waits = steps.end_ps - steps.begin_ps
    worst = np.unravel_index(int(waits.argmax()), waits.shape)
    window = int(steps.begin_ps[worst]), int(steps.end_ps[worst])
    where, slowest = timeline(host.name, *window, name), slowest_stage(host)
    label = "Longest time from step to step" if between else "Length of the step that waits longest"
    evidence = [] if not name else [
        Evidence("Waits in", shown(name), "", TIMELINE, where),
        Evidence("Time in this event per step", ps / max(len(steps), 1) / PS_PER_MS, "ms"),
    ]  # fmt: skip
    if slowest is not None:
        evidence += [*of_stage(slowest, host.name), stage_share(slowest)]
    evidence += [Evidence(label, (window[1] - window[0]) / PS_PER_MS, "ms", TIMELINE, where), *_ops(host.summary.host)]
    if pageable := 100 * (_pageable_share(host.summary.device) or 0.0):
        evidence.append(Evidence("Copies from pageable memory, of the time of copies to the device", pageable, "%"))
    advice = repeated_transfer.ADVICE if activity(name) == Activity.UPLOAD else advice_within(calls, ADVICE)
    share = ps * max(len(host.devices), 1) / max(int(by_part.sum()), 1)
    what = most_in(shown(name), share, known="call") if name else ""
    if queue := next((one for one in (name, *calls) if purpose(one) is Purpose.QUEUE), ""):
        other, sleeps = _meanwhile(host, queue, ps)
        if other and sleeps:
            place = f"{shown(other)} sleeps on another thread" if is_user_frame(other) else "another thread sleeps"
            what += f", while {place}"
            advice = KINDS[Purpose.SLEEP].advice
        elif other:
            what += f", until {shown(other)} ends on another thread"
            evidence.append(Evidence("Ends on another thread when the wait does", shown(other)))
    if slowest is not None:
        what, advice = said(slowest), advice_of(slowest)
        made, maker = _made(host) if slowest.remade else (np.zeros_like(by_part), "")
        by_part, what = by_part + made, what + maker
    taken, harmless = by_part.sum() / max(all_ps, 1), ""
    known = slowest is not None and faulty(slowest)
    prepared = activity(name) != Activity.UPLOAD and taken < ON_CPUS and not known
    if host.on_cpus and prepared:
        harmless = "Waits for input take {share} of the {base}; it is prepared on the same processors."
    high = taken >= INPUT_SHARE_HIGH or (slowest is not None and in_turn(slowest))
    found = HostLoss(by_part, what, tuple(evidence), advice, "high" if high else "medium", harmless=harmless)
    return replace(found, beside=beside)


def _made(host: HostView) -> tuple[I64, str]:
    """What functions that make pipelines take beside the waits for their first elements, by part of the budget, with
    all that Keras does around that; and what makes them, for the end of a title: the program's function, and what it
    calls for that.
    """
    calls = calls_of(host)
    stacks, none = calls.stacks, np.zeros(1, np.bool_)
    frames = np.array([is_frame(name) for name in stacks.names], np.bool_)[stacks.name]
    predicts = np.array([_PREDICT.search(name) is not None for name in stacks.names], np.bool_)[stacks.name]
    makes = calls.purpose == Purpose.ITERATOR
    nodes = makes & np.append(frames, none)[calls.tells]
    node = next(iter(np.flatnonzero(nodes).tolist()), NOWHERE)
    if predicts.any():
        nodes = makes | np.append(with_callees(stacks.parent, np.flatnonzero(predicts)), none)
    by_part = host.by_part([calls.times(nodes)] * len(host.devices), set(IDLE) - set(members("input")))
    function, call = int(calls.function[node]), ""
    while node not in (NOWHERE, function):
        name = calls.name(node)
        call = shown(name) if frames[node] and not passes_on(name) and not is_user_frame(name) else call
        node = int(calls.stacks.parent[node])
    return by_part, "".join(f", in {one}" for one in (call, shown(calls.name(function))) if one)


def _longest(host: HostView, rows: Bools, *, between: bool) -> tuple[str, int, tuple[str, ...]]:
    """The op of devices, or the call of the main thread, with most of the waits for input, how long per device, and
    what a function of the program calls for most of that.

    A thread that prefetches holds nothing up. `rows`: of the blame, with these waits.
    """
    blame, calls = host.blame, calls_of(host)
    rows = rows & (blame.op < 0)
    name, whole = calls.most(calls.tells[blame.node[rows]], blame.ps[rows])
    count = max(len(host.devices), 1)
    most = name, whole // count
    for device, time in zip(host.devices, host.spent.devices if host.spent is not None else (), strict=False):
        within = join(times_of(*time.windows), time.between) if between else times_of(*time.windows)
        for op in np.unique(device.runs.op[device.runs.work == Work.INPUT]).tolist():
            ps = total(intersect(times_of(device.runs.begin_ps, device.runs.end_ps, device.runs.op == op), within))
            most = max((device.ops[op].name, ps), most, key=lambda one: one[1])
    inside = largest_group(blame, members("input"))
    if inside is not None and is_user_frame(inside.name) and inside.ps // count >= NEARLY_ALL * most[1]:
        return inside.name, inside.ps // count, inside.calls  # a loader is a wrapper of what makes a batch
    return *most, ()


def _meanwhile(host: HostView, name: str, ps: int) -> tuple[str, bool]:
    """The function of another thread that ends when the main thread's waits for a queue do, or else one that sleeps
    during most of them; "" without one. And whether it sleeps.
    """
    calls = calls_of(host)
    stacks = calls.stacks
    named = np.array([one == name for one in stacks.names], np.bool_)[stacks.name]
    waits = calls.times(with_callees(stacks.parent, np.flatnonzero(named)))
    if holder := holding(host, waits, ps):
        return holder, False
    threads = other_threads(host)
    sleeps = threads.inside_ps({Purpose.SLEEP}, *waits)
    which = int(sleeps.argmax()) if len(sleeps) else 0
    if not len(sleeps) or 2 * sleeps[which] <= ps * max(len(host.devices), 1):
        return "", False
    return threads.function(which, int(waits[0][0]), int(waits[1][-1])), True


def _ops(host: HostOps) -> list[Evidence]:
    """The input op of the host with most self time, as the input pipeline analyzer lists it."""
    ops = input_ops(host)
    if not ops:
        return []
    label, page = "Input op with most self time on the host", "input_pipeline_analyzer"
    split = []
    if host.infeed.distance_ps > 0:
        # Then the page's numbers depend on the host's ops alone.
        breakdown = input_breakdown(host, 0.0)
        prepared = breakdown.preprocessing_us + breakdown.demanded_read_us + breakdown.advanced_read_us
        split.append(Evidence("Enqueuing on the host, all steps", breakdown.enqueue_us / US_PER_MS, "ms", page))
        split.append(Evidence("Reading and preprocessing on the host, all steps", prepared / US_PER_MS, "ms"))
    return [
        *split,
        Evidence(label, ops[0].name, "", page),
        Evidence("Self time of this op, all runs", ops[0].self_ps / PS_PER_MS, "ms", page),
        Evidence("Kind of this op", ops[0].category, "", page),
    ]


def _pageable_share(table: OpTable) -> float | None:
    """Time of copies to the device from pageable memory, as a share of all copies to it; None without copies."""
    times = {True: 0, False: 0}
    for name, ps in zip(table.name, table.time_ps.tolist(), strict=True):
        if match := _UPLOAD.search(name):
            times[match["source"] == "Pageable"] += ps
    return times[True] / sum(times.values()) if any(times.values()) else None


def judge(run: RunView, gathered: Sequence[HostLoss | None]) -> Finding | Silence:
    """The verdict on waits for input, without repeated uploads."""
    if not run.present(gathered):
        return Silence("No input events recorded.", False)
    known = [one for one, _ in run.present(gathered)]
    takes = f"{run.waiting} {{share}} of the {{base}} for input"
    if any(one.beside for one in known):
        takes = "Input takes {share} of the {base}, with what its threads take of the processor"
    return verdict(
        run,
        gathered,
        title=takes + "{what}",
        label="Time lost to input",
        formula="waits for input and copies to the device, for pipelines that are made in each step, and half of what "
        "CPUs compute and launch while pipelines work on the same processor, per step and device",
        nothing="",
        little=f"{run.waiting} {{share}} of the {{base}} for input.",
        least=INPUT_SHARE,
        group="" if any(np.delete(one.by_part[:-1], members("input")).any() for one in known) else "input",
    )


RULE = Rule("input_bound", "Waiting for input", judge, gather)
