"""What pages and the command say of the steps: exceptions among them, and what they leave out of the recording."""

from __future__ import annotations

import numpy as np
import pytest

from tpu_profile_plugin.analysis.budget.categories import CATEGORIES, IDLE_OTHER
from tpu_profile_plugin.analysis.budget.run_budget import RunBudget
from tpu_profile_plugin.analysis.common.spans import PartTimes
from tpu_profile_plugin.analysis.devices.model import RunDevice
from tpu_profile_plugin.analysis.summary.recording import Recording, coverage
from tpu_profile_plugin.run.figures.spending import step_notes
from tpu_profile_plugin.units import PS_PER_MS


def budget(*lengths_ms: int, begin_ms: int = 0) -> RunBudget:
    """One device, idle for all of the time; each step begins when the last has ended."""
    duration = np.array(lengths_ms, np.int64)[:, None] * PS_PER_MS
    return RunBudget(
        hosts=(0,),
        devices=(RunDevice("TPU 0", 0, "tpu"),),
        number=np.arange(len(duration)),
        names=("",) * len(duration),
        begin_ps=begin_ms * PS_PER_MS + np.cumsum(duration, axis=0) - duration,
        duration_ps=duration,
        time_ps=PartTimes(duration.shape, {IDLE_OTHER: duration}),
        takes_part=duration > 0,
        between_ps=np.zeros(1, np.int64),
        between_time_ps=np.zeros((1, len(CATEGORIES)), np.int64),
        sources=("host",),
    )


def notes(run: RunBudget, length_ms: int) -> list[str]:
    return step_notes(run, coverage(run, [Recording(0, length_ms * PS_PER_MS)]))


@pytest.mark.parametrize(
    ("longest", "told"),
    [
        (19, []),
        (21, ["From begin to begin, the median step takes 10 ms; 1 of 10 steps takes longer than 15 ms, up to 21 ms."]),
    ],
)
def test_exceptions_that_raise_the_mean_by_more_than_a_tenth(longest: int, told: list[str]) -> None:
    # The mean is 10.9 ms with 19, 11.1 ms with 21.
    assert notes(budget(*([10] * 9), longest), 90 + longest) == told


@pytest.mark.parametrize(
    ("length", "told"),
    [
        (60, []),
        (62, ["The steps cover 48.4% of the recording. Not in steps: 30 ms before, 2 ms after."]),
        (61, ["The steps cover 49.2% of the recording. Not in steps: 30 ms before."]),
    ],
)
def test_recordings_of_which_steps_cover_less_than_half(length: int, told: list[str]) -> None:
    assert notes(budget(10, 10, 10, begin_ms=30), length) == told
