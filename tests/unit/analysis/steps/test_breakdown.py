"""Parts of steps, in blocks and at once, and thresholds of the verdicts, whose bounds are inclusive."""

from __future__ import annotations

import dataclasses
from statistics import stdev

import numpy as np
import pytest

from tpu_profile_plugin.analysis.common.spans import PartTimes
from tpu_profile_plugin.analysis.common.statistics import statistics
from tpu_profile_plugin.analysis.serving import at_percentile, sample
from tpu_profile_plugin.analysis.steps import breakdown as step_breakdown
from tpu_profile_plugin.analysis.steps.breakdown import TpuBreakdown, aspect, input_verdict, tpu_breakdown, tpu_verdict
from tpu_profile_plugin.analysis.steps.step_table import SPARSE_CORE_IDS, StepTable, TpuPart
from tpu_profile_plugin.run.figures.summary import (
    EMPTY_INTERSECTION,
    NO_DEVICE_TRACE,
    NO_STEP_MARKER,
    Diagnostics,
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
    assert (found.warnings, found.errors) == (("w", "s"), ("a", "b"))
    assert run_diagnostics([], [], "TPU v4", 0, ()).errors == (NO_DEVICE_TRACE,)
    assert run_diagnostics([], [], "CPU", 0, ()) == Diagnostics()


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


# The breakdown of TPU steps in blocks is that of all at once.


def steps(count: int, sparse: bool) -> StepTable:
    random = np.random.default_rng(count)
    cores = (0, 1, 2, 1000, *((SPARSE_CORE_IDS, SPARSE_CORE_IDS + 1) if sparse else ()))
    times = random.integers(0, 10**9, (len(TpuPart), count, len(cores)))
    return StepTable(
        on_tpu=True,
        number=np.arange(count, dtype=np.int64),
        names=("",) * count,
        cores=cores,
        begin_ps=np.zeros((count, len(cores)), np.int64),
        duration_ps=times.sum(axis=0) + 5,
        times=PartTimes.of(TpuPart, times),
        category_ps=np.zeros((count, 0), np.int64),
        costs=np.zeros((count, 3)),
        collective_ps=random.integers(0, 10**9, (count, len(cores))),
        collective_key=np.stack([random.integers(0, count, 20), np.arange(20)], axis=1),
        collective_least_ps=random.integers(0, 10**9, 20),
    )


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("count", [1, 7, 12])
def test_blocks(monkeypatch, count, sparse):
    whole = step_breakdown.tpu_breakdown(steps(count, sparse))
    monkeypatch.setattr(step_breakdown, "BLOCK", 12)
    blocks = step_breakdown.tpu_breakdown(steps(count, sparse))
    assert len(blocks.labels) == count
    for field in dataclasses.fields(whole):
        left, right = getattr(whole, field.name), getattr(blocks, field.name)
        assert np.array_equal(left, right) if isinstance(left, np.ndarray) else left == right, field.name
    assert len(blocks.sparse_step) == (count if sparse else 0)


# The parts of a TPU step in milliseconds: what counts as computation, waiting and idle time.


MS = 10**9
PART = TpuPart


def one_step(*cores: tuple[int, dict[TpuPart, int]], collective: tuple[int, ...] = (), least: int = 0) -> TpuBreakdown:
    """The breakdown of one step from the duration and the parts of each core, in ms."""
    times = np.zeros((len(TpuPart), 1, len(cores)), np.int64)
    for core, (_, parts) in enumerate(cores):
        for part, length in parts.items():
            times[part, 0, core] = length * MS
    durations = np.array([[duration * MS for duration, _ in cores]], np.int64)
    table = StepTable(
        on_tpu=True,
        number=np.zeros(1, np.int64),
        names=("",),
        cores=tuple(range(len(cores))),
        begin_ps=np.zeros(durations.shape, np.int64),
        duration_ps=durations,
        times=PartTimes.of(TpuPart, times),
        category_ps=np.zeros((1, 0), np.int64),
        costs=np.zeros((1, 3)),
        collective_ps=np.array([[*collective, *[0] * (len(cores) - len(collective))]], np.int64) * MS,
        collective_key=np.zeros((1 if least else 0, 2), np.int64),
        collective_least_ps=np.array([least * MS] if least else [], np.int64),
    )
    return tpu_breakdown(table)


def shown(found: TpuBreakdown, *names: str) -> list[float]:
    return [pytest.approx(float(getattr(found, name)[0])) for name in names]


# Ops of 64 ms in a step of 50.
LONG = {PART.COMPUTE: 40, PART.INFEED: 10, PART.OUTFEED: 5, PART.HOST_SEND: 3, PART.HOST_RECV: 2, PART.SPARSE_WAIT: 4}


def test_waiting_is_displayed_beside_the_computation() -> None:
    found = one_step((50, LONG))
    names = ("compute", "infeed", "outfeed", "host_transfer", "scv0_compute", "idle", "displayed")
    assert shown(found, *names) == [40, 10, 5, 5, 4, 0, 40 + 4 + 10 + 5]


def test_no_time_is_left_where_waiting_takes_longer_than_the_step() -> None:
    assert shown(one_step((20, LONG)), "compute") == [0]
    assert shown(one_step((40, LONG)), "compute") == [40]


def test_the_input_of_a_sparse_core_is_displayed_and_in_the_total() -> None:
    found = dataclasses.replace(one_step((50, LONG)), scv0_infeed=np.array([7.0]))
    assert shown(found, "displayed", "total") == [66, 66]


def test_cores_are_combined_part_by_part() -> None:
    first = {PART.COMPUTE: 30, PART.INFEED: 10, PART.OUTFEED: 4, PART.COLLECTIVE: 5, PART.MEGACORE: 1, PART.IDLE: 50}
    second = {PART.COMPUTE: 20, PART.INFEED: 30, PART.OUTFEED: 8, PART.ASYNC_DONE: 2, PART.HOST_RECV: 6, PART.IDLE: 14}
    found = one_step((100, first), (80, second), collective=(5, 9), least=3)
    expected = {
        "compute": 22,
        "infeed": 30,
        "outfeed": 6,
        "idle": 80 - 22 - 30 - 6,
        "host_transfer": 6,
        "all_reduce_compute": 3,
        "all_reduce_sync": 6,
        "infeed_percent_average": (10 + 37.5) / 2,
        "infeed_percent_minimum": 10,
        "infeed_percent_maximum": 37.5,
        "active": (35 + 20) / 2,
        "total": 80 + 3 + 6,
    }
    assert dict(zip(expected, shown(found, *expected), strict=True)) == expected
    assert found.infeed_core == (1,)


@pytest.mark.parametrize(("infeed", "level"), [(0, "moderate"), (4, "moderate"), (5, "no"), (30, "no")])
def test_collectives_are_told_if_they_take_clearly_more_than_waiting_for_input(infeed: int, level: str) -> None:
    parts = {PART.COMPUTE: 80 - infeed, PART.INFEED: infeed, PART.IDLE: 10}
    found = tpu_verdict(one_step((90, parts), collective=(10,), least=10)).all_reduce
    assert (found.level, found.percent) == (level, pytest.approx(10))


@pytest.mark.parametrize(
    ("parts", "wait"),
    [
        ({PART.SPARSE_WAIT: 7}, 7),
        ({PART.SPARSE_WAIT: 7, PART.SPARSE_INFEED: 9}, 9),
        ({PART.SPARSE_WAIT: 7, PART.SPARSE_INFEED: 9, PART.SPARSE_OUTFEED: 4}, 5),
        ({PART.SPARSE_WAIT: 7, PART.SPARSE_INFEED: 9, PART.SPARSE_OUTFEED: 11}, 0),
        ({PART.SPARSE_OUTFEED: 11}, 0),
    ],
)
def test_waiting_for_a_sparse_core_is_its_input_less_its_output_where_that_is_recorded(
    parts: dict[TpuPart, int], wait: int
) -> None:
    assert shown(one_step((50, parts)), "scv0_compute") == [wait]
