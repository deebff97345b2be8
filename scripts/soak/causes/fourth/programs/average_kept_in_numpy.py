"""JAX training that keeps the moving average of its weights in NumPy arrays, renewed after every step."""

import jax
import jax.numpy as jnp
import numpy as np
from window import FIXED, windows

rng = np.random.default_rng(0)
params = {f"layer{i}": jnp.asarray(rng.normal(0, 0.03, (1024, 1024)), jnp.float32) for i in range(6)}
x = jnp.asarray(rng.normal(size=(8, 1024)), jnp.float32)
y = jnp.asarray(rng.normal(size=(8, 1024)), jnp.float32)


def loss_fn(params, x, y):
    for w in params.values():
        x = jnp.tanh(x @ w)
    return jnp.mean((x - y) ** 2)


@jax.jit
def train_step(params, average, x, y):
    loss, grads = jax.value_and_grad(loss_fn)(params, x, y)
    params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    if FIXED:
        average = jax.tree.map(lambda a, p: 0.999 * a + 0.001 * p, average, params)
    return params, average, loss


def update_average(average, params):
    return {name: 0.999 * average[name] + 0.001 * np.asarray(value) for name, value in params.items()}


def train(state):
    params, average, on_host = state
    params, average, loss = train_step(params, average, x, y)
    if not FIXED:
        on_host = update_average(on_host, params)
    loss.block_until_ready()
    return params, average, on_host


on_host = {name: np.array(value) for name, value in params.items()}
state = params, jax.tree.map(jnp.array, params) if FIXED else {}, on_host
state = train(state)
for steps in windows(8):
    for step in steps:
        with jax.profiler.StepTraceAnnotation("train", step_num=step):
            state = train(state)
