"""Trains a small convolutional network on compressed pictures, with a tf.data pipeline."""

import numpy as np
import tensorflow as tf
from window import FIXED, windows

WARMUP = 12
PICTURES, BATCH, STORED, SIDE, CLASSES = 256, 32, 256, 64, 10


def encoded_pictures():
    rng = np.random.default_rng(0)
    result = []
    for _ in range(PICTURES):
        coarse = rng.integers(0, 255, (STORED // 8, STORED // 8, 3))
        picture = np.kron(coarse, np.ones((8, 8, 1))).astype(np.uint8)
        result.append(tf.io.encode_jpeg(picture, quality=90).numpy())
    return result


def decode(data, label):
    image = tf.io.decode_jpeg(data, channels=3)
    image = tf.image.resize(image, (SIDE, SIDE), method="bicubic")
    return image / 255.0, label


def make_dataset():
    labels = np.random.default_rng(1).integers(0, CLASSES, PICTURES)
    ds = tf.data.Dataset.from_tensor_slices((encoded_pictures(), labels))
    if FIXED:
        ds = ds.map(decode, num_parallel_calls=2)
        ds = ds.cache()
    else:
        ds = ds.cache()
        ds = ds.map(decode, num_parallel_calls=2)
    ds = ds.shuffle(PICTURES).repeat().batch(BATCH, drop_remainder=True)
    return ds.prefetch(1)


def make_model():
    layers = tf.keras.layers
    return tf.keras.Sequential(
        [
            layers.Input((SIDE, SIDE, 3)),
            layers.Conv2D(16, 3, strides=2, activation="relu", padding="same"),
            layers.Conv2D(24, 3, activation="relu", padding="same"),
            layers.Conv2D(32, 3, strides=2, activation="relu", padding="same"),
            layers.GlobalAveragePooling2D(),
            layers.Dense(CLASSES),
        ]
    )


class Trainer:
    def __init__(self):
        self.model = make_model()
        self.optimizer = tf.keras.optimizers.SGD(0.01, momentum=0.9)
        self.optimizer.build(self.model.trainable_variables)
        self.loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        self.batches = iter(make_dataset())

    @tf.function
    def train_step(self, images, labels):
        with tf.GradientTape() as tape:
            loss = self.loss(labels, self.model(images, training=True))
        variables = self.model.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return loss

    def step(self, i):
        images, labels = next(self.batches)
        self.train_step(images, labels).numpy()


trainer = Trainer()
for i in range(WARMUP):
    trainer.step(i)
for steps in windows(12):
    for i in steps:
        with tf.profiler.experimental.Trace("train", step_num=i, _r=1):
            trainer.step(i + WARMUP)
