"""JAX training whose examples are a file each, 160 of which are opened for a batch."""

import tempfile
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from window import FIXED, windows

rng = np.random.default_rng(0)
folder = tempfile.TemporaryDirectory()
root = Path(folder.name)
EXAMPLES, BATCH = 3000, 160
rows = rng.normal(size=(EXAMPLES, 400)).astype(np.float32)
for i, row in enumerate(rows):
    np.save(root / f"{i:05}.npy", row)
np.save(root / "all.npy", rows)
stored = np.load(root / "all.npy", mmap_mode="r")
params = [jnp.asarray(rng.normal(0, 0.05, s), jnp.float32) for s in [(400, 800), (800, 800), (800, 400)]]


def read_batch(step):
    picked = np.random.default_rng(step).integers(0, EXAMPLES, BATCH)
    if FIXED:
        return stored[picked]
    return np.stack([np.load(root / f"{i:05}.npy") for i in picked])


def loss_fn(params, x):
    hidden = x
    for w in params[:-1]:
        hidden = jax.nn.relu(hidden @ w)
    return jnp.mean((hidden @ params[-1] - x) ** 2)


@jax.jit
def train_step(params, x):
    loss, grads = jax.value_and_grad(loss_fn)(params, x)
    return [p - 0.01 * g for p, g in zip(params, grads)], loss


params, loss = train_step(params, read_batch(0))
for steps in windows(8):
    for step in steps:
        with jax.profiler.StepTraceAnnotation("train", step_num=step):
            params, loss = train_step(params, read_batch(step))
            loss.block_until_ready()
