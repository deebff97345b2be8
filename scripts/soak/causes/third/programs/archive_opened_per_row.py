"""JAX training whose rows are read one by one from a compressed NumPy archive."""

import tempfile
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from window import FIXED, windows

rng = np.random.default_rng(0)
file = Path(tempfile.mkdtemp()) / "data.npz"
np.savez_compressed(file, x=rng.integers(0, 4, (400, 128)).astype(np.float32), y=rng.integers(0, 10, 400))
archive = np.load(file)
if FIXED:
    archive = {"x": archive["x"], "y": archive["y"]}
params = [jnp.asarray(rng.normal(0, 0.1, (128, 512)), jnp.float32), jnp.zeros((512, 10))]


def read_batch(rows):
    x = np.stack([archive["x"][row] for row in rows])
    y = np.stack([archive["y"][row] for row in rows])
    return x, y


def loss_fn(params, x, y):
    for _ in range(12):
        x = jnp.tanh(jnp.tanh(x @ params[0]) @ params[0].T)
    logits = jnp.tanh(x @ params[0]) @ params[1]
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), y[:, None], 1).mean()


@jax.jit
def train_step(params, x, y):
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, jax.grad(loss_fn)(params, x, y))


params = train_step(params, *read_batch(range(32)))
for steps in windows(12):
    for step in steps:
        with jax.profiler.StepTraceAnnotation("train", step_num=step):
            x, y = read_batch(rng.integers(0, 400, 32))
            params = jax.block_until_ready(train_step(params, x, y))
