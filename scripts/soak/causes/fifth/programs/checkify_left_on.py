"""JAX training whose step still goes through checkify, which looks at every value for NaN and division by zero."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import checkify
from window import FIXED, windows

rng = np.random.default_rng(0)
x = jnp.asarray(rng.normal(size=(384, 256)), jnp.float32)
y = jnp.asarray(rng.normal(size=(384, 256)), jnp.float32)
layers = [{"w": rng.normal(0, 0.05, (256, 256)), "scale": np.ones(256), "shift": np.zeros(256)} for _ in range(3)]
params = jax.tree.map(lambda p: jnp.asarray(p, jnp.float32), layers)


def layer_of(p, x):
    mean, spread = x.mean(1, keepdims=True), x.std(1, keepdims=True)
    normed = (x - mean) / (spread + 1e-5) * p["scale"] + p["shift"]
    return x + jax.nn.gelu(normed @ p["w"]) * jax.nn.sigmoid(normed)


def loss_fn(params, x, y):
    for p in params:
        x = layer_of(p, x)
    return jnp.mean((x - y) ** 2)


def update(params, x, y):
    loss, grads = jax.value_and_grad(loss_fn)(params, x, y)
    return jax.tree.map(lambda p, g: p - 0.01 * g, params, grads), loss


checked = jax.jit(checkify.checkify(update, errors=checkify.float_checks))
plain = jax.jit(update)


def train_step(params, x, y):
    if FIXED:
        return plain(params, x, y)
    error, (params, loss) = checked(params, x, y)
    error.throw()
    return params, loss


params, loss = train_step(params, x, y)
for steps in windows(8):
    for step in steps:
        with jax.profiler.StepTraceAnnotation("train", step_num=step):
            params, loss = train_step(params, x, y)
            loss.block_until_ready()
