"""JAX matching of point sets by Sinkhorn's iteration, which goes on long after it has converged."""

import jax
import jax.numpy as jnp
import numpy as np
from window import FIXED, windows

POINTS, LIMIT = 512, 80
rng = np.random.default_rng(0)
x = jnp.asarray(rng.normal(size=(POINTS, 64)), jnp.float32)
y = jnp.asarray(rng.normal(size=(POINTS, 64)), jnp.float32)
w = jnp.asarray(rng.normal(0, 0.1, (64, 256)), jnp.float32)


def balance(kernel):
    """Factors of rows and columns that make all sums equal."""
    share = 1 / POINTS

    def iterate(state):
        i, _, v = state
        u = share / (kernel @ v)
        new = share / (kernel.T @ u)
        return i + 1, jnp.abs(new / v - 1).max(), new

    def goes_on(state):
        i, change, _ = state
        return (i < LIMIT) & (change > 1e-4) if FIXED else i < LIMIT

    _, _, v = jax.lax.while_loop(goes_on, iterate, (0, jnp.inf, jnp.ones(POINTS)))
    return share / (kernel @ v), v


@jax.jit
def match(w, x, y):
    a, b = jnp.tanh(x @ w), jnp.tanh(y @ w)
    cost = (a**2).sum(1)[:, None] + (b**2).sum(1) - 2 * a @ b.T
    kernel = jnp.exp(-cost / (0.5 * cost.mean()))
    u, v = balance(kernel)
    plan = u[:, None] * kernel * v
    return (plan * cost).sum(), w - 0.01 * a.T[:64] @ plan @ b


loss, _ = match(w, x, y)
for steps in windows(8):
    for step in steps:
        with jax.profiler.StepTraceAnnotation("train", step_num=step):
            jax.block_until_ready(match(w, x, y))
