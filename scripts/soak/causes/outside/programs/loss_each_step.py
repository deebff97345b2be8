"""A JAX training loop that reads the loss after each step, so that the next batch is not prepared meanwhile."""

import time

import jax
import jax.numpy as jnp
import numpy as np
from window import FIXED, windows

rng = np.random.default_rng(0)
w = jnp.asarray(rng.normal(0, 0.02, (700, 700)), jnp.float32)
images = rng.integers(0, 255, (4000, 700), dtype=np.uint8)


@jax.jit
def train_step(w, x):
    def loss_fn(w):
        def layer(x, _):
            return jnp.tanh(x @ w), None

        return jnp.mean(jax.lax.scan(layer, x, None, length=6)[0] ** 2)

    loss, grad = jax.value_and_grad(loss_fn)(w)
    return w - 0.1 * grad, loss


def next_batch(step):
    """What a read from a bucket is: a wait, then a little work."""
    time.sleep(0.015)
    chosen = np.random.default_rng(step).permutation(len(images))[:192]
    batch = images[chosen].astype(np.float32) / 255
    return batch - batch.mean(axis=0)


w, loss = train_step(w, next_batch(0))
history = []
for steps in windows(30):
    for step in steps:
        w, loss = train_step(w, next_batch(step))
        history.append(loss if FIXED else float(loss))
    loss.block_until_ready()
