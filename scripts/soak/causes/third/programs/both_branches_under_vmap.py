"""JAX solver whose costly branch for hard cases is computed for all rows under vmap."""

import jax
import jax.numpy as jnp
import numpy as np
from window import FIXED, LOGDIR, timed

rng = np.random.default_rng(0)
w = jnp.asarray(rng.normal(0, 0.06, (256, 256)), jnp.float32)
rows = jnp.asarray(rng.normal(size=(64, 256)), jnp.float32)
hard = jnp.arange(64) % 4 == 3


def coarse(x):
    return jnp.tanh(w @ x)


def refine(x):
    return jax.lax.fori_loop(0, 60, lambda _, y: 0.5 * y + 0.5 * jnp.tanh(w @ y + x), x)


def solve_one(x, is_hard):
    return jax.lax.cond(is_hard, refine, coarse, x)


@jax.jit
def solve(rows, hard):
    if FIXED:
        return jax.lax.map(lambda row: solve_one(*row), (rows, hard))
    return jax.vmap(solve_one)(rows, hard)


def run(steps):
    for step in steps:
        with jax.profiler.StepTraceAnnotation("solve", step_num=step):
            jax.block_until_ready(solve(rows, hard))


run(range(2))
for steps in timed(15):
    run(steps)
if LOGDIR:
    options = jax.profiler.ProfileOptions()
    options.python_tracer_level = 0
    with jax.profiler.trace(LOGDIR, profiler_options=options):
        run(range(75, 90))
