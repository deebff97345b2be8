"""Greedy generation with a small decoder and a key/value cache."""

import jax
import jax.numpy as jnp
from window import FIXED, windows

WARMUP = 6
LAYERS, BATCH, HEADS, LENGTH, DIM = 6, 4, 8, 640, 64
MODEL = HEADS * DIM
VOCAB = 2048


def init_params(key):
    params = {"embed": jax.random.normal(key, (VOCAB, MODEL)) * 0.02, "layers": []}
    for layer in range(LAYERS):
        keys = jax.random.split(jax.random.fold_in(key, layer), 3)
        params["layers"].append(
            {
                "qkv": jax.random.normal(keys[0], (MODEL, 3 * MODEL)) * 0.02,
                "out": jax.random.normal(keys[1], (MODEL, MODEL)) * 0.02,
                "up": jax.random.normal(keys[2], (MODEL, 4 * MODEL)) * 0.02,
                "down": jax.random.normal(keys[2], (4 * MODEL, MODEL)) * 0.02,
            }
        )
    return params


def init_cache():
    shape = (BATCH, HEADS, LENGTH, DIM)
    return [{"k": jnp.zeros(shape), "v": jnp.zeros(shape)} for _ in range(LAYERS)]


def norm(x):
    return x * jax.lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + 1e-6)


def attend(layer, x, cache, position):
    q, k, v = jnp.split(norm(x) @ layer["qkv"], 3, axis=-1)
    q, k, v = (t.reshape(BATCH, HEADS, DIM) for t in (q, k, v))
    keys = jax.lax.dynamic_update_slice(cache["k"], k[:, :, None], (0, 0, position, 0))
    values = jax.lax.dynamic_update_slice(cache["v"], v[:, :, None], (0, 0, position, 0))
    scores = jnp.einsum("bhd,bhtd->bht", q, keys) / DIM**0.5
    scores = jnp.where(jnp.arange(LENGTH) <= position, scores, -1e9)
    mixed = jnp.einsum("bht,bhtd->bhd", jax.nn.softmax(scores), values)
    return mixed.reshape(BATCH, MODEL) @ layer["out"], {"k": keys, "v": values}


def decode_step(params, cache, tokens, position):
    x = params["embed"][tokens]
    new_cache = []
    for layer, entry in zip(params["layers"], cache):
        mixed, entry = attend(layer, x, entry, position)
        x = x + mixed
        x = x + jax.nn.gelu(norm(x) @ layer["up"]) @ layer["down"]
        new_cache.append(entry)
    logits = norm(x) @ params["embed"].T
    return jnp.argmax(logits, axis=-1), new_cache


class Generator:
    def __init__(self):
        self.params = init_params(jax.random.key(0))
        self.cache = init_cache()
        self.tokens = jnp.arange(BATCH)
        self.position = 400
        self.decode = jax.jit(decode_step, donate_argnums=(1,) if FIXED else ())

    def step(self, i):
        self.tokens, self.cache = self.decode(self.params, self.cache, self.tokens, self.position)
        jax.block_until_ready(self.tokens)
        self.position += 1


trainer = Generator()
for i in range(WARMUP):
    trainer.step(i)
for steps in windows(12):
    for i in steps:
        with jax.profiler.StepTraceAnnotation("decode", step_num=i):
            trainer.step(i + WARMUP)
