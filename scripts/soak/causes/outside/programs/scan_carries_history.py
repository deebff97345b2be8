"""A JAX scan that keeps its history by rolling a large carry at each iteration, rather than as an output."""

import jax
import jax.numpy as jnp
import numpy as np
from window import FIXED, windows

rng = np.random.default_rng(0)
w = jnp.asarray(rng.normal(0, 0.05, (256, 256)), jnp.float32)
x = jnp.asarray(rng.normal(size=(64, 256)), jnp.float32)
LENGTH = 40


@jax.jit
def rollout(w, x):
    if FIXED:

        def body(x, _):
            x = jnp.tanh(x @ w)
            return x, x

        return jax.lax.scan(body, x, None, length=LENGTH)[1]

    def body(carry, _):
        x, history = carry
        x = jnp.tanh(x @ w)
        return (x, jnp.roll(history, -1, axis=0).at[-1].set(x)), None

    return jax.lax.scan(body, (x, jnp.zeros((LENGTH, 64, 256))), None, length=LENGTH)[0][1]


rollout(w, x)
for steps in windows(15):
    for step in steps:
        with jax.profiler.StepTraceAnnotation("rollout", step_num=step):
            rollout(w, x).block_until_ready()
