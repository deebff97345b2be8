"""Trains a small residual network on pictures, with augmentation on the batch inside the graph."""

import numpy as np
import tensorflow as tf
from window import windows

WARMUP = 6
BATCH, SIDE, CLASSES = 16, 48, 10


def make_model():
    layers = tf.keras.layers
    inputs = layers.Input((SIDE, SIDE, 3))
    x = layers.Conv2D(16, 3, padding="same", use_bias=False)(inputs)
    for width, stride in ((16, 1), (32, 2), (64, 2)):
        y = layers.BatchNormalization()(x)
        y = layers.Conv2D(width, 3, strides=stride, padding="same", activation="relu")(y)
        y = layers.Conv2D(width, 3, padding="same")(y)
        if stride != 1:
            x = layers.Conv2D(width, 1, strides=stride)(x)
        x = layers.Add()([x, y])
    x = layers.GlobalAveragePooling2D()(x)
    return tf.keras.Model(inputs, layers.Dense(CLASSES)(x))


def make_dataset():
    rng = np.random.default_rng(0)
    images = rng.integers(0, 255, (640, SIDE, SIDE, 3)).astype(np.float32) / 255.0
    labels = rng.integers(0, CLASSES, 640)
    ds = tf.data.Dataset.from_tensor_slices((images, labels)).cache().shuffle(640).repeat()
    return ds.batch(BATCH, drop_remainder=True).prefetch(2)


class Trainer:
    def __init__(self):
        self.model = make_model()
        self.optimizer = tf.keras.optimizers.SGD(0.05, momentum=0.9)
        self.optimizer.build(self.model.trainable_variables)
        self.loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        self.batches = iter(make_dataset())

    @tf.function
    def train_step(self, images, labels):
        images = tf.image.random_flip_left_right(images)
        images = images + tf.random.uniform((BATCH, 1, 1, 1), -0.1, 0.1)
        with tf.GradientTape() as tape:
            loss = self.loss(labels, self.model(images, training=True))
        variables = self.model.trainable_variables
        gradients, _ = tf.clip_by_global_norm(tape.gradient(loss, variables), 5.0)
        self.optimizer.apply_gradients(zip(gradients, variables))
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
