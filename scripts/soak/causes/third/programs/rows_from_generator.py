"""TensorFlow training on rows that come one by one from a Python generator."""

import numpy as np
import tensorflow as tf
from window import FIXED, LOGDIR, timed

rng = np.random.default_rng(0)
table = rng.normal(size=(4096, 40)).astype(np.float32)
targets = rng.normal(size=4096).astype(np.float32)


def rows():
    while True:
        for values, target in zip(table, targets):
            yield [float(value) for value in values], float(target)


if FIXED:
    data = tf.data.Dataset.from_tensor_slices((table, targets)).repeat()
else:
    signature = tf.TensorSpec((40,), tf.float32), tf.TensorSpec((), tf.float32)
    data = tf.data.Dataset.from_generator(rows, output_signature=signature)
batches = iter(data.batch(128).prefetch(1))
model = tf.keras.Sequential([*[tf.keras.layers.Dense(384, "relu") for _ in range(3)], tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD(0.001)


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x)[:, 0] - y))
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss


def train(steps):
    for step in steps:
        with tf.profiler.experimental.Trace("train", step_num=step, _r=1):
            train_step(*next(batches)).numpy()


train(range(2))
for steps in timed(15):
    train(steps)
if LOGDIR:
    with tf.profiler.experimental.Profile(LOGDIR, tf.profiler.experimental.ProfilerOptions(python_tracer_level=1)):
        train(range(75, 90))
