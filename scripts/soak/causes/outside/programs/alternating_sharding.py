"""A JAX model on eight devices whose layers ask for activations split by rows and by columns in turn."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
from window import FIXED, windows

mesh = jax.make_mesh((8,), ("data",), axis_types=(jax.sharding.AxisType.Auto,))
rows, columns, everywhere = (NamedSharding(mesh, spec) for spec in (P("data", None), P(None, "data"), P()))
rng = np.random.default_rng(0)
params = jax.device_put([rng.normal(0, 0.05, (128, 128)).astype(np.float32) for _ in range(6)], everywhere)
x = jax.device_put(rng.normal(size=(16384, 128)).astype(np.float32), rows)


@jax.jit
def forward(params, x):
    for w in params:
        x = jax.lax.with_sharding_constraint(x, rows)
        x = jnp.tanh(x @ w)
        if not FIXED:
            x = jax.lax.with_sharding_constraint(x, columns)
        x = x + 0.1
    return jax.lax.with_sharding_constraint(x, rows)


forward(params, x)
for steps in windows(10):
    for step in steps:
        with jax.profiler.StepTraceAnnotation("forward", step_num=step):
            forward(params, x).block_until_ready()
