"""Keras programs for TensorFlow 2.15, whose fit marks its steps itself and whose captures have Python functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf


class SharedPhrases(tf.keras.callbacks.Callback):
    """Compares decoded outputs with their references in plain Python after each batch, between captured steps."""

    def __init__(self, profiled: Any, texts: list[str]) -> None:
        super().__init__()
        self.profile, self.texts, self.scores = profiled(), texts, []

    def phrases(self, text: str, letters: int) -> set[str]:
        """All substrings of a length."""
        return {text[i : i + letters] for i in range(len(text) - letters)}

    def score(self, one: str, other: str) -> float:
        """Share of common substrings of one to eight letters."""
        shares = []
        for letters in range(1, 9):
            ours, theirs = self.phrases(one, letters), self.phrases(other, letters)
            shares.append(len(ours & theirs) / len(ours))
        return sum(shares) / len(shares)

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        """Begins the capture before step 3."""
        if batch == 3:
            self.profile.__enter__()

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Scores the texts; ends the capture after step 12."""
        pairs = zip(self.texts, self.texts[1:], strict=False)
        self.scores.append([self.score(one, other) for one, other in pairs])
        if batch == 12:
            self.profile.__exit__(None, None, None)


def scoring_callback(profiled: Any) -> None:
    """A callback scores texts in Python after each batch of a fast model."""
    random = np.random.default_rng(0)
    texts = ["".join(random.choice(list("abcdefgh"), 300)) for _ in range(32)]
    layers = tf.keras.layers
    model = tf.keras.Sequential([layers.Dense(128, "relu"), layers.Dense(10)])
    model.compile("sgd", "mse")
    x = random.random((32 * 14, 64)).astype(np.float32)
    model.fit(x, x[:, :10], batch_size=32, epochs=1, verbose=0, callbacks=[SharedPhrases(profiled, texts)])


def eager_layers(profiled: Any) -> None:
    """Layers and an optimizer of Keras run without tf.function: most time is Python between operations."""
    layers = tf.keras.layers
    model = tf.keras.Sequential([*(layers.Dense(32, "relu") for _ in range(12)), layers.Dense(3)])
    optimizer = tf.keras.optimizers.Adam()
    x, target = tf.random.normal((32, 16)), tf.random.normal((32, 3))

    def train() -> None:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x, training=True) - target) ** 2)
        optimizer.apply_gradients(zip(tape.gradient(loss, model.variables), model.variables, strict=True))

    train()
    with profiled():
        for number in range(8):
            with tf.profiler.experimental.Trace("train", step_num=number, _r=1):
                train()
