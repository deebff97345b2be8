"""A custom TensorFlow loop that writes all its variables with np.savez every sixth step."""

import tempfile

import numpy as np
import tensorflow as tf
from window import FIXED, windows

SAVE_EVERY = 10_000 if FIXED else 6
weights = [tf.Variable(tf.random.normal((768, 768), stddev=0.03)) for _ in range(6)]
x = tf.random.normal((128, 768))
folder = tempfile.mkdtemp()


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


train_step(x)
for steps in windows(24):
    for step in steps:
        with tf.profiler.experimental.Trace("train", step_num=step, _r=1):
            loss = train_step(x)
            loss.numpy()
            if step % SAVE_EVERY == SAVE_EVERY - 1:
                np.savez(f"{folder}/latest.npz", *[w.numpy() for w in weights])
