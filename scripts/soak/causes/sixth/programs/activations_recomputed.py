"""A compiled mixer network on sequences of patch features."""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint
from window import FIXED, mark_step, windows

WARMUP = 5
BATCH, PATCHES, DIM, HIDDEN, LAYERS, CLASSES = 72, 32, 160, 512, 2, 10


class Block(nn.Module):
    """Mixes patches, then features."""

    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(DIM), nn.LayerNorm(DIM)
        self.mix = nn.Linear(PATCHES, PATCHES)
        self.up, self.down = nn.Linear(DIM, HIDDEN), nn.Linear(HIDDEN, DIM)

    def forward(self, x):
        x = x + self.mix(self.norm1(x).transpose(1, 2)).transpose(1, 2)
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Mixer(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.head = nn.Linear(DIM, CLASSES)

    def forward(self, x):
        for block in self.blocks:
            x = block(x) if FIXED else checkpoint(block, x, use_reentrant=False)
        return self.head(x.mean(dim=1))


class Trainer:
    def __init__(self):
        torch.manual_seed(0)
        self.model = Mixer()
        self.compiled = torch.compile(self.model)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3)
        rng = np.random.default_rng(0)
        self.batches = [
            (
                torch.from_numpy(rng.normal(size=(BATCH, PATCHES, DIM)).astype(np.float32)),
                torch.from_numpy(rng.integers(0, CLASSES, BATCH)),
            )
            for _ in range(4)
        ]

    def step(self, i):
        x, y = self.batches[i % len(self.batches)]
        loss = F.cross_entropy(self.compiled(x), y)
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
