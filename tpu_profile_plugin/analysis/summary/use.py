"""How much of its peak rates a device uses: matrix units and the bandwidth of its memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.analysis.ops.op_tables import OpTable, computes
from tpu_profile_plugin.analysis.steps.core_steps import efficiency
from tpu_profile_plugin.analysis.summary.host_summary import RunSummary
from tpu_profile_plugin.columns.arrays import I64

LOW_MATRIX, LOW_HBM = 20.0, 40.0
"""Percent of a peak below which a busy device uses neither of its resources well. Training of large models reaches 40%
to 60% of the matrix units' peak, and programs bound by memory 60% to 90% of its bandwidth: these are half of that."""
KNOWN_SHARE = 0.8
"""Least share of the ops' time with known costs: what a custom kernel does is not in the profile."""
MOST_PERCENT = 110.0
"""More than clocks can account for means that a cost or a peak is wrong."""


@dataclass(frozen=True, slots=True)
class Use:
    """Percent of the peaks of matrix units and HBM's bandwidth; `recorded` by counters, else estimated from costs."""

    matrix: float
    hbm: float
    recorded: bool

    @property
    def low(self) -> bool:
        """Neither resource is used well."""
        return self.matrix < LOW_MATRIX and self.hbm < LOW_HBM

    @property
    def memory(self) -> str:
        """What `hbm` is of: counters count what HBM transfers, costs have the traffic of all memories."""
        return "HBM bandwidth" if self.recorded else "memory bandwidth"

    @property
    def sentence(self) -> str:
        """Both shares, without a capital."""
        return f"matrix units are used to {self.matrix:.1f}% of their peak, {self.memory} to {self.hbm:.1f}%"

    @property
    def plausible(self) -> bool:
        """Costs and peaks may be true."""
        return max(self.matrix, self.hbm) <= MOST_PERCENT


def use_of(summary: RunSummary) -> Use | None:
    """Over the recorded time, or that of the steps; None if it is unknown."""
    if summary.mxu_percent > 0 and summary.hbm_percent > 0:
        use = Use(summary.mxu_percent, summary.hbm_percent, True)
    else:
        estimated = efficiency(summary.steps, summary.device, summary.peaks)
        if estimated.peak_flops_percent is None or estimated.memory_bw_percent is None or not _is_known(summary.device):
            return None
        use = Use(estimated.peak_flops_percent, estimated.memory_bw_percent, False)
    return use if use.plausible else None


def use_while_busy(summary: RunSummary) -> Use | None:
    """Over the time in which devices compute; None if it is unknown."""
    table, peaks = summary.device, summary.peaks
    rows = _computing(table)
    busy_ps = float(table.self_ps[rows].sum())
    if not busy_ps:
        return None
    if summary.mxu_percent > 0 and summary.hbm_percent > 0:
        scale = table.total_ps / busy_ps
        return Use(min(100.0, summary.mxu_percent * scale), min(100.0, summary.hbm_percent * scale), True)
    if not peaks.tera_flops or not peaks.hbm or not _is_known(table):
        return None
    flops, accessed = float(table.flops[rows].sum()), float(table.bytes[rows].sum())
    use = Use(100 * flops / busy_ps / peaks.tera_flops, 1e5 * accessed / busy_ps / peaks.hbm, False)
    return use if use.plausible else None


def _computing(table: OpTable) -> I64:
    """Rows of the ops that compute or move data."""
    return np.flatnonzero(np.array([computes(category) for category in table.category], np.bool_))


def _is_known(table: OpTable) -> bool:
    """Whether the costs of ops are known for enough of their time; custom calls without FLOPs were not counted."""
    rows = _computing(table)
    custom = np.array([table.category[row] == "custom-call" for row in rows.tolist()], np.bool_)
    known = np.where(custom, table.flops[rows] > 0, table.flops[rows] + table.bytes[rows] > 0)
    return bool(known.any()) and float(table.self_ps[rows[known]].sum()) >= KNOWN_SHARE * float(
        table.self_ps[rows].sum()
    )
