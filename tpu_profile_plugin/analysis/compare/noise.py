"""Whether a difference of means is more than noise: Welch's interval from the times of single steps."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

CONFIDENCE = 0.95
"""Confidence level of the interval."""
LEAST_ACCELERATOR, LEAST_CPU = 0.01, 0.05
"""Share of the base step by which two captures of the same program differ: accelerators keep time; a CPU shares its
cores, caches and clock with whatever else runs, which the steps of one capture do not show."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Mean, variance and number of the values of steps."""

    mean: float
    variance: float
    count: int


def welch(base: Sample, run: Sample) -> tuple[float, float] | None:
    """The interval of `run.mean - base.mean`; None with fewer than two values on a side."""
    if base.count < 2 or run.count < 2:
        return None
    parts = base.variance / base.count, run.variance / run.count
    delta, spread = run.mean - base.mean, sum(parts)
    if spread <= 0:
        return delta, delta
    freedom = spread**2 / (parts[0] ** 2 / (base.count - 1) + parts[1] ** 2 / (run.count - 1))
    reach = student(CONFIDENCE, freedom) * math.sqrt(spread)
    return delta - reach, delta + reach


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
