"""A recurrent network that calls a small jitted cell once per token from Python, instead of a scan."""

import jax
import jax.numpy as jnp
import numpy as np
from window import FIXED, windows

rng = np.random.default_rng(0)
w = jnp.asarray(rng.normal(0, 0.1, (64, 64)), jnp.float32)
tokens = jnp.asarray(rng.normal(size=(200, 16, 64)), jnp.float32)


def cell(w, h, x):
    return jnp.tanh(h @ w + x)


jitted_cell = jax.jit(cell)


@jax.jit
def whole(w, h, tokens):
    return jax.lax.scan(lambda h, x: (cell(w, h, x), None), h, tokens)[0]


def forward(w, tokens):
    h = jnp.zeros((16, 64))
    if FIXED:
        return whole(w, h, tokens)
    for t in range(200):
        h = jitted_cell(w, h, tokens[t])
    return h


forward(w, tokens)
for steps in windows(15):
    for step in steps:
        with jax.profiler.StepTraceAnnotation("forward", step_num=step):
            forward(w, tokens).block_until_ready()
