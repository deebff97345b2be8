"""The parts of a TPU step in milliseconds: what counts as computation, waiting and idle time."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from tpu_profile_plugin.analysis.common.spans import PartTimes
from tpu_profile_plugin.analysis.steps.breakdown import TpuBreakdown, tpu_breakdown
from tpu_profile_plugin.analysis.steps.step_table import StepTable, TpuPart

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
