"""Fraud detection: trains a tabular network and follows its AUC during training."""

import jax
import jax.numpy as jnp
import numpy as np
from window import FIXED, windows

WARMUP = 5
BATCH, FEATURES, HIDDEN = 768, 256, 512


def init_params(key):
    a, b, c = jax.random.split(key, 3)
    return {
        "w1": jax.random.normal(a, (FEATURES, HIDDEN)) * FEATURES**-0.5,
        "w2": jax.random.normal(b, (HIDDEN, HIDDEN)) * HIDDEN**-0.5,
        "w3": jax.random.normal(c, (HIDDEN, 1)) * HIDDEN**-0.5,
    }


def scores_of(params, x):
    x = jax.nn.relu(x @ params["w1"])
    x = jax.nn.relu(x @ params["w2"])
    return (x @ params["w3"])[:, 0]


@jax.jit
def train_step(params, x, y):
    def loss(params):
        s = scores_of(params, x)
        return jnp.mean(jax.nn.softplus(s) - s * y), s

    (value, s), grads = jax.value_and_grad(loss, has_aux=True)(params)
    return jax.tree.map(lambda p, g: p - 0.05 * g, params, grads), value, s


def area_under_curve(scores, labels):
    if FIXED:
        ranks = np.empty(len(scores))
        ranks[np.argsort(scores)] = np.arange(1, len(scores) + 1)
        positives = int(labels.sum())
        wins = ranks[labels == 1].sum() - positives * (positives + 1) / 2
        return wins / (positives * (len(labels) - positives))
    positive = scores[labels == 1].tolist()
    negative = scores[labels == 0].tolist()
    wins = 0.0
    for p in positive:
        for n in negative:
            if p > n:
                wins += 1.0
            elif p == n:
                wins += 0.5
    return wins / (len(positive) * len(negative))


class Trainer:
    def __init__(self):
        self.params = init_params(jax.random.key(0))
        rng = np.random.default_rng(0)
        self.batches = []
        for _ in range(4):
            x = rng.normal(size=(BATCH, FEATURES)).astype(np.float32)
            y = (x[:, 0] + rng.normal(size=BATCH) > 0).astype(np.float32)
            self.batches.append((jnp.asarray(x), jnp.asarray(y), y))
        self.history = []

    def step(self, i):
        x, y, labels = self.batches[i % len(self.batches)]
        self.params, loss, scores = train_step(self.params, x, y)
        self.history.append((float(loss), area_under_curve(np.asarray(scores), labels)))
        jax.block_until_ready(self.params)


trainer = Trainer()
for i in range(WARMUP):
    trainer.step(i)
for steps in windows(12):
    for i in steps:
        with jax.profiler.StepTraceAnnotation("train", step_num=i):
            trainer.step(i + WARMUP)
