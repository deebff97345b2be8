"""The typical step, and the steps that are far longer: how many, how often, and what they cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.analysis.budget.categories import members
from tpu_profile_plugin.analysis.budget.run_budget import RunBudget
from tpu_profile_plugin.columns.arrays import F64, I64

FEWEST_STEPS = 5
"""With fewer steps the median is no typical step."""
SPREADS = 5.0
"""Least distance from the median in standard deviations, which the median absolute deviation estimates."""
LEAST_EXCESS = 0.5
"""Least distance from the median as a share of it: steps on a busy machine vary by some tens of percent."""
MOST_OUTLIERS = 1 / 3
"""Largest share of steps that may be exceptions: with more, steps are of two kinds and the median is of one of them."""
_DEVIATION = 1.4826
"""Standard deviation of a normal distribution, in median absolute deviations."""
_LEAST_PERIODIC = 3
"""With fewer exceptions there is only one distance, which tells no period."""
_SAME_DISTANCE = 0.1
"""Distances that differ from the median distance by this share of it, at least by one step if it is four or more, are
the same: a period in other units than steps (elements, bytes, seconds) does not always end in the same step."""
_REGULAR = 0.8
"""Least share of equal distances in a period."""


@dataclass(frozen=True, slots=True, eq=False)
class StepOutliers:
    """Lengths of steps from begin to begin, so that what a program does between steps counts to the step before it.

    Attributes:
      length_ps: float64[s], averaged over the devices that take part.
      median_ps, mean_ps: of these; 0 without steps.
      limit_ps: longer steps are exceptions; infinite if too few steps were recorded.
      rows: int64[n], which steps are longer than the limit, ascending; numbers: their numbers as recorded.
      excess_ps_per_step: their time above the median, divided by the number of all steps.
      idle_ps_per_step: how much of that devices wait, if known; a step in which they end work that earlier steps
        launched is long as well, but loses nothing.
      period: steps from one exception to the next (the median distance) if they come at regular distances; else None.
    """

    length_ps: F64
    median_ps: float
    mean_ps: float
    limit_ps: float
    rows: I64
    numbers: tuple[int, ...]
    excess_ps_per_step: float
    idle_ps_per_step: float
    period: int | None

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def judged(self) -> bool:
        """Whether there are enough steps to tell the typical one."""
        return len(self.length_ps) >= FEWEST_STEPS

    @property
    def share(self) -> float:
        """Share of the exceptions' time above the median in the time of all steps, 0 to 1."""
        return self.excess_ps_per_step / self.mean_ps if self.mean_ps else 0.0

    @property
    def slowest(self) -> int | None:
        """The row of the longest of these steps; None without any."""
        return int(self.rows[self.length_ps[self.rows].argmax()]) if len(self.rows) else None


def step_outliers(budget: RunBudget) -> StepOutliers:
    """The steps of a run; without any if the recording counts as one step, or steps are equal parts of it."""
    made_up = bool({"recording", "dispatch"}.intersection(budget.sources))
    return outliers_of(np.zeros(0) if made_up else lengths_ps(budget), budget.number, _idle_ps(budget))


def lengths_ps(budget: RunBudget) -> F64:
    """float64[s]: each step until the begin of the next, or its own end if that is later, on average over devices."""
    if not len(budget):
        return np.zeros(0)
    begin, end = budget.begin_ps, budget.begin_ps + budget.duration_ps
    until = np.maximum(end, np.concatenate([begin[1:], end[-1:]]))
    part = budget.takes_part
    length: F64 = np.where(part, until - begin, 0).sum(axis=1) / np.maximum(part.sum(axis=1), 1)
    return length


def _idle_ps(budget: RunBudget) -> F64:
    """float64[s]: how long devices wait in each step and until the next; between steps by the average share there."""
    if not len(budget):
        return np.zeros(0)
    works = list(members("device_compute"))
    inside, parts = budget.of_steps_ps
    between, all_between = budget.between_time_ps, float(budget.between_ps.sum())
    idle_between = 1 - float(between[:, works].sum()) / all_between if all_between else 1.0
    idle: F64 = inside - parts[:, works].sum(axis=1) + (lengths_ps(budget) - inside) * idle_between
    return idle


def outliers_of(length_ps: F64, number: I64, idle_ps: F64 | None = None) -> StepOutliers:
    """The exceptions among steps of these lengths, float64[s], and numbers, int64[s].

    `idle_ps`: float64[s], how long devices wait in each; all of the time by default.
    """
    if not len(length_ps):
        return StepOutliers(length_ps, 0.0, 0.0, np.inf, np.zeros(0, np.int64), (), 0.0, 0.0, None)
    median, mean = float(np.median(length_ps)), float(np.mean(length_ps))
    deviation = _DEVIATION * float(np.median(np.abs(length_ps - median)))
    limit = median + max(SPREADS * deviation, LEAST_EXCESS * median) if len(length_ps) >= FEWEST_STEPS else np.inf
    rows = np.flatnonzero(length_ps > limit)
    if len(rows) > MOST_OUTLIERS * len(length_ps):
        rows = rows[:0]
    excess = float((length_ps[rows] - median).sum()) / len(length_ps)
    waits = length_ps if idle_ps is None else idle_ps
    idle = float(np.maximum(waits[rows] - np.median(waits), 0.0).sum()) / len(length_ps)
    numbers = tuple(number[rows].tolist())
    return StepOutliers(length_ps, median, mean, limit, rows, numbers, excess, min(idle, excess), period_of(rows))


def period_of(rows: Sequence[int] | I64) -> int | None:
    """The median distance of ascending rows if they come at regular distances of more than one step; else None."""
    if len(rows) < _LEAST_PERIODIC:
        return None
    distance = np.diff(rows)
    usual = int(np.median(distance))
    tolerance = max(_SAME_DISTANCE * usual, 1.0) if usual >= 4 else 0.0
    same = float(np.mean(np.abs(distance - usual) <= tolerance))
    return usual if same >= _REGULAR and usual > 1 else None
