"""A JAX model that looks its embeddings up by multiplying with one-hot rows."""

import jax
import jax.numpy as jnp
import numpy as np
from window import FIXED, windows

VOCABULARY = 8000
rng = np.random.default_rng(0)
params = {"table": jnp.asarray(rng.normal(0, 0.1, (VOCABULARY, 128)), jnp.float32), "w": jnp.eye(128)}


def embed(table, tokens):
    if FIXED:
        return table[tokens]
    return jax.nn.one_hot(tokens, VOCABULARY) @ table


@jax.jit
def train_step(params, tokens):
    def loss_fn(params):
        x = embed(params["table"], tokens)
        for _ in range(12):
            x = x + jnp.tanh(x @ params["w"])
        return jnp.mean(x**2)

    loss, grads = jax.value_and_grad(loss_fn)(params)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), loss


batches = [rng.integers(0, VOCABULARY, (8, 128)) for _ in range(4)]
params, loss = train_step(params, batches[0])
for steps in windows(15):
    for step in steps:
        with jax.profiler.StepTraceAnnotation("train", step_num=step):
            params, loss = train_step(params, batches[step % 4])
            loss.block_until_ready()
