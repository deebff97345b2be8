"""Average, deviation and range of a series, and how steadily one rises; at, below and above each limit."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tpu_profile_plugin.analysis.common.statistics import Statistics, rise, statistics


def test_a_series_in_numbers() -> None:
    assert statistics([]) == Statistics(0.0, 0.0, 0.0, 0.0, 0)
    assert statistics([7]) == Statistics(7.0, 0.0, 7.0, 7.0, 1)
    assert statistics([3, 1]) == Statistics(2.0, math.sqrt(2), 1.0, 3.0, 2)
    # Distances -5, -1, 1, 5 from the average: squares of 52 by three.
    assert statistics([1, 5, 7, 11]) == Statistics(6.0, math.sqrt(52 / 3), 1.0, 11.0, 4)


@pytest.mark.parametrize(
    ("values", "slope"),
    [
        ([10, 20, 30, 40, 50], 0),  # too few points
        ([10, 20, 30, 40, 50, 60], 10),
        ([60, 50, 40, 30, 20, 10], 0),
        ([10, 20, 30, 50, 40, 60], 0),  # of six points all must rise
        ([10, 20, 30, 40, 50, 60, 70, 80, 900, 1000], 10),  # a single one changes nothing
        # By a quarter of the median, 210, from end to end.
        ([40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50], 0),
        ([35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45], 1),
        ([36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46], 0),
        # Ten points with four pairs of 45 that fall: (41 - 4) / 45 is above 0.8, with five it is not.
        ([10, 30, 20, 40, 60, 50, 70, 90, 80, 100], 10),
        ([20, 10, 40, 30, 60, 50, 80, 70, 100, 90], 0),
        # Sixteen points with 12 of 120 pairs that fall: an excess of 0.8.
        ([40, 30, 20, 10, *range(50, 130, 10), 160, 150, 140, 130], 10),
        ([40, 30, 20, 10, 60, 50, *range(70, 130, 10), 160, 150, 140, 130], 0),
        # Seven points: chance alone makes an excess of 19 of 21 pairs in one series of many.
        ([10, 20, 30, 40, 50, 70, 60], 10),
        ([10, 30, 20, 40, 50, 70, 60], 0),
    ],
)
def test_series_that_rise_steadily(values: list[int], slope: float) -> None:
    assert rise(np.array(values, np.float64)) == slope
