"""A JAX server of recommendations whose refreshing thread holds the lock of the features while it waits for a store."""

import threading
import time

import jax
import jax.numpy as jnp
import numpy as np
from window import FIXED, windows

rng = np.random.default_rng(0)
w = jnp.asarray(rng.normal(0, 0.03, (1024, 1024)), jnp.float32)
lock = threading.Lock()
features = {i: rng.normal(size=1024).astype(np.float32) for i in range(512)}


@jax.jit
def rank(w, x):
    for _ in range(8):
        x = jnp.tanh(x @ w)
    return x.sum(axis=1)


def fetch_row():
    time.sleep(0.025)
    return np.ones(1024, np.float32)


def refresh_features():
    i = 0
    while True:
        if FIXED:
            row = fetch_row()
            with lock:
                features[i % 512] = row
        else:
            with lock:
                features[i % 512] = fetch_row()
        i += 1
        time.sleep(0.005)


def lookup(ids):
    with lock:
        return np.stack([features[i] for i in ids])


def recommend(ids):
    return np.asarray(rank(w, lookup(ids)))


recommend(range(64))
threading.Thread(target=refresh_features, daemon=True).start()
for steps in windows(20):
    for step in steps:
        recommend(range(step % 100, step % 100 + 64))
