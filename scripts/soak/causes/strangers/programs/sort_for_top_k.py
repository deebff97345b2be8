"""A JAX sampler that sorts the whole vocabulary to draw from the forty best tokens."""

import jax
import jax.numpy as jnp
import numpy as np
from window import FIXED, windows

BATCH, WIDTH, VOCABULARY, BEST = 8, 256, 16000, 40
rng = np.random.default_rng(0)
body = [jnp.asarray(rng.normal(0, 0.05, (WIDTH, WIDTH)), jnp.float32) for _ in range(4)]
head = jnp.asarray(rng.normal(0, 0.05, (WIDTH, VOCABULARY)), jnp.float32)


@jax.jit
def next_tokens(body, head, x, key):
    for w in body:
        x = jnp.tanh(x @ w)
    logits = x @ head
    if FIXED:
        values, indices = jax.lax.top_k(logits, BEST)
    else:
        indices = jnp.argsort(logits, axis=-1)[:, ::-1][:, :BEST]
        values = jnp.take_along_axis(logits, indices, axis=-1)
    drawn = jax.random.categorical(key, values)
    return x, jnp.take_along_axis(indices, drawn[:, None], axis=-1)[:, 0]


x = jnp.asarray(rng.normal(size=(BATCH, WIDTH)), jnp.float32)
keys = jax.random.split(jax.random.key(0), 64)
next_tokens(body, head, x, keys[0])
for steps in windows(16):
    for step in steps:
        with jax.profiler.StepTraceAnnotation("token", step_num=step):
            x, tokens = next_tokens(body, head, x, keys[step % 64])
            tokens.block_until_ready()
