"""A JAX training loop that reads each batch from a compressed .npz file."""

import tempfile

import jax
import jax.numpy as jnp
import numpy as np
from window import FIXED, windows

rng = np.random.default_rng(0)
folder = tempfile.mkdtemp()
for i in range(4):
    batch = np.round(rng.normal(size=(256, 1024)), 2).astype(np.float32)
    np.save(f"{folder}/{i}.npy", batch)
    np.savez_compressed(f"{folder}/{i}.npz", x=batch)
w = jnp.asarray(rng.normal(0, 0.03, (1024, 512)), jnp.float32)


def load(i):
    return np.load(f"{folder}/{i}.npy") if FIXED else np.load(f"{folder}/{i}.npz")["x"]


@jax.jit
def train_step(w, x):
    loss, grad = jax.value_and_grad(lambda w: jnp.mean(jnp.tanh(x @ w) ** 2))(w)
    return w - 0.1 * grad, loss


w, loss = train_step(w, load(0))
for steps in windows(25):
    for step in steps:
        with jax.profiler.StepTraceAnnotation("train", step_num=step):
            x = load(step % 4)
            w, loss = train_step(w, x)
            loss.block_until_ready()
