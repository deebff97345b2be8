"""Node classification on a citation-like graph, with edges sorted by receiver."""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from window import mark_step, windows

WARMUP = 4
NODES, EDGES, FEATURES, HIDDEN, CLASSES = 2000, 12000, 128, 192, 7


class SageLayer(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.own, self.other = nn.Linear(inputs, outputs), nn.Linear(inputs, outputs, bias=False)

    def forward(self, x, senders, receivers, degree):
        total = torch.zeros_like(x).index_add_(0, receivers, x.index_select(0, senders))
        return self.own(x) + self.other(total / degree)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = SageLayer(FEATURES, HIDDEN), SageLayer(HIDDEN, HIDDEN)
        self.head = nn.Linear(HIDDEN, CLASSES)

    def forward(self, x, graph):
        x = F.relu(self.first(x, *graph))
        x = F.dropout(F.relu(self.second(x, *graph)), 0.3, self.training)
        return self.head(x)


class Trainer:
    def __init__(self):
        torch.manual_seed(0)
        self.model = Net()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3, foreach=True)
        rng = np.random.default_rng(0)
        receivers = np.sort(rng.integers(0, NODES, EDGES))
        degree = np.maximum(np.bincount(receivers, minlength=NODES), 1).astype(np.float32)
        self.graph = (
            torch.from_numpy(rng.integers(0, NODES, EDGES)),
            torch.from_numpy(receivers),
            torch.from_numpy(degree)[:, None],
        )
        self.nodes = torch.from_numpy(rng.normal(size=(NODES, FEATURES)).astype(np.float32))
        self.labels = torch.from_numpy(rng.integers(0, CLASSES, NODES))
        self.known = torch.from_numpy(np.flatnonzero(rng.random(NODES) < 0.5))

    def step(self, i):
        logits = self.model(self.nodes, self.graph)
        loss = F.cross_entropy(logits[self.known], self.labels[self.known])
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
