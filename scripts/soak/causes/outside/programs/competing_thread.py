"""A JAX training loop with many small steps beside a Python thread that aggregates metrics all the time."""

import threading

import jax
import jax.numpy as jnp
import numpy as np
from window import FIXED, windows

rng = np.random.default_rng(0)
w = jnp.asarray(rng.normal(0, 0.05, (192, 192)), jnp.float32)
x = jnp.asarray(rng.normal(size=(192, 192)), jnp.float32)


@jax.jit
def train_step(w, x):
    loss, grad = jax.value_and_grad(lambda w: jnp.mean(jnp.tanh(x @ w) ** 2))(w)
    return w - 0.1 * grad, loss


def aggregate_metrics():
    history = {}
    while True:
        for i in range(10_000):
            history[i % 100] = history.get(i % 100, 0.0) * 0.99 + i


w, loss = train_step(w, x)
if not FIXED:
    threading.Thread(target=aggregate_metrics, daemon=True).start()
for steps in windows(100):
    for step in steps:
        with jax.profiler.StepTraceAnnotation("train", step_num=step):
            w, loss = train_step(w, x)
            loss.block_until_ready()
