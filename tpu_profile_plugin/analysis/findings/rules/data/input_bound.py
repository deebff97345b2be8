"""Devices wait for input: for how long, and for what.

Fires if waiting for input and copies to the device take at least {INPUT_SHARE:.0%} of the time from step to step; with
high confidence from {INPUT_SHARE_HIGH:.0%}. Uploads that nothing hides belong to `repeated_transfer`.

Prepare batches ahead of the step, in parallel, and send the next batch to the device early. A pipeline of tf.data that
does both gains from less work per element: the settings and ops that it recorded tell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tpu_profile_plugin.analysis.blame.host_blame import BETWEEN
from tpu_profile_plugin.analysis.blame.host_groups import NEARLY_ALL, largest_group
from tpu_profile_plugin.analysis.budget.categories import members
from tpu_profile_plugin.analysis.budget.host_names import Activity, activity, is_user_frame
from tpu_profile_plugin.analysis.common.spans import intersect, join, times_of, total
from tpu_profile_plugin.analysis.devices.model import Work
from tpu_profile_plugin.analysis.findings.evidence.device.torch_ops import pageable_share
from tpu_profile_plugin.analysis.findings.evidence.host.calls import calls_of
from tpu_profile_plugin.analysis.findings.evidence.host.pipelines import Slowest, slowest_stage
from tpu_profile_plugin.analysis.findings.host_loss import HostLoss
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.findings.limits import INPUT_SHARE
from tpu_profile_plugin.analysis.findings.lost import Lost, lost_to, within
from tpu_profile_plugin.analysis.findings.model import Advice, Confidence, Evidence, Finding, Rule, Silence
from tpu_profile_plugin.analysis.findings.places import TIMELINE, per_step, share_of, shown, timeline
from tpu_profile_plugin.analysis.findings.rules.data import repeated_transfer
from tpu_profile_plugin.analysis.findings.rules.data.tf_data_advice import PAGE, advice_of, is_python, settings_of
from tpu_profile_plugin.analysis.findings.run_view import RunView
from tpu_profile_plugin.analysis.steps.breakdown import input_breakdown, input_ops
from tpu_profile_plugin.units import PS_PER_MS

INPUT_SHARE_HIGH = 0.20
"""From here XProf calls a run highly input-bound; the confidence is high."""


@dataclass(frozen=True, slots=True)
class InputWait:
    """Waiting for input on one host.

    Attributes:
      seen: the profile can show it: an event of an input pipeline, a wait for one or an upload was recorded.
      lost_ps: waits in steps and between them, per step and device.
      name: the event in which most of it passes, "" if unknown; ps: its time within the steps, averaged over devices.
      window: the step of a device that waits longest; until the next step begins if most of the wait is between steps.
      between: it is.
      slowest: of the pipeline of tf.data, None without one.
    """

    seen: bool
    lost_ps: float = 0.0
    name: str = ""
    ps: int = 0
    window: tuple[int, int] = (0, 0)
    between: bool = False
    slowest: Slowest | None = None


def input_wait(host: HostView) -> InputWait:
    """What a host waits for; events are only read if devices wait for input for `INPUT_SHARE` of the steps."""
    steps, lost = host.steps, lost_to(host.time, "input")
    if steps is None or lost.share < INPUT_SHARE:
        return InputWait(host.summary.input_events or lost.ps > 0, lost.ps)
    waits = np.where(host.time.takes_part, host.time.time_ps.sum(members("input")), -1)
    between = lost.ps > 2 * host.time.part_ps("input")
    if between:
        steps = replace(steps, end_ps=np.maximum(steps.end_ps, np.roll(steps.begin_ps, -1, axis=0)))
        waits = steps.end_ps - steps.begin_ps
    worst = np.unravel_index(int(waits.argmax()), waits.shape)
    name, ps = _longest(host, between=between)
    window = int(steps.begin_ps[worst]), int(steps.end_ps[worst])
    return InputWait(True, lost.ps, name, ps, window, between, slowest_stage(host))


def _longest(host: HostView, *, between: bool) -> tuple[str, int]:
    """The op of devices, or the call of the main thread, with most of the waits for input, and how long per device.

    A thread that prefetches holds nothing up.
    """
    blame, calls = host.blame, calls_of(host)
    rows = np.isin(blame.part % BETWEEN, members("input")) & (between | (blame.part < BETWEEN)) & (blame.op < 0)
    name, whole = calls.most(calls.tells[blame.node[rows]], blame.ps[rows])
    count = max(len(host.devices), 1)
    inside = largest_group(blame, members("input"))
    if inside is not None and is_user_frame(inside.name) and inside.ps >= NEARLY_ALL * whole:
        name, whole = inside.name, inside.ps  # a loader is a wrapper of the function that makes a batch
    most = name, whole // count
    for device, time in zip(host.devices, host.spent.devices if host.spent is not None else (), strict=False):
        within = join(times_of(*time.windows), time.between) if between else times_of(*time.windows)
        for op in np.unique(device.runs.op[device.runs.work == Work.INPUT]).tolist():
            ps = total(intersect(times_of(device.runs.begin_ps, device.runs.end_ps, device.runs.op == op), within))
            most = max((device.ops[op].name, ps), most, key=lambda one: one[1])
    return most


ADVICE = Advice(
    "Prepare several batches in advance, in parallel, on threads or processes of their own, and send the next one to "
    "the device before the current step needs it. If the processors are the limit, do part of the work offline.",
    jax="Prepare batches in parallel processes (Grain, or a data loader with workers) and call jax.device_put on the "
    "next batch before the current step is waited for. If the processors are the limit, do part of the work offline.",
    tensorflow="Read the data with a tf.data pipeline that has num_parallel_calls=tf.data.AUTOTUNE in map, no Python "
    "functions, and prefetch(tf.data.AUTOTUNE) at its end. If it has them, less work per element helps, or cache().",
    pytorch="Give the DataLoader more workers (num_workers, prefetch_factor, persistent_workers=True) and pinned "
    "memory. If the processors are the limit, do part of the work offline.",
    pytorch_xla="Give the DataLoader more workers (num_workers, prefetch_factor), and wrap it in torch_xla's "
    "MpDeviceLoader, which sends batches ahead. If the processors are the limit, do part of the work offline.",
)
US_PER_MS = 1000
_FORMULA = "waits for input and copies to the device, per step and device"


def gather(host: HostView) -> tuple[InputWait, HostLoss | None]:
    """What a host waits for, and its uploads."""
    return input_wait(host), repeated_transfer.gather(host)


def judge(run: RunView, gathered: Sequence[tuple[InputWait, HostLoss | None]]) -> Finding | Silence:
    """The verdict on the time budget's waits for input, without repeated uploads."""
    lost = run.lost_to("input")
    if not any(one.seen for one, _ in gathered):
        return Silence("No input events recorded.", False)
    if lost.share < INPUT_SHARE:
        return Silence(f"{run.waiting} {lost.share:.1%} of the {run.base} for input.")
    sent = repeated_transfer.judge(run, [one for _, one in gathered])
    if isinstance(sent, Finding):
        rest = within(run.budget, lost.ps - sent.saving_ps, lost.segments)
        if rest.share < INPUT_SHARE:
            return Silence(f"Input takes {lost.share:.1%} of the {run.base}, nearly all of it in uploads.")
        lost = rest
    (worst, _), host = max(zip(gathered, run.hosts, strict=True), key=lambda one: one[0][0].lost_ps)
    evidence = [
        share_of("Waits for input", lost, run.base),
        per_step("Waits for input", lost, run.per),
        *_waits(run, worst, host),
        *_ops(run),
    ]
    pageable = pageable_share(run.summary.device)
    if pageable:
        evidence.append(
            Evidence("Copies from pageable memory, of the time of copies to the device", 100 * pageable, "%")
        )
    return _finding(run, lost, evidence, worst, (host,) if worst.name else ())


def _waits(run: RunView, worst: InputWait, host: str) -> list[Evidence]:
    evidence = []
    where = timeline(host, *worst.window, worst.name)
    if worst.name:
        evidence.append(Evidence("Waits in", shown(worst.name), "", TIMELINE, where))
        evidence.append(Evidence("Time in this event per step", worst.ps / max(run.steps, 1) / PS_PER_MS, "ms"))
    if worst.slowest is not None:
        evidence.append(Evidence("Slowest transformation", worst.slowest.shown, "", PAGE, {"host": host}))
        evidence += settings_of(worst.slowest, host)
        evidence.append(
            Evidence("Self time of this transformation, of the longest call", 100 * worst.slowest.share, "%")
        )
    length = worst.window[1] - worst.window[0]
    label = "Longest time from step to step" if worst.between else "Length of the step that waits longest"
    return [*evidence, Evidence(label, length / PS_PER_MS, "ms", TIMELINE, where)]


def _named(worst: InputWait) -> str:
    """What most of the wait is in: the slowest transformation of a pipeline, else the event."""
    if worst.slowest is not None and is_python(worst.slowest):
        return f"the Python function of {'the pipeline' if worst.slowest.is_buffer else worst.slowest.name}"
    return worst.slowest.shown if worst.slowest is not None else shown(worst.name)


def _ops(run: RunView) -> list[Evidence]:
    """The input op of the hosts with most self time, as the input pipeline analyzer lists it."""
    ops = input_ops(run.summary.host)
    if not ops:
        return []
    label, page = "Input op with most self time on the host", "input_pipeline_analyzer"
    split = []
    if run.summary.host.infeed.distance_ps > 0:
        # Then the page's numbers depend on the host's ops alone.
        breakdown = input_breakdown(run.summary.host, 0.0)
        prepared = breakdown.preprocessing_us + breakdown.demanded_read_us + breakdown.advanced_read_us
        split.append(Evidence("Enqueuing on the host, all steps", breakdown.enqueue_us / US_PER_MS, "ms", page))
        split.append(Evidence("Reading and preprocessing on the host, all steps", prepared / US_PER_MS, "ms"))
    return [
        *split,
        Evidence(label, ops[0].name, "", page),
        Evidence("Self time of this op, all runs", ops[0].self_ps / PS_PER_MS, "ms", page),
        Evidence("Kind of this op", ops[0].category, "", page),
    ]


def _finding(
    run: RunView, lost: Lost, evidence: Sequence[Evidence], worst: InputWait, hosts: tuple[str, ...]
) -> Finding:
    name = _named(worst)
    where = f", most of it in {name}" if name else ""
    confidence: Confidence = "high" if lost.share >= INPUT_SHARE_HIGH else "medium"
    title = f"{run.waiting} {lost.share:.1%} of the {run.base} for input{where}"
    return Finding(title, lost.ps, _FORMULA, confidence, tuple(evidence), _advice(worst), hosts, lost.segments)


def _advice(worst: InputWait) -> Advice:
    if worst.slowest is not None:
        return advice_of(worst.slowest)
    return repeated_transfer.ADVICE if activity(worst.name) == Activity.UPLOAD else ADVICE


RULE = Rule("input_bound", "Waiting for input", judge, gather, ("sequential_input",))
