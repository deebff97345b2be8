"""JAX decoding whose attention runs over all 2048 slots of its cache, of which the texts fill some hundred."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from window import FIXED, windows

LAYERS, BATCH, SLOTS, HEADS, SIZE = 3, 8, 2048, 4, 64
rng = np.random.default_rng(0)
WIDTH = HEADS * SIZE
weights = jnp.asarray(rng.normal(0, 0.04, (LAYERS, 6, WIDTH, WIDTH)), jnp.float32)


def attend(q, keys, values, position):
    if FIXED:
        keys, values = keys[:, :128], values[:, :128]
    scores = jnp.einsum("bhd,bshd->bhs", q, keys) / 8.0
    scores = jnp.where(jnp.arange(keys.shape[1]) <= position, scores, -1e9)
    return jnp.einsum("bhs,bshd->bhd", jax.nn.softmax(scores), values)


@functools.partial(jax.jit, donate_argnums=1)
def decode(weights, cache, x, position):
    filled = []
    for w, (keys, values) in zip(weights, cache):
        q, k, v = ((x @ w[i]).reshape(BATCH, HEADS, SIZE) for i in range(3))
        keys = jax.lax.dynamic_update_slice(keys, k[:, None], (0, position, 0, 0))
        values = jax.lax.dynamic_update_slice(values, v[:, None], (0, position, 0, 0))
        x = x + attend(q, keys, values, position).reshape(BATCH, WIDTH) @ w[3]
        x = x + jax.nn.relu(x @ w[4]) @ w[5]
        filled.append((keys, values))
    return filled, x / jnp.linalg.norm(x, axis=-1, keepdims=True)


cache = [tuple(jnp.zeros((BATCH, SLOTS, HEADS, SIZE)) for _ in "kv") for _ in range(LAYERS)]
x = jnp.asarray(rng.normal(size=(BATCH, WIDTH)), jnp.float32)
cache, x = decode(weights, cache, x, 0)
for steps in windows(8):
    for step in steps:
        with jax.profiler.StepTraceAnnotation("token", step_num=step):
            cache, x = decode(weights, cache, x, step % 108 + 1)
            x.block_until_ready()
