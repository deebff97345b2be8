"""Healthy: a custom TensorFlow loop, one tf.function per step, a prefetched pipeline, the loss read at the end."""

import numpy as np
import tensorflow as tf
from window import windows

rng = np.random.default_rng(0)
x = rng.normal(size=(1024, 512)).astype(np.float32)
weights = [tf.Variable(tf.random.normal((512, 512), stddev=0.04)) for _ in range(6)]
batches = iter(tf.data.Dataset.from_tensor_slices(x).repeat().batch(256, drop_remainder=True).prefetch(2))


@tf.function
def train_step(x):
    with tf.GradientTape() as tape:
        y = x
        for w in weights:
            y = y + tf.tanh(y @ w)
        loss = tf.reduce_mean(y**2)
    for w, g in zip(weights, tape.gradient(loss, weights)):
        w.assign_sub(0.01 * g)
    return loss


for _ in range(3):
    train_step(next(batches))
for steps in windows(25):
    for step in steps:
        with tf.profiler.experimental.Trace("train", step_num=step, _r=1):
            loss = train_step(next(batches))
    print("loss", loss.numpy())
