"""TensorFlow training whose compiled step takes its number as a Python integer."""

import numpy as np
import tensorflow as tf
from window import FIXED, windows

rng = np.random.default_rng(0)
x = tf.constant(rng.normal(size=(512, 256)), tf.float32)
y = tf.constant(rng.integers(0, 10, 512))
model = tf.keras.Sequential(
    [tf.keras.Input((256,)), *[tf.keras.layers.Dense(1024, "relu") for _ in range(2)], tf.keras.layers.Dense(10)]
)
loss_fn = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)


@tf.function
def train_step(x, y, step):
    rate = 0.05 / (1.0 + tf.cast(step, tf.float32) / 1000)
    with tf.GradientTape() as tape:
        loss = loss_fn(y, model(x))
    for variable, grad in zip(model.trainable_variables, tape.gradient(loss, model.trainable_variables)):
        variable.assign_sub(rate * grad)
    return loss


train_step(x, y, tf.constant(0))
for steps in windows(12):
    for step in steps:
        with tf.profiler.experimental.Trace("train", step_num=step, _r=1):
            train_step(x, y, tf.constant(step) if FIXED else step + 1).numpy()
