"""JAX diffusion training on four devices whose noise is drawn in double precision by NumPy before each step."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
from window import FIXED, windows

mesh = jax.make_mesh((4,), ("data",), axis_types=(jax.sharding.AxisType.Auto,))
rows, everywhere = NamedSharding(mesh, P("data")), NamedSharding(mesh, P())
rng = np.random.default_rng(0)
params = [jnp.asarray(rng.normal(0, 0.02, size), jnp.float32) for size in [(3072, 32), (32, 3072)]]
params = jax.device_put(params, everywhere)
images = jax.device_put(rng.normal(size=(256, 3072)).astype(np.float32), rows)


def make_noise(shape):
    if FIXED:
        noise = rng.standard_normal(shape, np.float32)
        times = rng.random((shape[0], 1), np.float32)
    else:
        noise = np.random.normal(0.0, 1.0, size=shape).astype(np.float32)
        times = np.random.uniform(size=(shape[0], 1)).astype(np.float32)
    return jax.device_put((noise, times), rows)


def loss_fn(params, images, noise, times):
    x = jnp.sqrt(1 - times) * images + jnp.sqrt(times) * noise
    return jnp.mean((jax.nn.silu(x @ params[0]) @ params[1] - noise) ** 2)


@jax.jit
def train_step(params, images, noise, times):
    loss, grads = jax.value_and_grad(loss_fn)(params, images, noise, times)
    return [p - 0.1 * g for p, g in zip(params, grads)], loss


def train(params):
    params, loss = train_step(params, images, *make_noise(images.shape))
    loss.block_until_ready()
    return params


params = train(params)
for steps in windows(8):
    for step in steps:
        with jax.profiler.StepTraceAnnotation("train", step_num=step):
            params = train(params)
