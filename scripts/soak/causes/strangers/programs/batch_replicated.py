"""A JAX training step on four devices whose batch was put replicated, so that each device computes all of it."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
from window import FIXED, windows

mesh = jax.make_mesh((4,), ("data",), axis_types=(jax.sharding.AxisType.Auto,))
everywhere, split = NamedSharding(mesh, P()), NamedSharding(mesh, P("data"))
rng = np.random.default_rng(0)
params = jax.device_put([rng.normal(0, 0.05, (384, 384)).astype(np.float32) for _ in range(5)], everywhere)
images = rng.normal(size=(384, 384)).astype(np.float32)
batch = jax.device_put(images, split if FIXED else everywhere)


@jax.jit
def train_step(params, x):
    def loss(params):
        y = x
        for w in params:
            y = jnp.tanh(y @ w)
        return jnp.mean(y**2)

    value, grads = jax.value_and_grad(loss)(params)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), value


params, loss = train_step(params, batch)
for steps in windows(12):
    for step in steps:
        with jax.profiler.StepTraceAnnotation("train", step_num=step):
            params, loss = train_step(params, batch)
            loss.block_until_ready()
