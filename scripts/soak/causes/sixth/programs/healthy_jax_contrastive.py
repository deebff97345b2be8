"""Contrastive training of an image and a text tower, with momentum."""

import jax
import jax.numpy as jnp
import numpy as np
from window import windows

WARMUP = 5
BATCH, PIXELS, WORDS, HIDDEN, DIM = 256, 768, 512, 512, 128


def tower(key, width):
    a, b, c = jax.random.split(key, 3)
    return {
        "w1": jax.random.normal(a, (width, HIDDEN)) * width**-0.5,
        "w2": jax.random.normal(b, (HIDDEN, HIDDEN)) * HIDDEN**-0.5,
        "w3": jax.random.normal(c, (HIDDEN, DIM)) * HIDDEN**-0.5,
    }


def embed(p, x):
    x = jax.nn.gelu(x @ p["w1"])
    x = jax.nn.gelu(x @ p["w2"])
    x = x @ p["w3"]
    return x * jax.lax.rsqrt(jnp.sum(x * x, axis=-1, keepdims=True) + 1e-6)


def loss_fn(params, images, texts):
    logits = embed(params["image"], images) @ embed(params["text"], texts).T * jnp.exp(params["temperature"])
    rows = jnp.diagonal(jax.nn.log_softmax(logits, axis=1))
    columns = jnp.diagonal(jax.nn.log_softmax(logits, axis=0))
    return -0.5 * (rows.mean() + columns.mean())


def train_step(state, images, texts):
    params, momentum = state
    loss, grads = jax.value_and_grad(loss_fn)(params, images, texts)
    momentum = jax.tree.map(lambda m, g: 0.9 * m + g, momentum, grads)
    params = jax.tree.map(lambda p, m: p - 0.01 * m, params, momentum)
    return (params, momentum), loss


class Trainer:
    def __init__(self):
        a, b = jax.random.split(jax.random.key(0))
        params = {"image": tower(a, PIXELS), "text": tower(b, WORDS), "temperature": jnp.array(1.0)}
        self.state = (params, jax.tree.map(jnp.zeros_like, params))
        self.train_step = jax.jit(train_step, donate_argnums=(0,))
        rng = np.random.default_rng(0)
        self.batches = [
            (
                jnp.asarray(rng.normal(size=(BATCH, PIXELS)), jnp.float32),
                jnp.asarray(rng.normal(size=(BATCH, WORDS)), jnp.float32),
            )
            for _ in range(6)
        ]

    def step(self, i):
        self.state, loss = self.train_step(self.state, *self.batches[i % len(self.batches)])
        jax.block_until_ready(loss)


trainer = Trainer()
for i in range(WARMUP):
    trainer.step(i)
for steps in windows(12):
    for i in steps:
        with jax.profiler.StepTraceAnnotation("train", step_num=i):
            trainer.step(i + WARMUP)
