"""A small server that answers each request with Keras' model.predict, which builds a dataset each time; not marked."""

import numpy as np
import tensorflow as tf
from window import FIXED, windows

rng = np.random.default_rng(0)
requests = rng.normal(size=(16, 8, 768)).astype(np.float32)
model = tf.keras.Sequential([tf.keras.layers.Dense(1536, "relu") for _ in range(6)] + [tf.keras.layers.Dense(10)])
call = tf.function(lambda x: model(x, training=False))


def serve(x):
    scores = call(tf.constant(x)).numpy() if FIXED else model.predict(x, verbose=0)
    return scores.argmax(axis=1)


serve(requests[0])
for steps in windows(20):
    for step in steps:
        serve(requests[step % 16])
