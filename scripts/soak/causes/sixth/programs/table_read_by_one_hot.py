"""A two-tower recommender with users, items and shops, trained on sampled pairs."""

import numpy as np
import tensorflow as tf
from window import FIXED, windows

WARMUP = 5
BATCH, DIM, HIDDEN = 384, 32, 512
SIZES = {"user": 6000, "item": 5000, "shop": 2000}


class Recommender(tf.Module):
    def __init__(self):
        init = tf.random.Generator.from_seed(0)
        self.tables = {name: tf.Variable(init.normal((size, DIM)) * 0.1, name=name) for name, size in SIZES.items()}
        width = DIM * len(SIZES)
        self.w1 = tf.Variable(init.normal((width, HIDDEN)) * width**-0.5)
        self.w2 = tf.Variable(init.normal((HIDDEN, HIDDEN)) * HIDDEN**-0.5)
        self.w3 = tf.Variable(init.normal((HIDDEN, 1)) * HIDDEN**-0.5)

    def lookup(self, name, ids):
        if FIXED:
            return tf.gather(self.tables[name], ids)
        return tf.one_hot(ids, SIZES[name]) @ self.tables[name]

    def __call__(self, ids):
        vectors = [self.lookup(name, ids[name]) for name in SIZES]
        x = tf.concat(vectors, axis=-1)
        x = tf.nn.relu(x @ self.w1)
        x = tf.nn.relu(x @ self.w2)
        return tf.squeeze(x @ self.w3, -1)


class Trainer:
    def __init__(self):
        self.model = Recommender()
        self.optimizer = tf.keras.optimizers.SGD(0.05)
        self.optimizer.build(self.model.trainable_variables)
        rng = np.random.default_rng(0)
        self.batches = []
        for _ in range(4):
            ids = {name: tf.constant(rng.integers(0, size, BATCH)) for name, size in SIZES.items()}
            bought = tf.constant((rng.random(BATCH) < 0.3).astype(np.float32))
            self.batches.append((ids, bought))

    @tf.function
    def train_step(self, ids, bought):
        with tf.GradientTape() as tape:
            logits = self.model(ids)
            loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(bought, logits))
        variables = self.model.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return loss

    def step(self, i):
        ids, bought = self.batches[i % len(self.batches)]
        self.train_step(ids, bought).numpy()


trainer = Trainer()
for i in range(WARMUP):
    trainer.step(i)
for steps in windows(12):
    for i in steps:
        with tf.profiler.experimental.Trace("train", step_num=i, _r=1):
            trainer.step(i + WARMUP)
