"""Contrastive training (NT-Xent) on two noisy views of each example."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from window import FIXED, mark_step, windows

WARMUP = 4
BATCH, FEATURES, HIDDEN, DIM, TEMPERATURE = 80, 768, 1024, 48, 0.2


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(FEATURES, HIDDEN),
            nn.BatchNorm1d(HIDDEN),
            nn.ReLU(),
            nn.Linear(HIDDEN, HIDDEN),
            nn.BatchNorm1d(HIDDEN),
            nn.ReLU(),
        )
        self.head = nn.Sequential(nn.Linear(HIDDEN, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, DIM))

    def forward(self, x):
        return self.head(self.body(x))


class NTXent(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("targets", torch.arange(2 * BATCH).roll(BATCH))
        self.register_buffer("same", torch.eye(2 * BATCH, dtype=torch.bool))

    def forward(self, a, b):
        z = torch.cat([a, b])
        if FIXED:
            z = F.normalize(z, dim=-1)
            similarity = z @ z.T
        else:
            similarity = F.cosine_similarity(z[:, None, :], z[None, :, :], dim=-1)
        logits = (similarity / TEMPERATURE).masked_fill(self.same, -1e9)
        return F.cross_entropy(logits, self.targets)


class Trainer:
    def __init__(self):
        torch.manual_seed(0)
        self.encoder = Encoder()
        self.criterion = NTXent()
        self.optimizer = torch.optim.SGD(self.encoder.parameters(), lr=0.05, momentum=0.9)
        self.data = torch.randn(8 * BATCH, FEATURES)

    def views(self, i):
        start = i * BATCH % len(self.data)
        x = self.data[start : start + BATCH]
        return x + 0.1 * torch.randn_like(x), x + 0.1 * torch.randn_like(x)

    def step(self, i):
        first, second = self.views(i)
        loss = self.criterion(self.encoder(first), self.encoder(second))
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()


trainer = Trainer()
for i in range(WARMUP):
    trainer.step(i)
for steps in windows(10, with_stack=True, record_shapes=True, with_modules=True, profile_memory=True):
    for i in steps:
        trainer.step(i + WARMUP)
        mark_step()
