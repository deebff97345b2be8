"""JAX training whose gradients are jitted, but whose optimizer is not."""

import jax
import jax.numpy as jnp
import numpy as np
from window import FIXED, windows

rng = np.random.default_rng(0)
params = [{"w": jnp.asarray(rng.normal(0, 0.1, (96, 96)), jnp.float32), "b": jnp.zeros(96)} for _ in range(24)]
batch = jnp.asarray(rng.normal(size=(128, 96)), jnp.float32)


def loss_fn(params, x):
    for layer in params:
        x = jnp.tanh(x @ layer["w"] + layer["b"])
    return jnp.mean((x - batch) ** 2)


def moments(state, grads):
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, state[0], grads)
    second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g**2, state[1], grads)
    return first, second


def adam(params, state, grads):
    state = moments(state, grads)
    params = jax.tree.map(lambda p, m, v: p - 1e-3 * m / (jnp.sqrt(v) + 1e-8), params, *state)
    return params, state


gradients = jax.jit(jax.grad(loss_fn))
update = jax.jit(adam) if FIXED else adam
state = (jax.tree.map(jnp.zeros_like, params),) * 2
for _ in range(2):
    params, state = update(params, state, gradients(params, batch))
for steps in windows(12):
    for step in steps:
        with jax.profiler.StepTraceAnnotation("train", step_num=step):
            params, state = update(params, state, gradients(params, batch))
            jax.block_until_ready(params)
