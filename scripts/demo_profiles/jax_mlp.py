"""Captures a small JAX training loop on CPU with marked steps: `python jax_mlp.py LOGDIR`."""

from __future__ import annotations

import sys
from pathlib import Path

import jax
import jax.numpy as jnp
from capture import capture_into

LAYERS = (64, 256, 256, 10)
BATCH = 128
STEPS = 12

Params = list[tuple[jax.Array, jax.Array]]


def initial(key: jax.Array) -> Params:
    """Weights and biases of a multilayer perceptron."""
    keys = jax.random.split(key, len(LAYERS) - 1)
    return [
        (jax.random.normal(k, (m, n)) * jnp.sqrt(2 / m), jnp.zeros(n))
        for k, m, n in zip(keys, LAYERS[:-1], LAYERS[1:], strict=True)
    ]


def loss(params: Params, images: jax.Array, labels: jax.Array) -> jax.Array:
    """Mean cross entropy."""
    hidden = images
    for weights, bias in params[:-1]:
        hidden = jax.nn.relu(hidden @ weights + bias)
    weights, bias = params[-1]
    scores = jax.nn.log_softmax(hidden @ weights + bias)
    return -jnp.mean(jnp.take_along_axis(scores, labels[:, None], axis=1))


@jax.jit
def train_step(params: Params, images: jax.Array, labels: jax.Array) -> tuple[Params, jax.Array]:
    """One step of gradient descent."""
    value, gradients = jax.value_and_grad(loss)(params, images, labels)
    return jax.tree.map(lambda p, g: p - 0.05 * g, params, gradients), value


def main(logdir: Path) -> None:
    """Warms up, then captures STEPS steps."""
    params = initial(jax.random.key(0))
    keys = jax.random.split(jax.random.key(1), STEPS)
    batches = [
        (jax.random.normal(key, (BATCH, LAYERS[0])), jax.random.randint(key, (BATCH,), 0, LAYERS[-1])) for key in keys
    ]
    params, value = train_step(params, *batches[0])
    jax.block_until_ready(value)
    options = jax.profiler.ProfileOptions()
    options.python_tracer_level = 0
    with capture_into(logdir, "jax_mlp") as folder, jax.profiler.trace(folder, profiler_options=options):
        for step, batch in enumerate(batches):
            with jax.profiler.StepTraceAnnotation("train", step_num=step):
                params, value = train_step(params, *batch)
                value.block_until_ready()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
