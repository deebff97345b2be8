"""TensorFlow training whose dataset distorts its images one by one in Python."""

import numpy as np
import tensorflow as tf
from window import FIXED, LOGDIR, timed

rng = np.random.default_rng(0)
images = rng.uniform(size=(512, 24, 24, 3)).astype(np.float32)
labels = rng.integers(0, 10, 512)
model = tf.keras.Sequential(
    [
        tf.keras.layers.Flatten(input_shape=(24, 24, 3)),
        tf.keras.layers.Dense(256, "relu"),
        tf.keras.layers.Dense(10),
    ]
)
optimizer = tf.keras.optimizers.SGD(0.01)
loss_fn = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def distort(image):
    image = image.numpy()
    if rng.uniform() < 0.5:
        image = image[:, ::-1]
    return np.clip(image + rng.uniform(-0.1, 0.1), 0, 1).astype(np.float32)


def distort_one(image, label):
    return tf.ensure_shape(tf.py_function(distort, [image], tf.float32), (24, 24, 3)), label


def distort_all(images, labels):
    flip = tf.random.uniform((64, 1, 1, 1)) < 0.5
    images = tf.where(flip, images[:, :, ::-1], images) + tf.random.uniform((64, 1, 1, 1), -0.1, 0.1)
    return tf.clip_by_value(images, 0, 1), labels


data = tf.data.Dataset.from_tensor_slices((images, labels)).repeat()
if FIXED:
    data = data.batch(64, drop_remainder=True).map(distort_all)
else:
    data = data.map(distort_one).batch(64, drop_remainder=True)
batches = iter(data.prefetch(1))


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = loss_fn(y, model(x))
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    return loss


def train(steps):
    for step in steps:
        with tf.profiler.experimental.Trace("train", step_num=step, _r=1):
            train_step(*next(batches)).numpy()


train(range(2))
for steps in timed(15):
    train(steps)
if LOGDIR:
    with tf.profiler.experimental.Profile(LOGDIR, tf.profiler.experimental.ProfilerOptions(python_tracer_level=1)):
        train(range(75, 90))
