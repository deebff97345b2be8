"""A JAX optimizer like Shampoo that decomposes the statistics of every layer at every step."""

import jax
import jax.numpy as jnp
import numpy as np
from window import FIXED, windows

EVERY = 100 if FIXED else 1
WIDTH, LAYERS = 96, 3
rng = np.random.default_rng(0)
params = [jnp.asarray(rng.normal(0, 0.08, (WIDTH, WIDTH)), jnp.float32) for _ in range(LAYERS)]
statistics = [jnp.eye(WIDTH) for _ in range(LAYERS)]
roots = [jnp.eye(WIDTH) for _ in range(LAYERS)]
x = jnp.asarray(rng.normal(size=(3072, WIDTH)), jnp.float32)


def loss_fn(params, x):
    for w in params:
        x = jnp.tanh(x @ w)
    return jnp.mean((x - 0.5) ** 2)


@jax.jit
def gradients(params, statistics, x):
    grads = jax.grad(loss_fn)(params, x)
    return grads, [0.95 * s + g @ g.T for s, g in zip(statistics, grads)]


@jax.jit
def inverse_roots(statistics):
    roots = []
    for s in statistics:
        values, vectors = jnp.linalg.eigh(s + 1e-6 * jnp.eye(WIDTH))
        roots.append(vectors * jnp.maximum(values, 1e-6) ** -0.25 @ vectors.T)
    return roots


@jax.jit
def apply(params, roots, grads):
    return [w - 1e-3 * root @ g for w, root, g in zip(params, roots, grads)]


def train_step(step):
    global params, statistics, roots
    grads, statistics = gradients(params, statistics, x)
    if step % EVERY == 0:
        roots = inverse_roots(statistics)
    params = apply(params, roots, grads)


train_step(0)
for steps in windows(14):
    for step in steps:
        with jax.profiler.StepTraceAnnotation("train", step_num=step):
            train_step(step + 1)
    jax.block_until_ready(params)
