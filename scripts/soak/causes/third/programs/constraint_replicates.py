"""JAX training on four devices whose activations are constrained to be the same on all of them."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
from window import FIXED, LOGDIR, timed

mesh = jax.make_mesh((4,), ("data",), axis_types=(jax.sharding.AxisType.Auto,))
rows, everywhere = NamedSharding(mesh, P("data")), NamedSharding(mesh, P())
rng = np.random.default_rng(0)
params = jax.device_put([rng.normal(0, 0.05, (384, 384)).astype(np.float32) for _ in range(6)], everywhere)
batch = jax.device_put(rng.normal(size=(512, 384)).astype(np.float32), rows)


def constrain(x):
    return jax.lax.with_sharding_constraint(x, rows if FIXED else everywhere)


def loss_fn(params, x):
    for w in params:
        x = constrain(jax.nn.gelu(x @ w))
    return jnp.mean(x**2)


@jax.jit
def train_step(params, x):
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, jax.grad(loss_fn)(params, x))


def train(params, steps):
    for step in steps:
        with jax.profiler.StepTraceAnnotation("train", step_num=step):
            params = jax.block_until_ready(train_step(params, batch))
    return params


params = train(params, range(2))
for steps in timed(12):
    params = train(params, steps)
if LOGDIR:
    options = jax.profiler.ProfileOptions()
    options.python_tracer_level = 0
    with jax.profiler.trace(LOGDIR, profiler_options=options):
        train(params, range(60, 72))
