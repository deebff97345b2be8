"""Whether a difference of means is more than noise: Welch's interval from the times of steps, single ones apart."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from tpu_profile_plugin.columns.arrays import F64

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
    tail = (1 + confidence) / 2
    if freedom <= 1:
        return math.tan(math.pi * (tail - 0.5))
    if freedom <= 2:
        return (2 * tail - 1) * math.sqrt(2 / (4 * tail * (1 - tail)))
    z = NormalDist().inv_cdf(tail)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + sum(term / freedom ** (i + 1) for i, term in enumerate(terms))
