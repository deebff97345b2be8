"""A TensorFlow step that autograph turns into a while loop over the examples of the batch, one at a time."""

import numpy as np
import tensorflow as tf
from window import FIXED, windows

BATCH, POINTS = 192, 16
rng = np.random.default_rng(0)
x = tf.constant(rng.normal(size=(BATCH, POINTS, 32)), tf.float32)
w1 = tf.Variable(tf.random.normal((32, 256), stddev=0.1))
w2 = tf.Variable(tf.random.normal((256, 64), stddev=0.1))


def pooled(points):
    return tf.reduce_max(tf.nn.relu(tf.nn.relu(points @ w1) @ w2), axis=-2)


@tf.function
def train_step(x):
    with tf.GradientTape() as tape:
        if FIXED:
            features = pooled(x)
        else:
            rows = tf.TensorArray(tf.float32, size=BATCH)
            for i in tf.range(BATCH):
                rows = rows.write(i, pooled(x[i]))
            features = rows.stack()
        loss = tf.reduce_mean(features**2)
    for w, g in zip((w1, w2), tape.gradient(loss, (w1, w2))):
        w.assign_sub(0.01 * g)
    return loss


train_step(x)
for steps in windows(12):
    for step in steps:
        with tf.profiler.experimental.Trace("train", step_num=step, _r=1):
            loss = train_step(x)
    loss.numpy()
