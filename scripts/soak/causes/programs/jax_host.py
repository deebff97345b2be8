"""JAX programs on one device in which the host keeps the device waiting."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from programs.jax_compile import cross_entropy, forward, mlp

mark = jax.profiler.StepTraceAnnotation


@jax.jit
def train_step(layers: Any, x: jax.Array, labels: jax.Array) -> Any:
    """One step of gradient descent: new parameters and the loss."""
    loss, slopes = jax.value_and_grad(cross_entropy)(layers, x, labels)
    return jax.tree.map(lambda p, g: p - 0.01 * g, layers, slopes), loss


def loss_of_microbatches(profiled: Any) -> None:
    """Reads the loss after each of 96 small batches that could have been queued."""
    random = np.random.default_rng(0)
    layers = mlp(jax.random.key(0), 64, 96, 96, 10)
    batches = [(random.normal(size=(32, 64)).astype(np.float32), random.integers(0, 10, 32)) for _ in range(96)]
    batches = jax.device_put(batches)

    def epoch(layers: Any) -> tuple[Any, float]:
        total = 0.0
        for x, labels in batches:
            layers, loss = train_step(layers, x, labels)
            total += float(loss)
        return layers, total

    layers, _ = epoch(layers)
    with profiled():
        for number in range(10):
            with mark("train", step_num=number):
                layers, _ = epoch(layers)


def greedy_decoding(profiled: Any) -> None:
    """Generates text with the choice of each token on the host, from logits copied to it."""
    key = jax.random.key(1)
    table = jax.random.normal(key, (2000, 128))
    layers = mlp(key, 128, 256, 2000)
    mix = jax.random.normal(key, (128, 128)) / 12

    @jax.jit
    def decode(state: jax.Array, token: int) -> tuple[jax.Array, jax.Array]:
        state = jnp.tanh(state @ mix + table[token])
        return state, forward(layers, state)

    def generate(start: int, length: int) -> list[int]:
        state, tokens = jnp.zeros(128), [start]
        for _ in range(length):
            state, logits = decode(state, tokens[-1])
            tokens.append(int(np.asarray(logits).argmax()))
        return tokens

    generate(0, 4)
    with profiled():
        for prompt in range(10):
            with mark("generate", step_num=prompt):
                generate(prompt, 96)


def logged_norms(profiled: Any) -> None:
    """Writes the norm of every parameter to a log with .item() in each step."""
    layers = mlp(jax.random.key(2), *[48] * 80, 10)
    x = jax.random.normal(jax.random.key(3), (64, 48))
    labels = jnp.arange(64) % 10
    norm = jax.jit(jnp.linalg.norm)

    def write_log(number: int, layers: Any, loss: jax.Array) -> str:
        values = [f"{name}{i}={norm(p).item():.3f}" for i, layer in enumerate(layers) for name, p in layer.items()]
        return f"{number} loss={loss.item():.4f} " + " ".join(values)

    layers, loss = train_step(layers, x, labels)
    lines = [write_log(0, layers, loss)]
    with profiled():
        for number in range(12):
            with mark("train", step_num=number):
                layers, loss = train_step(layers, x, labels)
                lines.append(write_log(number, layers, loss))


def pieces(word: str, vocabulary: dict[str, int]) -> list[int]:
    """Ids of the longest known pieces of a word."""
    ids, start = [], 0
    while start < len(word):
        end = len(word)
        while end > start + 1 and word[start:end] not in vocabulary:
            end -= 1
        ids.append(vocabulary.get(word[start:end], 0))
        start = end
    return ids


def encode_texts(texts: list[str], vocabulary: dict[str, int], length: int) -> np.ndarray:
    """Ids of the texts, padded to a length."""
    rows = []
    for text in texts:
        ids = [one for word in text.split() for one in pieces(word, vocabulary)][:length]
        rows.append(ids + [0] * (length - len(ids)))
    return np.array(rows, np.int32)


def tokenizer_in_loop(profiled: Any) -> None:
    """Splits the texts of a batch into word pieces, in Python, before each step."""
    random = np.random.default_rng(1)
    letters = list("etaoinshrdlu")
    vocabulary = {"".join(random.choice(letters, random.integers(1, 4))): i for i in range(400)}
    texts = [" ".join("".join(random.choice(letters, 9)) for _ in range(28)) for _ in range(800)]
    table = jax.random.normal(jax.random.key(4), (400, 64))

    @jax.jit
    def classify(layers: Any, ids: jax.Array) -> jax.Array:
        return forward(layers, table[ids].mean(1)).argmax(-1)

    layers = mlp(jax.random.key(5), 64, 256, 2)
    classify(layers, encode_texts(texts[:80], vocabulary, 128))
    with profiled():
        answers = []
        for number in range(10):
            with mark("classify", step_num=number):
                ids = encode_texts(texts[80 * number : 80 * number + 80], vocabulary, 128)
                answers.append(classify(layers, ids))
        jax.block_until_ready(answers)


class Augmenter:
    """Random crops, flips and noise for images (count, 40, 40, 3)."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)

    def one(self, image: np.ndarray) -> np.ndarray:
        """A changed image, (32, 32, 3)."""
        top, left = self.random.integers(0, 8, 2)
        image = image[top : top + 32, left : left + 32]
        if self.random.random() < 0.5:
            image = image[:, ::-1]
        image = image + self.random.normal(0, 0.05, image.shape)
        return (image - image.mean()) / image.std()

    def __call__(self, images: np.ndarray) -> np.ndarray:
        """All images of a batch."""
        return np.stack([self.one(image) for image in images]).astype(np.float32)


def augmentation_in_loop(profiled: Any) -> None:
    """Augments images one by one in NumPy between the steps of a small convolutional network."""
    kernel = jax.random.normal(jax.random.key(6), (3, 3, 3, 8)) * 0.1
    images = np.random.default_rng(2).random((128, 40, 40, 3))
    augment = Augmenter(3)

    @jax.jit
    def step(kernel: jax.Array, x: jax.Array) -> jax.Array:
        def loss(kernel: jax.Array) -> jax.Array:
            maps = jax.lax.conv_general_dilated(x, kernel, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
            return (jax.nn.relu(maps).mean((1, 2)) ** 2).mean()

        return kernel - 0.1 * jax.grad(loss)(kernel)

    kernel = step(kernel, augment(images))
    with profiled():
        for number in range(10):
            x = augment(images)
            with mark("train", step_num=number):
                kernel = step(kernel, x)
        kernel.block_until_ready()


def read_shards(batches: queue.Queue[np.ndarray], count: int) -> None:
    """Fills the queue, slowly, as from a network file system."""
    random = np.random.default_rng(4)
    for _ in range(count):
        parts = []
        for _ in range(4):
            time.sleep(0.008)
            parts.append(random.random((32, 128), np.float32))
        batches.put(np.concatenate(parts))


def starved_queue(profiled: Any) -> None:
    """A thread fills a queue more slowly than the training loop empties it."""
    layers = mlp(jax.random.key(7), 128, 256, 10)
    labels = jnp.arange(128) % 10
    batches: queue.Queue[np.ndarray] = queue.Queue(maxsize=2)
    threading.Thread(target=read_shards, args=(batches, 14), daemon=True).start()
    layers, _ = train_step(layers, batches.get(), labels)
    with profiled():
        for number in range(11):
            with mark("train", step_num=number):
                layers, loss = train_step(layers, batches.get(), labels)
        loss.block_until_ready()


def records(path_count: int, rows: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Batches that are parsed from text as a file of comma-separated values would be."""
    random = np.random.default_rng(5)
    lines = [",".join(f"{value:.4f}" for value in random.random(384)) for _ in range(rows)]
    for _ in range(path_count):
        table = [[float(cell) for cell in line.split(",")] for line in lines]
        yield np.array(table, np.float32), random.integers(0, 10, rows)


def parsing_generator(profiled: Any) -> None:
    """Iterates over a generator that parses text for each batch while the device waits."""
    layers = mlp(jax.random.key(8), 384, 64, 10)
    source = records(12, 256)
    layers, _ = train_step(layers, *next(source))
    with profiled():
        for number in range(10):
            with mark("train", step_num=number):
                x, labels = next(source)
                layers, loss = train_step(layers, x, labels)
        loss.block_until_ready()
