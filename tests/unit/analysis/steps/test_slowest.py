"""Each step on its slowest host: which core is shown, and parts that add up to its step."""

from __future__ import annotations

import numpy as np
import pytest

from tpu_profile_plugin.analysis.steps.slowest import core_parts, part_names, slowest_steps
from tpu_profile_plugin.analysis.steps.table import CLASS_INDEX, CLASSES, EventClass, StepTable, TpuPart

Times = dict[int, int]


def table(cores: dict[int, list[tuple[int, Times]]], *, on_tpu: bool) -> StepTable:
    """Core id -> per step its duration and time per kind, in ps."""
    steps, kinds = len(next(iter(cores.values()))), len(TpuPart) if on_tpu else len(CLASSES)
    duration = np.array([[cores[core][i][0] for core in cores] for i in range(steps)], np.int64)
    times = np.zeros((steps, len(cores), kinds), np.int64)
    for c, core in enumerate(cores):
        for i, (_, own) in enumerate(cores[core]):
            for kind, ps in own.items():
                times[i, c, kind if on_tpu else CLASS_INDEX[EventClass(kind)]] = ps
    return StepTable(
        on_tpu=on_tpu,
        number=np.arange(steps, dtype=np.int64),
        names=("",) * steps,
        cores=tuple(cores),
        begin_ps=np.zeros_like(duration),
        duration_ps=duration,
        times=times,
        category_ps=np.zeros((steps, 0), np.int64),
    )


def shown(steps: StepTable) -> list[dict[str, int]]:
    found = slowest_steps(steps, single_host=False)
    return [{name: int(ps[i]) for name, ps in found.parts_ps.items() if ps[i]} for i in range(len(found))]


COMPUTE, INFEED, OUTFEED, IDLE = TpuPart.COMPUTE, TpuPart.INFEED, TpuPart.OUTFEED, TpuPart.IDLE


def test_the_core_of_the_slowest_host_that_waits_longest_for_input() -> None:
    steps = table(
        {
            0: [(100, {COMPUTE: 20, INFEED: 80})],
            1000: [(120, {COMPUTE: 110, INFEED: 10})],
            1001: [(120, {COMPUTE: 70, INFEED: 30, IDLE: 20})],
        },
        on_tpu=True,
    )
    found = slowest_steps(steps, single_host=False)
    assert (found.cores, shown(steps)) == ((1001,), [{"device_compute": 70, "input": 30, "idle": 20}])
    assert (found.waiting_least[0], found.waiting_most[0]) == (pytest.approx(10 / 120), 0.8)
    assert {host: ps.tolist() for host, ps in found.hosts.items()} == {0: [100], 1: [120]}


def test_of_cores_that_wait_equally_long_the_busiest() -> None:
    steps = table({0: [(100, {COMPUTE: 10, IDLE: 90})], 1: [(100, {COMPUTE: 90, IDLE: 10})]}, on_tpu=True)
    assert slowest_steps(steps, single_host=True).cores == (1,)


@pytest.mark.parametrize(
    ("times", "parts"),
    [
        ({COMPUTE: 150, INFEED: 20}, {"device_compute": 80, "input": 20}),
        ({COMPUTE: 50, TpuPart.COLLECTIVE: 90, INFEED: 20}, {"collectives": 80, "input": 20}),
        ({INFEED: 120, OUTFEED: 30}, {"input": 100}),
        ({TpuPart.HOST_SEND: 10, TpuPart.RECV: 5}, {"host_transfer": 10, "device_to_device": 5, "idle": 85}),
        (
            {TpuPart.SPARSE_INFEED: 30, TpuPart.SPARSE_OUTFEED: 10},
            {"sparse_compute": 20, "device_compute": 20, "idle": 60},
        ),
    ],
)
def test_parts_of_a_tpu_core_fit_into_its_step(times: Times, parts: dict[str, int]) -> None:
    assert shown(table({0: [(100, times)]}, on_tpu=True)) == [parts]


def test_parts_of_cpus_and_gpus() -> None:
    kinds = {EventClass.HOST_TO_HOST: 10, EventClass.HOST_COMPUTE: 20, EventClass.HOST_WAIT_INPUT: 30}
    steps = table({1: [(100, {int(kind): ps for kind, ps in kinds.items()})]}, on_tpu=False)
    assert shown(steps) == [{"host_compute": 30, "input": 30, "other": 40}]
    assert part_names(steps)[-1] == "other"


def test_parts_of_every_core_add_up() -> None:
    random = np.random.default_rng(3)
    times = random.integers(0, 10**9, (5, 4, len(TpuPart)))
    duration = random.integers(0, 10**10, (5, 4))
    steps = StepTable(
        on_tpu=True,
        number=np.arange(5, dtype=np.int64),
        names=("",) * 5,
        cores=(0, 1, 2, 3),
        begin_ps=np.zeros((5, 4), np.int64),
        duration_ps=duration,
        times=times,
        category_ps=np.zeros((5, 0), np.int64),
    )
    parts = core_parts(steps)
    assert (parts >= 0).all()
    assert np.array_equal(parts.sum(axis=2), duration)
