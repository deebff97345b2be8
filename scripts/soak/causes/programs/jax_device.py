"""JAX programs on one device whose computation itself, or what it is given, costs too much."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import io_callback
from jax.profiler import StepTraceAnnotation as Step


def table_of_numpy(profiled: Any) -> None:
    """An embedding table stays a NumPy array and is copied to the device as an argument of every step."""
    random = np.random.default_rng(0)
    table = random.normal(size=(60_000, 256)).astype(np.float32)
    weights = jax.random.normal(jax.random.key(0), (256, 128)) / 16
    items = jnp.asarray(random.integers(0, 60_000, (64, 16)))

    @jax.jit
    def score(weights: jax.Array, table: jax.Array, items: jax.Array) -> jax.Array:
        users = jnp.tanh(table[items].mean(1) @ weights)
        return weights + 1e-3 * (users.T @ users).mean()

    weights = score(weights, table, items)
    with profiled():
        for number in range(10):
            with Step("recommend", step_num=number):
                weights = score(weights, table, items)
        weights.block_until_ready()


def constants_put_again(profiled: Any) -> None:
    """Moves the same reference features to the device with device_put before each step."""
    random = np.random.default_rng(1)
    features = random.normal(size=(256, 40_000)).astype(np.float32).T
    queries = jax.device_put(random.normal(size=(8, 256)).astype(np.float32))
    nearest = jax.jit(lambda queries, features: jax.lax.top_k(queries @ features[:2000].T, 5)[1])
    nearest(queries, jax.device_put(features))
    with profiled():
        for number in range(10):
            with Step("search", step_num=number):
                reference = jax.device_put(features)
                found = nearest(queries, reference)
                found.block_until_ready()


def shuffled_features(profiled: Any) -> None:
    """Reorders activations by permutations and transposes, and computes next to nothing with them."""
    random = np.random.default_rng(2)
    order = jnp.asarray(random.permutation(64 * 2048))
    x = jax.random.normal(jax.random.key(1), (64, 2048, 32))
    mix = jax.random.normal(jax.random.key(2), (32, 32)) / 6

    @jax.jit
    def shuffle(x: jax.Array) -> jax.Array:
        x = x.reshape(-1, 32)[order].reshape(64, 2048, 32)
        x = x.transpose(1, 2, 0).copy()
        x = jnp.take(x, order[:2048] % 2048, axis=0)
        x = x.transpose(2, 0, 1)
        return x.at[0].set(x[0] @ mix)

    x = shuffle(x)
    with profiled():
        for number in range(10):
            with Step("shuffle", step_num=number):
                x = shuffle(x)
                x.block_until_ready()


def attention_kept(profiled: Any) -> None:
    """Layers in a scan keep their attention weights until the backward pass; most of the memory is theirs."""
    layers, heads, length, width = 8, 8, 256, 64
    keys = jax.random.split(jax.random.key(3), 3)
    stack = {
        "qkv": jax.random.normal(keys[0], (layers, width, 3 * width)) / 8,
        "out": jax.random.normal(keys[1], (layers, width, width)) / 8,
    }
    tokens = jax.random.normal(keys[2], (2, length, width))

    def layer(x: jax.Array, one: dict[str, jax.Array]) -> tuple[jax.Array, None]:
        q, k, v = (part.reshape(2, length, heads, -1) for part in jnp.split(x @ one["qkv"], 3, axis=-1))
        weights = jax.nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", q, k), axis=-1)
        mixed = jnp.einsum("bhqk,bkhd->bqhd", weights, v).reshape(x.shape)
        return x + jnp.tanh(mixed @ one["out"]), None

    @jax.jit
    def train_step(stack: Any) -> Any:
        slopes = jax.grad(lambda stack: (jax.lax.scan(layer, tokens, stack)[0] ** 2).mean())(stack)
        return jax.tree.map(lambda p, g: p - 0.01 * g, stack, slopes)

    stack = train_step(stack)
    with profiled():
        for number in range(8):
            with Step("train", step_num=number):
                stack = jax.block_until_ready(train_step(stack))


def double_precision(profiled: Any) -> None:
    """Multiplies matrices in 64 bits, as NumPy made them, where 32 would do."""
    jax.config.update("jax_enable_x64", True)
    random = np.random.default_rng(3)
    layers = [jnp.asarray(random.normal(size=(384, 384)) / 20) for _ in range(6)]
    x = jnp.asarray(random.normal(size=(256, 384)))

    @jax.jit
    def train_step(layers: list[jax.Array], x: jax.Array) -> tuple[list[jax.Array], jax.Array]:
        def loss_of(layers: list[jax.Array]) -> jax.Array:
            y = x
            for layer in layers:
                y = jax.nn.relu(y @ layer)
            return ((y - x) ** 2).mean()

        loss, slopes = jax.value_and_grad(loss_of)(layers)
        return [layer - 0.01 * slope for layer, slope in zip(layers, slopes, strict=True)], loss

    layers, loss = train_step(layers, x)
    loss.block_until_ready()
    with profiled():
        for number in range(12):
            with Step("train", step_num=number):
                layers, loss = train_step(layers, x)
                loss.block_until_ready()


def print_in_scan(profiled: Any) -> None:
    """A forgotten jax.debug.print shows each layer's mean in every step."""
    stack = jax.random.normal(jax.random.key(4), (128, 96, 96)) / 10
    x = jax.random.normal(jax.random.key(5), (64, 96))

    def layer(x: jax.Array, weights: jax.Array) -> tuple[jax.Array, None]:
        x = jnp.tanh(x @ weights)
        jax.debug.print("mean {m}", m=x.mean())
        return x, None

    @jax.jit
    def predict(stack: jax.Array, x: jax.Array) -> jax.Array:
        return jax.lax.scan(layer, x, stack)[0]

    x = predict(stack, x).block_until_ready()
    with profiled():
        for number in range(10):
            with Step("predict", step_num=number):
                x = predict(stack, x)
                x.block_until_ready()


def metrics_by_callback(profiled: Any) -> None:
    """Every small update inside the step reports its loss to Python through an ordered io_callback."""
    history: list[float] = []

    def record(value: np.ndarray) -> None:
        history.append(float(value))

    @jax.jit
    def train_step(weights: jax.Array, batches: jax.Array) -> jax.Array:
        def update(weights: jax.Array, x: jax.Array) -> tuple[jax.Array, None]:
            loss, slope = jax.value_and_grad(lambda w: ((x @ w - x) ** 2).mean())(weights)
            io_callback(record, None, loss, ordered=True)
            return weights - 0.1 * slope, None

        return jax.lax.scan(update, weights, batches)[0]

    weights = jnp.eye(64) * 0.5
    batches = jax.random.normal(jax.random.key(6), (160, 64, 64))
    weights = train_step(weights, batches).block_until_ready()
    with profiled():
        for number in range(10):
            with Step("train", step_num=number):
                weights = train_step(weights, batches)
        weights.block_until_ready()
        jax.effects_barrier()
