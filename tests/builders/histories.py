"""Histories of runs for tests: simulated summaries, and profiles whose steps have ops of given lengths."""

from __future__ import annotations

import numpy as np

from tpu_profile_plugin.analysis.trend.summary import Conditions, PlaceTime, RunSummary

TPU = Conditions("jit_step", "TPU v5", 4, 1, ("jax",), "step")
STEP_PS = 1e10


def simulated(
    rng: np.random.Generator,
    runs: int,
    *,
    since: int | None = None,
    planted: float = 0.0,
    machine: float = 0.02,
    own: float = 0.005,
    places: int = 15,
) -> list[RunSummary]:
    """Runs of a program: places of random shares, a factor of the machine, noise of each place.

    Args:
      rng: of all that varies.
      runs: how many.
      since: the first run in which the place `planted` takes longer.
      planted: by how much, as a share of the step.
      machine, own: standard deviations of the common factor and of each place's own.
      places: how many.
    """
    base = rng.dirichlet(np.full(places, 1.5)) * STEP_PS
    at = int(rng.integers(places))
    found = []
    for row in range(runs):
        times = base.copy()
        if since is not None and row >= since:
            times[at] += planted * STEP_PS
        times *= np.exp(machine * rng.standard_normal()) * np.exp(own * rng.standard_normal(places))
        names = ["planted" if place == at else f"op{place}" for place in range(places)]
        found.append(summary(f"run{row:03}", row + 1, dict(zip(names, times.tolist(), strict=True))))
    return found


def summary(run: str, written_ms: int, times: dict[str, float], **more: object) -> RunSummary:
    """A run whose step is the sum of its ops."""
    step = sum(times.values())
    of = tuple(PlaceTime("op", "jit_step", name, "", "8,8", ps, 1.0) for name, ps in times.items())
    plain: dict[str, object] = {
        "conditions": TPU, "step_ps": step, "step_sd_ps": step / 100, "steps": 20, "parts": {"compute": step},
    }  # fmt: skip
    return RunSummary(run, written_ms, places=of, **{**plain, **more})  # type: ignore[arg-type]


def profile(lengths_us: dict[str, int], steps: int = 8) -> str:
    """A profile in the text notation: a TPU whose steps have these ops, one after the other."""
    whole = sum(lengths_us.values()) + 10
    marks, ops = [], []
    for step in range(steps):
        marks.append(f"    {step * whole}us +{whole - 10}us {step}")
        at = step * whole
        for name, length in lengths_us.items():
            ops.append(f"    {at}us +{length}us {name}.1")
            at += length
    return "\n".join(
        [
            'plane 1 "/device:TPU:0" {device_type_string="TPU v6 Lite"}',
            *('  line 1 "Steps" @1000ns', *marks),
            *('  line 2 "XLA Ops" @1000ns', *ops),
            "",
        ]
    )
