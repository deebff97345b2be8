"""Thresholds of the verdicts; bounds are inclusive."""

from statistics import stdev

import pytest

from tpu_profile_plugin.analysis.common.statistics import statistics
from tpu_profile_plugin.analysis.serving import at_percentile, sample
from tpu_profile_plugin.analysis.steps.breakdown import aspect, input_verdict
from tpu_profile_plugin.run.figures.summary import (
    EMPTY_INTERSECTION,
    NO_DEVICE_TRACE,
    NO_STEP_MARKER,
    run_diagnostics,
    step_warnings,
)


@pytest.mark.parametrize(
    ("steps", "percent", "other", "bottleneck", "level"),
    [
        (0, 50.0, 50.0, "unknown", ""),
        (3, 20.0, 0.0, "host", "HIGHLY"),
        (3, 19.9, 0.0, "both", "MODERATELY"),
        (3, 5.0, 90.0, "both", "MODERATELY"),
        (3, 4.9, 3.0, "both", "POTENTIALLY"),
        (3, 4.9, 2.9, "device", "NOT"),
        (3, 4.9, None, "device", "NOT"),
    ],
)
def test_input(steps, percent, other, bottleneck, level):
    found = input_verdict(steps, percent, other)
    assert (found.bottleneck, found.level) == (bottleneck, level)


@pytest.mark.parametrize(("percent", "level"), [(2.9, "no"), (3.0, "moderate"), (14.9, "moderate"), (15.0, "high")])
def test_other_aspects(percent, level):
    assert aspect(percent).level == level


def test_diagnostics():
    assert step_warnings(3, False) == ()
    assert step_warnings(0, False) == (NO_STEP_MARKER,)
    assert step_warnings(0, True) == (EMPTY_INTERSECTION,)
    found = run_diagnostics(["b", "a", "b"], ["w", "w"], "TPU v4", 0, ("s",))
    assert found.columns() == (["WARNING", "WARNING", "ERROR", "ERROR"], ["w", "s", "a", "b"])
    assert run_diagnostics([], [], "TPU v4", 0, ()).errors == (NO_DEVICE_TRACE,)
    assert run_diagnostics([], [], "CPU", 0, ()).columns() == ([], [])


def test_statistics():
    assert statistics([]).count == 0
    assert (statistics([4.0]).average, statistics([4.0]).deviation) == (4.0, 0.0)
    values = [0.1 * i**2 for i in range(50)]
    assert statistics(values).deviation == pytest.approx(stdev(values), rel=1e-15)
    found = statistics([1.0, 2.0, 3.0, 4.0])
    assert (found.average, found.minimum, found.maximum) == (2.5, 1.0, 4.0)
    assert found.deviation == pytest.approx(1.2909944487)


def test_sampling_shows_all_of_a_few_and_the_percentiles_of_many():
    assert sample([3, 1, 2]) == [(0.0, 1), (pytest.approx(100 / 3), 2), (pytest.approx(200 / 3), 0)]
    shown = sample(list(range(1000)))
    assert [round(p, 1) for p, _ in shown[:3]] == [50.0, 50.1, 50.2]
    assert [i for p, i in shown if p >= 99] == [*range(990, 995), 999]
    assert len(shown) == 36
    assert [at_percentile([1, 1, 1, 1, 6], p) for p in (50, 75, 90, 99.9)] == [1, 1, 6, 6]
    assert at_percentile([1, 2], 100) == 2
    assert [len(sample(list(range(count)))) for count in (60, 61)] == [60, 3]
    assert sample([]) == []


def test_sampling_leaves_up_to_16_equal_keys_in_order_and_permutes_more():
    assert [i for _, i in sample([7, 5, *[7] * 13, 5])] == [1, 15, 0, *range(2, 15)]
    assert [i for _, i in sample([0.5] * 20)] == [10, *range(19, 10, -1), 0, *range(9, 0, -1)]
    # Keys in ps that a float cannot tell apart.
    assert [i for _, i in sample([2**60 + 1, 2**60])] == [1, 0]
