"""Captures an image classifier on CPU that waits for its loader: `python train_images.py LOGDIR [--prefetch]`.

The loader decodes a batch when the step asks for it. With `--prefetch`, the repaired program, a thread decodes the next
batches while this one trains.
"""

from __future__ import annotations

import os
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from queue import Queue
from threading import Thread

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"  # one core trains, the others are free to decode

import jax
import jax.numpy as jnp
import numpy as np
from capture import capture_into

BATCH, SIDE, STORED, CLASSES = 32, 64, 128, 10
STEPS = 12

Batch = tuple[np.ndarray, np.ndarray]
Params = dict[str, jax.Array]


def encode(picture: np.ndarray) -> bytes:
    """Compressed differences of neighbouring pixels, as in a PNG file."""
    return zlib.compress(np.diff(picture, axis=1, prepend=np.uint8(0)).tobytes())


def decode(data: bytes) -> np.ndarray:
    """The pixels of an encoded picture, reduced to SIDE x SIDE."""
    differences = np.frombuffer(zlib.decompress(data), np.uint8).reshape(STORED, STORED, 3)
    pixels = np.cumsum(differences, axis=1, dtype=np.uint8)
    scale = STORED // SIDE
    rows = pixels.reshape(SIDE, scale, -1).mean(axis=1, dtype=np.float32)
    return rows.reshape(SIDE, SIDE, scale, 3).mean(axis=2) / 255


class Loader:
    """Endless batches; decodes the pictures of a batch when it is asked for."""

    def __init__(self, files: list[bytes], labels: np.ndarray) -> None:
        self._files, self._labels, self._order = files, labels, np.random.default_rng(1)

    def __iter__(self) -> Iterator[Batch]:
        return self

    def __next__(self) -> Batch:
        chosen = self._order.integers(len(self._files), size=BATCH)
        return np.stack([decode(self._files[i]) for i in chosen]), self._labels[chosen]


class Prefetcher:
    """The batches of a loader, made ahead by a thread of their own."""

    def __init__(self, loader: Loader) -> None:
        self._ready: Queue[Batch] = Queue(maxsize=2)
        Thread(target=self._fill, args=(loader,), name="prefetch", daemon=True).start()

    def _fill(self, loader: Loader) -> None:
        for batch in loader:
            self._ready.put(batch)

    def __next__(self) -> Batch:
        return self._ready.get()


def dataset(count: int = 64) -> Loader:
    """Smooth random pictures, encoded as files of a data set are."""
    random = np.random.default_rng(0)
    coarse = random.integers(256, size=(count, STORED // 4, STORED // 4, 3), dtype=np.uint8)
    pictures = coarse.repeat(4, axis=1).repeat(4, axis=2) + random.integers(
        8, size=(count, STORED, STORED, 3), dtype=np.uint8
    )
    return Loader([encode(one) for one in pictures], random.integers(CLASSES, size=count))


def initial() -> Params:
    """Weights of two convolutions and a classifier."""
    random = np.random.default_rng(2)
    shapes = {"first": (5, 5, 3, 32), "second": (3, 3, 32, 128), "classes": (128, CLASSES)}
    return {
        name: jnp.asarray(random.normal(scale=np.prod(shape[:-1]) ** -0.5, size=shape), jnp.float32)
        for name, shape in shapes.items()
    }


def loss(params: Params, images: jax.Array, labels: jax.Array) -> jax.Array:
    """Mean cross entropy."""
    hidden = images
    for name in ("first", "second"):
        layout = ("NHWC", "HWIO", "NHWC")
        hidden = jax.nn.relu(
            jax.lax.conv_general_dilated(hidden, params[name], (2, 2), "SAME", dimension_numbers=layout)
        )
    scores = jax.nn.log_softmax(hidden.mean(axis=(1, 2)) @ params["classes"])
    return -jnp.mean(jnp.take_along_axis(scores, labels[:, None], axis=1))


@jax.jit
def train_step(params: Params, images: jax.Array, labels: jax.Array) -> tuple[Params, jax.Array]:
    """One step of gradient descent."""
    value, gradients = jax.value_and_grad(loss)(params, images, labels)
    return jax.tree.map(lambda p, g: p - 0.05 * g, params, gradients), value


def main(logdir: Path, *, prefetch: bool) -> None:
    """Warms up, then captures STEPS steps with their Python functions."""
    batches = Prefetcher(dataset()) if prefetch else dataset()
    params = initial()
    for _ in range(5):
        params, value = train_step(params, *next(batches))
        value.block_until_ready()
    options = jax.profiler.ProfileOptions()
    options.python_tracer_level = 1
    run = "train_prefetched" if prefetch else "train_slow_input"
    with capture_into(logdir, run) as folder, jax.profiler.trace(folder, profiler_options=options):
        for step in range(STEPS):
            with jax.profiler.StepTraceAnnotation("train", step_num=step):
                images, labels = next(batches)
                params, value = train_step(params, images, labels)
                value.block_until_ready()


if __name__ == "__main__":
    main(Path(sys.argv[1]), prefetch="--prefetch" in sys.argv)
