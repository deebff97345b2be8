"""JAX heat simulation on four devices, each of which gathers the whole field for the two rows beyond its edges."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
from window import FIXED, windows

mesh = jax.make_mesh((4,), ("rows",), axis_types=(jax.sharding.AxisType.Auto,))
SIZE = 1024
field = np.random.default_rng(0).normal(size=(SIZE, SIZE)).astype(np.float32)
field = jax.device_put(field, NamedSharding(mesh, P("rows")))
DOWN, UP = [(i, (i + 1) % 4) for i in range(4)], [(i, (i - 1) % 4) for i in range(4)]


def edges(part):
    """The last row of the part above and the first row of the part below."""
    if FIXED:
        return jax.lax.ppermute(part[-1:], "rows", DOWN), jax.lax.ppermute(part[:1], "rows", UP)
    whole = jax.lax.all_gather(part, "rows", tiled=True)
    begin = jax.lax.axis_index("rows") * part.shape[0]
    above = jax.lax.dynamic_slice_in_dim(whole, (begin - 1) % SIZE, 1)
    return above, jax.lax.dynamic_slice_in_dim(whole, (begin + part.shape[0]) % SIZE, 1)


def diffuse(part, _):
    above, below = edges(part)
    tall = jnp.concatenate([above, part, below])
    around = tall[:-2] + tall[2:] + jnp.roll(part, 1, 1) + jnp.roll(part, -1, 1)
    return part + 0.1 * (around - 4 * part), None


def simulate_part(part):
    return jax.lax.scan(diffuse, part, length=8)[0]


simulate = jax.jit(jax.shard_map(simulate_part, mesh=mesh, in_specs=P("rows"), out_specs=P("rows"), check_vma=False))

field = simulate(field)
for steps in windows(8):
    for step in steps:
        with jax.profiler.StepTraceAnnotation("simulate", step_num=step):
            field = simulate(field).block_until_ready()
