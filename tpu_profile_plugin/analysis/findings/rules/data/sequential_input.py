"""A tf.data pipeline runs one element at a time, or not ahead of the program, while the program waits for it.

Fires if waiting for input takes at least {INPUT_SHARE:.0%} of the step and the slowest transformation, with at least
{BOTTLENECK_SHARE:.0%} of the longest call, works on one element at a time, or only when the program asks for one.

Give the transformation num_parallel_calls, and end the pipeline with prefetch.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tpu_profile_plugin.analysis.blame.host_blame import BETWEEN
from tpu_profile_plugin.analysis.budget.categories import members
from tpu_profile_plugin.analysis.common.reasons import NO_INPUT
from tpu_profile_plugin.analysis.findings.evidence.host.pipelines import slowest_stage
from tpu_profile_plugin.analysis.findings.host_loss import HostLoss, verdict
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.findings.lost import INPUT_SHARE
from tpu_profile_plugin.analysis.findings.model import Evidence, Finding, Rule, Silence, lacks
from tpu_profile_plugin.analysis.findings.places import lasting
from tpu_profile_plugin.analysis.findings.rules.data.tf_data_advice import PAGE, advice_of, of_stage, stage_share
from tpu_profile_plugin.analysis.findings.run_view import RunView
from tpu_profile_plugin.units import PS_PER_MS

BOTTLENECK_SHARE = 0.30
"""Least share of a slow call that its slowest transformation must take itself to be named as the cause."""


def gather(host: HostView) -> HostLoss | None:
    """Waits for the slowest transformation; None unless devices wait for input and a pipeline has a bottleneck."""
    worst = slowest_stage(host)
    if worst is None:
        return None
    harmless = ""
    if worst.share < BOTTLENECK_SHARE or not (worst.alone or worst.late):
        harmless = f"{worst.name} takes {worst.share:.1%} of the longest call of {worst.pipeline}; it is parallel or "
        harmless += "ahead of the program."
    how = "one element at a time" if worst.alone else "only when the program asks for an element"
    evidence = (
        *of_stage(worst, host.name),
        stage_share(worst),
        Evidence("Mean wait of the program for a batch", worst.mean_ps / PS_PER_MS, "ms", PAGE, {"host": host.name}),
        lasting("Longest wait for a batch", host.name, worst.window),
    )
    by_part = host.blame.by_part(np.isin(host.blame.part % BETWEEN, members("input")))
    what = "a new iterator in each step fills its buffers again" if worst.remade else f"{worst.name} runs {how}"
    return HostLoss(by_part, f": {what}", evidence, advice_of(worst), harmless="" if worst.remade else harmless)


def judge(run: RunView, gathered: Sequence[HostLoss | None]) -> Finding | Silence:
    """The verdict on the pipeline that the program waits for longest."""
    if not run.summary.input_events:
        return lacks(NO_INPUT)
    share = run.lost_to("input").share
    if share >= INPUT_SHARE and not run.present(gathered):
        return lacks(NO_INPUT, "No tf.data pipeline with a bottleneck recorded.")
    little = f"{run.waiting} {share:.1%} of the {run.base} for input."
    return verdict(
        run,
        gathered,
        title=f"{run.waiting} {{share}} of the {{base}} for input{{what}}",
        label="Time lost to the pipeline",
        formula="waits for input and copies to the device, per step and device",
        nothing=little,
        little=little,
        least=INPUT_SHARE,
        group="input",
    )


RULE = Rule("sequential_input", "Sequential input pipeline", judge, gather)
