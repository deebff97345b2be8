"""A grain pipeline whose map tokenizes in pure Python, read in the training loop without prefetching."""

import grain
import jax
import jax.numpy as jnp
import numpy as np
from window import FIXED, windows

rng = np.random.default_rng(0)
texts = ["".join(chr(97 + c) for c in rng.integers(0, 26, 1500)) for _ in range(400)]
table = jnp.asarray(rng.normal(0, 0.1, (256, 128)), jnp.float32)


def tokenize(text):
    if FIXED:
        return (np.frombuffer(text.encode(), np.uint8).astype(np.int32) * 31 + 7) % 256
    tokens = []
    for letter in text:
        tokens.append((ord(letter.lower()) * 31 + 7) % 256 if letter.isalpha() else 0)
    return np.asarray(tokens, np.int32)


@jax.jit
def train_step(table, tokens):
    loss, grad = jax.value_and_grad(lambda t: jnp.mean(jnp.tanh(t[tokens].mean(axis=1) @ t.T) ** 2))(table)
    return table - 0.1 * grad, loss


loader = iter(
    grain.MapDataset.source(texts)
    .shuffle(seed=1)
    .map(tokenize)
    .batch(16)
    .repeat()
    .to_iter_dataset(grain.ReadOptions(num_threads=0, prefetch_buffer_size=0))
)
table, loss = train_step(table, next(loader))
for steps in windows(20):
    for step in steps:
        with jax.profiler.StepTraceAnnotation("train", step_num=step):
            batch = next(loader)
            table, loss = train_step(table, batch)
            loss.block_until_ready()
