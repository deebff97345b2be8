"""A custom TensorFlow loop without tf.function."""

import numpy as np
import tensorflow as tf
from window import FIXED, windows

rng = np.random.default_rng(0)
x, y = tf.constant(rng.normal(size=(64, 128)).astype(np.float32)), tf.constant(rng.integers(0, 10, 64))
model = tf.keras.Sequential([*[tf.keras.layers.Dense(128, "relu") for _ in range(8)], tf.keras.layers.Dense(10)])
optimizer = tf.keras.optimizers.Adam(1e-3)
loss_fn = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.build((None, 128))
optimizer.build(model.trainable_variables)


def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = loss_fn(y, model(x, training=True))
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss


if FIXED:
    train_step = tf.function(train_step)
train_step(x, y)
for steps in windows(15):
    for step in steps:
        with tf.profiler.experimental.Trace("train", step_num=step, _r=1):
            loss = train_step(x, y)
    loss.numpy()
