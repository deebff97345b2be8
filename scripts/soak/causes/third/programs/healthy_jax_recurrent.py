"""Healthy JAX training of a recurrent network, one jitted step with a scan over time."""

import jax
import jax.numpy as jnp
import numpy as np
from window import windows

WIDTH = 192
rng = np.random.default_rng(0)
params = {
    "in": jnp.asarray(rng.normal(0, 0.05, (WIDTH, 3 * WIDTH)), jnp.float32),
    "state": jnp.asarray(rng.normal(0, 0.05, (WIDTH, 3 * WIDTH)), jnp.float32),
    "out": jnp.asarray(rng.normal(0, 0.05, (WIDTH, 10)), jnp.float32),
}
x = jnp.asarray(rng.normal(size=(32, 64, WIDTH)), jnp.float32)
y = jnp.asarray(rng.integers(0, 10, 64))


def loss_fn(params):
    def cell(state, gates_in):
        update, reset, fresh = jnp.split(gates_in + state @ params["state"], 3, axis=1)
        fresh = jnp.tanh(fresh * jax.nn.sigmoid(reset))
        state = state + jax.nn.sigmoid(update) * (fresh - state)
        return state, None

    state, _ = jax.lax.scan(cell, jnp.zeros((64, WIDTH)), x @ params["in"])
    scores = jax.nn.log_softmax(state @ params["out"])
    return -jnp.take_along_axis(scores, y[:, None], 1).mean()


@jax.jit
def train_step(params):
    loss, grads = jax.value_and_grad(loss_fn)(params)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), loss


params, loss = train_step(params)
for steps in windows(12):
    for step in steps:
        with jax.profiler.StepTraceAnnotation("train", step_num=step):
            params, loss = train_step(params)
            jax.block_until_ready(loss)
