"""A TensorFlow step that computes a ranking metric per query in NumPy, through numpy_function."""

import numpy as np
import tensorflow as tf
from window import FIXED, windows

QUERIES, DOCUMENTS, WIDTH = 256, 50, 128
rng = np.random.default_rng(0)
x = tf.constant(rng.normal(size=(QUERIES, DOCUMENTS, WIDTH)), tf.float32)
relevance = tf.constant(rng.integers(0, 4, (QUERIES, DOCUMENTS)), tf.float32)
w1 = tf.Variable(tf.random.normal((WIDTH, 256), stddev=0.05))
w2 = tf.Variable(tf.random.normal((256, 1), stddev=0.05))
metric = tf.Variable(0.0)


def ndcg_numpy(scores, relevance):
    values = []
    for s, r in zip(scores, relevance):
        gains = [2 ** r[i] / np.log2(2 + rank) for rank, i in enumerate(np.argsort(-s))]
        best = [2**g / np.log2(2 + rank) for rank, g in enumerate(sorted(r, reverse=True))]
        values.append(sum(gains) / sum(best))
    return np.float32(np.mean(values))


def ndcg_graph(scores, relevance):
    discount = tf.math.log(tf.range(2.0, DOCUMENTS + 2)) / tf.math.log(2.0)
    ranked = tf.gather(relevance, tf.argsort(scores, direction="DESCENDING"), batch_dims=1)
    best = tf.sort(relevance, direction="DESCENDING")
    return tf.reduce_mean(tf.reduce_sum(2**ranked / discount, 1) / tf.reduce_sum(2**best / discount, 1))


@tf.function
def train_step():
    with tf.GradientTape() as tape:
        scores = tf.tanh(x @ w1) @ w2
        scores = tf.squeeze(scores, -1)
        loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(tf.nn.softmax(relevance), scores))
    for w, g in zip((w1, w2), tape.gradient(loss, (w1, w2))):
        w.assign_sub(0.1 * g)
    if FIXED:
        metric.assign(ndcg_graph(scores, relevance))
    else:
        metric.assign(tf.numpy_function(ndcg_numpy, [scores, relevance], tf.float32))
    return loss


train_step()
for steps in windows(12):
    for step in steps:
        with tf.profiler.experimental.Trace("train", step_num=step, _r=1):
            loss = train_step()
    loss.numpy()
