"""A tf.data pipeline that takes stored batches apart and puts them together again, only to change their size."""

import numpy as np
import tensorflow as tf
from window import FIXED, windows

rng = np.random.default_rng(0)
stored = rng.normal(size=(32, 512, 64)).astype(np.float32)
dataset = tf.data.Dataset.from_tensor_slices(stored).repeat()
if FIXED:
    dataset = dataset.batch(4).map(lambda x: tf.reshape(x, (2048, 64)))
else:
    dataset = dataset.unbatch().map(lambda x: x * 1.0).batch(2048)
dataset = dataset.prefetch(2)
w1 = tf.Variable(tf.random.normal((64, 512), stddev=0.1))
w2 = tf.Variable(tf.random.normal((512, 64), stddev=0.1))


@tf.function
def train_step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((tf.nn.relu(x @ w1) @ w2 - x) ** 2)
    for w, g in zip((w1, w2), tape.gradient(loss, (w1, w2))):
        w.assign_sub(0.01 * g)
    return loss


batches = iter(dataset)
for _ in range(3):
    train_step(next(batches))
for steps in windows(15):
    for step in steps:
        with tf.profiler.experimental.Trace("train", step_num=step, _r=1):
            loss = train_step(next(batches))
    loss.numpy()
