"""JAX simulation that calls its jitted time step 400 times from Python."""

import jax
import jax.numpy as jnp
import numpy as np
from window import FIXED, LOGDIR, timed

rng = np.random.default_rng(0)
bodies = {
    "place": jnp.asarray(rng.normal(size=(32, 3)), jnp.float32),
    "speed": jnp.zeros((32, 3)),
    "mass": jnp.asarray(rng.uniform(1, 2, (32, 1)), jnp.float32),
}


def integrate(bodies):
    apart = bodies["place"][None] - bodies["place"][:, None]
    pull = apart / (jnp.sum(apart**2, -1, keepdims=True) + 0.1) ** 1.5
    speed = bodies["speed"] + 0.001 * jnp.einsum("ijk,jl->ik", pull, bodies["mass"])
    return {"place": bodies["place"] + 0.001 * speed, "speed": speed, "mass": bodies["mass"]}


jitted = jax.jit(integrate)


@jax.jit
def whole(bodies):
    return jax.lax.fori_loop(0, 400, lambda _, bodies: integrate(bodies), bodies)


def simulate(bodies):
    if FIXED:
        return whole(bodies)
    for _ in range(400):
        bodies = jitted(bodies)
    return bodies


def run(steps):
    for step in steps:
        with jax.profiler.StepTraceAnnotation("simulate", step_num=step):
            jax.block_until_ready(simulate(bodies))


run(range(2))
for steps in timed(12):
    run(steps)
if LOGDIR:
    options = jax.profiler.ProfileOptions()
    options.python_tracer_level = 0
    with jax.profiler.trace(LOGDIR, profiler_options=options):
        run(range(60, 72))
