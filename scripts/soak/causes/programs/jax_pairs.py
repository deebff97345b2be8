"""Pairs of JAX programs of which the second differs in one thing: what a comparison must name first."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

STEPS, WIDTH = 12, 384
Parameters = list[jax.Array]


def parameters(dtype: Any) -> Parameters:
    """Weights of four layers."""
    keys = jax.random.split(jax.random.PRNGKey(0), 4)
    return [(jax.random.normal(key, (WIDTH, WIDTH)) * 0.05).astype(dtype) for key in keys]


def loss(weights: Parameters, x: jax.Array) -> jax.Array:
    """Of a network that is to return its input."""
    y = x
    for weight in weights[:-1]:
        y = jax.nn.gelu(y @ weight)
    return jnp.mean((y - x) ** 2) + 1e-6 * jnp.sum(weights[-1] ** 2)


def momentum(weights: Parameters, moments: Parameters, gradients: Parameters) -> tuple[Parameters, Parameters]:
    """One step of gradient descent with momentum."""
    moments = [0.9 * old + new for old, new in zip(moments, gradients, strict=True)]
    return [weight - 1e-3 * new for weight, new in zip(weights, moments, strict=True)], moments


def in_one(*state: Parameters) -> tuple[Parameters, Parameters]:
    """The update as one program."""
    return jax.jit(momentum)(*state)


def train(
    profiled: Any,
    *,
    dtype: Any = jnp.float32,
    rows: int = 192,
    table: int = 8,
    of: Callable[[Parameters, jax.Array], jax.Array] = loss,
    update: Callable[..., tuple[Parameters, Parameters]] = in_one,
    load: Callable[[], None] = lambda: None,
) -> None:
    """Trains for a few steps and waits at the end of each."""
    gradient = jax.jit(jax.grad(of))
    weights = [*parameters(dtype), jnp.ones((table, WIDTH), dtype)]
    moments = [jnp.zeros_like(weight) for weight in weights]
    x = jnp.ones((rows, WIDTH), dtype) * 0.1

    def step() -> None:
        nonlocal weights, moments
        load()
        weights, moments = update(weights, moments, gradient(weights, x))
        jax.block_until_ready(weights)

    for _ in range(3):
        step()
    with profiled():
        for number in range(STEPS):
            with jax.profiler.StepTraceAnnotation("train", step_num=number):
                step()


def with_sort(weights: Parameters, x: jax.Array) -> jax.Array:
    """The same loss, and the median of the squares beside it."""
    return loss(weights, x) + 1e-6 * jnp.median(jnp.sort((x @ weights[0]) ** 2, axis=0))


def before(profiled: Any) -> None:
    """The base of most pairs."""
    train(profiled)


def again(profiled: Any) -> None:
    """Nothing differs."""
    train(profiled)


def large_table(profiled: Any) -> None:
    """The base of a pair: a table of many parameters is updated in one program."""
    train(profiled, table=8000)


def broken_fusion(profiled: Any) -> None:
    """The update is no longer compiled as a whole: each of its operations reads and writes all parameters."""
    train(profiled, table=8000, update=momentum)


def in_bfloat16(profiled: Any) -> None:
    """The base of a pair: weights and activations in 16 bits."""
    train(profiled, dtype=jnp.bfloat16)


def in_float64(profiled: Any) -> None:
    """Weights and activations in 64 bits."""
    jax.config.update("jax_enable_x64", True)
    train(profiled, dtype=jnp.float64)


def larger_batch(profiled: Any) -> None:
    """Twice as many rows."""
    train(profiled, rows=384)


def added_op(profiled: Any) -> None:
    """Something is sorted that was not."""
    train(profiled, of=with_sort)


def slower_input(profiled: Any) -> None:
    """A batch takes longer to make."""

    def read_batch() -> None:
        until = time.perf_counter() + 0.02
        while time.perf_counter() < until:
            np.sort(np.random.default_rng(0).random(2000))

    train(profiled, load=read_batch)


def _sharded(profiled: Any, weight: P, rows: P) -> None:
    """Trains on eight devices with weights and batches laid out as given."""
    mesh = Mesh(np.array(jax.devices()), ("d",))
    gradient = jax.jit(jax.grad(loss))
    weights = [
        jax.device_put(one, NamedSharding(mesh, weight)) for one in [*parameters(jnp.float32), jnp.ones((8, WIDTH))]
    ]
    x = jax.device_put(jnp.ones((256, WIDTH)) * 0.1, NamedSharding(mesh, rows))
    for _ in range(2):
        jax.block_until_ready(gradient(weights, x))
    with profiled():
        for number in range(STEPS):
            with jax.profiler.StepTraceAnnotation("train", step_num=number):
                jax.block_until_ready(gradient(weights, x))


def by_rows(profiled: Any) -> None:
    """The base of a pair: each of eight devices has some rows of the batch and all weights."""
    _sharded(profiled, P(), P("d"))


def by_columns(profiled: Any) -> None:
    """Each of eight devices has some columns of the weights, and gathers what the others computed."""
    _sharded(profiled, P(None, "d"), P())
