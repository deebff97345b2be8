"""JAX training whose step jits a new lambda each time."""

import jax
import jax.numpy as jnp
import numpy as np
from window import FIXED, LOGDIR, timed

rng = np.random.default_rng(0)
params = [jnp.asarray(rng.normal(0, 0.05, (512, 512)), jnp.float32) for _ in range(2)]
batch = jnp.asarray(rng.normal(size=(512, 512)), jnp.float32)


def loss_fn(params, x):
    for w in params:
        x = jnp.tanh(x @ w)
    return jnp.mean(x**2)


def sgd(params, x, rate):
    return jax.tree.map(lambda p, g: p - rate * g, params, jax.grad(loss_fn)(params, x))


compiled = jax.jit(sgd)


def train_step(params, step):
    rate = 0.1 / (1 + step)
    if FIXED:
        return compiled(params, batch, rate)
    update = jax.jit(lambda params, x: sgd(params, x, rate))
    return update(params, batch)


def train(params, steps):
    for step in steps:
        with jax.profiler.StepTraceAnnotation("train", step_num=step):
            params = jax.block_until_ready(train_step(params, step))
    return params


params = train(params, range(2))
for steps in timed(12):
    params = train(params, steps)
if LOGDIR:
    options = jax.profiler.ProfileOptions()
    options.python_tracer_level = 0
    with jax.profiler.trace(LOGDIR, profiler_options=options):
        train(params, range(60, 72))
