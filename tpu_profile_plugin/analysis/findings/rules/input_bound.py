"""Devices wait for input: how long, and for what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tpu_profile_plugin.analysis.budget.categories import IDLE_INPUT
from tpu_profile_plugin.analysis.findings.model import Advice, Confidence, Evidence, Finding, Rule, Silence
from tpu_profile_plugin.analysis.findings.on_host.uploads import Uploads, uploads
from tpu_profile_plugin.analysis.findings.on_host.waits import InputWait, input_wait
from tpu_profile_plugin.analysis.findings.periods import Lost, lost_to
from tpu_profile_plugin.analysis.findings.places import TIMELINE, shown, timeline
from tpu_profile_plugin.analysis.findings.rules import repeated_transfer
from tpu_profile_plugin.analysis.findings.run_view import RunView
from tpu_profile_plugin.analysis.findings.thresholds import INPUT_SHARE, INPUT_SHARE_HIGH
from tpu_profile_plugin.analysis.steps.input_breakdown import input_breakdown, input_ops
from tpu_profile_plugin.analysis.steps.slowest import slowest_steps, slowest_verdict
from tpu_profile_plugin.units import PS_PER_MS

if TYPE_CHECKING:
    from tpu_profile_plugin.analysis.findings.host_view import HostView

ADVICE = Advice(
    "Prepare several batches in advance, in parallel, on threads or processes of their own, and send the next one to "
    "the device before the current step needs it. If the processors are the limit, do part of the work offline.",
    jax="Prepare batches in parallel processes (Grain, or a data loader with workers) and call jax.device_put on the "
    "next batch before the current step is waited for. If the processors are the limit, do part of the work offline.",
    tensorflow="Give Dataset.map num_parallel_calls=tf.data.AUTOTUNE, avoid Python functions in it, and end the "
    "pipeline with prefetch(tf.data.AUTOTUNE). The tf.data analysis names the transformation that is slowest.",
    pytorch="Give the DataLoader more workers (num_workers), pin_memory=True and prefetch_factor, and copy with "
    "non_blocking=True. If the processors are the limit, do part of the work offline.",
)
US_PER_MS = 1000
_FORMULA = "time in which the device waits for input or input is sent to it, per step and device"


def gather(host: HostView) -> tuple[InputWait, Uploads | None]:
    """What a host waits for, and its uploads."""
    return input_wait(host), uploads(host)


def judge(run: RunView, gathered: Sequence[tuple[InputWait, Uploads | None]]) -> Finding | Silence:
    """Speaks if waiting for input takes `INPUT_SHARE` of the step, and of the time from step to step.

    Uploads that the rule about them explains are left out.
    """
    if not run.budget.devices:
        return _by_steps(run)
    part = lost_to(run, IDLE_INPUT)
    lost = part.ps
    if not any(one.seen for one, _ in gathered):
        return Silence("The profile has no event of an input pipeline, so that waits for input do not show.", False)
    if part.share < INPUT_SHARE:
        return Silence(f"Devices wait for input for {part.share:.1%} of the {part.base}.")
    if lost < INPUT_SHARE * run.period_ps:
        where = f"{part.share:.1%} of the {part.base}, but most time is between the steps"
        return Silence(f"Devices wait for input for {where}.")
    sent = [one for _, one in gathered]
    if isinstance(repeated_transfer.judge(run, sent), Finding):
        lost = max(0, round(lost - repeated_transfer.lost_ps(run, sent)))
        if lost < INPUT_SHARE * (run.period_ps if part.between else run.step_ps):
            return Silence(f"Input takes {part.share:.1%} of the {part.base}, nearly all of it in uploads.")
    (worst, _), host = max(zip(gathered, run.hosts, strict=True), key=lambda one: one[0][0].lost_ps)
    found = [*_idle(run, part), *_waits(run, worst, host, part)]
    part = replace(part, ps=lost, share=part.share * lost / part.ps)
    return _finding(part, [*found, *_ops(run)], _named(worst), (host,) if worst.name else ())


def _idle(run: RunView, part: Lost) -> list[Evidence]:
    """The part of the time budget; pages show only what of it is in steps."""
    page = "" if part.between else "time_budget"
    return [
        Evidence(f"Idle because of input, of the {part.base}", 100 * part.share, "%", page),
        Evidence(f"Idle because of input per {run.base}", part.ps / PS_PER_MS, "ms", page),
    ]


def _waits(run: RunView, worst: InputWait, host: str, part: Lost) -> list[Evidence]:
    found = []
    where = timeline(host, *worst.window, worst.name)
    if worst.name:
        found.append(Evidence("Waits in", shown(worst.name), "", TIMELINE, where))
        found.append(Evidence("Time in it per step", worst.ps / max(run.steps, 1) / PS_PER_MS, "ms"))
    if worst.slowest is not None:
        page, at = "tf_data_bottleneck_analysis", {"host": host}
        found.append(Evidence("Slowest transformation", worst.slowest.shown, "", page, at))
        found.append(Evidence("Its self time, of the longest call", 100 * worst.slowest.share, "%"))
    length = worst.window[1] - worst.window[0]
    label = "Longest time from step to step" if part.between else "Length of the step that waits longest"
    return [*found, Evidence(label, length / PS_PER_MS, "ms", TIMELINE, where)]


def _named(worst: InputWait) -> str:
    """What most of the wait is in: the slowest transformation of a pipeline, else the event."""
    return worst.slowest.shown if worst.slowest is not None else shown(worst.name)


def _by_steps(run: RunView) -> Finding | Silence:
    """Without devices in the time budget: what the events of the steps tell."""
    table = run.summary.merged_steps if len(run.summary.merged_steps) else run.summary.steps
    steps = slowest_steps(table, single_host=len(run.hosts) == 1)
    if not len(steps) or not (run.summary.input_events or bool(steps.waiting_most.any())):
        return Silence("The profile has no steps with events of an input pipeline.", looked=False)
    percent = slowest_verdict(steps).input.percent if steps.on_tpu else steps.percent("input")
    if percent < 100 * INPUT_SHARE:
        return Silence(f"Input takes {percent:.1f}% of the step.")
    lost = round(run.step_ps * percent / 100)
    first = Evidence("Waiting for input, of the step", percent, "%", "input_pipeline_analyzer")
    return _finding(Lost(lost, run.share(lost), run.base, False), [first, *_ops(run)], "", ())


def _ops(run: RunView) -> list[Evidence]:
    """The input op of the hosts with most self time, as the input pipeline analyzer lists it."""
    ops = input_ops(run.summary.host)
    if not ops:
        return []
    label, page = "Input op with most self time on the host", "input_pipeline_analyzer"
    split = []
    if run.summary.host.infeed.distance_ps > 0:
        # Then the page's numbers depend on the host's ops alone.
        found = input_breakdown(run.summary.host, 0.0)
        prepared = found.preprocessing_us + found.demanded_read_us + found.advanced_read_us
        split.append(Evidence("Enqueuing on the host, all steps", found.enqueue_us / US_PER_MS, "ms", page))
        split.append(Evidence("Reading and preprocessing on the host, all steps", prepared / US_PER_MS, "ms"))
    return [
        *split,
        Evidence(label, ops[0].name, "", page),
        Evidence("Its self time, all runs", ops[0].self_ps / PS_PER_MS, "ms", page),
        Evidence("What it does", ops[0].category, "", page),
    ]


def _finding(part: Lost, evidence: Sequence[Evidence], name: str, hosts: tuple[str, ...]) -> Finding:
    where = f", most of it in {name}" if name else ""
    confidence: Confidence = "high" if part.share >= INPUT_SHARE_HIGH else "medium"
    title = f"Devices wait {part.share:.1%} of the {part.base} for input{where}"
    return Finding(title, part.ps, _FORMULA, confidence, tuple(evidence), ADVICE, hosts, part.between)


RULE = Rule("input_bound", "Waiting for input", judge, gather, ("sequential_input",))
