"""The steps of a run as columns, XProf's analysis of its steps, and hosts side by side."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from tpu_profile_plugin.analysis.budget.run_budget import RunBudget
from tpu_profile_plugin.analysis.common.reasons import NO_STEPS
from tpu_profile_plugin.analysis.common.spans import exact_sum
from tpu_profile_plugin.analysis.common.statistics import ratio
from tpu_profile_plugin.analysis.steps.breakdown import (
    GenericBreakdown,
    InputBreakdown,
    TpuBreakdown,
    Verdict,
    generic_breakdown,
    generic_verdict,
    input_breakdown,
    tpu_breakdown,
    tpu_verdict,
)
from tpu_profile_plugin.analysis.steps.step_table import EventClass, StepTable
from tpu_profile_plugin.analysis.summary.host_summary import RunSummary
from tpu_profile_plugin.columns.arrays import F64, I64
from tpu_profile_plugin.run.catalogue.steps import OF_RUN
from tpu_profile_plugin.run.figures.budget import run_decomposition
from tpu_profile_plugin.run.figures.summary import NO_STEP_MARKER
from tpu_profile_plugin.run.hosts import RunHosts
from tpu_profile_plugin.tables.table import Table
from tpu_profile_plugin.units import PS_PER_MS


@dataclass(frozen=True)
class StepAnalysis:
    """Breakdown and bottleneck of the run's steps, and the host's input processing; `generic` or `tpu` is set."""

    generic: GenericBreakdown | None
    tpu: TpuBreakdown | None
    verdict: Verdict
    input: InputBreakdown

    @property
    def steps(self) -> int:
        """Number of steps."""
        breakdown = self.tpu or self.generic
        return len(breakdown.labels) if breakdown else 0


def analyse(summary: RunSummary, *, steps: StepTable | None = None) -> StepAnalysis:
    """Analyses the run's steps, or the given ones."""
    table = summary.steps if steps is None else steps
    on_tpu = summary.environment.hardware.value == "TPU" if not len(table) else table.on_tpu
    source = input_breakdown(summary.host, _transfer_share(table))
    if on_tpu:
        tpu = tpu_breakdown(table)
        return StepAnalysis(None, tpu, tpu_verdict(tpu), source)
    generic = generic_breakdown(table)
    return StepAnalysis(generic, None, generic_verdict(generic), source)


def _transfer_share(steps: StepTable) -> float:
    """Share of host-to-device copies in the step time."""
    if steps.on_tpu or not len(steps):
        return 0.0
    copies = float(steps.times[EventClass.HOST_TO_DEVICE][:, 0].sum())
    return ratio(copies, float(steps.duration_ps[:, 0].sum()))


@dataclass(frozen=True, slots=True, eq=False)
class Steps:
    """The steps of a run.

    Attributes:
      name: of the step marker, else the number.
      begin_ps: int64[s], on the axis of the first device's host.
      duration_ps: float64[s], averaged over the devices that take part.
      source: where the steps come from: "device", "host", "inferred" or "dispatch".
      left_out: number of marked steps that are not among these: the first and the last, which may be cut, or none.
    """

    name: tuple[str, ...]
    begin_ps: I64
    duration_ps: F64
    source: str
    left_out: int = 0

    def __len__(self) -> int:
        return len(self.name)

    @property
    def average_ps(self) -> float:
        """The average step, the base of shares of the time budget and of findings."""
        return float(self.duration_ps.mean())

    @property
    def table(self) -> Table:
        """One row per step."""
        return Table.of(OF_RUN, self, name="steps")


def run_steps(run: RunHosts) -> Steps:
    """The steps of the chosen hosts. Raises NoData without any."""
    budget = run_decomposition(run)
    if not len(budget) or "recording" in budget.sources:
        raise NO_STEPS.said(NO_STEP_MARKER).error()
    times = budget.begin_ps[:, 0], budget.of_steps_ps[0]
    return Steps(tuple(budget.labels), *times, budget.sources[0], budget.left_out)


@dataclass(frozen=True)
class HostTimes:
    """Step times by host, means over the devices that take part.

    Attributes:
      step_ms: the average step.
      slowest_in: number of steps in which the host was the slowest; of more than 64 hosts, only of those that were.
      over_others: by how much of it the average step exceeds the median of the other hosts; empty for one host.
      stragglers: hosts for which that is more than 0.1.
    """

    step_ms: dict[str, float]
    slowest_in: dict[str, int]
    median_ms: float
    over_others: dict[str, float]
    stragglers: Sequence[str]


STRAGGLER_SHARE = 0.1
"""Hosts whose steps take longer than the median of the other hosts by more than this share are stragglers."""
_ROUNDING = 1e-9
_MOST_HOSTS = 64


def host_times(budget: RunBudget, hosts: Sequence[str]) -> HostTimes:
    """Average step time per host, in how many steps it was the slowest, and who lags behind."""
    average, by_step = {}, {}
    for i, columns in budget.host_columns.items() if len(budget) else ():
        part, length = budget.takes_part[:, columns], budget.duration_ps[:, columns]
        if part.any():
            average[hosts[i]] = exact_sum(length[part]) / int(part.sum()) / PS_PER_MS
            by_step[hosts[i]] = np.where(part, length, 0).sum(axis=1) / np.maximum(part.sum(axis=1), 1)
    slowest: Counter[str] = Counter()
    if average:
        names = list(by_step)
        slowest.update(names[i] for i in np.stack(list(by_step.values())).argmax(axis=0).tolist())
    over = excess_over_others(average)
    return HostTimes(
        step_ms=average,
        slowest_in={host: slowest[host] for host in (average if len(average) <= _MOST_HOSTS else sorted(slowest))},
        median_ms=median(average.values()) if average else 0.0,
        over_others=over,
        stragglers=[host for host, share in over.items() if share > STRAGGLER_SHARE + _ROUNDING],
    )


def excess_over_others(times: dict[str, float]) -> dict[str, float]:
    """By how much of it each time exceeds the median of the others: with two, of the other one."""
    ordered = sorted(times.values())
    excess = {}
    for name, time in times.items() if len(ordered) > 1 else ():
        place = bisect_left(ordered, time)
        # The median of the sorted rest, without copying it for every host.
        rest, half = len(ordered) - 1, (len(ordered) - 1) // 2
        high = ordered[half + (half >= place)]
        low = high if rest % 2 else ordered[half - 1 + (half - 1 >= place)]
        middle = (low + high) / 2
        excess[name] = time / middle - 1.0 if middle > 0 else 0.0
    return excess
