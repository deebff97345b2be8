"""JAX training on four devices that visits each shard of each weight from Python to log their sizes."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
from window import FIXED, windows

mesh = jax.make_mesh((4,), ("shard",), axis_types=(jax.sharding.AxisType.Auto,))
rng = np.random.default_rng(0)
columns, everywhere = NamedSharding(mesh, P(None, "shard")), NamedSharding(mesh, P())
params = [jax.device_put(rng.normal(0, 0.1, (128, 128)).astype(np.float32), columns) for _ in range(12)]
x = jax.device_put(rng.normal(size=(128, 128)).astype(np.float32), everywhere)
log = []


def loss_fn(params, x):
    hidden = x
    for w in params:
        hidden = hidden + jax.nn.silu(hidden @ w)
    return jnp.mean((hidden - x) ** 2)


@jax.jit
def train_step(params, x):
    grads = jax.grad(loss_fn)(params, x)
    return [jax.lax.with_sharding_constraint(p - 0.01 * g, columns) for p, g in zip(params, grads)]


@jax.jit
def norms_of(params):
    return jnp.stack([jnp.sqrt((w * w).sum()) for w in params])


def log_sizes(params):
    if FIXED:
        log.append(np.asarray(norms_of(params)).tolist())
        return
    for w in params:
        squares = [float((shard.data * shard.data).sum()) for shard in w.addressable_shards]
        log.append(sum(squares) ** 0.5)


def train(params):
    params = train_step(params, x)
    log_sizes(params)
    return params


params = train(params)
for steps in windows(8):
    for step in steps:
        with jax.profiler.StepTraceAnnotation("train", step_num=step):
            params = train(params)
