"""Average, standard deviation and range of a series, and by how much it rises; division that tolerates zero."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.columns.arrays import F64


@dataclass(frozen=True, slots=True)
class Statistics:
    """Statistics of a series in any unit; `deviation` is the sample standard deviation (n - 1). All 0 if empty."""

    average: float = 0.0
    deviation: float = 0.0
    minimum: float = 0.0
    maximum: float = 0.0
    count: int = 0


def statistics(values: Sequence[float]) -> Statistics:
    """Statistics of `values`; a single value has deviation 0."""
    n = len(values)
    if n == 0:
        return Statistics()
    average = math.fsum(values) / n
    deviation = 0.0
    if n > 1:
        distance = np.array(values, np.float64) - average
        deviation = math.sqrt(math.fsum((distance * distance).tolist()) / (n - 1))
    return Statistics(average, deviation, float(min(values)), float(max(values)), n)


def ratio(a: float, b: float) -> float:
    """a / b; 0 if |b| < 1e-10."""
    return 0.0 if abs(b) < 1e-10 else a / b


LEAST_POINTS, LEAST_RISING, LEAST_RISE = 6, 0.8, 0.25
"""Fewest points of a series that rises; least excess of pairs that rise over pairs that fall, as a share of all; and
least rise as a share of the median."""
_SURE = 2.7
"""Standard deviations of that excess in series without a trend, less than which may be chance, as many parts of a
profile are looked at: of six to ten points one series in 700 to 1,200 has more, six if all pairs rise."""


def rise(values: F64) -> float:
    """By how much a series of float64[n] rises from one point to the next, 0 if it does not rise steadily.

    The median of the slopes of all pairs (Theil and Sen), which single points do not change.
    """
    count = len(values)
    if count < LEAST_POINTS:
        return 0.0
    first, second = np.triu_indices(count, 1)
    rises = values[second] - values[first]
    slope = float(np.median(rises / (second - first)))
    by_chance = _SURE * math.sqrt(count * (count - 1) * (2 * count + 5) / 18) + 1
    steady = np.sign(rises).mean() >= max(LEAST_RISING, min(by_chance / len(rises), 1.0))
    return slope if steady and slope * (count - 1) >= LEAST_RISE * float(np.median(values)) else 0.0
