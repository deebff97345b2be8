"""A JAX training loop on sentences padded to the longest of each batch, so that almost every batch compiles anew."""

import jax
import jax.numpy as jnp
import numpy as np
from window import FIXED, windows

rng = np.random.default_rng(0)
table = jnp.asarray(rng.normal(0, 0.1, (1000, 192)), jnp.float32)


@jax.jit
def train_step(table, tokens):
    def loss_fn(table):
        x = table[tokens]
        for _ in range(2):
            x = x + 0.1 * jax.nn.softmax(x @ x.swapaxes(1, 2) / 14.0) @ x
        return jnp.mean(x**2)

    loss, grad = jax.value_and_grad(loss_fn)(table)
    return table - 0.1 * grad, loss


def next_batch():
    lengths = rng.integers(20, rng.integers(30, 384), 6)
    longest = -(-lengths.max() // 128) * 128 if FIXED else lengths.max()
    batch = np.zeros((6, longest), np.int32)
    for row, length in zip(batch, lengths):
        row[:length] = rng.integers(1, 1000, length)
    return batch


for _ in range(8):
    table, loss = train_step(table, next_batch())
for steps in windows(6):
    for step in steps:
        with jax.profiler.StepTraceAnnotation("train", step_num=step):
            table, loss = train_step(table, next_batch())
            loss.block_until_ready()
