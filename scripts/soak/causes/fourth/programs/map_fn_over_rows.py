"""TensorFlow training whose compiled step scores the examples of a batch one after the other by tf.map_fn."""

import numpy as np
import tensorflow as tf
from window import FIXED, windows

rng = np.random.default_rng(0)
memory = tf.Variable(rng.normal(0, 0.1, (128, 64)).astype(np.float32))
head = tf.Variable(rng.normal(0, 0.1, (64, 64)).astype(np.float32))
x = tf.constant(rng.normal(size=(256, 64)).astype(np.float32))
y = tf.constant(rng.normal(size=(256, 64)).astype(np.float32))


def attend(query):
    weights = tf.nn.softmax(tf.linalg.matvec(memory, query) / 8.0)
    return tf.linalg.matvec(head, tf.linalg.matvec(memory, weights, transpose_a=True))


def attend_all(queries):
    weights = tf.nn.softmax(queries @ tf.transpose(memory) / 8.0)
    return weights @ memory @ tf.transpose(head)


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        outputs = attend_all(x) if FIXED else tf.map_fn(attend, x)
        loss = tf.reduce_mean((outputs - y) ** 2)
    grads = tape.gradient(loss, [memory, head])
    for variable, grad in zip([memory, head], grads):
        variable.assign_sub(0.01 * grad)
    return loss


train_step(x, y)
for steps in windows(8):
    for step in steps:
        with tf.profiler.experimental.Trace("train", step_num=step, _r=1):
            train_step(x, y).numpy()
