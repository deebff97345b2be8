"""Keras training on a CPU with the policy mixed_float16 that was meant for GPUs."""

import numpy as np
import tensorflow as tf
from window import FIXED, keras_callbacks, timed

if not FIXED:
    tf.keras.mixed_precision.set_global_policy("mixed_float16")
rng = np.random.default_rng(0)
x = rng.normal(size=(512, 32, 32, 3)).astype(np.float32)
y = rng.integers(0, 10, 512)
model = tf.keras.Sequential(
    [
        tf.keras.layers.Conv2D(16, 3, strides=2, activation="relu"),
        tf.keras.layers.BatchNormalization(),
        tf.keras.layers.Conv2D(32, 3, strides=2, activation="relu"),
        tf.keras.layers.GlobalAveragePooling2D(),
        tf.keras.layers.Dense(10, dtype="float32"),
    ]
)
model.compile("sgd", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))


def batches():
    while True:
        for i in range(0, len(x), 64):
            yield x[i : i + 64], y[i : i + 64]


stream = batches()
model.fit(stream, steps_per_epoch=2, verbose=0)
for steps in timed(12):
    model.fit(stream, steps_per_epoch=len(steps), verbose=0)
model.fit(stream, steps_per_epoch=18, verbose=0, callbacks=keras_callbacks((3, 15)))
