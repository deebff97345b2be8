"""Sentence classification with a small transformer; sentences come sorted by length."""

import jax
import jax.numpy as jnp
import numpy as np
from window import FIXED, windows

WARMUP = 6
BATCH, MAX_WORDS, VOCAB, DIM, HEADS, LAYERS = 2, 256, 4000, 128, 4, 2
BUCKET = 16


def init_params(key):
    layers = []
    for i in range(LAYERS):
        a, b, c, d = jax.random.split(jax.random.fold_in(key, i), 4)
        layers.append(
            {
                "qkv": jax.random.normal(a, (DIM, 3 * DIM)) * 0.05,
                "out": jax.random.normal(b, (DIM, DIM)) * 0.05,
                "up": jax.random.normal(c, (DIM, 4 * DIM)) * 0.05,
                "down": jax.random.normal(d, (4 * DIM, DIM)) * 0.05,
            }
        )
    return {
        "embed": jax.random.normal(key, (VOCAB, DIM)) * 0.1,
        "layers": layers,
        "head": jax.random.normal(key, (DIM, 5)) * 0.1,
    }


def forward(params, words, mask):
    x = params["embed"][words]
    batch, length, _ = x.shape
    for p in params["layers"]:
        q, k, v = (t.reshape(batch, length, HEADS, -1) for t in jnp.split(x @ p["qkv"], 3, axis=-1))
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / 6.0 + jnp.where(mask, 0.0, -1e9)[:, None, None, :]
        mixed = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v).reshape(batch, length, DIM)
        x = x + mixed @ p["out"]
        x = x + jax.nn.relu(x @ p["up"]) @ p["down"]
    pooled = (x * mask[..., None]).sum(1) / mask.sum(1, keepdims=True)
    return pooled @ params["head"]


@jax.jit
def train_step(params, words, mask, labels):
    def loss(params):
        logp = jax.nn.log_softmax(forward(params, words, mask))
        return -jnp.mean(jnp.take_along_axis(logp, labels[:, None], axis=-1))

    value, grads = jax.value_and_grad(loss)(params)
    return jax.tree.map(lambda p, g: p - 0.01 * g, params, grads), value


def collate(sentences):
    width = -(-max(len(s) for s in sentences) // BUCKET) * BUCKET if FIXED else MAX_WORDS
    words = np.zeros((len(sentences), width), np.int32)
    mask = np.zeros((len(sentences), width), bool)
    for row, sentence in enumerate(sentences):
        words[row, : len(sentence)] = sentence
        mask[row, : len(sentence)] = True
    return words, mask


class Trainer:
    def __init__(self):
        self.params = init_params(jax.random.key(0))
        rng = np.random.default_rng(0)
        self.groups = []
        for longest in (96, 112):  # neighbours in the order of lengths
            sentences = [rng.integers(1, VOCAB, n) for n in rng.integers(longest - 15, longest + 1, BATCH)]
            self.groups.append((sentences, rng.integers(0, 5, BATCH).astype(np.int32)))

    def step(self, i):
        sentences, labels = self.groups[i % len(self.groups)]
        words, mask = collate(sentences)
        self.params, loss = train_step(self.params, words, mask, labels)
        jax.block_until_ready(loss)


trainer = Trainer()
for i in range(WARMUP):
    trainer.step(i)
for steps in windows(12):
    for i in steps:
        with jax.profiler.StepTraceAnnotation("train", step_num=i):
            trainer.step(i + WARMUP)
