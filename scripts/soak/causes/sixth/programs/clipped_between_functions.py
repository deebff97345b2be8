"""A deep narrow network with gradient clipping and Adam."""

import numpy as np
import tensorflow as tf
from window import FIXED, windows

WARMUP = 5
BATCH, DIM, LAYERS, CLASSES = 96, 160, 6, 10


def make_model():
    layers = tf.keras.layers
    inputs = layers.Input((DIM,))
    x = inputs
    for _ in range(LAYERS):
        y = layers.LayerNormalization()(x)
        y = layers.Dense(2 * DIM, activation="relu")(y)
        x = layers.Add()([x, layers.Dense(DIM)(y)])
    return tf.keras.Model(inputs, layers.Dense(CLASSES)(x))


class Trainer:
    def __init__(self):
        self.model = make_model()
        self.optimizer = tf.keras.optimizers.Adam(1e-3)
        self.optimizer.build(self.model.trainable_variables)
        self.loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        rng = np.random.default_rng(0)
        self.batches = [
            (
                tf.constant(rng.normal(size=(BATCH, DIM)), tf.float32),
                tf.constant(rng.integers(0, CLASSES, BATCH)),
            )
            for _ in range(4)
        ]
        if FIXED:
            self.train_step = tf.function(self.train_step)

    @tf.function
    def gradients(self, x, y):
        with tf.GradientTape() as tape:
            loss = self.loss(y, self.model(x, training=True))
        return loss, tape.gradient(loss, self.model.trainable_variables)

    @tf.function
    def apply(self, gradients):
        self.optimizer.apply_gradients(zip(gradients, self.model.trainable_variables))

    def train_step(self, x, y):
        loss, gradients = self.gradients(x, y)
        gradients, norm = tf.clip_by_global_norm(gradients, 1.0)
        self.apply(gradients)
        return loss, norm

    def step(self, i):
        x, y = self.batches[i % len(self.batches)]
        loss, norm = self.train_step(x, y)
        loss.numpy()


trainer = Trainer()
for i in range(WARMUP):
    trainer.step(i)
for steps in windows(12):
    for i in steps:
        with tf.profiler.experimental.Trace("train", step_num=i, _r=1):
            trainer.step(i + WARMUP)
