"""Healthy: Keras fit with jit_compile on a cached and prefetched pipeline; marked by Keras."""

import numpy as np
import tensorflow as tf
from window import keras_callbacks, timed

rng = np.random.default_rng(0)
x = rng.normal(size=(2048, 256)).astype(np.float32)
y = rng.integers(0, 10, 2048)
model = tf.keras.Sequential([tf.keras.layers.Dense(1024, "relu") for _ in range(3)] + [tf.keras.layers.Dense(10)])
model.compile("sgd", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True), jit_compile=True)
dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(256, drop_remainder=True).cache().repeat().prefetch(2)
model.fit(dataset, steps_per_epoch=3, verbose=0)
for steps in timed(14):
    model.fit(dataset, steps_per_epoch=len(steps), verbose=0)
model.fit(dataset, steps_per_epoch=18, verbose=0, callbacks=keras_callbacks((3, 15)))
