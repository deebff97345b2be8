"""A regression network; its gating layer was set to half precision to save memory."""

import numpy as np
import tensorflow as tf
from window import FIXED, windows

WARMUP = 5
BATCH, FEATURES, HIDDEN, OUTPUTS = 256, 512, 768, 16
GATE_DTYPE = "float32" if FIXED else "mixed_float16"


def make_model():
    layers = tf.keras.layers
    inputs = layers.Input((FEATURES,))
    x = layers.Dense(HIDDEN, activation="gelu")(inputs)
    x = layers.LayerNormalization()(x)
    gate = layers.Dense(12, activation="sigmoid", dtype=GATE_DTYPE, name="gate")(x)
    x = layers.Dense(HIDDEN, activation="gelu")(layers.Concatenate()([x, gate]))
    x = layers.Dense(HIDDEN, activation="gelu")(x)
    return tf.keras.Model(inputs, layers.Dense(OUTPUTS)(x))


class Trainer:
    def __init__(self):
        self.model = make_model()
        self.optimizer = tf.keras.optimizers.SGD(1e-3, momentum=0.9)
        self.optimizer.build(self.model.trainable_variables)
        rng = np.random.default_rng(0)
        self.batches = [
            (
                tf.constant(rng.normal(size=(BATCH, FEATURES)), tf.float32),
                tf.constant(rng.normal(size=(BATCH, OUTPUTS)), tf.float32),
            )
            for _ in range(4)
        ]

    @tf.function
    def train_step(self, x, y):
        with tf.GradientTape() as tape:
            prediction = self.model(x, training=True)
            loss = tf.reduce_mean(tf.square(tf.cast(prediction, tf.float32) - y))
        variables = self.model.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return loss

    def step(self, i):
        x, y = self.batches[i % len(self.batches)]
        self.train_step(x, y).numpy()


trainer = Trainer()
for i in range(WARMUP):
    trainer.step(i)
for steps in windows(12):
    for i in steps:
        with tf.profiler.experimental.Trace("train", step_num=i, _r=1):
            trainer.step(i + WARMUP)
