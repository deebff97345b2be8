"""A tf.data pipeline from a Python generator that builds each sentence's n-grams in pure Python."""

import numpy as np
import tensorflow as tf
from window import FIXED, windows

rng = np.random.default_rng(0)
sentences = rng.integers(0, 1000, (300, 400)).tolist()


def samples():
    while True:
        for sentence in sentences:
            yield [(a * 31 + b * 17 + c) % 1024 for a, b, c in zip(sentence, sentence[1:], sentence[2:])]


def hashed(sentence):
    return (sentence[:, :-2] * 31 + sentence[:, 1:-1] * 17 + sentence[:, 2:]) % 1024


if FIXED:
    dataset = (
        tf.data.Dataset.from_tensor_slices(np.asarray(sentences, np.int32))
        .repeat()
        .batch(64, drop_remainder=True)
        .map(hashed)
    )
else:
    dataset = tf.data.Dataset.from_generator(samples, output_signature=tf.TensorSpec((398,), tf.int32)).batch(64)
dataset = dataset.prefetch(2)
table = tf.Variable(tf.random.normal((1024, 32)))


@tf.function
def train_step(x):
    with tf.GradientTape() as tape:
        embedded = tf.reduce_mean(tf.nn.embedding_lookup(tf.convert_to_tensor(table), x), axis=1)
        loss = tf.reduce_mean(tf.tanh(embedded @ tf.transpose(table)) ** 2)
    table.assign_sub(0.1 * tape.gradient(loss, table))
    return loss


batches = iter(dataset)
for _ in range(3):
    train_step(next(batches))
for steps in windows(20):
    for step in steps:
        with tf.profiler.experimental.Trace("train", step_num=step, _r=1):
            loss = train_step(next(batches))
    loss.numpy()
