"""JAX training that reads each of its batches from a CSV file."""

import tempfile
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from window import FIXED, windows

rng = np.random.default_rng(0)
folder = tempfile.TemporaryDirectory()
for i in range(6):
    table = rng.normal(size=(384, 65)).astype(np.float32)
    np.savetxt(Path(folder.name) / f"part{i}.csv", table, delimiter=",")
    np.save(Path(folder.name) / f"part{i}.npy", table)
params = [jnp.asarray(rng.normal(0, 0.05, size), jnp.float32) for size in [(64, 1024), (1024, 1024), (1024, 1)]]


def read_part(number):
    path = Path(folder.name) / f"part{number}"
    table = np.load(f"{path}.npy") if FIXED else np.loadtxt(f"{path}.csv", np.float32, delimiter=",")
    return table[:, :-1], table[:, -1:]


def loss_fn(params, x, y):
    for w in params[:-1]:
        x = jax.nn.relu(x @ w)
    return jnp.mean((x @ params[-1] - y) ** 2)


@jax.jit
def train_step(params, x, y):
    loss, grads = jax.value_and_grad(loss_fn)(params, x, y)
    return [p - 0.01 * g for p, g in zip(params, grads)], loss


params, loss = train_step(params, *read_part(0))
for steps in windows(8):
    for step in steps:
        with jax.profiler.StepTraceAnnotation("train", step_num=step):
            params, loss = train_step(params, *read_part(step % 6))
            loss.block_until_ready()
