"""TPUs send results to the host (outfeed) for much of the step.

Fires if output takes at least {OUTPUT_SHARE:.0%} of the steps on the core that the overview shows: XProf's limit for a
moderate share.

Return results less often, or fewer of them.
"""

from __future__ import annotations

from collections.abc import Sequence

from tpu_profile_plugin.analysis.environment.environment import Hardware
from tpu_profile_plugin.analysis.findings.model import Advice, Evidence, Finding, Rule, Silence
from tpu_profile_plugin.analysis.findings.run_view import RunView

OUTPUT_SHARE = 0.05
"""Least share of the steps: XProf's limit for a moderate bottleneck."""
ADVICE = Advice(
    "Send results to the host every N-th step, or only those that are needed there. Several steps in one program send "
    "them once."
)


def judge(run: RunView, _: Sequence[object]) -> Finding | Silence:
    """The verdict on the output part of the slowest steps."""
    if run.hardware is not Hardware.TPU:
        return Silence("Only TPUs have an outfeed.")
    if not len(run.slowest):
        return Silence("No steps recorded.", looked=False)
    percent = run.slowest.percent("output")
    if percent < 100 * OUTPUT_SHARE:
        return Silence(f"Output takes {percent:.1f}% of the step.")
    return Finding(
        f"Output takes {percent:.1f}% of the step",
        round(run.step_ps * percent / 100),
        "share of output in the steps of the slowest host, times the average step",
        "medium",
        (Evidence("Output, of the step on its slowest host", percent, "%", "overview_page"),),
        ADVICE,
    )


RULE = Rule("output_bound", "Sending output", judge, implied_by=("debug_callbacks",))
