"""Flax and optax with an orbax checkpoint, written synchronously every fourth step."""

import tempfile

import jax
import jax.numpy as jnp
import numpy as np
import optax
import orbax.checkpoint as ocp
from flax import linen as nn
from flax.training import train_state
from window import FIXED, windows

SAVE_EVERY = 10_000 if FIXED else 4


class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        for width in (512, 512, 512):
            x = nn.relu(nn.Dense(width)(x))
        return nn.Dense(10)(x)


model = Net()
rng = np.random.default_rng(0)
x = jnp.asarray(rng.normal(size=(64, 512)), jnp.float32)
y = jnp.asarray(rng.integers(0, 10, 64))
state = train_state.TrainState.create(
    apply_fn=model.apply, params=model.init(jax.random.key(0), x), tx=optax.adam(1e-3)
)


@jax.jit
def train_step(state, x, y):
    def loss_fn(params):
        return optax.softmax_cross_entropy_with_integer_labels(state.apply_fn(params, x), y).mean()

    loss, grads = jax.value_and_grad(loss_fn)(state.params)
    return state.apply_gradients(grads=grads), loss


state, loss = train_step(state, x, y)
checkpointer = ocp.PyTreeCheckpointer()
folder = tempfile.mkdtemp()
for steps in windows(20):
    for step in steps:
        with jax.profiler.StepTraceAnnotation("train", step_num=step):
            state, loss = train_step(state, x, y)
            if step % SAVE_EVERY == SAVE_EVERY - 1:
                checkpointer.save(f"{folder}/{step}", state.params)
    loss.block_until_ready()
