"""Healthy JAX evolution: a population of 24 networks is drawn, evaluated and averaged within one jitted generation."""

import jax
import jax.numpy as jnp
import numpy as np
from window import windows

rng = np.random.default_rng(0)
x = jnp.asarray(rng.normal(size=(256, 64)), jnp.float32)
y = jnp.asarray(rng.normal(size=(256, 8)), jnp.float32)
params = [jnp.asarray(rng.normal(0, 0.1, s), jnp.float32) for s in [(64, 256), (256, 8)]]


def fitness(params):
    return -jnp.mean((jnp.tanh(x @ params[0]) @ params[1] - y) ** 2)


@jax.jit
def generation(params, key):
    keys = jax.random.split(key, len(params))
    noise = [jax.random.normal(k, (24, *p.shape)) for k, p in zip(keys, params)]
    scores = jax.vmap(fitness)([p + 0.05 * n for p, n in zip(params, noise)])
    ranks = jnp.argsort(jnp.argsort(scores)) / 23 - 0.5
    return [p + 0.01 * jnp.tensordot(ranks, n, 1) for p, n in zip(params, noise)]


keys = jax.random.split(jax.random.key(0), 64)
params = generation(params, keys[0])
for steps in windows(8):
    for step in steps:
        with jax.profiler.StepTraceAnnotation("generation", step_num=step):
            params = jax.block_until_ready(generation(params, keys[step % 64]))
