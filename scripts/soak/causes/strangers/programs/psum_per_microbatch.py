"""A JAX training step on four devices that sums the gradients over devices after each of sixteen microbatches."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
from window import FIXED, windows

MICRO = 16
mesh = jax.make_mesh((4,), ("data",), axis_types=(jax.sharding.AxisType.Auto,))
rng = np.random.default_rng(0)
params = jax.device_put(
    [rng.normal(0, 0.05, (256, 256)).astype(np.float32) for _ in range(4)], NamedSharding(mesh, P())
)
batch = jax.device_put(rng.normal(size=(MICRO, 16, 256)).astype(np.float32), NamedSharding(mesh, P(None, "data")))


def loss_fn(params, x):
    for w in params:
        x = jnp.tanh(x @ w)
    return jnp.mean(x**2)


def device_step(params, batch):
    def accumulate(total, x):
        grads = jax.grad(loss_fn)(local, x)
        if not FIXED:
            grads = jax.lax.pmean(grads, "data")
        return jax.tree.map(jnp.add, total, grads), None

    local = jax.lax.pcast(params, "data", to="varying")
    zeros = jax.tree.map(jnp.zeros_like, local if FIXED else params)
    total, _ = jax.lax.scan(accumulate, zeros, batch)
    if FIXED:
        total = jax.lax.pmean(total, "data")
    return jax.tree.map(lambda p, g: p - 0.1 * g / MICRO, params, total)


train_step = jax.jit(jax.shard_map(device_step, mesh=mesh, in_specs=(P(), P(None, "data")), out_specs=P()))
params = train_step(params, batch)
for steps in windows(12):
    for step in steps:
        with jax.profiler.StepTraceAnnotation("train", step_num=step):
            params = train_step(params, batch)
            jax.block_until_ready(params)
