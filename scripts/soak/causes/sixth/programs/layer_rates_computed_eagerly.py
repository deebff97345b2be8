"""Fine-tuning with layer-wise decayed learning rates and a warm-up and cosine schedule."""

import jax
import jax.numpy as jnp
import numpy as np
from window import FIXED, windows

WARMUP = 5
LAYERS, DIM, BATCH, CLASSES = 16, 192, 48, 20
PEAK, DECAY, RAMP, TOTAL = 1e-3, 0.9, 100, 10000


def init_params(key):
    layers = []
    for i in range(LAYERS):
        a, b = jax.random.split(jax.random.fold_in(key, i))
        layers.append(
            {
                "w1": jax.random.normal(a, (DIM, DIM)) * DIM**-0.5,
                "w2": jax.random.normal(b, (DIM, DIM)) * 0.1 * DIM**-0.5,
                "bias": jnp.zeros(DIM),
                "scale": jnp.ones(DIM),
            }
        )
    return {"layers": layers, "head": jax.random.normal(key, (DIM, CLASSES)) * DIM**-0.5}


def schedule(step):
    ramp = jnp.minimum(step / RAMP, 1.0)
    progress = jnp.clip((step - RAMP) / (TOTAL - RAMP), 0.0, 1.0)
    return PEAK * ramp * 0.5 * (1.0 + jnp.cos(jnp.pi * progress))


def layer_rates(params, step):
    """One rate for each parameter, lower for the lower layers."""
    rates = []
    for depth, layer in enumerate(params["layers"]):
        rates.append({name: schedule(step) * DECAY ** (LAYERS - depth) for name in layer})
    return {"layers": rates, "head": schedule(step)}


def forward(params, x):
    for p in params["layers"]:
        x = x + (jax.nn.relu(x * p["scale"] @ p["w1"] + p["bias"]) @ p["w2"])
    return x @ params["head"]


@jax.jit
def train_step(params, rates, x, y):
    def loss(params):
        logp = jax.nn.log_softmax(forward(params, x))
        return -jnp.mean(jnp.take_along_axis(logp, y[:, None], axis=-1))

    value, grads = jax.value_and_grad(loss)(params)
    if FIXED:
        rates = layer_rates(params, rates)
    return jax.tree.map(lambda p, g, r: p - r * g, params, grads, rates), value


class Trainer:
    def __init__(self):
        self.params = init_params(jax.random.key(0))
        rng = np.random.default_rng(0)
        self.batches = [
            (
                jnp.asarray(rng.normal(size=(BATCH, DIM)), jnp.float32),
                jnp.asarray(rng.integers(0, CLASSES, BATCH)),
            )
            for _ in range(4)
        ]

    def step(self, i):
        x, y = self.batches[i % len(self.batches)]
        rates = i if FIXED else layer_rates(self.params, i)
        self.params, loss = train_step(self.params, rates, x, y)
        jax.block_until_ready(loss)


trainer = Trainer()
for i in range(WARMUP):
    trainer.step(i)
for steps in windows(12):
    for i in steps:
        with jax.profiler.StepTraceAnnotation("train", step_num=i):
            trainer.step(i + WARMUP)
