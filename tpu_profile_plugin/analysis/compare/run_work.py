"""The work of a run by op, and how much of a difference between runs is noise."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np

from tpu_profile_plugin.analysis.blame.places import Place
from tpu_profile_plugin.analysis.budget.categories import PARTS
from tpu_profile_plugin.analysis.budget.run_budget import RunBudget
from tpu_profile_plugin.analysis.compare.host_work import CONTAINERS, DescribedWork, Fingerprint, program_name
from tpu_profile_plugin.analysis.summary.outliers import StepOutliers, step_outliers
from tpu_profile_plugin.columns.arrays import F64, I64, Bools

CONFIDENCE = 0.95
"""Confidence level of the interval."""
LEAST_ACCELERATOR, LEAST_CPU = 0.01, 0.05
"""Share of the base step by which two captures of the same program differ: accelerators keep time; a CPU shares its
cores, caches and clock with whatever else runs, which the steps of one capture do not show."""


LEAST_SINGLE = 2
"""Long steps that are no accident of one recording: one may be due to another process on the machine."""
LEAST_RANKED = 4
"""Fewest steps on each side for a test of ranks: with three, no order of them is less likely than 5 %."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A time per step.

    Attributes:
      mean: over all steps.
      variance, count: of the ordinary steps, which are not far above the median.
      excess: the mean over all steps less that over ordinary ones: what single long steps add.
      single: how many of them there are.
    """

    mean: float
    variance: float
    count: int
    excess: float = 0.0
    single: int = 0

    @property
    def ordinary(self) -> float:
        """The mean of the ordinary steps."""
        return self.mean - self.excess

    def plus(self, other: Sample) -> Sample:
        """With another part of the same steps, as if both were slow in the same ones."""
        spread = (math.sqrt(self.variance) + math.sqrt(other.variance)) ** 2
        return replace(self, mean=self.mean + other.mean, variance=spread, excess=self.excess + other.excess)

    def divided(self, number: float) -> Sample:
        """The time per part of a step."""
        return Sample(self.mean / number, self.variance / number**2, self.count, self.excess / number, self.single)


def welch(base: Sample, run: Sample) -> tuple[float, float] | None:
    """The interval of `run.mean - base.mean`; None with fewer than two ordinary steps on a side.

    It comes from the ordinary steps. What long steps add is counted as recorded, with fewer than `LEAST_SINGLE` as
    anything between nothing and that.
    """
    if base.count < 2 or run.count < 2:
        return None
    excess = run.excess - base.excess
    often = (run if excess > 0 else base).single >= LEAST_SINGLE
    parts = base.variance / base.count, run.variance / run.count
    delta, spread = run.ordinary - base.ordinary, sum(parts)
    reach = 0.0
    if spread > 0:
        freedom = spread**2 / (parts[0] ** 2 / (base.count - 1) + parts[1] ** 2 / (run.count - 1))
        reach = student(CONFIDENCE, freedom) * math.sqrt(spread)
    least, most = (excess, excess) if often else (min(excess, 0.0), max(excess, 0.0))
    return delta - reach + least, delta + reach + most


def shift(base: F64, run: F64) -> int:
    """1 if most values of `run`, float64[m], are larger than those of `base`, float64[n], -1 if smaller, 0 if neither.

    By the test of Mann and Whitney, in its normal approximation. Long steps move a mean and its interval, but no rank.
    0 with fewer than `LEAST_RANKED` values on a side.
    """
    n, m = len(base), len(run)
    if min(n, m) < LEAST_RANKED:
        return 0
    _, rank, count = np.unique(np.concatenate([base, run]), return_inverse=True, return_counts=True)
    middle = np.cumsum(count) - (count - 1) / 2
    above = float(middle[rank.reshape(-1)[n:]].sum()) - m * (m + 1) / 2 - n * m / 2
    ties = float((count.astype(np.float64) ** 3 - count).sum()) / ((n + m) * (n + m - 1))
    variance = n * m / 12 * (n + m + 1 - ties)
    if abs(above) - 0.5 <= NormalDist().inv_cdf((1 + CONFIDENCE) / 2) * math.sqrt(variance):
        return 0
    return 1 if above > 0 else -1


def student(confidence: float, freedom: float) -> float:
    """The two-sided quantile of Student's t, exact for 1 and 2 degrees of freedom, else by the expansion around the
    normal quantile (error below 1 % from 3 degrees on).
    """
    if freedom <= 1:
        return math.tan(math.pi * confidence / 2)
    if freedom <= 2:
        return confidence * math.sqrt(2 / (1 - confidence**2))
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + sum(term / freedom ** (i + 1) for i, term in enumerate(terms))


@dataclass(frozen=True, slots=True, eq=False)
class WorkedOp:
    """An op in the average step; times in picoseconds per step and device that takes part.

    Attributes:
      program: name of its program, without id.
      module: the same with the id, as in other tools; "" if unknown.
      name: of the instruction.
      print: what it is; in the base of a comparison with the files and lines of the run.
      inside: framework ops that it was made of, with their source line where that is known.
      ps: its time.
      by_step: float64[s], its time in each of the first steps (`MOST_STEPS`).
      runs: per step and device.
      source: `file:line` as recorded, "" if unknown.
    """

    program: str
    module: str
    name: str
    print: Fingerprint
    inside: frozenset[str]
    ps: float
    by_step: F64
    runs: float
    source: str = ""


@dataclass(frozen=True, slots=True)
class PlacedTime:
    """A part of the average step, or of the time between steps, at one place.

    Attributes:
      place: `module` without the program's id.
      time: its time.
      op: the instruction with most time, "" for places of the host.
    """

    place: Place
    time: Sample
    op: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class RunWork:
    """The average step of a run.

    Attributes:
      ops: its computation and data movement by op.
      parts: time per step by part of the time budget (`CATEGORIES`), averaged over the devices that take part.
      between: the time between steps.
      step: the step.
      length: what is compared, and what `parts` and `between` add up to: the time from step to step, or the step if
        too little is between steps to be shown.
      gap, period: the time between steps and from step to step, however little is between steps.
      steps: how many there are.
      single: bool[s], far longer than the median, of the steps in `WorkedOp.by_step`.
      outliers: the steps that are far longer than the median.
      executions: of programs, by name without id; none of GPUs.
      places: where the time is spent that no op computes in, in steps and between them.
      in_functions: the part of unexplained idle time in which the host runs functions of the program.
    """

    ops: tuple[WorkedOp, ...]
    parts: tuple[Sample, ...]
    between: Sample
    step: Sample
    length: Sample
    gap: Sample
    period: Sample
    steps: int
    single: Bools
    outliers: StepOutliers
    executions: Mapping[str, float]
    places: tuple[PlacedTime, ...] = ()
    in_functions: Sample = Sample(0.0, 0.0, 0)

    def without_steps(self) -> RunWork:
        """The work without the times of steps, for runs whose steps are unknown."""
        none = Sample(0.0, 0.0, 0)
        parts = (none,) * len(self.parts)
        return replace(self, parts=parts, between=none, step=none, length=none, gap=none, period=none, steps=0)

    def from_step_to_step(self) -> RunWork:
        """The work with the time between steps, for a comparison in which the other run's is shown."""
        return replace(self, between=self.gap, length=self.period)

    def divided(self, number: float) -> RunWork:
        """The work of each of several equal parts of a step."""
        return replace(
            self,
            ops=tuple(
                replace(op, ps=op.ps / number, by_step=op.by_step / number, runs=op.runs / number) for op in self.ops
            ),
            parts=tuple(one.divided(number) for one in self.parts),
            **{
                name: getattr(self, name).divided(number)
                for name in ("between", "step", "length", "gap", "period", "in_functions")
            },
            executions={name: count / number for name, count in self.executions.items()},
            places=tuple(replace(one, time=one.time.divided(number)) for one in self.places),
        )

    def total(self, ops: Sequence[WorkedOp]) -> Sample:
        """Of ops together: their sum, and how far it varies over the steps."""
        if not ops:
            return Sample(0.0, 0.0, self.steps - len(self.outliers))
        together = np.sum([op.by_step for op in ops], axis=0)
        return sample(sum(op.ps for op in ops), together, self.single, self.steps)


def run_work(hosts: Sequence[DescribedWork], budget: RunBudget) -> RunWork:
    """The hosts' work as one, per step and device that takes part, of the steps of the budget.

    Args:
      hosts: all of the run.
      budget: its time budget.
    """
    chosen = [hosts[i] for i in budget.hosts]
    kept = few_steps([one.work.by_step.shape[1] for one in chosen], budget.rows, len(budget))
    count = budget.takes_part.sum(axis=1)[kept]
    by_key: dict[tuple[str, str, Fingerprint], WorkedOp] = {}
    for host, rows in zip(chosen, budget.rows, strict=True):
        times = host.work.by_step[:, rows[kept]] / count
        total, runs = host.work.within(rows)
        for i, (_, name) in enumerate(host.work.keys):
            key = program_name(host.module[i]), name or CONTAINERS, host.print[i]
            op = WorkedOp(
                *(key[0], host.module[i], key[1], key[2], host.inside[i]),
                *(float(total[i]) / budget.cells, times[i], float(runs[i]) / budget.cells, key[2].source),
            )
            if (other := by_key.get(key)) is not None:  # of another host
                op = replace(other, ps=other.ps + op.ps, by_step=other.by_step + op.by_step, runs=other.runs + op.runs)
            by_key[key] = op
    length, parts = budget.of_steps_ps
    gaps, steps, shown = _gaps(budget), len(budget), budget.between_step_ps > 0
    outliers = step_outliers(budget)
    single = np.zeros(steps, np.bool_)
    single[outliers.rows] = True
    gap = sample(budget.gap_ps, gaps, single[:-1])
    period = sample(budget.step_ps + budget.gap_ps, length[:-1] + gaps, single[:-1])
    step = sample(budget.step_ps, length, single)
    return RunWork(
        ops=tuple(by_key.values()),
        parts=tuple(sample(float(budget.parts_ps[i]), parts[:, i], single) for i in PARTS),
        between=gap if shown else replace(gap, mean=0.0, variance=0.0, excess=0.0),
        step=step,
        length=period if shown else step,
        gap=gap,
        period=period,
        steps=steps,
        single=single[kept],
        outliers=outliers,
        executions=_executions(chosen, budget),
    )


def _executions(hosts: Sequence[DescribedWork], budget: RunBudget) -> dict[str, float]:
    """Executions per step and device that takes part, by name of the program; extrapolated as in `HostWork.within`."""
    executions: dict[str, float] = {}
    for host, rows in zip(hosts, budget.rows, strict=True):
        modules = {program: module for (program, _), module in zip(host.work.keys, host.module, strict=True)}
        share = len(rows) / max(host.work.steps, 1) / max(budget.cells, 1)
        for program, count in host.work.executions.items():
            if program in modules:
                name = program_name(modules[program])
                executions[name] = executions.get(name, 0.0) + count * share
    return executions


def few_steps(known: Sequence[int], rows: Sequence[I64], steps: int) -> Bools:
    """bool[s]: the steps of a run whose times per op are known of each host: of its first `known` steps."""
    kept = np.ones(steps, np.bool_)
    for few, of_host in zip(known, rows, strict=True):
        kept &= of_host < few
    return kept


def _gaps(budget: RunBudget) -> F64:
    """float64[s - 1], the time between successive steps, averaged over the devices that take part in any."""
    end = budget.begin_ps + budget.duration_ps
    gaps = np.maximum(budget.begin_ps[1:] - end[:-1], 0)[:, budget.takes_part.any(axis=0)]
    return gaps.mean(axis=1) if gaps.size else np.zeros(0)


def sample(mean: float, values: F64, single: Bools, count: int | None = None) -> Sample:
    """A time per step.

    Args:
      mean: over all steps.
      values: float64[s] of each step that is known.
      single: bool[s], steps far above the median.
      count: of all steps; by default those of `values`.
    """
    alone = int(single.sum())
    ordinary = values[~single] if alone else values
    variance = float(ordinary.var(ddof=1)) if len(ordinary) > 1 else 0.0
    excess = float(values.mean() - ordinary.mean()) if alone and len(ordinary) else 0.0
    return Sample(mean, variance, (len(values) if count is None else count) - alone, excess, alone)
