"""TensorFlow training that decodes the same images again in every epoch."""

import numpy as np
import tensorflow as tf
from window import FIXED, windows

rng = np.random.default_rng(0)
pixels = (rng.integers(0, 256, (192, 32, 32, 3)) // 32 * 32).astype(np.uint8).repeat(5, 1).repeat(5, 2)
files = [tf.io.encode_png(image).numpy() for image in pixels]
labels = rng.integers(0, 10, 192)
model = tf.keras.Sequential(
    [
        tf.keras.Input((40, 40, 3)),
        tf.keras.layers.Conv2D(16, 3, 2, activation="relu"),
        tf.keras.layers.Flatten(),
        tf.keras.layers.Dense(10),
    ]
)
optimizer = tf.keras.optimizers.SGD(0.01)
loss_fn = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def decode(file, label):
    image = tf.cast(tf.io.decode_png(file, 3), tf.float32) / 255
    return tf.image.resize(image, (40, 40)), label


data = tf.data.Dataset.from_tensor_slices((files, labels)).map(decode)
if FIXED:
    data = data.cache()
data = data.shuffle(192).batch(64).repeat().prefetch(1)
batches = iter(data)


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = loss_fn(y, model(x))
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss


for _ in range(6):
    train_step(*next(batches))
for steps in windows(15):
    for step in steps:
        with tf.profiler.experimental.Trace("train", step_num=step, _r=1):
            train_step(*next(batches)).numpy()
