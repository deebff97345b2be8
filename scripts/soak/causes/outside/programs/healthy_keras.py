"""Healthy: Keras fit on images from a cached, shuffled, batched and prefetched tf.data pipeline."""

import numpy as np
import tensorflow as tf
from window import windows

rng = np.random.default_rng(0)
x = rng.integers(0, 255, (512, 28, 28, 1), dtype=np.uint8)
y = rng.integers(0, 10, 512)
dataset = (
    tf.data.Dataset.from_tensor_slices((x, y))
    .map(lambda x, y: (tf.cast(x, tf.float32) / 255, y), num_parallel_calls=tf.data.AUTOTUNE)
    .cache().shuffle(512).repeat().batch(64).prefetch(tf.data.AUTOTUNE)
)  # fmt: skip
layers = tf.keras.layers
model = tf.keras.Sequential(
    [
        layers.Conv2D(16, 3, activation="relu"),
        layers.Conv2D(32, 3, 2, activation="relu"),
        layers.Flatten(),
        layers.Dense(10),
    ]
)
model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
model.fit(dataset, steps_per_epoch=10, verbose=0)
for steps in windows(20):
    model.fit(dataset, steps_per_epoch=len(steps), verbose=0)
