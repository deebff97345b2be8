"""Click prediction with embedding bags and a cross network."""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from window import mark_step, windows

WARMUP = 4
BATCH, FIELDS, ROWS, DIM, DENSE, HIDDEN = 512, 8, 5000, 16, 64, 512


class Cross(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)

    def forward(self, first, x):
        return first * self.linear(x) + x


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        width = FIELDS * DIM + DENSE
        self.table = nn.Embedding(FIELDS * ROWS, DIM, sparse=True)
        self.register_buffer("offsets", torch.arange(FIELDS) * ROWS)
        self.crosses = nn.ModuleList(Cross(width) for _ in range(3))
        self.deep = nn.Sequential(
            nn.Linear(width, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, 1)
        )

    def forward(self, ids, dense):
        first = torch.cat([self.table(ids + self.offsets).flatten(1), dense], dim=1)
        x = first
        for cross in self.crosses:
            x = cross(first, x)
        return self.deep(x)[:, 0]


class Trainer:
    def __init__(self):
        torch.manual_seed(0)
        self.model = Net()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.05)
        rng = np.random.default_rng(0)
        self.batches = [
            (
                torch.from_numpy(rng.integers(0, ROWS, (BATCH, FIELDS))),
                torch.from_numpy(rng.normal(size=(BATCH, DENSE)).astype(np.float32)),
                torch.from_numpy((rng.random(BATCH) < 0.2).astype(np.float32)),
            )
            for _ in range(6)
        ]

    def step(self, i):
        ids, dense, clicked = self.batches[i % len(self.batches)]
        loss = F.binary_cross_entropy_with_logits(self.model(ids, dense), clicked)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


trainer = Trainer()
for i in range(WARMUP):
    trainer.step(i)
for steps in windows(10, with_stack=True, record_shapes=True, with_modules=True, profile_memory=True):
    for i in steps:
        trainer.step(i + WARMUP)
        mark_step()
