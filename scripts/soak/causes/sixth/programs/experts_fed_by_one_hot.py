"""A switch-routed mixture of experts, trained on token vectors."""

import jax
import jax.numpy as jnp
import numpy as np
from window import FIXED, windows

WARMUP = 5
TOKENS, EXPERTS, CAPACITY, MODEL, HIDDEN = 512, 8, 80, 256, 512
CLASSES = 64


def init_params(key):
    a, b, c, d = jax.random.split(key, 4)
    return {
        "router": jax.random.normal(a, (MODEL, EXPERTS)) * 0.05,
        "up": jax.random.normal(b, (EXPERTS, MODEL, HIDDEN)) * MODEL**-0.5,
        "down": jax.random.normal(c, (EXPERTS, HIDDEN, MODEL)) * HIDDEN**-0.5,
        "head": jax.random.normal(d, (MODEL, CLASSES)) * MODEL**-0.5,
    }


def experts(params, slots):
    hidden = jax.nn.gelu(jnp.einsum("ecd,edf->ecf", slots, params["up"]))
    return jnp.einsum("ecf,efd->ecd", hidden, params["down"])


def route(params, x):
    gates = jax.nn.softmax(x @ params["router"])
    expert = jnp.argmax(gates, axis=-1)
    chosen = jax.nn.one_hot(expert, EXPERTS)
    position = jnp.sum((jnp.cumsum(chosen, axis=0) - 1) * chosen, axis=-1).astype(jnp.int32)
    weight = jnp.max(gates, axis=-1) * (position < CAPACITY)
    return expert, position, weight


def moe_layer(params, x):
    expert, position, weight = route(params, x)
    if FIXED:
        slot = jnp.where(position < CAPACITY, expert * CAPACITY + position, EXPERTS * CAPACITY)
        slots = jnp.zeros((EXPERTS * CAPACITY + 1, MODEL)).at[slot].set(x)[:-1]
        outputs = experts(params, slots.reshape(EXPERTS, CAPACITY, MODEL)).reshape(-1, MODEL)
        return jnp.take(outputs, slot, axis=0, mode="clip") * weight[:, None]
    dispatch = jax.nn.one_hot(expert, EXPERTS)[:, :, None] * jax.nn.one_hot(position, CAPACITY)[:, None, :]
    slots = jnp.einsum("nec,nd->ecd", dispatch, x)
    outputs = experts(params, slots)
    return jnp.einsum("nec,ecd->nd", dispatch * weight[:, None, None], outputs)


def loss_fn(params, x, labels):
    y = x + moe_layer(params, x)
    logp = jax.nn.log_softmax(y @ params["head"])
    return -jnp.mean(jnp.take_along_axis(logp, labels[:, None], axis=-1))


@jax.jit
def train_step(params, x, labels):
    loss, grads = jax.value_and_grad(loss_fn)(params, x, labels)
    return jax.tree.map(lambda p, g: p - 0.05 * g, params, grads), loss


class Trainer:
    def __init__(self):
        self.params = init_params(jax.random.key(0))
        rng = np.random.default_rng(0)
        self.batches = [
            (
                jnp.asarray(rng.normal(size=(TOKENS, MODEL)), jnp.float32),
                jnp.asarray(rng.integers(0, CLASSES, TOKENS)),
            )
            for _ in range(4)
        ]

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
