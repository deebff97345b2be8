"""A JAX training step whose learning rate, from a schedule, is a static argument: each new rate compiles."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from window import FIXED, windows

rng = np.random.default_rng(0)
params = [jnp.asarray(rng.normal(0, 0.05, (512, 512)), jnp.float32) for _ in range(6)]
x = jnp.asarray(rng.normal(size=(256, 512)), jnp.float32)


def train_step(params, x, learning_rate):
    def loss_fn(params):
        y = x
        for w in params:
            y = jax.nn.gelu(y @ w)
        return jnp.mean((y - x) ** 2)

    loss, grads = jax.value_and_grad(loss_fn)(params)
    return [p - learning_rate * g for p, g in zip(params, grads)], loss


train_step = jax.jit(train_step) if FIXED else partial(jax.jit, static_argnames="learning_rate")(train_step)
params, loss = train_step(params, x, learning_rate=0.1)
for steps in windows(20):
    for step in steps:
        with jax.profiler.StepTraceAnnotation("train", step_num=step):
            params, loss = train_step(params, x, learning_rate=0.1 * 0.99 ** (step // 3))
    loss.block_until_ready()
