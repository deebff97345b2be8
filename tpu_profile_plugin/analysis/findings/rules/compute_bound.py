"""The matrix units are what limits the program."""

from __future__ import annotations

from collections.abc import Sequence

from tpu_profile_plugin.analysis.findings.model import Advice, Evidence, Finding, Rule, Silence
from tpu_profile_plugin.analysis.findings.on_device.device_use import device_use
from tpu_profile_plugin.analysis.findings.run_view import RunView
from tpu_profile_plugin.analysis.findings.thresholds import BUSY_PERCENT, FREE_PERCENT

ADVICE = Advice(
    "The devices are used well; only less or cheaper arithmetic makes a step shorter: 16-bit or 8-bit products, a "
    "sparser model, no recomputation that memory does not require. More devices shorten the step, too.",
)


def judge(run: RunView, _: Sequence[object]) -> Finding | Silence:
    """Speaks if the matrix units are used to more than 70 % and HBM to less than 50 %, as the original does."""
    use = device_use(run)
    if use is None:
        return Silence("The use of matrix units and memory bandwidth is not known.", looked=False)
    if use.matrix_percent <= BUSY_PERCENT or use.hbm_percent >= FREE_PERCENT:
        return Silence(f"The matrix units are used to {use.matrix_percent:.1f}% and HBM to {use.hbm_percent:.1f}%.")
    how = "" if use.recorded else ", estimated from the costs of ops"
    return Finding(
        f"Limited by arithmetic: matrix units at {use.matrix_percent:.1f}% of their peak",
        0,
        "what limits the program, not a loss",
        "high" if use.recorded else "medium",
        (
            Evidence(f"Matrix units, of the peak{how}", use.matrix_percent, "%", "overview_page"),
            Evidence(f"HBM bandwidth, of the peak{how}", use.hbm_percent, "%", "overview_page"),
            Evidence("Ops by the resource that bounds them", "roofline", "", "roofline_model"),
        ),
        ADVICE,
    )


RULE = Rule("compute_bound", "Limited by arithmetic", judge)
