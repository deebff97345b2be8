"""TensorFlow training that writes pictures of its batch and their reconstruction to TensorBoard at every step."""

import tempfile

import numpy as np
import tensorflow as tf
from window import FIXED, windows

rng = np.random.default_rng(0)
images = tf.constant(rng.random((256, 48, 48, 3)).astype(np.float32))
model = tf.keras.Sequential(
    [
        tf.keras.layers.Conv2D(16, 3, strides=2, padding="same", activation="relu"),
        tf.keras.layers.Conv2DTranspose(3, 3, strides=2, padding="same", activation="sigmoid"),
    ]
)
model.build((None, 48, 48, 3))
optimizer = tf.keras.optimizers.SGD(0.01)
folder = tempfile.TemporaryDirectory()
writer = tf.summary.create_file_writer(folder.name)
EVERY = 1000 if FIXED else 1


@tf.function
def train_step(x):
    with tf.GradientTape() as tape:
        made = model(x)
        loss = tf.reduce_mean((made - x) ** 2)
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    return loss, made


def log_pictures(step, batch, made):
    with writer.as_default(step):
        tf.summary.image("batch", batch, max_outputs=16)
        tf.summary.image("reconstruction", made, max_outputs=16)


def train(step):
    begin = step % 16 * 16
    batch = images[begin : begin + 16]
    loss, made = train_step(batch)
    if step % EVERY == 0:
        log_pictures(step, batch, made)
    return loss


train(0)
for steps in windows(8):
    for step in steps:
        with tf.profiler.experimental.Trace("train", step_num=step + 1, _r=1):
            train(step + 1).numpy()
