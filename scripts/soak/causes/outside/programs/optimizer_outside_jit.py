"""Flax with jitted gradients, and optax's update and apply_updates called outside jit."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import linen as nn
from window import FIXED, windows


class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        for _ in range(10):
            x = x + nn.Dense(256)(nn.relu(nn.LayerNorm()(x)))
        return nn.Dense(10)(x)


model, tx = Net(), optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(1e-3))
rng = np.random.default_rng(0)
x = jnp.asarray(rng.normal(size=(64, 256)), jnp.float32)
y = jnp.asarray(rng.integers(0, 10, 64))
params = model.init(jax.random.key(0), x)
opt_state = tx.init(params)


def loss_fn(params, x, y):
    return optax.softmax_cross_entropy_with_integer_labels(model.apply(params, x), y).mean()


grad_fn = jax.jit(jax.value_and_grad(loss_fn))


def train_step(params, opt_state, x, y):
    loss, grads = grad_fn(params, x, y)
    updates, opt_state = tx.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), opt_state, loss


if FIXED:
    train_step = jax.jit(train_step)
params, opt_state, loss = train_step(params, opt_state, x, y)
for steps in windows(20):
    for step in steps:
        with jax.profiler.StepTraceAnnotation("train", step_num=step):
            params, opt_state, loss = train_step(params, opt_state, x, y)
    loss.block_until_ready()
