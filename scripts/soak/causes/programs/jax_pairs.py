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
    for weight in weights:
        y = jax.nn.gelu(y @ weight)
    return jnp.mean((y - x) ** 2)


def momentum(weights: Parameters, moments: Parameters, gradients: Parameters) -> tuple[Parameters, Parameters]:
    """One step of gradient descent with momentum."""
    moments = [0.9 * old + new for old, new in zip(moments, gradients, strict=True)]
    return [weight - 1e-3 * new for weight, new in zip(weights, moments, strict=True)], moments


def in_one(weights: Parameters, moments: Parameters, gradients: Parameters) -> tuple[Parameters, Parameters]:
    """The update as one program."""
    return jax.jit(momentum)(weights, moments, gradients)


@jax.jit
def decayed(moment: jax.Array) -> jax.Array:
    """A part of the update."""
    return 0.9 * moment


@jax.jit
def added(moment: jax.Array, gradient: jax.Array) -> jax.Array:
    """A part of the update."""
    return moment + gradient


@jax.jit
def scaled(moment: jax.Array) -> jax.Array:
    """A part of the update."""
    return 1e-3 * moment


@jax.jit
def moved(weight: jax.Array, change: jax.Array) -> jax.Array:
    """A part of the update."""
    return weight - change


def in_four(weights: Parameters, moments: Parameters, gradients: Parameters) -> tuple[Parameters, Parameters]:
    """The update as four programs for each layer, each of which reads and writes all of it."""
    moments = [added(decayed(old), new) for old, new in zip(moments, gradients, strict=True)]
    return [moved(weight, scaled(new)) for weight, new in zip(weights, moments, strict=True)], moments


def train(
    profiled: Any,
    *,
    dtype: Any = jnp.float32,
    rows: int = 192,
    of: Callable[[Parameters, jax.Array], jax.Array] = loss,
    update: Callable[..., tuple[Parameters, Parameters]] = in_one,
    load: Callable[[], None] = lambda: None,
) -> None:
    """Trains for a few steps and waits at the end of each."""
    gradient = jax.jit(jax.grad(of))
    weights = parameters(dtype)
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


def broken_fusion(profiled: Any) -> None:
    """The update is no longer one program."""
    train(profiled, update=in_four)


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
    weights = [jax.device_put(one, NamedSharding(mesh, weight)) for one in parameters(jnp.float32)]
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
