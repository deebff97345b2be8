"""Click prediction from dense features and hashed 64-bit ids."""

import jax
import jax.numpy as jnp
import numpy as np
from window import FIXED, windows

WARMUP = 5
BATCH, DENSE, TABLE, DIM, HIDDEN = 256, 128, 20000, 32, 512
ID_FIELDS = 6

jax.config.update("jax_enable_x64", True)  # ids are 64-bit hashes


def load_statistics():
    """Mean and deviation of each dense feature, from the training set."""
    rng = np.random.default_rng(7)
    sample = rng.normal(3.0, 2.0, size=(4096, DENSE))
    if FIXED:
        return sample.mean(axis=0).astype(np.float32), sample.std(axis=0).astype(np.float32)
    return sample.mean(axis=0), sample.std(axis=0)


MEAN, DEVIATION = load_statistics()


def init_params(key):
    a, b, c, d = jax.random.split(key, 4)
    width = DENSE + ID_FIELDS * DIM
    scale = lambda k, m, n: jax.random.normal(k, (m, n), jnp.float32) * jnp.float32(m**-0.5)
    return {
        "table": scale(a, TABLE, DIM),
        "w1": scale(b, width, HIDDEN),
        "w2": scale(c, HIDDEN, HIDDEN),
        "w3": scale(d, HIDDEN, 1),
    }


def forward(params, dense, ids):
    slots = (ids % TABLE).astype(jnp.int32)
    vectors = params["table"][slots].reshape(BATCH, -1)
    x = jnp.concatenate([(dense - MEAN) / DEVIATION, vectors], axis=-1)
    x = jax.nn.relu(x @ params["w1"])
    x = jax.nn.relu(x @ params["w2"])
    return (x @ params["w3"])[:, 0]


@jax.jit
def train_step(params, dense, ids, clicked):
    def loss(params):
        logits = forward(params, dense, ids)
        return jnp.mean(jnp.maximum(logits, 0) - logits * clicked + jnp.log1p(jnp.exp(-jnp.abs(logits))))

    value, grads = jax.value_and_grad(loss)(params)
    return jax.tree.map(lambda p, g: p - jnp.float32(0.01) * g, params, grads), value


class Trainer:
    def __init__(self):
        self.params = init_params(jax.random.key(0))
        rng = np.random.default_rng(0)
        self.batches = []
        for _ in range(4):
            dense = rng.normal(3.0, 2.0, (BATCH, DENSE)).astype(np.float32)
            ids = rng.integers(0, 2**62, (BATCH, ID_FIELDS))
            clicked = (rng.random(BATCH) < 0.2).astype(np.float32)
            self.batches.append(tuple(jnp.asarray(t) for t in (dense, ids, clicked)))

    def step(self, i):
        self.params, loss = train_step(self.params, *self.batches[i % len(self.batches)])
        jax.block_until_ready(loss)


trainer = Trainer()
for i in range(WARMUP):
    trainer.step(i)
for steps in windows(12):
    for i in steps:
        with jax.profiler.StepTraceAnnotation("train", step_num=i):
            trainer.step(i + WARMUP)
