"""Distils a wide network into a narrow one."""

import numpy as np
import tensorflow as tf
from window import FIXED, windows

WARMUP = 5
BATCH, FEATURES, CLASSES, TEMPERATURE = 768, 256, 100, 4.0


def make_network(width, depth):
    layers = tf.keras.layers
    stack = [layers.Input((FEATURES,))]
    stack += [layers.Dense(width, activation="relu") for _ in range(depth)]
    return tf.keras.Sequential(stack + [layers.Dense(CLASSES)])


class Trainer:
    def __init__(self):
        self.teacher = make_network(896, 3)
        self.student = make_network(512, 3)
        self.optimizer = tf.keras.optimizers.Adam(1e-3)
        self.optimizer.build(self.student.trainable_variables)
        rng = np.random.default_rng(0)
        self.batches = [
            (
                tf.constant(rng.normal(size=(BATCH, FEATURES)), tf.float32),
                tf.constant(rng.integers(0, CLASSES, BATCH)),
            )
            for _ in range(4)
        ]

    def teacher_logits(self, x):
        if FIXED:
            return self.teacher(x, training=False)
        return self.teacher.predict(x, batch_size=BATCH, verbose=0)

    @tf.function
    def train_step(self, x, y, taught=None):
        if FIXED:
            taught = self.teacher_logits(x)
        soft = tf.nn.softmax(taught / TEMPERATURE)
        with tf.GradientTape() as tape:
            logits = self.student(x, training=True)
            hard = tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits)
            distil = tf.nn.softmax_cross_entropy_with_logits(soft, logits / TEMPERATURE)
            loss = tf.reduce_mean(0.3 * hard + 0.7 * TEMPERATURE**2 * distil)
        variables = self.student.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return loss

    def step(self, i):
        x, y = self.batches[i % len(self.batches)]
        taught = None if FIXED else self.teacher_logits(x)
        self.train_step(x, y, taught).numpy()


trainer = Trainer()
for i in range(WARMUP):
    trainer.step(i)
for steps in windows(12):
    for i in steps:
        with tf.profiler.experimental.Trace("train", step_num=i, _r=1):
            trainer.step(i + WARMUP)
