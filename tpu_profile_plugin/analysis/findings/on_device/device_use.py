"""How much of the matrix units' and of HBM's peak a run uses: as recorded, else from the costs of its ops."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tpu_profile_plugin.analysis.steps.efficiency import efficiency

if TYPE_CHECKING:
    from tpu_profile_plugin.analysis.findings.run_view import RunView

_MOST = 110.0
"""Percent: more than clocks can account for means that a cost or a peak is wrong."""


@dataclass(frozen=True, slots=True)
class DeviceUse:
    """Percent of the peaks; `recorded`: by the profiler's counters, else estimated from the costs of ops."""

    matrix_percent: float
    hbm_percent: float
    recorded: bool


def device_use(run: RunView) -> DeviceUse | None:
    """Both shares; None if one is unknown or more than is possible."""
    summary = run.summary
    if summary.mxu_percent > 0 and summary.hbm_percent > 0:
        found = DeviceUse(summary.mxu_percent, summary.hbm_percent, True)
    else:
        estimated = efficiency(summary.steps, summary.device, summary.peaks)
        if estimated.peak_flops_percent is None or estimated.memory_bw_percent is None:
            return None
        found = DeviceUse(estimated.peak_flops_percent, estimated.memory_bw_percent, False)
    return found if max(found.matrix_percent, found.hbm_percent) <= _MOST else None
