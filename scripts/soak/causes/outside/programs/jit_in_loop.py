"""A JAX loop that jits a new lambda at each step."""

import jax
import jax.numpy as jnp
import numpy as np
from window import FIXED, windows

rng = np.random.default_rng(0)
w = jnp.asarray(rng.normal(0, 0.05, (512, 512)), jnp.float32)
x = jnp.asarray(rng.normal(size=(512, 512)), jnp.float32)


def loss_fn(w, x):
    for _ in range(4):
        x = jnp.tanh(x @ w)
    return jnp.mean(x**2)


hoisted = jax.jit(lambda w, x: w - 0.1 * jax.grad(loss_fn)(w, x))
hoisted(w, x)
for steps in windows(15):
    for _ in steps:
        update = hoisted if FIXED else jax.jit(lambda w, x: w - 0.1 * jax.grad(loss_fn)(w, x))
        w = update(w, x)
    w.block_until_ready()
