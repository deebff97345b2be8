"""A JAX fine-tuning step that merges its low-rank adapters into the large frozen matrices before it uses them."""

import jax
import jax.numpy as jnp
import numpy as np
from window import FIXED, windows

WIDTH, RANK, LAYERS = 1024, 64, 4
rng = np.random.default_rng(0)
frozen = [jnp.asarray(rng.normal(0, 0.02, (WIDTH, WIDTH)), jnp.float32) for _ in range(LAYERS)]
adapters = [
    {"a": jnp.asarray(rng.normal(0, 0.02, (WIDTH, RANK)), jnp.float32), "b": jnp.zeros((RANK, WIDTH))}
    for _ in range(LAYERS)
]
x = jnp.asarray(rng.normal(size=(16, WIDTH)), jnp.float32)


def layer(w, adapter, x):
    if FIXED:
        return x @ w + (x @ adapter["a"]) @ adapter["b"]
    merged = w + adapter["a"] @ adapter["b"]
    return x @ merged


def loss_fn(adapters, frozen, x):
    for w, adapter in zip(frozen, adapters):
        x = jnp.tanh(layer(w, adapter, x))
    return jnp.mean(x**2)


@jax.jit
def train_step(adapters, frozen, x):
    loss, grads = jax.value_and_grad(loss_fn)(adapters, frozen, x)
    return jax.tree.map(lambda p, g: p - 1e-2 * g, adapters, grads), loss


adapters, loss = train_step(adapters, frozen, x)
for steps in windows(15):
    for step in steps:
        with jax.profiler.StepTraceAnnotation("train", step_num=step):
            adapters, loss = train_step(adapters, frozen, x)
    loss.block_until_ready()
