"""A JAX step that is given a large frozen NumPy table as an argument: each call copies it to the device."""

import jax
import jax.numpy as jnp
import numpy as np
from window import FIXED, windows

rng = np.random.default_rng(0)
table = rng.normal(size=(120_000, 256)).astype(np.float32)[:, ::2]  # 61 MB, every second feature
w = jnp.asarray(rng.normal(0, 0.05, (128, 128)), jnp.float32)
if FIXED:
    table = jnp.asarray(table)


@jax.jit
def train_step(w, table, tokens):
    loss, grad = jax.value_and_grad(lambda w: jnp.mean(jnp.tanh(table[tokens] @ w) ** 2))(w)
    return w - 0.1 * grad, loss


w, loss = train_step(w, table, rng.integers(0, 120_000, 4096))
for steps in windows(15):
    for step in steps:
        with jax.profiler.StepTraceAnnotation("train", step_num=step):
            w, loss = train_step(w, table, rng.integers(0, 120_000, 4096))
            loss.block_until_ready()
