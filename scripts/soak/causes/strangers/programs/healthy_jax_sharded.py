"""Healthy: a JAX training step on four devices whose batch is sharded, in one program; the steps are not marked."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
from window import windows

mesh = jax.make_mesh((4,), ("data",), axis_types=(jax.sharding.AxisType.Auto,))
rng = np.random.default_rng(0)
params = jax.device_put(
    [rng.normal(0, 0.05, (256, 256)).astype(np.float32) for _ in range(3)], NamedSharding(mesh, P())
)
batch = jax.device_put(rng.normal(size=(4096, 256)).astype(np.float32), NamedSharding(mesh, P("data")))


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
for steps in windows(14):
    for _ in steps:
        params, loss = train_step(params, batch)
    loss.block_until_ready()
