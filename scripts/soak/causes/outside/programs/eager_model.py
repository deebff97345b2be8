"""A flax model trained without any jit."""

import jax
import jax.numpy as jnp
import numpy as np
from flax import linen as nn
from window import FIXED, windows


class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        for _ in range(4):
            x = nn.relu(nn.LayerNorm()(nn.Dense(192)(x)))
        return nn.Dense(1)(x)


model = Net()
rng = np.random.default_rng(0)
x = jnp.asarray(rng.normal(size=(128, 192)), jnp.float32)
params = model.init(jax.random.key(0), x)


def train_step(params, x):
    loss, grads = jax.value_and_grad(lambda p: jnp.mean(model.apply(p, x) ** 2))(params)
    return jax.tree.map(lambda p, g: p - 0.01 * g, params, grads), loss


if FIXED:
    train_step = jax.jit(train_step)
params, loss = train_step(params, x)
for steps in windows(10):
    for step in steps:
        with jax.profiler.StepTraceAnnotation("train", step_num=step):
            params, loss = train_step(params, x)
    loss.block_until_ready()
