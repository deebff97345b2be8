"""JAX programs in other styles: classes, optimizers and loops as libraries write them, one planted cause each."""

from __future__ import annotations

import concurrent.futures
import time
from collections import deque
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

Step = jax.profiler.StepTraceAnnotation
Params = dict[str, dict[str, jax.Array]]


class Stack:
    """Dense layers as a module with parameters of its own."""

    def __init__(self, *units: int) -> None:
        self.units = units

    def init(self, key: jax.Array, inputs: int) -> Params:
        """Parameters by name of the layer."""
        params, width = {}, inputs
        for i, units in enumerate(self.units):
            kernel = jax.random.normal(jax.random.fold_in(key, i), (width, units)) / width**0.5
            params[f"Dense_{i}"] = {"kernel": kernel, "bias": jnp.zeros(units)}
            width = units
        return params

    def loss(self, params: Params, x: jax.Array) -> jax.Array:
        """Mean square of the output."""
        for layer in params.values():
            x = jax.nn.relu(x @ layer["kernel"] + layer["bias"])
        return (x**2).mean()


def eager_optimizer(profiled: Any) -> None:
    """The gradient is compiled, the update of an optimizer with moments is not: every array costs a dozen programs."""
    net = Stack(*[64] * 24)
    params, x = net.init(jax.random.key(0), 32), jnp.ones((128, 32))
    gradient = jax.jit(jax.grad(net.loss))

    def update(slopes: Params, moments: tuple[Params, Params], count: float) -> tuple[Params, tuple[Params, Params]]:
        first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, moments[0], slopes)
        second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, moments[1], slopes)
        scale = 1e-3 / (1 - 0.9**count)
        return jax.tree.map(lambda m, v: -scale * m / (jnp.sqrt(v) + 1e-8), first, second), (first, second)

    def step(params: Params, moments: Any, count: float) -> Any:
        changes, moments = update(gradient(params, x), moments, count)
        return jax.tree.map(jnp.add, params, changes), moments

    moments = (jax.tree.map(jnp.zeros_like, params),) * 2
    params, moments = step(*step(params, moments, 1.0), 2.0)
    with profiled():
        for number in range(10):
            with Step("train", step_num=number):
                params, moments = step(params, moments, number + 3.0)
        jax.block_until_ready(params)


def new_lambda(profiled: Any) -> None:
    """Each step compiles a function that is made anew in the loop."""
    net = Stack(256, 256, 8)
    params, x = net.init(jax.random.key(1), 64), jnp.ones((64, 64))

    def update(params: Params) -> Params:
        return jax.tree.map(lambda p, g: p - 1e-3 * g, params, jax.grad(net.loss)(params, x))

    params = jax.jit(lambda p: update(p))(params)
    with profiled():
        for number in range(10):
            with Step("sgd", step_num=number):
                params = jax.jit(lambda p: update(p))(params)
        jax.block_until_ready(params)


def converging_on_host(profiled: Any) -> None:
    """An iterative solver compares the residual in Python after each iteration."""
    a = jax.random.normal(jax.random.key(2), (256, 256))
    a, b = a @ a.T / 256 + jnp.eye(256), jnp.ones(256)

    @jax.jit
    def iterate(x: jax.Array) -> tuple[jax.Array, jax.Array]:
        residual = b - a @ x
        return x + 0.2 * residual, jnp.linalg.norm(residual)

    def solve() -> jax.Array:
        x = jnp.zeros(256)
        for _ in range(200):
            x, residual = iterate(x)
            if residual < 1e-12:
                break
        return x

    solve()
    with profiled():
        for number in range(10):
            with Step("solve", step_num=number):
                solve().block_until_ready()


def read_batch(number: int) -> np.ndarray:
    """Takes long, as from a slow disk."""
    time.sleep(0.02)
    return np.full((64, 128), number, np.float32)


def gram_step(weights: jax.Array, x: jax.Array) -> jax.Array:
    """A little computation."""
    return weights + 1e-3 * (x.T @ x) / 64


def pool_of_one(profiled: Any) -> None:
    """Batches are futures of a pool that has a single thread."""
    step = jax.jit(gram_step)
    weights = step(jnp.eye(128), read_batch(0))
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        waiting = deque(pool.submit(read_batch, i) for i in range(8))
        with profiled():
            for number in range(15):
                with Step("train", step_num=number):
                    batch = waiting.popleft().result()
                    waiting.append(pool.submit(read_batch, number))
                    weights = step(weights, batch)
            weights.block_until_ready()


class Shards:
    """Iterates over batches of a slow disk."""

    def __iter__(self) -> Iterator[np.ndarray]:
        return self

    def __next__(self) -> np.ndarray:
        """The next batch."""
        return read_batch(1)


def iterated_between_marks(profiled: Any) -> None:
    """The loop runs over a slow iterator and marks only what it does with each batch."""
    step = jax.jit(gram_step)
    weights, shards = step(jnp.eye(128), read_batch(0)), Shards()
    with profiled():
        for number, batch in enumerate(shards):
            with Step("train", step_num=number):
                weights = step(weights, batch).block_until_ready()
            if number == 11:
                break


def parameters_of_numpy(profiled: Any) -> None:
    """Sixty arrays of NumPy are the parameters of a compiled function, in a list."""
    random = np.random.default_rng(0)
    params = [random.normal(size=(512, 512)).astype(np.float32) for _ in range(60)]

    @jax.jit
    def serve(params: list[jax.Array], x: jax.Array) -> jax.Array:
        for weights in params[:4]:
            x = jnp.tanh(x @ weights)
        return x + sum(weights[0] for weights in params)

    x = jnp.ones((4, 512))
    serve(params, x)
    with profiled():
        for number in range(12):
            with Step("serve", step_num=number):
                serve(params, x).block_until_ready()


def sorted_by_numpy(profiled: Any) -> None:
    """A loop inside the program sorts with NumPy, by pure_callback."""

    def body(_: int, x: jax.Array) -> jax.Array:
        return jax.pure_callback(np.sort, jax.ShapeDtypeStruct(x.shape, x.dtype), jnp.tanh(x * 1.1))

    run = jax.jit(lambda x: lax.fori_loop(0, 60, body, x))
    x = run(jnp.linspace(-1, 1, 64))
    with profiled():
        for number in range(10):
            with Step("sort", step_num=number):
                x = run(x).block_until_ready()


def scanned_epochs(profiled: Any) -> None:
    """Healthy: each step is a whole epoch of small batches in a scan."""
    net = Stack(256, 256, 4)
    params, batches = net.init(jax.random.key(3), 64), jnp.ones((100, 64, 64))

    def update(params: Params, x: jax.Array) -> tuple[Params, None]:
        return jax.tree.map(lambda p, g: p - 0.01 * g, params, jax.grad(net.loss)(params, x)), None

    epoch = jax.jit(lambda params: lax.scan(update, params, batches)[0])
    params = epoch(params)
    with profiled():
        for number in range(5):
            with Step("epoch", step_num=number):
                params = epoch(params)
        jax.block_until_ready(params)
