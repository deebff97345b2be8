"""A pipeline of eight stages over ppermute with only four microbatches: most turns of a stage work on nothing."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import PartitionSpec as P
from window import FIXED, windows

STAGES, BATCH, WIDTH = 8, 1024, 256
MICROBATCHES = 32 if FIXED else 4
mesh = jax.make_mesh((STAGES,), ("stage",), axis_types=(jax.sharding.AxisType.Auto,))
rng = np.random.default_rng(0)
weights = jnp.asarray(rng.normal(0, 0.06, (STAGES, WIDTH, WIDTH)), jnp.float32)
x = jnp.asarray(rng.normal(size=(MICROBATCHES, BATCH // MICROBATCHES, WIDTH)), jnp.float32)


def pipeline(w, x):
    stage = jax.lax.axis_index("stage")

    def turn(carry, t):
        state = jnp.where(stage == 0, x[jnp.minimum(t, MICROBATCHES - 1)], carry)
        for _ in range(3):
            state = jnp.tanh(state @ w[0])
        return jax.lax.ppermute(state, "stage", [(i, (i + 1) % STAGES) for i in range(STAGES)]), state

    outputs = jax.lax.scan(turn, jnp.zeros_like(x[0]), jnp.arange(MICROBATCHES + STAGES - 1))[1]
    return outputs[STAGES - 1 :]


run = jax.jit(jax.shard_map(pipeline, mesh=mesh, in_specs=(P("stage"), P()), out_specs=P("stage"), check_vma=False))
run(weights, x)
for steps in windows(15):
    for step in steps:
        with jax.profiler.StepTraceAnnotation("forward", step_num=step):
            run(weights, x).block_until_ready()
