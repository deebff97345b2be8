"""TensorFlow detector that cuts overlapping windows out of an image and convolves each of them by itself."""

import numpy as np
import tensorflow as tf
from window import FIXED, windows

SIZE, STRIDE = 32, 4
images = tf.constant(np.random.default_rng(0).normal(size=(8, 1, 96, 96, 3)).astype(np.float32))
first = tf.keras.layers.Conv2D(12, 3, activation="relu")
second = tf.keras.layers.Conv2D(24, 3, activation="relu")
pool = tf.keras.layers.AveragePooling2D(SIZE - 4, STRIDE)
head = tf.keras.layers.Dense(4)


def score_windows(image):
    pieces = tf.image.extract_patches(image, [1, SIZE, SIZE, 1], [1, STRIDE, STRIDE, 1], [1, 1, 1, 1], "VALID")
    count = pieces.shape[1]
    features = second(first(tf.reshape(pieces, (count * count, SIZE, SIZE, 3))))
    return tf.reshape(head(tf.reduce_mean(features, [1, 2])), (1, count, count, 4))


def score_at_once(image):
    return head(pool(second(first(image))))


@tf.function
def detect(image):
    scores = score_at_once(image) if FIXED else score_windows(image)
    return tf.argmax(tf.reshape(scores, (-1, 4)))


detect(images[0])
for steps in windows(8):
    for step in steps:
        with tf.profiler.experimental.Trace("image", step_num=step, _r=1):
            detect(images[step % 8]).numpy()
