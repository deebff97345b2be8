"""Keras training that was left at run_eagerly=True; steps marked by Keras."""

import numpy as np
import tensorflow as tf
from window import FIXED, keras_callbacks, timed

rng = np.random.default_rng(0)
x = rng.normal(size=(2048, 256)).astype(np.float32)
y = rng.integers(0, 10, 2048)
inputs = hidden = tf.keras.Input((256,))
for _ in range(2):
    wide = tf.keras.layers.Dense(1024, "relu")(tf.keras.layers.LayerNormalization()(hidden))
    hidden = hidden + tf.keras.layers.Dense(256)(wide)
model = tf.keras.Model(inputs, tf.keras.layers.Dense(10)(hidden))
loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile("sgd", loss, metrics=["accuracy"], run_eagerly=not FIXED)


def batches():
    while True:
        for i in range(0, len(x), 256):
            yield x[i : i + 256], y[i : i + 256]


stream = batches()
model.fit(stream, steps_per_epoch=2, verbose=0)
for steps in timed(12):
    model.fit(stream, steps_per_epoch=len(steps), verbose=0)
model.fit(stream, steps_per_epoch=18, verbose=0, callbacks=keras_callbacks((3, 15)))
