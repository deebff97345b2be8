"""Trains an averaged-embedding text classifier; tokenising is part of the input pipeline."""

import numpy as np
import tensorflow as tf
from window import FIXED, windows

WARMUP = 6
BATCH, LENGTH, VOCAB, DIM, HIDDEN, CLASSES = 256, 24, 5000, 64, 128, 8


def make_texts():
    rng = np.random.default_rng(0)
    words = ["w%d" % i for i in range(VOCAB)]
    lines = [" ".join(words[k] for k in rng.integers(0, VOCAB, rng.integers(12, 30))) for _ in range(2048)]
    return [line.capitalize() + "!" for line in lines], rng.integers(0, CLASSES, 2048)


class Tokenizer:
    def __init__(self):
        keys = tf.constant(["w%d" % i for i in range(VOCAB)])
        init = tf.lookup.KeyValueTensorInitializer(keys, tf.range(1, VOCAB + 1, dtype=tf.int64))
        self.table = tf.lookup.StaticHashTable(init, 0)

    def __call__(self, text, label):
        text = tf.strings.lower(text)
        text = tf.strings.regex_replace(text, "[!?.,]", "")
        if FIXED:
            words = tf.strings.split(text)
            ids = words.with_flat_values(self.table.lookup(words.flat_values))
            return ids.to_tensor(shape=[None, LENGTH]), label
        ids = self.table.lookup(tf.strings.split(text).flat_values)
        ids = ids[:LENGTH]
        ids = tf.pad(ids, [[0, LENGTH - tf.shape(ids)[0]]])
        return tf.ensure_shape(ids, [LENGTH]), label


class TokenizerSingle(Tokenizer):
    def __call__(self, text, label):
        return super().__call__(text[None], label)


def make_dataset():
    texts, labels = make_texts()
    ds = tf.data.Dataset.from_tensor_slices((texts, labels)).shuffle(2048).repeat()
    if FIXED:
        ds = ds.batch(BATCH, drop_remainder=True).map(Tokenizer())
    else:
        ds = ds.map(TokenizerSingle()).batch(BATCH, drop_remainder=True)
    return ds.prefetch(1)


class Trainer:
    def __init__(self):
        layers = tf.keras.layers
        self.model = tf.keras.Sequential(
            [
                layers.Input((LENGTH,), dtype="int64"),
                layers.Embedding(VOCAB + 1, DIM),
                layers.Conv1D(64, 3, activation="relu"),
                layers.GlobalAveragePooling1D(),
                layers.Dense(HIDDEN, activation="relu"),
                layers.Dense(CLASSES),
            ]
        )
        self.optimizer = tf.keras.optimizers.SGD(0.05)
        self.optimizer.build(self.model.trainable_variables)
        self.loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        self.batches = iter(make_dataset())

    @tf.function
    def train_step(self, ids, labels):
        with tf.GradientTape() as tape:
            loss = self.loss(labels, self.model(ids, training=True))
        variables = self.model.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return loss

    def step(self, i):
        ids, labels = next(self.batches)
        self.train_step(ids, labels).numpy()


trainer = Trainer()
for i in range(WARMUP):
    trainer.step(i)
for steps in windows(12):
    for i in steps:
        with tf.profiler.experimental.Trace("train", step_num=i, _r=1):
            trainer.step(i + WARMUP)
