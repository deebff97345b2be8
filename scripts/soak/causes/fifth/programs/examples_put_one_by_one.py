"""JAX training whose batch is put on the device example by example, as two arrays each, and stacked there."""

import jax
import jax.numpy as jnp
import numpy as np
from window import FIXED, windows

rng = np.random.default_rng(0)
examples = [(rng.normal(size=256).astype(np.float32), np.int32(i % 10)) for i in range(4096)]
params = [jnp.asarray(rng.normal(0, 0.05, s), jnp.float32) for s in [(256, 1024), (1024, 1024), (1024, 10)]]


def make_batch(step):
    picked = [examples[i] for i in np.random.default_rng(step).integers(0, len(examples), 80)]
    if FIXED:
        return jnp.asarray(np.stack([x for x, _ in picked])), jnp.asarray(np.array([y for _, y in picked]))
    return jnp.stack([jnp.asarray(x) for x, _ in picked]), jnp.stack([jnp.asarray(y) for _, y in picked])


def loss_fn(params, x, y):
    for w in params[:-1]:
        x = jax.nn.relu(x @ w)
    return -jnp.take_along_axis(jax.nn.log_softmax(x @ params[-1]), y[:, None], 1).mean()


@jax.jit
def train_step(params, x, y):
    loss, grads = jax.value_and_grad(loss_fn)(params, x, y)
    return [p - 0.1 * g for p, g in zip(params, grads)], loss


params, loss = train_step(params, *make_batch(0))
for steps in windows(8):
    for step in steps:
        with jax.profiler.StepTraceAnnotation("train", step_num=step):
            params, loss = train_step(params, *make_batch(step))
            loss.block_until_ready()
