"""A JAX training loop whose client of a data store waits between requests, for a limit that no longer exists."""

import time

import jax
import jax.numpy as jnp
import numpy as np
from window import FIXED, windows

rng = np.random.default_rng(0)
w = jnp.asarray(rng.normal(0, 0.03, (768, 768)), jnp.float32)
shards = [rng.normal(size=(64, 768)).astype(np.float32) for _ in range(4)]


class Store:
    def __init__(self, requests_per_second):
        self.interval = 1 / requests_per_second
        self.last = 0.0

    def throttle(self):
        wait = self.last + self.interval - time.monotonic()
        if wait > 0:
            time.sleep(wait)
        self.last = time.monotonic()

    def get(self, index):
        self.throttle()
        return shards[index % 4]


@jax.jit
def train_step(w, x):
    def loss(w):
        y = x
        for _ in range(4):
            y = jnp.tanh(y @ w)
        return jnp.mean(y**2)

    value, grad = jax.value_and_grad(loss)(w)
    return w - 0.1 * grad, value


store = Store(100_000 if FIXED else 25)
w, loss = train_step(w, store.get(0))
for steps in windows(16):
    for step in steps:
        with jax.profiler.StepTraceAnnotation("train", step_num=step):
            w, loss = train_step(w, store.get(step))
            loss.block_until_ready()
