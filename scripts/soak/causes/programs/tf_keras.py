"""Keras programs: model.fit with a slow input or a slow callback, and a healthy one."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import tensorflow as tf


class Capture(tf.keras.callbacks.Callback):
    """Captures steps 3 to 12 and marks each; must be the last callback."""

    def __init__(self, profiled: Any) -> None:
        super().__init__()
        self.profile, self.step = profiled(), None

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        """Begins the capture before its first step."""
        if batch == 3:
            self.profile.__enter__()
        if 3 <= batch <= 12:
            self.step = tf.profiler.experimental.Trace("train", step_num=batch, _r=1)
            self.step.__enter__()

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Ends the capture after its last step."""
        if 3 <= batch <= 12:
            self.step.__exit__(None, None, None)
        if batch == 12:
            self.profile.__exit__(None, None, None)


def dense(*units: int) -> Any:
    """A compiled classifier of ten classes."""
    layers = tf.keras.layers
    model = tf.keras.Sequential([layers.Flatten(), *(layers.Dense(n, "relu") for n in units), layers.Dense(10)])
    model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True), jit_compile=False)
    return model


def spectrogram(wave: np.ndarray) -> np.ndarray:
    """Magnitudes of overlapping windows of one recording, (frames, frequencies)."""
    frames = [np.fft.rfft(wave[i : i + 256] * np.hanning(256)) for i in range(0, 8192 - 256, 128)]
    return np.log1p(np.abs(np.stack(frames))).astype(np.float32)


def map_in_python(profiled: Any) -> None:
    """The input pipeline computes spectrograms in a Python function, one at a time, and prefetches nothing."""
    waves = np.random.default_rng(0).random((32 * 14, 8192)).astype(np.float32)

    def features(wave: Any, label: Any) -> tuple[Any, Any]:
        picture = tf.numpy_function(spectrogram, [wave], tf.float32)
        return tf.ensure_shape(picture, (62, 129)), label

    data = tf.data.Dataset.from_tensor_slices((waves, np.arange(32 * 14) % 10)).map(features).batch(32)
    dense(16).fit(data, epochs=1, verbose=0, callbacks=[Capture(profiled)])


class WeightHistograms(tf.keras.callbacks.Callback):
    """Writes histograms of all weights as JSON after each batch."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def describe(self, values: np.ndarray) -> dict[str, Any]:
        """Counts and quantiles of some weights."""
        counts, edges = np.histogram(values, bins=64)
        quantiles = np.quantile(values, [0.01, 0.25, 0.5, 0.75, 0.99])
        return {"counts": counts.tolist(), "edges": edges.tolist(), "quantiles": quantiles.tolist()}

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Describes each variable."""
        described = {variable.path: self.describe(variable.numpy()) for variable in self.model.weights}
        self.lines.append(json.dumps({"batch": batch, "weights": described}))


def histogram_callback(profiled: Any) -> None:
    """A callback describes all weights in NumPy after each batch of a fast model."""
    x = np.random.default_rng(1).random((64 * 14, 256)).astype(np.float32)
    callbacks = [WeightHistograms(), Capture(profiled)]
    dense(512, 512, 256).fit(x, np.arange(64 * 14) % 10, batch_size=64, epochs=1, verbose=0, callbacks=callbacks)


def fit_with_prefetch(profiled: Any) -> None:
    """Enough computation, batches ready in time."""
    x = tf.random.normal((512, 512))
    data = tf.data.Dataset.from_tensors((x, tf.range(512) % 10)).repeat(14).prefetch(tf.data.AUTOTUNE)
    dense(1024, 1024, 1024).fit(data, epochs=1, verbose=0, callbacks=[Capture(profiled)])
