"""Steps that wait for what happens once when a program starts are left out of averages, and told."""

from __future__ import annotations

import pytest
from builders.answers import run_of

from tpu_profile_plugin.run.figures.budget import run_decomposition
from tpu_profile_plugin.run.figures.spending import reading_notes
from tpu_profile_plugin.run.run import Run

MS = 10**6


def run_with(
    lengths: list[float],
    first: dict[int, tuple[float, float]] | None = None,
    work: str = "k",
    gpus: int = 1,
    launches: int = 3,
) -> Run:
    """Steps of these lengths in ms, each with launches of kernels of 0.2 ms.

    Args:
      first: by step, how long its first launch lasts and how long its first kernel, in ms.
      work: name of the first kernel of each step.
    """
    host = ['plane 1 "/host:CPU"', "line 1 python"]
    kernels, begin, key = [], 0.0, 0
    for step, length in enumerate(lengths):
        host.append(f"{round(begin * MS)}ns +{round(length * MS)}ns train {{step_num={step}, _r=1}}")
        launch, kernel = (first or {}).get(step, (0.005, 0.2))
        at = begin
        for i in range(launches):
            key += 1
            lasts = launch if i == 0 else 0.005
            host.append(f"{round(at * MS)}ns +{round(lasts * MS)}ns cudaLaunchKernel {{correlation_id={key}}}")
            runs = kernel if i == 0 else 0.2
            name = work if i == 0 else "k"
            kernels.append(f"{round((at + lasts) * MS)}ns +{round(runs * MS)}ns {name} {{correlation_id={key}}}")
            at += max(lasts, 0.01) + runs
        begin += length
    planes = [line for gpu in range(gpus) for line in (f'plane {gpu + 2} "/device:GPU:{gpu}"', "line 1 s#1", *kernels)]
    return run_of("\n".join([*host, *planes]))


def shown(run: Run) -> tuple[list[str], float, list[str]]:
    """The labels of the steps, their average length in ms, and notes on what is left out."""
    found = run_decomposition(run)
    return found.labels, found.step_ps / 1e9, [note for note in reading_notes(found) if "left out" in note]


def test_the_first_launch_loads_kernels() -> None:
    labels, step_ms, notes = shown(run_with([301, 1, 1, 1], {0: (300, 0.2)}))
    assert labels == ["train 1", "train 2", "train 3"]
    assert step_ms == pytest.approx(1, abs=0.01)
    assert notes == [
        "train 0 (301 ms) is left out: one call of cudaLaunchKernel lasted 300 ms, as when kernels are loaded at first"
        " use."
    ]


def test_the_first_collective_waits_for_other_ranks() -> None:
    labels, step_ms, notes = shown(run_with([500, 1, 1, 1], {0: (0.005, 499)}, "ncclDevKernel_AllReduce_Sum_f32_RING"))
    assert labels == ["train 1", "train 2", "train 3"]
    assert step_ms == pytest.approx(1, abs=0.01)
    assert notes == [
        "train 0 (500 ms) is left out: its first ncclDevKernel_AllReduce_Sum_f32_RING waited 498.8 ms until other"
        " ranks had started."
    ]


@pytest.mark.parametrize(
    "run",
    [
        run_with([301], {0: (300, 0.2)}),  # nothing else is left
        run_with([301, 1, 1, 1], {0: (0.005, 299)}),  # the device works
        run_with([301, 1, 1, 1]),  # the host does something else
        run_with([2, 1, 1, 1], {0: (0.4, 0.2)}),  # a launch of less than 1 ms
        run_with(
            [1, 1, 20, 20, 20, 1, 1, 1, 1], dict.fromkeys((2, 3, 4), (19, 0.2))
        ),  # too many launches to be exceptions
        run_with([700, 301, 301, 301], {0: (300, 0.2)}),  # less than half of the step
    ],
)
def test_other_steps_stay(run: Run) -> None:
    assert not run_decomposition(run).start_up
