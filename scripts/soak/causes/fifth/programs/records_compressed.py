"""TensorFlow training that reads its records from a file compressed by gzip, which is unpacked again in each epoch."""

import tempfile
from pathlib import Path

import numpy as np
import tensorflow as tf
from window import FIXED, windows

rng = np.random.default_rng(0)
folder = tempfile.TemporaryDirectory()
BATCH, WIDTH = 64, 6000
KIND = "" if FIXED else "GZIP"
path = str(Path(folder.name) / "train.tfrecord")
with tf.io.TFRecordWriter(path, KIND) as records:
    for _ in range(640):
        row = np.round(rng.normal(size=WIDTH), 3).astype(np.float32)
        records.write(row.tobytes())
model = tf.keras.Sequential([tf.keras.layers.Dense(48, "relu"), tf.keras.layers.Dense(10)])
model.build((None, WIDTH))
optimizer = tf.keras.optimizers.SGD(0.01)


def parse(records):
    return tf.reshape(tf.io.decode_raw(records, tf.float32), (BATCH, WIDTH))


data = tf.data.TFRecordDataset(path, compression_type=KIND).repeat().batch(BATCH, drop_remainder=True)
batches = iter(data.map(parse).prefetch(2))


@tf.function
def train_step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - 1) ** 2)
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    return loss


train_step(next(batches))
for steps in windows(8):
    for step in steps:
        with tf.profiler.experimental.Trace("train", step_num=step, _r=1):
            train_step(next(batches)).numpy()
