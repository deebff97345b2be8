"""Keras fit with a ModelCheckpoint callback that saves the model every fifth batch."""

import tempfile

import numpy as np
import tensorflow as tf
from window import FIXED, windows

rng = np.random.default_rng(0)
x = rng.normal(size=(2048, 512)).astype(np.float32)
y = rng.integers(0, 10, 2048)
model = tf.keras.Sequential(
    [tf.keras.layers.Dense(1024, "relu"), tf.keras.layers.Dense(1024, "relu"), tf.keras.layers.Dense(10)]
)
model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
dataset = tf.data.Dataset.from_tensor_slices((x, y)).repeat().batch(64).prefetch(2)
model.fit(dataset, steps_per_epoch=3, verbose=0)
save = tf.keras.callbacks.ModelCheckpoint(tempfile.mkdtemp() + "/model.keras", save_freq=10_000 if FIXED else 5)
for steps in windows(25):
    model.fit(dataset, steps_per_epoch=len(steps), verbose=0, callbacks=[save])
