"""A JAX training loop that hashes all parameters at each step, to prove that runs are reproducible; not marked."""

import hashlib

import jax
import jax.numpy as jnp
import numpy as np
from window import FIXED, windows

rng = np.random.default_rng(0)
params = [jnp.asarray(rng.normal(0, 0.03, (1024, 1024)), jnp.float32) for _ in range(5)]
x = jnp.asarray(rng.normal(size=(64, 1024)), jnp.float32)
fingerprints = []


@jax.jit
def train_step(params, x):
    def loss(params):
        y = x
        for w in params:
            y = jnp.tanh(y @ w)
        return jnp.mean(y**2)

    value, grads = jax.value_and_grad(loss)(params)
    return [p - 0.1 * g for p, g in zip(params, grads)], value


def fingerprint(params):
    digest = hashlib.sha256()
    for p in params:
        digest.update(np.asarray(p).tobytes())
    return digest.hexdigest()


params, loss = train_step(params, x)
for steps in windows(16):
    for step in steps:
        params, loss = train_step(params, x)
        if not FIXED or step % 1000 == 999:
            fingerprints.append(fingerprint(params))
    loss.block_until_ready()
