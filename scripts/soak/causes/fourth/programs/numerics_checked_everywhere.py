"""TensorFlow training with the check of every op for infinities and NaN still switched on from debugging."""

import numpy as np
import tensorflow as tf
from window import FIXED, windows

if not FIXED:
    tf.debugging.enable_check_numerics()
rng = np.random.default_rng(0)
layers = [tf.keras.layers.Dense(192, "gelu") for _ in range(6)]
model = tf.keras.Sequential([*layers, tf.keras.layers.Dense(10)])
model.build((None, 192))
optimizer = tf.keras.optimizers.Adam(1e-3)
loss_fn = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
x = tf.constant(rng.normal(size=(256, 192)).astype(np.float32))
y = tf.constant(rng.integers(0, 10, 256))


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = loss_fn(y, model(x))
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    return loss


train_step(x, y)
for steps in windows(8):
    for step in steps:
        with tf.profiler.experimental.Trace("train", step_num=step, _r=1):
            train_step(x, y).numpy()
