"""Healthy TensorFlow training, a compiled step fed by a cached, batched and prefetched dataset."""

import numpy as np
import tensorflow as tf
from window import windows

rng = np.random.default_rng(0)
images = rng.integers(0, 256, (1024, 28, 28, 1)).astype(np.uint8)
labels = rng.integers(0, 10, 1024)


def scale(images, labels):
    return tf.cast(images, tf.float32) / 255, labels


data = tf.data.Dataset.from_tensor_slices((images, labels)).batch(128).map(scale).cache()
batches = iter(data.repeat().prefetch(2))
model = tf.keras.Sequential(
    [
        tf.keras.Input((28, 28, 1)),
        tf.keras.layers.Conv2D(32, 3, activation="relu"),
        tf.keras.layers.MaxPooling2D(),
        tf.keras.layers.Conv2D(32, 3, activation="relu"),
        tf.keras.layers.Flatten(),
        tf.keras.layers.Dense(10),
    ]
)
optimizer = tf.keras.optimizers.SGD(0.01, momentum=0.9)
loss_fn = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = loss_fn(y, model(x))
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss


for _ in range(10):
    train_step(*next(batches))
for steps in windows(12):
    for step in steps:
        with tf.profiler.experimental.Trace("train", step_num=step, _r=1):
            train_step(*next(batches)).numpy()
