"""JAX solver whose compiled loop calls Python after each iteration to note a norm."""

import jax
import jax.numpy as jnp
import numpy as np
from window import FIXED, LOGDIR, timed

rng = np.random.default_rng(0)
matrix = jnp.asarray(rng.normal(0, 0.01, (512, 512)), jnp.float32)
target = jnp.asarray(rng.normal(size=(512, 16)), jnp.float32)
norms = []


def note(norm):
    norms.append(float(norm))


@jax.jit
def solve(x):
    def iterate(x, _):
        residual = target - x + matrix @ x
        norm = jnp.linalg.norm(residual)
        if not FIXED:
            jax.debug.callback(note, norm)
        return x + 0.3 * residual, norm

    return jax.lax.scan(iterate, x, length=80)


def run(steps):
    for step in steps:
        with jax.profiler.StepTraceAnnotation("solve", step_num=step):
            _, trace = jax.block_until_ready(solve(jnp.zeros_like(target)))
            jax.effects_barrier()
            if FIXED:
                norms.extend(np.asarray(trace).tolist())


run(range(2))
for steps in timed(15):
    run(steps)
if LOGDIR:
    options = jax.profiler.ProfileOptions()
    options.python_tracer_level = 0
    with jax.profiler.trace(LOGDIR, profiler_options=options):
        run(range(75, 90))
