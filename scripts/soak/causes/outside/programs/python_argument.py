"""A custom TensorFlow loop that passes its step number, a Python int, to the tf.function: each step traces anew."""

import tensorflow as tf
from window import FIXED, windows

weights = [tf.Variable(tf.random.normal((256, 256), stddev=0.06)) for _ in range(4)]
x = tf.random.normal((256, 256))


@tf.function
def train_step(x, step):
    with tf.GradientTape() as tape:
        y = x
        for w in weights:
            y = tf.tanh(y @ w)
        loss = tf.reduce_mean(y**2)
    rate = 0.1 / (1.0 + 0.01 * tf.cast(step, tf.float32))
    for w, g in zip(weights, tape.gradient(loss, weights)):
        w.assign_sub(rate * g)
    return loss


train_step(x, tf.constant(0) if FIXED else 0)
for steps in windows(20):
    for step in steps:
        with tf.profiler.experimental.Trace("train", step_num=step, _r=1):
            loss = train_step(x, tf.constant(step) if FIXED else step)
    loss.numpy()
