"""A JAX diffusion sampler that reads its noise level and looks for NaN on the host at each denoising step."""

import jax
import jax.numpy as jnp
import numpy as np
from window import FIXED, windows

rng = np.random.default_rng(0)
weights = [jnp.asarray(rng.normal(0, 0.03, (512, 512)), jnp.float32) for _ in range(3)]
alphas = jnp.cumprod(1 - jnp.linspace(1e-4, 0.02, 64))
DENOISING = 40


def denoise(weights, x, alpha, previous):
    noise = x
    for w in weights:
        noise = jnp.tanh(noise @ w)
    clean = (x - jnp.sqrt(1 - alpha) * noise) / jnp.sqrt(alpha)
    return jnp.sqrt(previous) * clean + jnp.sqrt(1 - previous) * noise


denoise_jit = jax.jit(denoise)


@jax.jit
def denoise_all(weights, x):
    def body(i, x):
        t = DENOISING - i
        return denoise(weights, x, alphas[t], alphas[t - 1])

    return jax.lax.fori_loop(0, DENOISING, body, x)


def sample(weights, x):
    if FIXED:
        return denoise_all(weights, x)
    for t in range(DENOISING, 0, -1):
        alpha, previous = float(alphas[t]), float(alphas[t - 1])
        x = denoise_jit(weights, x, alpha, previous)
        if not np.isfinite(np.asarray(x)).all():
            raise ValueError("diverged")
    return x


noise = jnp.asarray(rng.normal(size=(8, 512)), jnp.float32)
sample(weights, noise)
for steps in windows(12):
    for step in steps:
        with jax.profiler.StepTraceAnnotation("sample", step_num=step):
            sample(weights, noise).block_until_ready()
