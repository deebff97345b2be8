"""JAX recurrent network whose scan carries all outputs and rewrites them in each time step."""

import jax
import jax.numpy as jnp
import numpy as np
from window import FIXED, LOGDIR, timed

LENGTH, BATCH, WIDTH = 384, 32, 64
rng = np.random.default_rng(0)
w_in, w_state, w_out = (jnp.asarray(rng.normal(0, 0.1, (WIDTH, WIDTH)), jnp.float32) for _ in range(3))
x = jnp.asarray(rng.normal(size=(LENGTH, BATCH, WIDTH)), jnp.float32)


def cell(state, x_t):
    return jnp.tanh(x_t @ w_in + state @ w_state)


def unroll(x):
    start = jnp.zeros((BATCH, WIDTH))
    if FIXED:
        return jax.lax.scan(lambda state, x_t: (cell(state, x_t),) * 2, start, x)[1]

    def advance(carry, inputs):
        state, outputs = carry
        t, x_t = inputs
        state = cell(state, x_t)
        outputs = jnp.where(jnp.arange(LENGTH)[:, None, None] == t, state, outputs)
        return (state, outputs), None

    (_, outputs), _ = jax.lax.scan(advance, (start, jnp.zeros_like(x)), (jnp.arange(LENGTH), x))
    return outputs


@jax.jit
def predict(x):
    return jax.nn.softmax(unroll(x) @ w_out).mean(0)


def serve(steps):
    for step in steps:
        with jax.profiler.StepTraceAnnotation("predict", step_num=step):
            jax.block_until_ready(predict(x))


serve(range(2))
for steps in timed(15):
    serve(steps)
if LOGDIR:
    options = jax.profiler.ProfileOptions()
    options.python_tracer_level = 0
    with jax.profiler.trace(LOGDIR, profiler_options=options):
        serve(range(75, 90))
