"""Healthy JAX training of a small transformer, whose layers are scanned within one jitted step."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from window import windows

LAYERS, WIDTH, HEADS, LENGTH, WORDS = 3, 128, 4, 64, 1000
rng = np.random.default_rng(0)
shapes = {"qkv": (WIDTH, 3 * WIDTH), "out": (WIDTH, WIDTH), "up": (WIDTH, 4 * WIDTH), "down": (4 * WIDTH, WIDTH)}
layers = {name: jnp.asarray(rng.normal(0, 0.04, (LAYERS, *s)), jnp.float32) for name, s in shapes.items()}
state = {"layers": layers, "words": jnp.asarray(rng.normal(0, 0.04, (WORDS, WIDTH)), jnp.float32)}
tokens = [jnp.asarray(rng.integers(0, WORDS, (4, LENGTH + 1))) for _ in range(4)]


def norm(x):
    return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6)


def block(x, p):
    q, k, v = jnp.split((norm(x) @ p["qkv"]).reshape(4, LENGTH, 3 * HEADS, -1), 3, axis=2)
    x = x + jax.nn.dot_product_attention(q, k, v, is_causal=True).reshape(x.shape) @ p["out"]
    return x + jax.nn.gelu(norm(x) @ p["up"]) @ p["down"], None


def loss_fn(state, tokens):
    x, _ = jax.lax.scan(block, state["words"][tokens[:, :-1]], state["layers"])
    odds = jax.nn.log_softmax(norm(x) @ state["words"].T)
    return -jnp.take_along_axis(odds, tokens[:, 1:, None], 2).mean()


@partial(jax.jit, donate_argnums=0)
def train_step(state, tokens):
    loss, grads = jax.value_and_grad(loss_fn)(state, tokens)
    return jax.tree.map(lambda p, g: p - 0.1 * g, state, grads), loss


state, loss = train_step(state, tokens[0])
for steps in windows(6):
    for step in steps:
        with jax.profiler.StepTraceAnnotation("train", step_num=step):
            state, loss = train_step(state, tokens[step % 4])
            loss.block_until_ready()
