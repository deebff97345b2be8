"""TensorFlow training whose dataset distorts all images first and then drops five of six of them."""

import numpy as np
import tensorflow as tf
from window import FIXED, windows

rng = np.random.default_rng(0)
images = rng.random((384, 64, 64, 3)).astype(np.float32)
labels = np.arange(384) % 12
model = tf.keras.Sequential(
    [
        tf.keras.layers.Conv2D(8, 3, strides=2, activation="relu"),
        tf.keras.layers.Flatten(),
        tf.keras.layers.Dense(2),
    ]
)
model.build((None, 64, 64, 3))
optimizer = tf.keras.optimizers.SGD(0.01)
loss_fn = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def distort(image, label):
    image = tf.image.random_hue(tf.image.random_flip_left_right(image), 0.1)
    image = tf.image.random_saturation(image, 0.8, 1.2)
    return tf.image.resize(tf.image.random_crop(image, (56, 56, 3)), (64, 64)), label


def is_wanted(_, label):
    return label < 2


data = tf.data.Dataset.from_tensor_slices((images, labels)).shuffle(384).repeat()
data = data.filter(is_wanted).map(distort) if FIXED else data.map(distort).filter(is_wanted)
batches = iter(data.batch(32).prefetch(2))


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
