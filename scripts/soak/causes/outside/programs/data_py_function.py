"""A tf.data pipeline that augments each sample in a Python function through py_function."""

import numpy as np
import tensorflow as tf
from window import FIXED, windows

rng = np.random.default_rng(0)
images = rng.integers(0, 255, (512, 32, 32, 3), dtype=np.uint8)


def augment_python(image):
    image = image.numpy().astype(np.float32) / 255
    for channel in range(3):
        image[..., channel] = (image[..., channel] - image[..., channel].mean()) / (image[..., channel].std() + 1e-6)
    for _ in range(4):
        y, x = np.random.randint(0, 28, 2)
        image[y : y + 4, x : x + 4] = 0
    return np.roll(image, np.random.randint(-3, 3), axis=1)


def augment_tf(image):
    image = tf.image.per_image_standardization(tf.cast(image, tf.float32) / 255)
    return tf.image.random_crop(tf.pad(image, [[2, 2], [2, 2], [0, 0]]), (32, 32, 3))


def augment(image):
    if FIXED:
        return augment_tf(image)
    image = tf.py_function(augment_python, [image], tf.float32)
    image.set_shape((32, 32, 3))
    return image


dataset = tf.data.Dataset.from_tensor_slices(images).repeat().map(augment, num_parallel_calls=tf.data.AUTOTUNE)
dataset = dataset.batch(64).prefetch(tf.data.AUTOTUNE)
w = tf.Variable(tf.random.normal((3072, 256), stddev=0.02))


@tf.function
def train_step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.tanh(tf.reshape(x, (64, -1)) @ w) ** 2)
    w.assign_sub(0.1 * tape.gradient(loss, w))
    return loss


batches = iter(dataset)
for _ in range(3):
    train_step(next(batches))
for steps in windows(20):
    for step in steps:
        with tf.profiler.experimental.Trace("train", step_num=step, _r=1):
            loss = train_step(next(batches))
    loss.numpy()
