"""A JAX agent that gathers each batch from its replay buffer row by row, with an op per row."""

import jax
import jax.numpy as jnp
import numpy as np
from window import FIXED, windows

rng = np.random.default_rng(0)
buffer = {
    "state": jnp.asarray(rng.normal(size=(20_000, 64)), jnp.float32),
    "reward": jnp.asarray(rng.normal(size=20_000), jnp.float32),
}
params = [jnp.asarray(rng.normal(0, 0.05, s), jnp.float32) for s in ((64, 1024), (1024, 1024), (1024, 1))]


@jax.jit
def train_step(params, state, reward):
    def loss(params):
        x = state
        for w in params[:-1]:
            x = jax.nn.relu(x @ w)
        return jnp.mean(((x @ params[-1])[:, 0] - reward) ** 2)

    value, grads = jax.value_and_grad(loss)(params)
    return [p - 1e-3 * g for p, g in zip(params, grads)], value


@jax.jit
def gather(buffer, indices):
    return buffer["state"][indices], buffer["reward"][indices]


def sample(size=128):
    indices = rng.integers(0, 20_000, size)
    if FIXED:
        return gather(buffer, indices)
    state = jnp.stack([buffer["state"][i] for i in indices])
    reward = jnp.stack([buffer["reward"][i] for i in indices])
    return state, reward


params, loss = train_step(params, *sample())
for steps in windows(12):
    for step in steps:
        with jax.profiler.StepTraceAnnotation("train", step_num=step):
            params, loss = train_step(params, *sample())
    loss.block_until_ready()
