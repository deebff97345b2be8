"""JAX random walkers whose keys are split one by one in Python."""

import jax
import jax.numpy as jnp
from window import FIXED, windows

WALKERS, WIDTH = 150, 64


def draw_noise(key):
    if FIXED:
        return jax.random.normal(key, (WALKERS, WIDTH))
    noise = []
    for _ in range(WALKERS):
        key, own = jax.random.split(key)
        noise.append(jax.random.normal(own, (WIDTH,)))
    return jnp.stack(noise)


@jax.jit
def advance(walkers, noise):
    def drift(_, x):
        return x - 0.01 * jnp.sin(x @ coupling)

    return jax.lax.fori_loop(0, 60, drift, walkers) + 0.1 * noise


key = jax.random.key(0)
coupling = jax.random.normal(key, (WIDTH, WIDTH)) / 8
walkers = jnp.zeros((WALKERS, WIDTH))
walkers = advance(walkers, draw_noise(key))
for steps in windows(12):
    for step in steps:
        with jax.profiler.StepTraceAnnotation("advance", step_num=step):
            walkers = advance(walkers, draw_noise(jax.random.fold_in(key, step)))
            jax.block_until_ready(walkers)
