"""TensorFlow programs with a training loop of their own: wrongly compiled, badly fed, and healthy ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import tensorflow as tf

Trace = tf.profiler.experimental.Trace


class Classifier(tf.Module):
    """Dense layers and plain gradient descent."""

    def __init__(self, *widths: int) -> None:
        super().__init__()
        pairs = pairwise(widths)
        self.weights = [tf.Variable(tf.random.normal((m, n), stddev=m**-0.5, seed=m)) for m, n in pairs]

    def loss(self, x: Any, labels: Any) -> Any:
        """Mean cross-entropy of a batch."""
        for weights in self.weights[:-1]:
            x = tf.nn.relu(x @ weights)
        logits = x @ self.weights[-1]
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))

    def train(self, x: Any, labels: Any, rate: Any = 0.01) -> Any:
        """One update; returns the loss."""
        with tf.GradientTape() as tape:
            loss = self.loss(x, labels)
        for weights, slope in zip(self.weights, tape.gradient(loss, self.weights), strict=True):
            weights.assign_sub(rate * slope)
        return loss


def batch(rows: int, columns: int) -> tuple[Any, Any]:
    """Input and labels."""
    return tf.random.normal((rows, columns), seed=1), tf.range(rows) % 10


def train_all(profiled: Any, step: Callable[..., Any], batches: Iterator[Any]) -> None:
    """Warms a step up and captures ten, each with the wait for its batch."""
    for _ in range(3):
        step(*next(batches))
    with profiled():
        for number in range(10):
            with Trace("train", step_num=number, _r=1):
                step(*next(batches))


def resized_images(profiled: Any) -> None:
    """Images are resized and distorted by a sequential map in the pipeline, and the loop waits for each batch."""
    model = Classifier(64 * 64 * 3, 16, 10)

    def distort(image: Any, label: Any) -> tuple[Any, Any]:
        image = tf.image.resize(image, (160, 160), "bicubic")
        image = tf.image.random_contrast(tf.image.random_crop(image, (128, 128, 3)), 0.5, 1.5)
        return tf.reshape(tf.image.resize(image, (64, 64)), [-1]), label

    images = tf.random.uniform((48 * 8, 96, 96, 3))
    data = tf.data.Dataset.from_tensor_slices((images, tf.range(48 * 8) % 10)).repeat().map(distort).batch(48)
    train_all(profiled, tf.function(model.train), iter(data))


def sensor_windows() -> Iterator[tuple[np.ndarray, np.int32]]:
    """Endless windows of a signal, normalized and sorted by energy in Python."""
    random = np.random.default_rng(2)
    while True:
        signal = random.normal(size=(24, 64))
        rows = sorted(((row - row.mean()) / row.std() for row in signal), key=lambda row: float((row**2).sum()))
        yield np.concatenate(rows).astype(np.float32), np.int32(random.integers(0, 10))


def python_generator(profiled: Any) -> None:
    """The pipeline takes its elements from a Python generator, which is slower than the model."""
    model = Classifier(24 * 64, 64, 10)
    kinds = (tf.TensorSpec((24 * 64,), tf.float32), tf.TensorSpec((), tf.int32))
    data = tf.data.Dataset.from_generator(sensor_windows, output_signature=kinds).batch(32)
    train_all(profiled, tf.function(model.train), iter(data))


def eager_training(profiled: Any) -> None:
    """A deep, narrow network is trained without tf.function: each operation is launched from Python."""
    model = Classifier(32, *[48] * 50, 10)
    x, labels = batch(96, 32)
    train_all(profiled, model.train, iter([(x, labels)] * 13))


def retraced_schedule(profiled: Any) -> None:
    """The learning rate of each step is a Python number, so that the function is traced anew for each."""
    model = Classifier(64, 128, 128, 10)
    train = tf.function(model.train)
    x, labels = batch(64, 64)
    train_all(profiled, train, ((x, labels, 0.1 * 0.97**number) for number in range(13)))


def read_loss(profiled: Any) -> None:
    """Reads the loss with .numpy() in each step, which costs nothing here: the CPU has computed it by then."""
    model = Classifier(512, 768, 768, 10)
    train = tf.function(model.train)
    losses: list[float] = []
    train_all(profiled, lambda x, y: losses.append(float(train(x, y).numpy())), iter([batch(256, 512)] * 13))


def prefetched(profiled: Any) -> None:
    """A compiled step with batches that are prepared in parallel and in advance."""
    model = Classifier(512, 1024, 1024, 10)
    x, labels = batch(2048, 512)
    data = tf.data.Dataset.from_tensor_slices((x, labels)).repeat().batch(256)
    data = data.map(lambda x, y: (x / tf.norm(x), y), num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)
    train_all(profiled, tf.function(model.train), iter(data))


def prefetched_xla(profiled: Any) -> None:
    """The loop, compiled by XLA."""
    model = Classifier(512, 1024, 1024, 10)
    data = tf.data.Dataset.from_tensors(batch(256, 512)).repeat().prefetch(2)
    train_all(profiled, tf.function(model.train, jit_compile=True), iter(data))


def sequential_behind_prefetch(profiled: Any) -> None:
    """Images are decoded one at a time behind a shuffle; the prefetch at the end is not enough."""
    model = Classifier(1024, 10)
    pictures = [tf.io.encode_png(tf.cast(tf.random.uniform((160, 160, 3), maxval=255), tf.uint8)) for _ in range(8)]

    def decode(png: Any) -> tuple[Any, Any]:
        image = tf.image.resize(tf.image.decode_png(png, 3), (32, 32))
        return tf.reshape(image[..., 0], [-1]) / 255.0, 1

    data = tf.data.Dataset.from_tensor_slices(pictures).repeat().shuffle(2000).map(decode).batch(32).prefetch(1)
    train_all(profiled, tf.function(model.train), iter(data))


def while_in_graph(profiled: Any) -> None:
    """Healthy: a loop inside the tf.function computes for long; its marks have a name of their own."""
    weights, x = tf.random.normal((400, 400)) / 20, tf.random.normal((400, 400))

    @tf.function
    def simulate(x: Any) -> Any:
        return tf.while_loop(lambda i, x: i < 40, lambda i, x: (i + 1, tf.tanh(x @ weights)), (0, x))[1]

    simulate(x)
    with profiled():
        for number in range(6):
            with Trace("simulation", step_num=number, _r=1):
                simulate(x)
