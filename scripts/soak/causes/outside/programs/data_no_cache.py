"""Keras on a tf.data pipeline that decodes and blurs the same small dataset anew in each epoch."""

import numpy as np
import tensorflow as tf
from window import FIXED, windows

rng = np.random.default_rng(0)
files = [tf.io.encode_png(rng.integers(0, 255, (96, 96, 3), dtype=np.uint8)).numpy() for _ in range(128)]
labels = rng.integers(0, 10, 128)


def decode(data, label):
    image = tf.cast(tf.io.decode_png(data, channels=3), tf.float32) / 255
    image = tf.image.resize(image, (160, 160), method="bicubic")
    return tf.image.resize(image, (32, 32), method="area"), label


dataset = tf.data.Dataset.from_tensor_slices((files, labels)).map(decode, num_parallel_calls=tf.data.AUTOTUNE)
if FIXED:
    dataset = dataset.cache()
dataset = dataset.repeat().batch(32).prefetch(tf.data.AUTOTUNE)
model = tf.keras.Sequential([tf.keras.layers.Flatten(), tf.keras.layers.Dense(256, "relu"), tf.keras.layers.Dense(10)])
optimizer = tf.keras.optimizers.SGD(0.01)
loss_fn = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.build((None, 32, 32, 3))
optimizer.build(model.trainable_variables)


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = loss_fn(y, model(x, training=True))
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss


batches = iter(dataset)
for _ in range(8):
    train_step(*next(batches))
for steps in windows(25):
    for step in steps:
        with tf.profiler.experimental.Trace("train", step_num=step, _r=1):
            x, y = next(batches)
            loss = train_step(x, y)
    loss.numpy()
