"""Training with an exponential moving average of the weights (EMA)."""

import copy

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from window import FIXED, mark_step, windows

WARMUP = 4
BATCH, FEATURES, HIDDEN, CLASSES = 64, 512, 1024, 100
DECAY = 0.999


class Average:
    """The moving average of a model's weights."""

    def __init__(self, model):
        self.state = copy.deepcopy(model.state_dict())

    @torch.no_grad()
    def update(self, model):
        if FIXED:
            for name, value in model.state_dict().items():
                self.state[name].lerp_(value, 1 - DECAY)
        else:
            current = copy.deepcopy(model.state_dict())
            for name, value in current.items():
                self.state[name] = DECAY * self.state[name] + (1 - DECAY) * value

    def copy_to(self, model):
        model.load_state_dict(self.state)


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(HIDDEN)
        self.linear = nn.Linear(HIDDEN, HIDDEN)

    def forward(self, x):
        return x + F.gelu(self.linear(self.norm(x)))


class Trainer:
    def __init__(self):
        torch.manual_seed(0)
        self.model = nn.Sequential(
            nn.Linear(FEATURES, HIDDEN), *[Residual() for _ in range(5)], nn.Linear(HIDDEN, CLASSES)
        )
        self.average = Average(self.model)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)
        rng = np.random.default_rng(0)
        self.batches = [
            (
                torch.from_numpy(rng.normal(size=(BATCH, FEATURES)).astype(np.float32)),
                torch.from_numpy(rng.integers(0, CLASSES, BATCH)),
            )
            for _ in range(4)
        ]

    def step(self, i):
        x, y = self.batches[i % len(self.batches)]
        loss = F.cross_entropy(self.model(x), y, label_smoothing=0.1)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.average.update(self.model)


trainer = Trainer()
for i in range(WARMUP):
    trainer.step(i)
for steps in windows(10, with_stack=True, record_shapes=True, with_modules=True, profile_memory=True):
    for i in steps:
        trainer.step(i + WARMUP)
        mark_step()
