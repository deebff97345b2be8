"""A JAX training loop that evaluates on the whole validation set every fifth step."""

import jax
import jax.numpy as jnp
import numpy as np
from window import FIXED, windows

EVALUATE_EVERY = 10_000 if FIXED else 5
rng = np.random.default_rng(0)
params = [jnp.asarray(rng.normal(0, 0.05, (512, 512)), jnp.float32) for _ in range(4)]
train = rng.normal(size=(128, 512)).astype(np.float32)
validation = rng.normal(size=(40, 128, 512)).astype(np.float32)


def loss_fn(params, x):
    for w in params:
        x = jnp.tanh(x @ w)
    return jnp.mean((x - 1) ** 2)


@jax.jit
def train_step(params, x):
    loss, grads = jax.value_and_grad(loss_fn)(params, x)
    return jax.tree.map(lambda p, g: p - 1e-2 * g, params, grads), loss


@jax.jit
def eval_step(params, x):
    return loss_fn(params, x)


def evaluate(params):
    return np.mean([float(eval_step(params, batch)) for batch in validation])


params, loss = train_step(params, train)
evaluate(params)
for steps in windows(20):
    for step in steps:
        with jax.profiler.StepTraceAnnotation("train", step_num=step):
            params, loss = train_step(params, train)
            loss.block_until_ready()
            if step % EVALUATE_EVERY == EVALUATE_EVERY - 1:
                print("validation", evaluate(params))
