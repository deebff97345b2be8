"""Keras fit with run_eagerly=True, which was left on after debugging."""

import numpy as np
import tensorflow as tf
from window import FIXED, windows

rng = np.random.default_rng(0)
x = rng.normal(size=(2048, 256)).astype(np.float32)
y = rng.integers(0, 10, 2048)
layers = [
    layer for _ in range(6) for layer in (tf.keras.layers.Dense(256, "relu"), tf.keras.layers.LayerNormalization())
]
model = tf.keras.Sequential([*layers, tf.keras.layers.Dense(10)])
model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True), run_eagerly=not FIXED)
dataset = tf.data.Dataset.from_tensor_slices((x, y)).repeat().batch(64).prefetch(2)
model.fit(dataset, steps_per_epoch=3, verbose=0)
for steps in windows(15):
    model.fit(dataset, steps_per_epoch=len(steps), verbose=0)
