"""A JAX training loop that crops and flips its images one by one in Python before each step."""

import jax
import jax.numpy as jnp
import numpy as np
from window import FIXED, windows

rng = np.random.default_rng(0)
images = rng.integers(0, 255, (512, 40, 40, 3), dtype=np.uint8)
w = jnp.asarray(rng.normal(0, 0.01, (32 * 32 * 3, 256)), jnp.float32)


@jax.jit
def train_step(w, x):
    loss, grad = jax.value_and_grad(lambda w: jnp.mean(jnp.tanh(x.reshape(len(x), -1) @ w) ** 2))(w)
    return w - 0.1 * grad, loss


def augment_one(image):
    top, left = rng.integers(0, 8, 2)
    image = image[top : top + 32, left : left + 32].astype(np.float32) / 255
    if rng.random() < 0.5:
        image = image[:, ::-1]
    image = (image - image.mean(axis=(0, 1))) / (image.std(axis=(0, 1)) + 1e-6)
    return np.clip(image + rng.normal(0, 0.05, image.shape), -3, 3).astype(np.float32)


@jax.jit
def augment_all(key, images):
    def one(key, image):
        crop, flip, noise = jax.random.split(key, 3)
        start = jax.random.randint(crop, (2,), 0, 8)
        image = jax.lax.dynamic_slice(image, (start[0], start[1], 0), (32, 32, 3)).astype(jnp.float32) / 255
        image = jnp.where(jax.random.bernoulli(flip), image[:, ::-1], image)
        image = (image - image.mean(axis=(0, 1))) / (image.std(axis=(0, 1)) + 1e-6)
        return jnp.clip(image + 0.05 * jax.random.normal(noise, image.shape), -3, 3)

    return jax.vmap(one)(jax.random.split(key, len(images)), images)


def next_batch(step):
    chosen = images[rng.integers(0, len(images), 64)]
    return augment_all(jax.random.key(step), chosen) if FIXED else np.stack([augment_one(i) for i in chosen])


w, loss = train_step(w, next_batch(0))
for steps in windows(30):
    for step in steps:
        with jax.profiler.StepTraceAnnotation("train", step_num=step):
            batch = next_batch(step)
            w, loss = train_step(w, batch)
            loss.block_until_ready()
