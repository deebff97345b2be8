"""A JAX training loop in double precision, because NumPy made the data and x64 is on."""

import jax
import jax.numpy as jnp
import numpy as np
from window import FIXED, windows

jax.config.update("jax_enable_x64", True)
rng = np.random.default_rng(0)
dtype = np.float32 if FIXED else np.float64
params = [jnp.asarray(rng.normal(0, 0.05, (640, 640)).astype(dtype)) for _ in range(4)]
x = jnp.asarray(rng.normal(size=(384, 640)).astype(dtype))


@jax.jit
def train_step(params, x):
    def loss_fn(params):
        y = x
        for w in params:
            y = jnp.tanh(y @ w)
        return jnp.mean(y**2)

    loss, grads = jax.value_and_grad(loss_fn)(params)
    return [p - jnp.asarray(0.01, p.dtype) * g for p, g in zip(params, grads)], loss


params, loss = train_step(params, x)
for steps in windows(20):
    for step in steps:
        with jax.profiler.StepTraceAnnotation("train", step_num=step):
            params, loss = train_step(params, x)
            loss.block_until_ready()
