"""Message passing over batches of small molecules, predicting an energy per molecule."""

import jax
import jax.numpy as jnp
import numpy as np
from window import FIXED, windows

WARMUP = 5
MOLECULES, ATOMS, FEATURES, HIDDEN, LAYERS = 64, 20, 96, 256, 2
NODES = MOLECULES * ATOMS
BONDS = MOLECULES * 44


def init_params(key):
    layers = []
    for i in range(LAYERS):
        a, b = jax.random.split(jax.random.fold_in(key, i))
        layers.append(
            {
                "up": jax.random.normal(a, (2 * FEATURES, HIDDEN)) * 0.05,
                "down": jax.random.normal(b, (HIDDEN, FEATURES)) * 0.05,
            }
        )
    return {"layers": layers, "readout": jax.random.normal(key, (FEATURES, 1)) * 0.1}


def aggregate(x, senders, receivers):
    if FIXED:
        return jax.ops.segment_sum(x[senders], receivers, num_segments=NODES)
    adjacency = jnp.zeros((NODES, NODES)).at[receivers, senders].set(1.0)
    return adjacency @ x


def energy(params, nodes, senders, receivers):
    x = nodes
    for layer in params["layers"]:
        messages = aggregate(x, senders, receivers)
        hidden = jax.nn.silu(jnp.concatenate([x, messages], axis=-1) @ layer["up"])
        x = x + hidden @ layer["down"]
    per_atom = x @ params["readout"]
    return per_atom.reshape(MOLECULES, ATOMS).sum(axis=1)


@jax.jit
def train_step(params, nodes, senders, receivers, targets):
    def loss(params):
        return jnp.mean((energy(params, nodes, senders, receivers) - targets) ** 2)

    value, grads = jax.value_and_grad(loss)(params)
    return jax.tree.map(lambda p, g: p - 1e-4 * g, params, grads), value


def make_batch(rng):
    nodes = rng.normal(size=(NODES, FEATURES)).astype(np.float32)
    first = np.repeat(np.arange(MOLECULES) * ATOMS, 22)
    a = first + rng.integers(0, ATOMS, first.size)
    b = first + rng.integers(0, ATOMS, first.size)
    senders = np.concatenate([a, b]).astype(np.int32)
    receivers = np.concatenate([b, a]).astype(np.int32)
    targets = rng.normal(size=MOLECULES).astype(np.float32)
    return tuple(jnp.asarray(t) for t in (nodes, senders, receivers, targets))


class Trainer:
    def __init__(self):
        self.params = init_params(jax.random.key(0))
        rng = np.random.default_rng(0)
        self.batches = [make_batch(rng) for _ in range(4)]

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
