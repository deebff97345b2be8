"""TensorFlow training that makes a new iterator for each batch, which fills a shuffle buffer of 3000 examples."""

import numpy as np
import tensorflow as tf
from window import FIXED, windows

rng = np.random.default_rng(0)
x = rng.normal(size=(6000, 128)).astype(np.float32)
y = rng.integers(0, 10, 6000)
data = tf.data.Dataset.from_tensor_slices((x, y)).repeat().shuffle(3000).batch(128)
batches = iter(data)
model = tf.keras.Sequential(
    [
        tf.keras.layers.Dense(512, "relu"),
        tf.keras.layers.Dense(512, "relu"),
        tf.keras.layers.Dense(10),
    ]
)
model.build((None, 128))
optimizer = tf.keras.optimizers.SGD(0.01)
loss_fn = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def next_batch():
    if FIXED:
        return next(batches)
    return next(iter(data))


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = loss_fn(y, model(x))
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    return loss


train_step(*next_batch())
for steps in windows(8):
    for step in steps:
        with tf.profiler.experimental.Trace("train", step_num=step, _r=1):
            train_step(*next_batch()).numpy()
