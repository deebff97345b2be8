"""Trains a network; a thread writes compressed snapshots of the latest weights."""

import threading
import zlib

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from window import FIXED, mark_step, windows

WARMUP = 6
BATCH, FEATURES, HIDDEN, CLASSES = 512, 256, 512, 30


class Snapshots:
    """Holds the latest weights; a thread compresses each of them once."""

    def __init__(self, size):
        self.lock = threading.Lock()
        self.buffer = np.zeros(size, np.float32)
        self.fresh = threading.Event()
        self.written = 0
        threading.Thread(target=self.run, daemon=True).start()

    def publish(self, weights):
        with self.lock:
            self.buffer[: len(weights)] = weights
        self.fresh.set()

    def run(self):
        while True:
            self.fresh.wait()
            self.fresh.clear()
            with self.lock:
                data = self.buffer.tobytes()
                if not FIXED:
                    data = zlib.compress(data, 1)
            if FIXED:
                data = zlib.compress(data, 1)
            self.written += len(data)


class Trainer:
    def __init__(self):
        torch.manual_seed(0)
        self.model = nn.Sequential(
            nn.Linear(FEATURES, HIDDEN),
            nn.ReLU(),
            nn.Linear(HIDDEN, HIDDEN),
            nn.ReLU(),
            nn.Linear(HIDDEN, CLASSES),
        )
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)
        self.snapshots = Snapshots(sum(p.numel() for p in self.model.parameters()))
        rng = np.random.default_rng(0)
        self.batches = [
            (
                torch.from_numpy(rng.normal(size=(BATCH, FEATURES)).astype(np.float32)),
                torch.from_numpy(rng.integers(0, CLASSES, BATCH)),
            )
            for _ in range(4)
        ]

    def head_weights(self):
        """The layers that others follow: the last two."""
        parts = [p.detach().reshape(-1) for p in list(self.model.parameters())[2:]]
        return torch.cat(parts).numpy()

    def step(self, i):
        x, y = self.batches[i % len(self.batches)]
        loss = F.cross_entropy(self.model(x), y)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.snapshots.publish(self.head_weights())


trainer = Trainer()
for i in range(WARMUP):
    trainer.step(i)
for steps in windows(10, with_stack=True, record_shapes=True, with_modules=True, profile_memory=True):
    for i in steps:
        trainer.step(i + WARMUP)
        mark_step()
