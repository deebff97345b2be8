"""Healthy TensorFlow training of a segmentation network, with flips in a parallel and prefetched dataset."""

import numpy as np
import tensorflow as tf
from window import windows

rng = np.random.default_rng(0)
images = rng.random((256, 48, 48, 3)).astype(np.float32)
masks = (images.mean(-1, keepdims=True) > 0.5).astype(np.float32)
layers = [tf.keras.layers.Conv2D(24, 3, padding="same", activation="relu") for _ in range(3)]
model = tf.keras.Sequential([*layers, tf.keras.layers.Conv2D(1, 1)])
model.build((None, 48, 48, 3))
optimizer = tf.keras.optimizers.Adam(1e-3)


def flip(image, mask):
    both = tf.image.random_flip_left_right(tf.concat([image, mask], -1))
    return both[..., :3], both[..., 3:]


data = tf.data.Dataset.from_tensor_slices((images, masks)).shuffle(256).repeat()
batches = iter(data.map(flip, tf.data.AUTOTUNE).batch(16, drop_remainder=True).prefetch(tf.data.AUTOTUNE))


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(y, model(x)))
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    return loss


train_step(*next(batches))
for steps in windows(8):
    for step in steps:
        with tf.profiler.experimental.Trace("train", step_num=step, _r=1):
            train_step(*next(batches)).numpy()
