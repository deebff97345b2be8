"""Healthy Keras training of a text classifier on a cached, batched and prefetched dataset."""

import numpy as np
import tensorflow as tf
from window import keras_callbacks, timed

rng = np.random.default_rng(0)
tokens = rng.integers(0, 4000, (2048, 64))
labels = rng.integers(0, 5, 2048)
data = tf.data.Dataset.from_tensor_slices((tokens, labels)).cache().shuffle(2048).repeat()
data = data.batch(128, drop_remainder=True).prefetch(tf.data.AUTOTUNE)
model = tf.keras.Sequential(
    [
        tf.keras.layers.Embedding(4000, 64),
        tf.keras.layers.Conv1D(128, 5, activation="relu"),
        tf.keras.layers.GlobalMaxPooling1D(),
        tf.keras.layers.Dense(256, "relu"),
        tf.keras.layers.Dense(5),
    ]
)
model.compile("sgd", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
model.fit(data, steps_per_epoch=2, verbose=0)
for steps in timed(12):
    model.fit(data, steps_per_epoch=len(steps), verbose=0)
model.fit(data, steps_per_epoch=18, verbose=0, callbacks=keras_callbacks((3, 15)))
