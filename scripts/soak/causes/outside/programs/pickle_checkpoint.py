"""A JAX training loop that pickles its whole state to disk every fifth step."""

import pickle
import tempfile

import jax
import jax.numpy as jnp
import numpy as np
from window import FIXED, windows

SAVE_EVERY = 10_000 if FIXED else 5
rng = np.random.default_rng(0)
params = [jnp.asarray(rng.normal(0, 0.02, (1024, 1024)), jnp.float32) for _ in range(6)]
batch = jnp.asarray(rng.normal(size=(16, 1024)), jnp.float32)


def loss_fn(params, x):
    for w in params:
        x = jax.nn.relu(x @ w) + x
    return jnp.mean(x**2)


@jax.jit
def train_step(params, x):
    loss, grads = jax.value_and_grad(loss_fn)(params, x)
    return [p - 1e-3 * g for p, g in zip(params, grads)], loss


params, loss = train_step(params, batch)
folder = tempfile.mkdtemp()
for steps in windows(20):
    for step in steps:
        with jax.profiler.StepTraceAnnotation("train", step_num=step):
            params, loss = train_step(params, batch)
            if step % SAVE_EVERY == SAVE_EVERY - 1:
                with open(f"{folder}/state.pkl", "wb") as file:
                    pickle.dump({"step": step, "params": jax.device_get(params)}, file)
    loss.block_until_ready()
