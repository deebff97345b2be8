"""Keras fit on a tf.data pipeline that reads from a slow store sample by sample, neither parallel nor prefetched."""

import time

import numpy as np
import tensorflow as tf
from window import FIXED, windows

rng = np.random.default_rng(0)
images = rng.normal(size=(256, 784)).astype(np.float32)


def read_remote(i):
    """What a read from a bucket is: a wait, then a little work."""
    time.sleep(0.002)
    return images[i]


def read(i):
    image = tf.numpy_function(read_remote, [i], tf.float32)
    image.set_shape((784,))
    return image, tf.cast(i % 10, tf.int32)


dataset = tf.data.Dataset.range(256).repeat()
parallel = dataset.map(read, num_parallel_calls=32).batch(16).prefetch(8)
dataset = parallel if FIXED else dataset.map(read).batch(16)
model = tf.keras.Sequential(
    [tf.keras.layers.Dense(512, "relu"), tf.keras.layers.Dense(512, "relu"), tf.keras.layers.Dense(10)]
)
model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(dataset, steps_per_epoch=5, verbose=0)
for steps in windows(30):
    model.fit(dataset, steps_per_epoch=len(steps), verbose=0)
