"""JAX programs on one device that are compiled too often, or not at all."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.profiler import StepTraceAnnotation

Params = dict[str, jax.Array]


def mlp(key: jax.Array, *widths: int) -> list[Params]:
    """Parameters of a network with these widths."""
    keys = jax.random.split(key, len(widths))
    pairs = zip(keys[1:], widths, widths[1:], strict=False)
    return [{"w": jax.random.normal(k, (m, n)) / m**0.5, "b": jnp.zeros(n)} for k, m, n in pairs]


def forward(layers: list[Params], x: jax.Array) -> jax.Array:
    """The network's output, (batch, classes)."""
    for layer in layers[:-1]:
        x = jax.nn.gelu(x @ layer["w"] + layer["b"])
    return x @ layers[-1]["w"] + layers[-1]["b"]


def cross_entropy(layers: list[Params], x: jax.Array, labels: jax.Array) -> jax.Array:
    """Mean loss of a batch."""
    chosen = jnp.take_along_axis(jax.nn.log_softmax(forward(layers, x)), labels[:, None], axis=1)
    return -chosen.mean()


def ragged_batches(profiled: Any) -> None:
    """The last batch dimension is whatever a filter left over: every step has another shape and is compiled anew."""
    random = np.random.default_rng(0)

    @jax.jit
    def train_step(layers: list[Params], x: jax.Array, labels: jax.Array) -> tuple[list[Params], jax.Array]:
        loss, slopes = jax.value_and_grad(cross_entropy)(layers, x, labels)
        return jax.tree.map(lambda p, g: p - 0.01 * g, layers, slopes), loss

    def batch(rows: int) -> tuple[np.ndarray, np.ndarray]:
        return random.normal(size=(rows, 256)).astype(np.float32), random.integers(0, 10, rows)

    layers = mlp(jax.random.key(0), 256, 512, 512, 10)
    layers, loss = train_step(layers, *batch(128))
    loss.block_until_ready()
    with profiled():
        for number, rows in enumerate((117, 121, 113, 125, 109, 123, 119, 111, 127, 115)):
            with StepTraceAnnotation("train", step_num=number):
                layers, loss = train_step(layers, *batch(rows))
        loss.block_until_ready()


@partial(jax.jit, static_argnames=("keep", "window"))
def smooth(signal: jax.Array, keep: int, window: float) -> jax.Array:
    """Low-pass filter over the last axis that keeps some frequencies."""
    spectrum = jnp.fft.rfft(signal, axis=-1)
    weights = jnp.exp(-((jnp.arange(spectrum.shape[-1]) / keep) ** 2) * window)
    return jnp.fft.irfft(spectrum * weights, axis=-1) @ jnp.eye(signal.shape[-1])


def annealed_static(profiled: Any) -> None:
    """A schedule's value is a static argument of the compiled function, which is compiled for each value."""
    signal = jax.random.normal(jax.random.key(1), (256, 1024))
    smooth(signal, keep=64, window=1.0).block_until_ready()
    with profiled():
        for step in range(10):
            with StepTraceAnnotation("denoise", step_num=step):
                signal = smooth(signal, keep=64, window=0.9 ** (step + 1))
                signal.block_until_ready()


def forgotten_jit(profiled: Any) -> None:
    """A recurrent network is trained without jit: each operation is a program of its own."""
    keys = jax.random.split(jax.random.key(2), 4)
    cell = {"in": jax.random.normal(keys[0], (24, 64)) * 0.1, "state": jax.random.normal(keys[1], (64, 64)) * 0.1}
    series, target = jax.random.normal(keys[2], (12, 32, 24)), jax.random.normal(keys[3], (32, 64))

    def loss_of(cell: Params) -> jax.Array:
        state = jnp.zeros((32, 64))
        for sample in series:
            state = jnp.tanh(sample @ cell["in"] + state @ cell["state"])
        return ((state - target) ** 2).mean()

    def update(cell: Params) -> Params:
        slopes = jax.grad(loss_of)(cell)
        return {name: cell[name] - 0.1 * slopes[name] for name in cell}

    cell = update(update(cell))
    with profiled():
        for number in range(8):
            with StepTraceAnnotation("rnn", step_num=number):
                cell = update(cell)
        jax.block_until_ready(cell)


def eager_inference(profiled: Any) -> None:
    """Attention blocks are evaluated operation by operation, with heads in a Python loop."""
    key = jax.random.key(3)
    weights = [jax.random.normal(jax.random.fold_in(key, i), (4, 64, 192)) / 8 for i in range(6)]
    tokens = jax.random.normal(key, (48, 64))

    def block(x: jax.Array, heads: jax.Array) -> jax.Array:
        outputs = []
        for head in heads:
            q, k, v = jnp.split(x @ head, 3, axis=-1)
            scores = jax.nn.softmax(q @ k.T / 8.0, axis=-1)
            outputs.append(scores @ v)
        return x + sum(outputs) / len(heads)

    def predict(x: jax.Array) -> jax.Array:
        for heads in weights:
            x = block(x, heads)
            x = (x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)
        return x

    predict(tokens + 0).block_until_ready()
    with profiled():
        for request in range(10):
            with StepTraceAnnotation("predict", step_num=request):
                predict(tokens + request).block_until_ready()
