"""JAX training on packed texts whose attention mask is built position by position on the host."""

import jax
import jax.numpy as jnp
import numpy as np
from window import FIXED, windows

BATCH, LENGTH, WIDTH = 4, 128, 96
rng = np.random.default_rng(0)
params = [jnp.asarray(rng.normal(0, 0.08, (WIDTH, 4 * WIDTH)), jnp.float32) for _ in range(3)]
texts = [np.sort(rng.integers(0, 6, (BATCH, LENGTH)), axis=1) for _ in range(4)]
x = jnp.asarray(rng.normal(size=(BATCH, LENGTH, WIDTH)), jnp.float32)


def packing_mask(text):
    mask = np.zeros((BATCH, LENGTH, LENGTH), bool)
    for row in range(BATCH):
        for i in range(LENGTH):
            for j in range(i + 1):
                if text[row, i] == text[row, j]:
                    mask[row, i, j] = True
    return mask


def loss_fn(params, x, mask):
    if FIXED:
        mask = (mask[:, :, None] == mask[:, None, :]) & jnp.tri(LENGTH, dtype=bool)
    for w in params:
        q, k, v, o = jnp.split(x @ w, 4, axis=-1)
        scores = jnp.where(mask, jnp.einsum("bik,bjk->bij", q, k) / 10, -1e9)
        x = x + jnp.tanh(o) * (jax.nn.softmax(scores) @ v)
    return jnp.mean(x**2)


@jax.jit
def train_step(params, x, mask):
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, jax.grad(loss_fn)(params, x, mask))


params = train_step(params, x, texts[0] if FIXED else packing_mask(texts[0]))
for steps in windows(12):
    for step in steps:
        with jax.profiler.StepTraceAnnotation("train", step_num=step):
            text = texts[step % 4]
            params = train_step(params, x, text if FIXED else packing_mask(text))
            jax.block_until_ready(params)
