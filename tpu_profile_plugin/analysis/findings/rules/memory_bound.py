"""Bandwidth of the device's memory is what limits the program."""

from __future__ import annotations

from collections.abc import Sequence

from tpu_profile_plugin.analysis.findings.model import Advice, Evidence, Finding, Rule, Silence
from tpu_profile_plugin.analysis.findings.on_device.device_use import device_use
from tpu_profile_plugin.analysis.findings.run_view import RunView
from tpu_profile_plugin.analysis.findings.thresholds import BUSY_PERCENT, FREE_PERCENT

ADVICE = Advice(
    "Move fewer bytes per computed value: larger batches, 16-bit or 8-bit data, fused elementwise ops, values "
    "recomputed instead of stored. The matrix units have capacity to spare.",
    jax="Move fewer bytes per computed value: larger batches, bfloat16, one jitted function so that XLA fuses "
    "elementwise ops, jax.checkpoint for cheap values. The matrix units have capacity to spare.",
    tensorflow="Move fewer bytes per computed value: larger batches, mixed precision, jit_compile=True so that XLA "
    "fuses elementwise ops. The matrix units have capacity to spare.",
    pytorch="Move fewer bytes per computed value: larger batches, autocast to bfloat16, torch.compile so that "
    "elementwise ops are fused. The matrix units have capacity to spare.",
)


def judge(run: RunView, _: Sequence[object]) -> Finding | Silence:
    """Speaks if HBM is used to more than 70 % and the matrix units to less than 50 %, as the original does."""
    use = device_use(run)
    if use is None:
        return Silence("The use of matrix units and memory bandwidth is not known.", looked=False)
    if use.hbm_percent <= BUSY_PERCENT or use.matrix_percent >= FREE_PERCENT:
        return Silence(f"HBM is used to {use.hbm_percent:.1f}% and the matrix units to {use.matrix_percent:.1f}%.")
    how = "" if use.recorded else ", estimated from the costs of ops"
    return Finding(
        f"Limited by memory bandwidth: HBM at {use.hbm_percent:.1f}% of its peak",
        0,
        "what limits the program, not a loss",
        "high" if use.recorded else "medium",
        (
            Evidence(f"HBM bandwidth, of the peak{how}", use.hbm_percent, "%", "overview_page"),
            Evidence(f"Matrix units, of the peak{how}", use.matrix_percent, "%", "overview_page"),
            Evidence("Ops by the resource that bounds them", "roofline", "", "roofline_model"),
        ),
        ADVICE,
    )


RULE = Rule("memory_bound", "Limited by memory bandwidth", judge)
