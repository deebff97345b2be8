"""Eight devices under shard_map whose first has the long sequences: all wait for it in the psum."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import PartitionSpec as P
from window import FIXED, windows

mesh = jax.make_mesh((8,), ("data",), axis_types=(jax.sharding.AxisType.Auto,))
LENGTHS = np.full(8, 36) if FIXED else np.array([232, 8, 8, 8, 8, 8, 8, 8])
rng = np.random.default_rng(0)
w = jnp.asarray(rng.normal(0, 0.05, (256, 256)), jnp.float32)
x = jnp.asarray(rng.normal(size=(8 * 64, 256)), jnp.float32)


def local(w, x, length):
    x = jax.lax.fori_loop(0, length[0], lambda _, x: jnp.tanh(x @ w), x)
    return w - 0.01 * jax.lax.psum(x.T @ x, "data")


step_fn = jax.jit(jax.shard_map(local, mesh=mesh, in_specs=(P(), P("data"), P("data")), out_specs=P(), check_vma=False))
lengths = jnp.asarray(LENGTHS, jnp.int32)
step_fn(w, x, lengths)
for steps in windows(15):
    for step in steps:
        with jax.profiler.StepTraceAnnotation("train", step_num=step):
            step_fn(w, x, lengths).block_until_ready()
