"""A JAX transformer that generates text without a cache: each token runs the whole padded sequence again."""

import jax
import jax.numpy as jnp
import numpy as np
from window import FIXED, windows

LAYERS, WIDTH, HEADS, LENGTH, VOCABULARY = 4, 256, 4, 128, 2000
rng = np.random.default_rng(0)


def matrix(*shape):
    return jnp.asarray(rng.normal(0, 0.05, shape), jnp.float32)


params = [
    {
        "qkv": matrix(WIDTH, 3 * WIDTH),
        "out": matrix(WIDTH, WIDTH),
        "up": matrix(WIDTH, 1024),
        "down": matrix(1024, WIDTH),
    }
    for _ in range(LAYERS)
]
table = matrix(VOCABULARY, WIDTH)


def attend(q, k, v, mask):
    q, k, v = (x.reshape(x.shape[0], HEADS, -1) for x in (q, k, v))
    scores = jnp.einsum("qhd,khd->hqk", q, k) / 8 + jnp.where(mask, 0, -1e9)
    return jnp.einsum("hqk,khd->qhd", jax.nn.softmax(scores), v).reshape(q.shape[0], WIDTH)


def mlp(layer, x):
    return x + jax.nn.gelu(x @ layer["up"]) @ layer["down"]


@jax.jit
def forward(params, tokens, position):
    x = table[tokens]
    mask = jnp.tril(jnp.ones((LENGTH, LENGTH), bool))
    for layer in params:
        q, k, v = jnp.split(x @ layer["qkv"], 3, axis=-1)
        x = mlp(layer, x + attend(q, k, v, mask) @ layer["out"])
    token = jnp.argmax(x[position] @ table.T)
    return tokens.at[position + 1].set(token)


@jax.jit
def forward_cached(params, tokens, position, cache):
    x = table[tokens[position]][None]
    mask = jnp.arange(LENGTH)[None] <= position
    kept = []
    for layer, (keys, values) in zip(params, cache):
        q, k, v = jnp.split(x @ layer["qkv"], 3, axis=-1)
        keys, values = (jax.lax.dynamic_update_slice(a, b, (position, 0)) for a, b in ((keys, k), (values, v)))
        kept.append((keys, values))
        x = mlp(layer, x + attend(q, keys, values, mask) @ layer["out"])
    token = jnp.argmax(x[0] @ table.T)
    return tokens.at[position + 1].set(token), kept


tokens = jnp.zeros(LENGTH, jnp.int32)
cache = [(jnp.zeros((LENGTH, WIDTH)), jnp.zeros((LENGTH, WIDTH))) for _ in range(LAYERS)]


def generate(position):
    global tokens, cache
    if FIXED:
        tokens, cache = forward_cached(params, tokens, position, cache)
    else:
        tokens = forward(params, tokens, position)


generate(0)
for steps in windows(24):
    for step in steps:
        with jax.profiler.StepTraceAnnotation("token", step_num=step):
            generate(step % (LENGTH - 1))
            tokens.block_until_ready()
