"""JAX scoring of texts whose batches have a new length nearly each time."""

import jax
import jax.numpy as jnp
import numpy as np
from window import FIXED, windows

rng = np.random.default_rng(0)
LENGTHS = rng.permutation(np.arange(65, 193))
table = jnp.asarray(rng.normal(size=(1000, 256)), jnp.float32)
weights = jnp.asarray(rng.normal(0, 0.06, (256, 768)), jnp.float32)


@jax.jit
def score(table, weights, tokens, length):
    valid = jnp.arange(tokens.shape[1]) < length
    x = jnp.tanh(jnp.tanh(table[tokens] @ weights) @ weights.T)
    return jnp.where(valid[:, None], x, 0).sum(1) / length


def next_batch(step):
    length = int(LENGTHS[step % len(LENGTHS)])
    tokens = rng.integers(0, 1000, (16, length))
    if FIXED:
        tokens = np.pad(tokens, ((0, 0), (0, -length % 64)))
    return tokens, length


for length in (128, 192):
    score(table, weights, np.zeros((16, length), int), length)
for steps in windows(15):
    for step in steps:
        with jax.profiler.StepTraceAnnotation("score", step_num=step):
            tokens, length = next_batch(step)
            np.asarray(score(table, weights, tokens, length))
