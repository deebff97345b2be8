"""JAX fit of a physical model that takes its gradient by finite differences, one simulation for each parameter."""

import jax
import jax.numpy as jnp
import numpy as np
from window import FIXED, windows

rng = np.random.default_rng(0)
SPRINGS = 32
stiffness = jnp.asarray(rng.uniform(0.5, 1.5, SPRINGS), jnp.float32)
start = jnp.asarray(rng.normal(size=(64, SPRINGS)), jnp.float32)


def simulate(stiffness, start):
    def advance(state, _):
        place, speed = state
        force = stiffness * (jnp.roll(place, 1, 1) - 2 * place + jnp.roll(place, -1, 1)) - 0.1 * jnp.sin(place)
        speed = 0.999 * speed + 0.01 * force
        return (place + 0.01 * speed, speed), None

    return jax.lax.scan(advance, (start, jnp.zeros_like(start)), length=100)[0][0]


measured = simulate(jnp.ones(SPRINGS), start)


@jax.jit
def misfit(stiffness):
    return jnp.mean((simulate(stiffness, start) - measured) ** 2)


exact_gradient = jax.jit(jax.grad(misfit))


def estimate_gradient(stiffness):
    base = misfit(stiffness)
    slopes = []
    for i in range(SPRINGS):
        slopes.append((misfit(stiffness.at[i].add(1e-3)) - base) / 1e-3)
    return jnp.stack(slopes)


def fit_step(stiffness):
    gradient = exact_gradient(stiffness) if FIXED else estimate_gradient(stiffness)
    return jax.block_until_ready(stiffness - 0.1 * gradient)


stiffness = fit_step(stiffness)
for steps in windows(8):
    for step in steps:
        with jax.profiler.StepTraceAnnotation("fit", step_num=step):
            stiffness = fit_step(stiffness)
