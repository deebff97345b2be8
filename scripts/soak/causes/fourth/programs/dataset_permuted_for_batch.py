"""JAX training that brings its whole dataset into a new order to take one batch from it."""

import jax
import jax.numpy as jnp
import numpy as np
from window import FIXED, windows

rng = np.random.default_rng(0)
images = rng.normal(size=(12000, 784)).astype(np.float32)
labels = rng.integers(0, 10, 12000)
params = [jnp.asarray(rng.normal(0, 0.05, size), jnp.float32) for size in [(784, 1024), (1024, 1024), (1024, 10)]]


def draw_batch():
    order = rng.permutation(len(images))
    if FIXED:
        picked = order[:256]
        return images[picked], labels[picked]
    shuffled_images, shuffled_labels = images[order], labels[order]
    return shuffled_images[:256], shuffled_labels[:256]


def loss_fn(params, x, y):
    for w in params[:-1]:
        x = jax.nn.relu(x @ w)
    return -jnp.take_along_axis(jax.nn.log_softmax(x @ params[-1]), y[:, None], 1).mean()


@jax.jit
def train_step(params, x, y):
    loss, grads = jax.value_and_grad(loss_fn)(params, x, y)
    return [p - 0.1 * g for p, g in zip(params, grads)], loss


params, loss = train_step(params, *draw_batch())
for steps in windows(8):
    for step in steps:
        with jax.profiler.StepTraceAnnotation("train", step_num=step):
            params, loss = train_step(params, *draw_batch())
            loss.block_until_ready()
