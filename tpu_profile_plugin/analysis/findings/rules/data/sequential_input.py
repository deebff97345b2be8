"""A tf.data pipeline runs one element at a time, or not ahead of the program, while the program waits for it.

Fires if waiting for input takes at least {INPUT_SHARE:.0%} of the step and the slowest transformation, with at least
{BOTTLENECK_SHARE:.0%} of the longest call, works on one element at a time, or only when the program asks for one.

Give the transformation num_parallel_calls, and end the pipeline with prefetch.
"""

from __future__ import annotations

from collections.abc import Sequence

from tpu_profile_plugin.analysis.common.reasons import NO_INPUT
from tpu_profile_plugin.analysis.findings.evidence.host.pipelines import Slowest, slowest_stage
from tpu_profile_plugin.analysis.findings.limits import INPUT_SHARE
from tpu_profile_plugin.analysis.findings.lost import Lost
from tpu_profile_plugin.analysis.findings.model import Evidence, Finding, Rule, Silence, lacks
from tpu_profile_plugin.analysis.findings.places import TIMELINE, share_of, timeline
from tpu_profile_plugin.analysis.findings.rules.data.tf_data_advice import PAGE, advice_of, settings_of
from tpu_profile_plugin.analysis.findings.run_view import RunView
from tpu_profile_plugin.units import PS_PER_MS

BOTTLENECK_SHARE = 0.30
"""Least share of a slow call that its slowest transformation must take itself to be named as the cause."""


def judge(run: RunView, gathered: Sequence[Slowest | None]) -> Finding | Silence:
    """The verdict on the pipeline that the program waits for longest."""
    if not run.summary.input_events:
        return lacks(NO_INPUT)
    lost = run.lost_to("input")
    known = run.present(gathered)
    if lost.share < INPUT_SHARE:
        return Silence(f"{run.waiting} {lost.share:.1%} of the {run.base} for input.")
    if not known:
        return lacks(NO_INPUT, "No tf.data pipeline with a bottleneck recorded.")
    worst, host = max(known, key=lambda one: one[0].calls * one[0].mean_ps)
    if worst.share < BOTTLENECK_SHARE or not (worst.alone or worst.late):
        where = f"{worst.name} takes {worst.share:.1%} of the longest call of {worst.pipeline}"
        return Silence(f"{where}; it is parallel or ahead of the program.")
    how = "one element at a time" if worst.alone else "only when the program asks for an element"
    return Finding(
        f"{run.waiting} {lost.share:.1%} of the {run.base} for input: {worst.name} runs {how}",
        lost.ps,
        "waits for input and copies to the device, per step and device",
        "high",
        _evidence(run, lost, worst, host),
        advice_of(worst),
        (host,),
        lost.segments,
    )


def _evidence(run: RunView, lost: Lost, worst: Slowest, host: str) -> tuple[Evidence, ...]:
    page = {"host": host}
    evidence = [
        share_of("Waits for input", lost, run.base),
        Evidence("Slowest transformation", worst.shown, "", PAGE, page),
        Evidence("Self time of this transformation, of the longest call", 100 * worst.share, "%"),
        Evidence("Mean wait of the program for a batch", worst.mean_ps / PS_PER_MS, "ms", PAGE, page),
        Evidence("Longest wait for a batch", (worst.window[1] - worst.window[0]) / PS_PER_MS, "ms", TIMELINE,
                 timeline(host, *worst.window)),
    ]  # fmt: skip
    return (*evidence[:2], *settings_of(worst, host), *evidence[2:])


RULE = Rule("sequential_input", "Sequential input pipeline", judge, slowest_stage)
