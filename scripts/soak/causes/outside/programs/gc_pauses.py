"""A JAX training loop that collects garbage every fifth step, beside annotations held as millions of Python objects."""

import gc

import jax
import jax.numpy as jnp
import numpy as np
from window import FIXED, windows

rng = np.random.default_rng(0)
samples = [{"id": i, "tags": [i, i + 1], "box": (i, [i])} for i in range(400_000)]  # the annotations of a dataset
if FIXED:
    gc.collect()
    gc.freeze()
w = jnp.asarray(rng.normal(0, 0.05, (512, 512)), jnp.float32)
x = rng.normal(size=(256, 512)).astype(np.float32)


@jax.jit
def train_step(w, x):
    loss, grad = jax.value_and_grad(lambda w: jnp.mean(jnp.tanh(jnp.tanh(x @ w) @ w) ** 2))(w)
    return w - 0.1 * grad, loss


def collate(step):
    """The annotations of a batch, as new objects."""
    chosen = [samples[(step * 997 + i) % len(samples)] for i in range(3000)]
    records = [{"id": s["id"], "tags": list(s["tags"]), "box": [list(s["box"])]} for s in chosen]
    return np.float32(sum(len(r["tags"]) for r in records))


w, loss = train_step(w, x)
kept = []
for steps in windows(30):
    for step in steps:
        with jax.profiler.StepTraceAnnotation("train", step_num=step):
            kept.append([[i] for i in range(2000)])  # a metrics history that grows
            w, loss = train_step(w, x * collate(step) * 1e-4)
            loss.block_until_ready()
        if step % 5 == 4:
            gc.collect() if not FIXED else gc.collect(0)
