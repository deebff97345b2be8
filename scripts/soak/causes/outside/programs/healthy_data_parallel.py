"""Healthy: data parallel training on eight devices with equal shards and replicated parameters."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
from window import windows

mesh = jax.make_mesh((8,), ("data",), axis_types=(jax.sharding.AxisType.Auto,))
rng = np.random.default_rng(0)
params = jax.device_put(
    [rng.normal(0, 0.06, (256, 256)).astype(np.float32) for _ in range(4)], NamedSharding(mesh, P())
)
x = jax.device_put(rng.normal(size=(4096, 256)).astype(np.float32), NamedSharding(mesh, P("data")))


@jax.jit
def train_step(params, x):
    def loss_fn(params):
        y = x
        for w in params:
            y = jnp.tanh(y @ w)
        return jnp.mean(y**2)

    loss, grads = jax.value_and_grad(loss_fn)(params)
    return [p - 0.01 * g for p, g in zip(params, grads)], loss


params, loss = train_step(params, x)
for steps in windows(15):
    for step in steps:
        with jax.profiler.StepTraceAnnotation("train", step_num=step):
            params, loss = train_step(params, x)
            loss.block_until_ready()
