"""A JAX training loop that logs norm, mean and a histogram of every parameter at each step."""

import jax
import jax.numpy as jnp
import numpy as np
from window import FIXED, windows

LOG_EVERY = 10_000 if FIXED else 1
rng = np.random.default_rng(0)
params = {
    f"layer{i}": {"w": jnp.asarray(rng.normal(0, 0.05, (384, 384)), jnp.float32), "b": jnp.zeros(384)} for i in range(8)
}
x = jnp.asarray(rng.normal(size=(512, 384)), jnp.float32)
log = open("/dev/null", "w")


def loss_fn(params, x):
    for layer in params.values():
        x = jnp.tanh(x @ layer["w"] + layer["b"])
    return jnp.mean(x**2)


@jax.jit
def train_step(params, x):
    loss, grads = jax.value_and_grad(loss_fn)(params, x)
    return jax.tree.map(lambda p, g: p - 1e-2 * g, params, grads), loss


def log_params(step, params):
    for path, value in jax.tree_util.tree_flatten_with_path(params)[0]:
        name = jax.tree_util.keystr(path)
        counts, _ = jnp.histogram(value, bins=20)
        log.write(
            f"{step} {name} {float(jnp.linalg.norm(value)):.4f} {float(jnp.mean(value)):.4f} {np.asarray(counts)}\n"
        )


params, loss = train_step(params, x)
log_params(0, params)
for steps in windows(15):
    for step in steps:
        with jax.profiler.StepTraceAnnotation("train", step_num=step):
            params, loss = train_step(params, x)
            if step % LOG_EVERY == 0:
                log_params(step, params)
    loss.block_until_ready()
