"""Healthy JAX training of a denoiser that draws its noise within the jitted step."""

import jax
import jax.numpy as jnp
import numpy as np
from window import windows

rng = np.random.default_rng(0)
sizes = [(513, 512), (512, 512), (512, 512)]
params = [jnp.asarray(rng.normal(0, 0.04, size), jnp.float32) for size in sizes]
images = jnp.asarray(rng.normal(size=(512, 512)), jnp.float32)


def loss_fn(params, images, key):
    time_key, noise_key = jax.random.split(key)
    time = jax.random.uniform(time_key, (len(images), 1))
    noise = jax.random.normal(noise_key, images.shape)
    x = jnp.concatenate([jnp.sqrt(1 - time) * images + jnp.sqrt(time) * noise, time], 1)
    for w in params[:-1]:
        x = jax.nn.silu(x @ w)
    return jnp.mean((x @ params[-1] - noise) ** 2)


@jax.jit
def train_step(params, images, key):
    key, used = jax.random.split(key)
    loss, grads = jax.value_and_grad(loss_fn)(params, images, used)
    return [p - 0.1 * g for p, g in zip(params, grads)], key, loss


key = jax.random.key(0)
params, key, loss = train_step(params, images, key)
for steps in windows(8):
    for step in steps:
        with jax.profiler.StepTraceAnnotation("train", step_num=step):
            params, key, loss = train_step(params, images, key)
    loss.block_until_ready()
