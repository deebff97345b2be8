"""Average, standard deviation and range of a series; division that tolerates zero."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


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
