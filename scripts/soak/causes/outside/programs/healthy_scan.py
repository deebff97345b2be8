"""Healthy: several JAX training steps in one scan per call, batches on the device."""

import jax
import jax.numpy as jnp
import numpy as np
from window import windows

rng = np.random.default_rng(0)
params = [jnp.asarray(rng.normal(0, 0.05, (384, 384)), jnp.float32) for _ in range(3)]
batches = jnp.asarray(rng.normal(size=(8, 256, 384)), jnp.float32)


@jax.jit
def train_steps(params, batches):
    def loss_fn(params, x):
        for w in params:
            x = jax.nn.gelu(x @ w)
        return jnp.mean(x**2)

    def body(params, x):
        loss, grads = jax.value_and_grad(loss_fn)(params, x)
        return jax.tree.map(lambda p, g: p - 0.01 * g, params, grads), loss

    return jax.lax.scan(body, params, batches)


params, losses = train_steps(params, batches)
for steps in windows(12):
    for step in steps:
        with jax.profiler.StepTraceAnnotation("train", step_num=step):
            params, losses = train_steps(params, batches)
            losses.block_until_ready()
