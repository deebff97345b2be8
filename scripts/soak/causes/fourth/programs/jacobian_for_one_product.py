"""JAX flow model that computes a whole Jacobian to multiply it by one vector."""

import jax
import jax.numpy as jnp
import numpy as np
from window import FIXED, windows

rng = np.random.default_rng(0)
weights = [jnp.asarray(rng.normal(0, 0.1, (96, 96)), jnp.float32) for _ in range(4)]
points = jnp.asarray(rng.normal(size=(128, 96)), jnp.float32)
directions = jnp.asarray(rng.normal(size=(128, 96)), jnp.float32)


def field(weights, x):
    for w in weights:
        x = jnp.tanh(x @ w) + x
    return x


def change_along(weights, x, direction):
    if FIXED:
        return jax.jvp(lambda x: field(weights, x), (x,), (direction,))[1]
    return jax.jacrev(field, argnums=1)(weights, x) @ direction


def loss_fn(weights, points, directions):
    changes = jax.vmap(change_along, (None, 0, 0))(weights, points, directions)
    return jnp.mean((changes * directions).sum(-1) ** 2)


@jax.jit
def train_step(weights, points, directions):
    loss, grads = jax.value_and_grad(loss_fn)(weights, points, directions)
    return [w - 0.001 * g for w, g in zip(weights, grads)], loss


weights, loss = train_step(weights, points, directions)
for steps in windows(8):
    for step in steps:
        with jax.profiler.StepTraceAnnotation("train", step_num=step):
            weights, loss = train_step(weights, points, directions)
            loss.block_until_ready()
