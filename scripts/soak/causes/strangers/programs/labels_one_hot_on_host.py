"""Keras on 20,000 words whose labels are dense one-hot rows, made by to_categorical; steps marked by Keras."""

import numpy as np
import tensorflow as tf
from window import FIXED, keras_callbacks, timed

VOCABULARY, BATCH = 20_000, 128
rng = np.random.default_rng(0)
x = rng.integers(0, VOCABULARY, (BATCH * 8, 3))
y = rng.integers(0, VOCABULARY, BATCH * 8)
model = tf.keras.Sequential(
    [tf.keras.layers.Embedding(VOCABULARY, 32), tf.keras.layers.Flatten(), tf.keras.layers.Dense(VOCABULARY)]
)
sparse = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
dense = tf.keras.losses.CategoricalCrossentropy(from_logits=True)
model.compile("sgd", sparse if FIXED else dense)


def batches():
    while True:
        for i in range(0, len(x), BATCH):
            labels = y[i : i + BATCH]
            yield x[i : i + BATCH], labels if FIXED else tf.keras.utils.to_categorical(labels, VOCABULARY)


stream = batches()
model.fit(stream, steps_per_epoch=2, verbose=0)
for steps in timed(12):
    model.fit(stream, steps_per_epoch=len(steps), verbose=0)
model.fit(stream, steps_per_epoch=18, verbose=0, callbacks=keras_callbacks((3, 15)))
