"""Healthy TensorFlow training of an autoencoder by a compiled step, fed by a prefetched dataset."""

import numpy as np
import tensorflow as tf
from window import windows

rng = np.random.default_rng(0)
signals = rng.normal(size=(2048, 768)).astype(np.float32)
widths = [512, 128, 512]
model = tf.keras.Sequential([*[tf.keras.layers.Dense(w, "relu") for w in widths], tf.keras.layers.Dense(768)])
model.build((None, 768))
optimizer = tf.keras.optimizers.Adam(1e-3)
data = tf.data.Dataset.from_tensor_slices(signals).shuffle(2048).repeat()
batches = iter(data.batch(512, drop_remainder=True).prefetch(tf.data.AUTOTUNE))


@tf.function
def train_step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - x) ** 2)
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    return loss


train_step(next(batches))
for steps in windows(8):
    for step in steps:
        with tf.profiler.experimental.Trace("train", step_num=step, _r=1):
            loss = train_step(next(batches))
    loss.numpy()
