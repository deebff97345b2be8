"""JAX training that lowers its step again after each call to log the FLOP rate."""

import time

import jax
import jax.numpy as jnp
import numpy as np
from window import FIXED, windows

rng = np.random.default_rng(0)
x = jnp.asarray(rng.normal(size=(256, 512)), jnp.float32)
params = [jnp.asarray(rng.normal(0, 0.04, (512, 512)), jnp.float32) for _ in range(4)]
rates = []


def loss_fn(params, x):
    hidden = x
    for w in params:
        hidden = hidden + jax.nn.gelu(hidden @ w)
    return jnp.mean((hidden - x) ** 2)


@jax.jit
def train_step(params, x):
    loss, grads = jax.value_and_grad(loss_fn)(params, x)
    return [p - 0.001 * g for p, g in zip(params, grads)], loss


def count_flops(*arguments):
    return train_step.lower(*arguments).cost_analysis()["flops"]


flops_per_step = count_flops(params, x)


def train(params):
    begin = time.perf_counter()
    params, loss = train_step(params, x)
    loss.block_until_ready()
    flops = flops_per_step if FIXED else count_flops(params, x)
    rates.append(flops / (time.perf_counter() - begin))
    return params


params = train(params)
for steps in windows(8):
    for step in steps:
        with jax.profiler.StepTraceAnnotation("train", step_num=step):
            params = train(params)
