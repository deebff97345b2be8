"""Keras training that calls model.fit once for every batch that arrives from a stream."""

import numpy as np
import tensorflow as tf
from window import FIXED, windows

rng = np.random.default_rng(0)
x = rng.normal(size=(128, 512)).astype(np.float32)
y = rng.integers(0, 10, 128)
model = tf.keras.Sequential(
    [tf.keras.layers.Dense(1024, "relu"), tf.keras.layers.Dense(1024, "relu"), tf.keras.layers.Dense(10)]
)
model.compile("sgd", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))


def train_on(step):
    if FIXED:
        model.train_on_batch(x, y)
    else:
        model.fit(x, y, batch_size=128, epochs=1, verbose=0)


train_on(0)
train_on(0)
for steps in windows(14):
    for step in steps:
        train_on(step)
