"""TensorFlow training whose records are parsed one by one before they are batched."""

import numpy as np
import tensorflow as tf
from window import FIXED, windows

rng = np.random.default_rng(0)
NAMES = [f"feature{i}" for i in range(24)]
SPEC = {name: tf.io.FixedLenFeature((8,), tf.float32) for name in NAMES}


def record():
    values = rng.normal(size=(24, 8))
    features = {n: tf.train.Feature(float_list=tf.train.FloatList(value=v)) for n, v in zip(NAMES, values)}
    return tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()


def parse(serialized):
    parsed = tf.io.parse_single_example(serialized, SPEC)
    return tf.concat([parsed[name] for name in NAMES], 0)


def parse_batch(serialized):
    parsed = tf.io.parse_example(serialized, SPEC)
    return tf.concat([parsed[name] for name in NAMES], 1)


data = tf.data.Dataset.from_tensor_slices([record() for _ in range(1024)]).repeat()
data = data.batch(256).map(parse_batch) if FIXED else data.map(parse).batch(256)
batches = iter(data.prefetch(1))
model = tf.keras.Sequential([tf.keras.Input((192,)), tf.keras.layers.Dense(256, "relu"), tf.keras.layers.Dense(192)])
optimizer = tf.keras.optimizers.SGD(0.01)


@tf.function
def train_step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x) - x))
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss


train_step(next(batches))
for steps in windows(20):
    for step in steps:
        with tf.profiler.experimental.Trace("train", step_num=step, _r=1):
            train_step(next(batches)).numpy()
