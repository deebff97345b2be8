"""JAX reinforcement learning whose replay buffer of 6 MB is copied as a whole for each transition that is inserted."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from window import FIXED, windows

SLOTS, WIDTH, ACTORS = 16384, 96, 8
rng = np.random.default_rng(0)
buffer = jnp.zeros((SLOTS, WIDTH), jnp.float32)
params = [jnp.asarray(rng.normal(0, 0.05, s), jnp.float32) for s in [(WIDTH, 768), (768, 768), (768, WIDTH)]]
transitions = rng.normal(size=(64, ACTORS, WIDTH)).astype(np.float32)


@partial(jax.jit, donate_argnums=0)
def insert_all(buffer, rows, begin):
    return jax.lax.dynamic_update_slice(buffer, rows, (begin, 0))


def insert(buffer, rows, begin):
    if FIXED:
        return insert_all(buffer, rows, begin)
    for i, row in enumerate(rows):
        buffer = buffer.at[begin + i].set(row)
    return buffer


def loss_fn(params, x):
    hidden = x
    for w in params[:-1]:
        hidden = jax.nn.silu(hidden @ w)
    return jnp.mean((hidden @ params[-1] - x) ** 2)


@jax.jit
def train_step(params, buffer, slots):
    grads = jax.grad(loss_fn)(params, buffer[slots])
    return [p - 0.01 * g for p, g in zip(params, grads)]


def act_and_learn(step, params, buffer):
    begin = step * ACTORS % SLOTS
    buffer = insert(buffer, transitions[step % 64], begin)
    slots = np.random.default_rng(step).integers(0, SLOTS, 256)
    return jax.block_until_ready((train_step(params, buffer, slots), buffer))


params, buffer = act_and_learn(0, params, buffer)
for steps in windows(8):
    for step in steps:
        with jax.profiler.StepTraceAnnotation("train", step_num=step):
            params, buffer = act_and_learn(step, params, buffer)
