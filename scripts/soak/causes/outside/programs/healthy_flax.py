"""Healthy: flax and optax, one jitted step with a donated state, the loss read at the end; steps not marked."""

from functools import partial

import jax
import numpy as np
import optax
from flax import linen as nn
from flax.training import train_state
from window import windows


class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        for _ in range(4):
            x = nn.relu(nn.LayerNorm()(nn.Dense(512)(x)))
        return nn.Dense(10)(x)


model = Net()
rng = np.random.default_rng(0)
xs = rng.normal(size=(4, 256, 512)).astype(np.float32)
ys = rng.integers(0, 10, (4, 256))
state = train_state.TrainState.create(
    apply_fn=model.apply, params=model.init(jax.random.key(0), xs[0]), tx=optax.adam(1e-3)
)


@partial(jax.jit, donate_argnums=0)
def train_step(state, x, y):
    def loss_fn(params):
        return optax.softmax_cross_entropy_with_integer_labels(state.apply_fn(params, x), y).mean()

    loss, grads = jax.value_and_grad(loss_fn)(state.params)
    return state.apply_gradients(grads=grads), loss


state, loss = train_step(state, xs[0], ys[0])
for steps in windows(25):
    for step in steps:
        state, loss = train_step(state, xs[step % 4], ys[step % 4])
    print("loss", float(loss))
