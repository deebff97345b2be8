"""A JAX decoding loop whose key-value cache is not donated: each token copies it."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from window import FIXED, windows

rng = np.random.default_rng(0)
w = jnp.asarray(rng.normal(0, 0.02, (1024, 1024)), jnp.float32)


@partial(jax.jit, donate_argnums=(1,) if FIXED else ())
def decode(w, cache, position, x):
    cache = jax.lax.dynamic_update_slice(cache, x[None], (position, 0, 0))
    return cache, jnp.tanh(x @ w + cache[position // 2])


cache = jnp.zeros((2048, 8, 1024), jnp.float32)
x = jnp.ones((8, 1024), jnp.float32)
cache, x = decode(w, cache, 0, x)
for steps in windows(30):
    for step in steps:
        with jax.profiler.StepTraceAnnotation("decode", step_num=step):
            cache, x = decode(w, cache, step, x)
            x.block_until_ready()
