"""A JAX training loop that rewrites a JSON file with its whole history at each step; the steps are not marked."""

import json
import tempfile

import jax
import jax.numpy as jnp
import numpy as np
from window import FIXED, windows

rng = np.random.default_rng(0)
w = jnp.asarray(rng.normal(0, 0.05, (512, 512)), jnp.float32)
x = jnp.asarray(rng.normal(size=(256, 512)), jnp.float32)
history = [{"step": -i, "loss": 0.1 * i, "rates": [0.1] * 4} for i in range(4000)]
path = tempfile.mktemp()


@jax.jit
def train_step(w, x):
    loss, grad = jax.value_and_grad(lambda w: jnp.mean(jnp.tanh(jnp.tanh(x @ w) @ w) ** 2))(w)
    return w - 0.1 * grad, loss


w, loss = train_step(w, x)
for steps in windows(25):
    for step in steps:
        w, loss = train_step(w, x)
        history.append({"step": step, "loss": loss if FIXED else float(loss), "rates": [0.1] * 4})
        if not FIXED:
            with open(path, "w") as file:
                json.dump(history, file)
    loss.block_until_ready()
