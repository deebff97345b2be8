"""TensorFlow training whose dataset enlarges whole photos to cut a small piece out of them."""

import numpy as np
import tensorflow as tf
from window import FIXED, windows

rng = np.random.default_rng(0)
photos = rng.integers(0, 255, (48, 160, 160, 3), np.uint8)
labels = rng.integers(0, 10, 48)
model = tf.keras.Sequential(
    [
        tf.keras.layers.Conv2D(16, 3, strides=2, activation="relu"),
        tf.keras.layers.Conv2D(32, 3, strides=2, activation="relu"),
        tf.keras.layers.Flatten(),
        tf.keras.layers.Dense(10),
    ]
)
model.build((None, 64, 64, 3))
optimizer = tf.keras.optimizers.SGD(0.01)
loss_fn = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def augment(photo, label):
    photo = tf.image.convert_image_dtype(photo, tf.float32)
    if FIXED:
        piece = tf.image.resize(tf.image.random_crop(photo, (32, 32, 3)), (64, 64))
    else:
        piece = tf.image.random_crop(tf.image.resize(photo, (320, 320)), (64, 64, 3))
    return piece, label


data = tf.data.Dataset.from_tensor_slices((photos, labels)).repeat().map(augment, tf.data.AUTOTUNE)
batches = iter(data.batch(48).prefetch(tf.data.AUTOTUNE))


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = loss_fn(y, model(x))
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    return loss


train_step(*next(batches))
for steps in windows(8):
    for step in steps:
        with tf.profiler.experimental.Trace("train", step_num=step, _r=1):
            train_step(*next(batches)).numpy()
