"""The roofline of a run: rates of the program, its steps and its ops relative to the device peaks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.analysis.common.rows import joined
from tpu_profile_plugin.analysis.environment.environment import Hardware
from tpu_profile_plugin.analysis.ops.rates import Rates, rates
from tpu_profile_plugin.analysis.ops.text import is_transfer
from tpu_profile_plugin.analysis.ops.tree import rows_of
from tpu_profile_plugin.analysis.steps.step_ops import StepWork, work_of
from tpu_profile_plugin.analysis.summary.ops import OpSummary, supported_peaks
from tpu_profile_plugin.columns.arrays import F64, I64

MAX_OPS = 1000


@dataclass(frozen=True, slots=True)
class Programs:
    """Programs or steps: their time in ps and rates."""

    time_ps: F64
    rates: Rates


@dataclass(frozen=True, slots=True)
class Ops:
    """Ops by self time descending: rows of the records, and rates."""

    rows: I64
    rates: Rates


@dataclass(frozen=True, slots=True)
class Roofline:
    """Roofline with or without infeed and outfeed; `steps` starts with the average step if `has_average`."""

    total: Programs
    ops: Ops
    steps: Programs
    has_average: bool


def roofline(summary: OpSummary, steps: StepWork, *, transfers: bool) -> Roofline:
    """The roofline of all ops, or without the ops and the time of infeed and outfeed."""
    records, table = summary.records, summary.records.table
    transfer = np.array([is_transfer(category) for category in table.category], np.bool_)
    total_ps = table.total_ps - (0 if transfers else int(table.time_ps[transfer].sum()))
    total = StepWork.of(np.array([float(total_ps)]), work_of(records, transfers=transfers).sum(axis=0, keepdims=True))
    rows = rows_of(records)
    rows = rows[transfers | ~transfer[rows]][:MAX_OPS]
    ops = StepWork(
        table.time_ps[rows].astype(np.float64),
        table.flops[rows],
        table.model_flops[rows],
        table.bytes[rows],
        records.traffic[rows],
        records.has_traffic[rows].astype(np.float64),
    )
    # On GPUs the ops of a step are unknown, so there is no meaningful average.
    has_average = summary.hardware is not Hardware.GPU
    if has_average:
        steps = joined([steps.mean, steps])
    return Roofline(_programs(summary, total), Ops(rows, _rates(summary, ops)), _programs(summary, steps), has_average)


def _programs(summary: OpSummary, work: StepWork) -> Programs:
    return Programs(work.time_ps, _rates(summary, work))


def _rates(summary: OpSummary, work: StepWork) -> Rates:
    return rates(
        work.time_ps, work.flops, work.model_flops, work.bytes, work.traffic,
        supported_peaks(summary), summary.hardware, work.accesses > 0,
    )  # fmt: skip
