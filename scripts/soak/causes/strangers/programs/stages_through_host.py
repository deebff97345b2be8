"""A JAX pipeline of four devices whose activations go through NumPy, as half precision, from each stage to the next."""

import jax
import jax.numpy as jnp
import numpy as np
from window import FIXED, windows

devices = jax.devices()
MICRO = 8
rng = np.random.default_rng(0)
stages = [
    [jax.device_put(rng.normal(0, 0.05, shape).astype(np.float32), device) for shape in ((256, 32), (32, 256))]
    for device in devices
]
x = rng.normal(size=(MICRO, 512, 256)).astype(np.float32)


@jax.jit
def stage(weights, x):
    x = x.astype(jnp.float32)
    for w in weights:
        x = jnp.tanh(x @ w)
    return x


def hand_over(y, device):
    if FIXED:
        return jax.device_put(y, device)
    return jax.device_put(np.asarray(y).astype(np.float16), device)


def forward(x):
    outputs = []
    for y in x:
        for weights, device in zip(stages, devices):
            y = stage(weights, hand_over(y, device))
        outputs.append(y)
    return outputs


forward(x)
for steps in windows(12):
    for step in steps:
        with jax.profiler.StepTraceAnnotation("forward", step_num=step):
            jax.block_until_ready(forward(x))
