"""JAX programs on one device that waste no time; the last one only lacks marks of its steps."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from programs.jax_compile import cross_entropy, mlp


@partial(jax.jit, donate_argnums=0)
def sgd(layers: Any, x: jax.Array, labels: jax.Array) -> tuple[Any, jax.Array]:
    """One step of gradient descent; the old parameters' memory is used again."""
    loss, slopes = jax.value_and_grad(cross_entropy)(layers, x, labels)
    return jax.tree.map(lambda p, g: p - 0.01 * g, layers, slopes), loss


def task() -> tuple[Any, jax.Array, jax.Array]:
    """Parameters and a batch on the device."""
    keys = jax.random.split(jax.random.key(0))
    return mlp(keys[0], 512, 768, 768, 768, 10), jax.random.normal(keys[1], (512, 512)), jnp.arange(512) % 10


def async_training(profiled: Any) -> None:
    """Hands over all steps at once and looks at the losses after the last."""
    layers, x, labels = task()
    layers, loss = sgd(layers, x, labels)
    loss.block_until_ready()
    losses = []
    with profiled():
        for number in range(10):
            with jax.profiler.StepTraceAnnotation("train", step_num=number):
                layers, loss = sgd(layers, x, labels)
                losses.append(loss)
        jax.block_until_ready(losses)


def waiting_training(profiled: Any) -> None:
    """Waits for the loss at the end of each step, while the device computes."""
    layers, x, labels = task()
    layers, loss = sgd(layers, x, labels)
    loss.block_until_ready()
    with profiled():
        for number in range(10):
            with jax.profiler.StepTraceAnnotation("train", step_num=number):
                layers, loss = sgd(layers, x, labels)
                loss.block_until_ready()


def unmarked_training(profiled: Any) -> None:
    """Trains as well as the others, but its steps have no marks."""
    layers, x, labels = task()
    layers, loss = sgd(layers, x, labels)
    loss.block_until_ready()
    with profiled():
        for _ in range(10):
            layers, loss = sgd(layers, x, labels)
        loss.block_until_ready()
