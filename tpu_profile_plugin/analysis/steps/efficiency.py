"""Efficiency of a program relative to the hardware peaks: roofline shares and goodput, estimated from op costs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.analysis.common.statistics import ratio
from tpu_profile_plugin.analysis.environment.environment import Peaks
from tpu_profile_plugin.analysis.ops.table import OpTable
from tpu_profile_plugin.analysis.ops.text import WITH_INNER_OPS
from tpu_profile_plugin.analysis.steps.table import StepTable
from tpu_profile_plugin.columns.arrays import F64
from tpu_profile_plugin.units import GIGA, PS_PER_S, TERA


@dataclass(frozen=True, slots=True)
class Efficiency:
    """Shares in percent; None when peaks, costs or time are unknown.

    Attributes:
      peak_flops_percent: FLOPs per second relative to the peak of the matrix units; on TPUs their use at least.
      flop_rate_percent: FLOPs per second relative to the roofline at the program's FLOPs per byte.
      memory_bw_percent: bytes per second relative to peak HBM bandwidth.
      goodput_percent: time that all ops would take at peak rates relative to the measured time.
      over: the measured time, that of the "steps" or of the whole "profile".
    """

    peak_flops_percent: float | None
    flop_rate_percent: float | None
    memory_bw_percent: float | None
    goodput_percent: float | None
    over: str


def ideal_seconds(flops: F64, accessed: F64, peaks: Peaks) -> F64:
    """Seconds that ops take at peak compute or peak HBM bandwidth, whichever is longer; 0 for unknown peaks."""
    with np.errstate(over="ignore"):  # peaks come from the file and may be anything
        compute = flops / (peaks.tera_flops * TERA) if peaks.tera_flops else np.zeros(len(flops))
        memory = accessed / (peaks.hbm * GIGA) if peaks.hbm else np.zeros(len(flops))
    ideal: F64 = np.maximum(compute, memory)
    return ideal


def efficiency(steps: StepTable, device: OpTable, peaks: Peaks) -> Efficiency:
    """Efficiency over the steps if their costs are known (TPUs), else over the whole profile."""
    if len(steps) and steps.costs.size and steps.costs.any():
        flops, accessed, ideal = steps.costs.sum(axis=0).tolist()
        dense = steps.dense
        busy = sum(int(own[:, dense].sum()) for own in steps.times.arrays.values())
        return _shares(flops, accessed, ideal, float(busy) / PS_PER_S, peaks, "steps")
    leaf = np.array([category not in WITH_INNER_OPS for category in device.category], np.bool_)
    flops, accessed = device.flops[leaf], device.bytes[leaf]
    ideal = float(ideal_seconds(flops, accessed, peaks).sum())
    return _shares(float(flops.sum()), float(accessed.sum()), ideal, device.total_ps / PS_PER_S, peaks, "profile")


def _shares(flops: float, accessed: float, ideal: float, seconds: float, peaks: Peaks, over: str) -> Efficiency:
    peak_flops, peak_bytes = peaks.tera_flops * TERA, peaks.hbm * GIGA
    if not seconds or not peak_flops or not peak_bytes or not (flops or accessed):
        return Efficiency(None, None, None, None, over)
    roof = min(flops / accessed * peak_bytes, peak_flops) if accessed else peak_flops
    return Efficiency(
        peak_flops_percent=100.0 * flops / seconds / peak_flops,
        flop_rate_percent=100.0 * ratio(flops / seconds, roof),
        memory_bw_percent=100.0 * accessed / seconds / peak_bytes,
        goodput_percent=100.0 * ideal / seconds,
        over=over,
    )
