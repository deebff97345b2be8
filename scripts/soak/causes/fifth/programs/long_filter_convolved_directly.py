"""JAX audio denoiser whose room responses of 512 samples are applied by a direct convolution."""

import jax
import jax.numpy as jnp
import numpy as np
from window import FIXED, windows

TAPS, SAMPLES = 512, 4096
rng = np.random.default_rng(0)
clean = jnp.asarray(rng.normal(size=(4, SAMPLES)), jnp.float32)
rooms = jnp.asarray(rng.normal(size=(4, TAPS)) * np.exp(-np.arange(TAPS) / 300), jnp.float32)
params = [jnp.asarray(rng.normal(0, 0.1, size), jnp.float32) for size in [(64, 128), (128, 64)]]


def reverberate(sound, room):
    if FIXED:
        size = SAMPLES + TAPS - 1
        return jnp.fft.irfft(jnp.fft.rfft(sound, size) * jnp.fft.rfft(room, size), size)[:SAMPLES]
    return jnp.convolve(sound, room, mode="full")[:SAMPLES]


def loss_fn(params, heard, clean):
    frames = heard.reshape(-1, 64)
    return jnp.mean((jax.nn.gelu(frames @ params[0]) @ params[1] - clean.reshape(-1, 64)) ** 2)


@jax.jit
def train_step(params, clean, rooms):
    heard = jax.vmap(reverberate)(clean, rooms)
    loss, grads = jax.value_and_grad(loss_fn)(params, heard, clean)
    return [p - 0.01 * g for p, g in zip(params, grads)], loss


params, loss = train_step(params, clean, rooms)
for steps in windows(8):
    for step in steps:
        with jax.profiler.StepTraceAnnotation("train", step_num=step):
            params, loss = train_step(params, clean, rooms)
            loss.block_until_ready()
