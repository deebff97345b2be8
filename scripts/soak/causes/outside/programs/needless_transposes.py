"""A JAX convolution-like stack that swaps to channels-first and back around every layer."""

import jax
import jax.numpy as jnp
import numpy as np
from window import FIXED, windows

rng = np.random.default_rng(0)
params = [jnp.asarray(rng.normal(0, 0.1, (64, 64)), jnp.float32) for _ in range(6)]
images = jnp.asarray(rng.normal(size=(16, 48, 48, 64)), jnp.float32)


def layer(w, x):
    if FIXED:
        return jnp.tanh(x @ w)
    x = jax.lax.optimization_barrier(x.transpose(0, 3, 1, 2))  # "NCHW", as the ported code had it
    scale = x.mean(axis=(2, 3), keepdims=True) * 0
    x = jax.lax.optimization_barrier((x + scale).transpose(0, 2, 3, 1))
    return jnp.tanh(x @ w)


@jax.jit
def forward(params, x):
    for w in params:
        x = layer(w, x)
    return x.mean(axis=(1, 2))


forward(params, images)
for steps in windows(15):
    for step in steps:
        with jax.profiler.StepTraceAnnotation("predict", step_num=step):
            forward(params, images).block_until_ready()
