"""Sampling from a small text-conditioned diffusion model."""

import jax
import jax.numpy as jnp
from window import FIXED, windows

WARMUP = 5
BATCH, WORDS, PATCHES, DIM, HEADS = 2, 77, 128, 256, 4
ENCODER_LAYERS, DENOISER_LAYERS, LEVELS = 4, 4, 64


def block_params(key):
    a, b, c, d = jax.random.split(key, 4)
    return {
        "qkv": jax.random.normal(a, (DIM, 3 * DIM)) * 0.03,
        "out": jax.random.normal(b, (DIM, DIM)) * 0.03,
        "up": jax.random.normal(c, (DIM, 4 * DIM)) * 0.03,
        "down": jax.random.normal(d, (4 * DIM, DIM)) * 0.03,
    }


def block(p, x):
    batch, length, _ = x.shape
    normed = (x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-6)
    q, k, v = (t.reshape(batch, length, HEADS, -1) for t in jnp.split(normed @ p["qkv"], 3, axis=-1))
    weights = jax.nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", q, k) / 8.0)
    x = x + jnp.einsum("bhqk,bkhd->bqhd", weights, v).reshape(batch, length, DIM) @ p["out"]
    return x + jax.nn.gelu(x @ p["up"]) @ p["down"]


def encode_prompt(params, tokens):
    x = params["words"][tokens]
    for p in params["encoder"]:
        x = block(p, x)
    return x.mean(axis=1, keepdims=True)


def predict_noise(params, latents, level, context):
    x = latents + context + params["levels"][level]
    for p in params["denoiser"]:
        x = block(p, x)
    return x


@jax.jit
def denoise(params, latents, level, prompt, key):
    context = prompt if FIXED else encode_prompt(params, prompt)
    noise = predict_noise(params, latents, level, context)
    alpha = 1.0 - 0.5 * level / LEVELS
    mean = (latents - (1 - alpha) * noise) / jnp.sqrt(alpha)
    return mean + 0.01 * jax.random.normal(key, latents.shape)


class Sampler:
    def __init__(self):
        key = jax.random.key(0)
        self.params = {
            "words": jax.random.normal(key, (4096, DIM)) * 0.1,
            "levels": jax.random.normal(key, (LEVELS, DIM)) * 0.1,
            "encoder": [block_params(jax.random.fold_in(key, i)) for i in range(ENCODER_LAYERS)],
            "denoiser": [block_params(jax.random.fold_in(key, 100 + i)) for i in range(DENOISER_LAYERS)],
        }
        self.tokens = jax.random.randint(key, (BATCH, WORDS), 0, 4096)
        self.prompt = jax.jit(encode_prompt)(self.params, self.tokens) if FIXED else self.tokens
        self.latents = jax.random.normal(key, (BATCH, PATCHES, DIM))
        self.key = key

    def step(self, i):
        self.key, key = jax.random.split(self.key)
        level = LEVELS - 1 - i % LEVELS
        self.latents = denoise(self.params, self.latents, level, self.prompt, key)
        jax.block_until_ready(self.latents)


trainer = Sampler()
for i in range(WARMUP):
    trainer.step(i)
for steps in windows(8):
    for i in steps:
        with jax.profiler.StepTraceAnnotation("denoise", step_num=i):
            trainer.step(i + WARMUP)
