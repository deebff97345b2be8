"""Training with an annealed label smoothing that depends on the step."""

import numpy as np
import tensorflow as tf
from window import FIXED, windows

WARMUP = 5
BATCH, FEATURES, HIDDEN, CLASSES = 512, 256, 1024, 50


@tf.function
def smooth_targets(labels, step):
    """One-hot targets, smoothed the less the longer the training runs."""
    keep = 0.2 * tf.exp(-tf.cast(step, tf.float32) / 500.0)
    targets = tf.one_hot(labels, CLASSES)
    return targets * (1.0 - keep) + keep / CLASSES


class Net(tf.Module):
    def __init__(self):
        sizes = [FEATURES, HIDDEN, HIDDEN, CLASSES]
        init = tf.random.Generator.from_seed(0)
        self.weights = [tf.Variable(init.normal((a, b)) * a**-0.5) for a, b in zip(sizes[:-1], sizes[1:])]
        self.biases = [tf.Variable(tf.zeros(b)) for b in sizes[1:]]

    def __call__(self, x):
        for w, b in zip(self.weights[:-1], self.biases[:-1]):
            x = tf.nn.relu(x @ w + b)
        return x @ self.weights[-1] + self.biases[-1]


class Trainer:
    def __init__(self):
        self.net = Net()
        rng = np.random.default_rng(0)
        self.batches = [
            (
                tf.constant(rng.normal(size=(BATCH, FEATURES)), tf.float32),
                tf.constant(rng.integers(0, CLASSES, BATCH)),
            )
            for _ in range(4)
        ]
        self.velocity = [tf.Variable(tf.zeros_like(v), trainable=False) for v in self.net.trainable_variables]

    @tf.function
    def train_step(self, x, targets):
        with tf.GradientTape() as tape:
            logits = self.net(x)
            loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(targets, logits))
        variables = self.net.trainable_variables
        for v, m, g in zip(variables, self.velocity, tape.gradient(loss, variables)):
            m.assign(0.9 * m + g)
            v.assign_sub(0.02 * m)
        return loss

    def step(self, i):
        x, y = self.batches[i % len(self.batches)]
        targets = smooth_targets(y, tf.constant(i) if FIXED else i)
        self.train_step(x, targets).numpy()


trainer = Trainer()
for i in range(WARMUP):
    trainer.step(i)
for steps in windows(12):
    for i in steps:
        with tf.profiler.experimental.Trace("train", step_num=i, _r=1):
            trainer.step(i + WARMUP)
