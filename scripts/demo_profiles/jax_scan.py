"""Captures a recurrent network that JAX unrolls on the device with `scan`: `python jax_scan.py LOGDIR`."""

from __future__ import annotations

import sys
from pathlib import Path

import jax
import jax.numpy as jnp
from capture import capture_into

UNITS = 96
BATCH = 32
LENGTH = 20
STEPS = 6


@jax.jit
def encode(weights: jax.Array, sequence: jax.Array) -> jax.Array:
    """Last state of a simple recurrent network over `sequence`, shaped (time, batch, units)."""

    def cell(state: jax.Array, x: jax.Array) -> tuple[jax.Array, None]:
        return jnp.tanh(state @ weights + x), None

    state, _ = jax.lax.scan(cell, jnp.zeros((BATCH, UNITS)), sequence)
    return state


def main(logdir: Path) -> None:
    """Warms up, then captures STEPS steps."""
    weights = jax.random.normal(jax.random.key(0), (UNITS, UNITS)) / UNITS**0.5
    sequence = jax.random.normal(jax.random.key(1), (LENGTH, BATCH, UNITS))
    encode(weights, sequence).block_until_ready()
    options = jax.profiler.ProfileOptions()
    options.python_tracer_level = 0
    with capture_into(logdir, "jax_scan") as folder, jax.profiler.trace(folder, profiler_options=options):
        for step in range(STEPS):
            with jax.profiler.StepTraceAnnotation("encode", step_num=step):
                encode(weights, sequence).block_until_ready()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
