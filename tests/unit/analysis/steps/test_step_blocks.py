"""The breakdown of TPU steps in blocks is that of all at once."""

import dataclasses

import numpy as np
import pytest

from tpu_profile_plugin.analysis.common.spans import PartTimes
from tpu_profile_plugin.analysis.steps import breakdown as step_breakdown
from tpu_profile_plugin.analysis.steps.step_table import SPARSE_CORE_IDS, StepTable, TpuPart


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
