"""Data-parallel training of an image MLP over four devices."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P
from window import FIXED, windows

WARMUP = 5
BATCH, SIDE, HIDDEN, CLASSES = 512, 28, 768, 10


def init_params(key):
    sizes = [SIDE * SIDE, HIDDEN, HIDDEN, CLASSES]
    keys = jax.random.split(key, len(sizes))
    return [
        {"w": jax.random.normal(k, (a, b)) * a**-0.5, "b": jnp.zeros(b)} for k, a, b in zip(keys, sizes[:-1], sizes[1:])
    ]


def forward(params, images):
    x = images.reshape(images.shape[0], -1)
    for layer in params[:-1]:
        x = jax.nn.relu(x @ layer["w"] + layer["b"])
    return x @ params[-1]["w"] + params[-1]["b"]


@jax.jit
def train_step(params, images, labels):
    def loss(params):
        logp = jax.nn.log_softmax(forward(params, images))
        return -jnp.mean(jnp.take_along_axis(logp, labels[:, None], axis=-1))

    value, grads = jax.value_and_grad(loss)(params)
    return jax.tree.map(lambda p, g: p - 0.05 * g, params, grads), value


def normalise(images):
    """Adds noise to each image, and brings it to zero mean and unit variance."""
    x = images.astype(np.float32) / 255.0
    x = x + np.random.default_rng().normal(0.0, 0.05, x.shape).astype(np.float32)
    mean = x.mean(axis=(1, 2), keepdims=True)
    return (x - mean) / (x.std(axis=(1, 2), keepdims=True) + 1e-5)


class Trainer:
    def __init__(self):
        self.mesh = Mesh(np.array(jax.devices()), ("data",))
        self.replicated = NamedSharding(self.mesh, P())
        self.batched = NamedSharding(self.mesh, P("data") if FIXED else P())
        self.params = jax.device_put(init_params(jax.random.key(0)), self.replicated)
        rng = np.random.default_rng(0)
        self.images = rng.integers(0, 255, (2048, SIDE, SIDE)).astype(np.uint8)
        self.labels = rng.integers(0, CLASSES, 2048).astype(np.int32)

    def next_batch(self, i):
        start = i * BATCH % len(self.images)
        images = normalise(self.images[start : start + BATCH])
        return images, self.labels[start : start + BATCH]

    def step(self, i):
        images, labels = jax.device_put(self.next_batch(i), self.batched)
        self.params, loss = train_step(self.params, images, labels)
        jax.block_until_ready(loss)


trainer = Trainer()
for i in range(WARMUP):
    trainer.step(i)
for steps in windows(12):
    for i in steps:
        with jax.profiler.StepTraceAnnotation("train", step_num=i):
            trainer.step(i + WARMUP)
