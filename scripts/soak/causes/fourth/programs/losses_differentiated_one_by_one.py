"""TensorFlow training of six tasks that goes backward through the shared network once for each of their losses."""

import numpy as np
import tensorflow as tf
from window import FIXED, windows

rng = np.random.default_rng(0)
trunk = tf.keras.Sequential([tf.keras.layers.Dense(384, "gelu") for _ in range(4)])
trunk.build((None, 256))
heads = [tf.keras.layers.Dense(8) for _ in range(6)]
for head in heads:
    head.build((None, 384))
variables = trunk.trainable_variables
optimizer = tf.keras.optimizers.SGD(0.01)
x = tf.constant(rng.normal(size=(128, 256)).astype(np.float32))
y = tf.constant(rng.normal(size=(6, 128, 8)).astype(np.float32))


def task_losses(x, y):
    features = trunk(x)
    return [tf.reduce_mean((head(features) - y[i]) ** 2) for i, head in enumerate(heads)]


@tf.function
def train_step(x, y):
    if FIXED:
        with tf.GradientTape() as tape:
            total = tf.add_n(task_losses(x, y))
        grads = tape.gradient(total, variables)
    else:
        with tf.GradientTape(persistent=True) as tape:
            losses = task_losses(x, y)
        of_tasks = [tape.gradient(loss, variables) for loss in losses]
        grads = [tf.add_n(parts) for parts in zip(*of_tasks)]
        total = tf.add_n(losses)
    optimizer.apply_gradients(zip(grads, variables))
    return total


train_step(x, y)
for steps in windows(8):
    for step in steps:
        with tf.profiler.experimental.Trace("train", step_num=step, _r=1):
            train_step(x, y).numpy()
