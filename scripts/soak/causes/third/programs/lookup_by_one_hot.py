"""JAX language model that looks its words up by a product with one-hot vectors."""

import jax
import jax.numpy as jnp
import numpy as np
from window import FIXED, LOGDIR, timed

VOCABULARY, WIDTH = 8000, 128
rng = np.random.default_rng(0)
params = {
    "table": jnp.asarray(rng.normal(0, 0.05, (VOCABULARY, WIDTH)), jnp.float32),
    "layers": [jnp.asarray(rng.normal(0, 0.05, (WIDTH, WIDTH)), jnp.float32) for _ in range(4)],
    "head": jnp.asarray(rng.normal(0, 0.05, (WIDTH, 32)), jnp.float32),
}
tokens = jnp.asarray(rng.integers(0, VOCABULARY, (16, 48)))
labels = jnp.asarray(rng.integers(0, 32, 16))


def embed(table, tokens):
    if FIXED:
        return table[tokens]
    return jax.nn.one_hot(tokens, VOCABULARY) @ table


def loss_fn(params):
    x = embed(params["table"], tokens)
    for w in params["layers"]:
        x = x + jax.nn.relu(x @ w)
    scores = jax.nn.log_softmax(x.mean(1) @ params["head"])
    return -jnp.take_along_axis(scores, labels[:, None], 1).mean()


@jax.jit
def train_step(params):
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, jax.grad(loss_fn)(params))


def train(params, steps):
    for step in steps:
        with jax.profiler.StepTraceAnnotation("train", step_num=step):
            params = jax.block_until_ready(train_step(params))
    return params


params = train(params, range(2))
for steps in timed(12):
    params = train(params, steps)
if LOGDIR:
    options = jax.profiler.ProfileOptions()
    options.python_tracer_level = 0
    with jax.profiler.trace(LOGDIR, profiler_options=options):
        train(params, range(60, 72))
