"""Healthy: a JAX recurrent decoder that generates all tokens within one compiled loop and reads them at the end."""

import jax
import jax.numpy as jnp
import numpy as np
from window import windows

rng = np.random.default_rng(0)
params = {
    "cell": jnp.asarray(rng.normal(0, 0.05, (512, 512)), jnp.float32),
    "embed": jnp.asarray(rng.normal(0, 0.05, (2000, 512)), jnp.float32),
}


@jax.jit
def generate(params, tokens):
    def step(carry, _):
        state, tokens = carry
        state = jnp.tanh(state @ params["cell"] + params["embed"][tokens])
        tokens = jnp.argmax(state @ params["embed"].T, axis=-1)
        return (state, tokens), tokens

    return jax.lax.scan(step, (jnp.zeros((16, 512)), tokens), None, 32)[1]


tokens = jnp.arange(16)
generate(params, tokens)
for steps in windows(14):
    for step in steps:
        with jax.profiler.StepTraceAnnotation("generate", step_num=step):
            np.asarray(generate(params, tokens))
