"""A small training in JAX (see `history`)."""

from __future__ import annotations

from pathlib import Path

import history
import jax
import jax.numpy as jnp
import numpy as np

LAYERS, WIDTH, BATCH = 6, 320, 256
_KEYS = jax.random.split(jax.random.PRNGKey(0), LAYERS + 2)
_DATA = np.random.default_rng(0)


def build(op: int, function: int) -> history.Step:
    """A step that sorts `op` numbers on the device and `function` numbers on the host."""
    weights = [jax.random.normal(key, (WIDTH, WIDTH)) * 0.05 for key in _KEYS[:LAYERS]]
    batch, numbers = jax.random.normal(_KEYS[-1], (BATCH, WIDTH)), jax.random.normal(_KEYS[-2], (op,))
    rows = _DATA.standard_normal(function).astype(np.float32)

    def loss(weights: list[jax.Array], batch: jax.Array, first: jax.Array) -> jax.Array:
        hidden = batch
        for weight in weights:
            hidden = jnp.tanh(hidden @ weight)
        with jax.named_scope("attention"):
            hidden = jax.nn.softmax(hidden @ hidden.T) @ hidden
        return jnp.mean((hidden - batch) ** 2) + first

    @jax.jit
    def update(weights: list[jax.Array], batch: jax.Array, numbers: jax.Array, first: jax.Array) -> list[jax.Array]:
        gradients = jax.grad(loss)(weights, batch, first)
        with jax.named_scope("ranking"):
            ranked = jnp.sort(numbers)
        return [w - 0.01 * g + 1e-9 * ranked[0] for w, g in zip(weights, gradients, strict=True)]

    def step(number: int) -> None:
        nonlocal weights
        first = history.collate(rows, number)[:1]
        weights = update(weights, batch, numbers, jnp.float32(first[0]))
        jax.block_until_ready(weights)

    return step


def capture(folder: Path, step: history.Step) -> None:
    """Records steps."""
    options = jax.profiler.ProfileOptions()
    options.python_tracer_level = 1
    with jax.profiler.trace(str(folder), profiler_options=options):
        for number in range(history.STEPS):
            with jax.profiler.StepTraceAnnotation("train", step_num=number):
                step(number)


if __name__ == "__main__":
    history.record(build, capture)
