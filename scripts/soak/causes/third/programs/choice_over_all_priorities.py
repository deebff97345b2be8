"""PyTorch Q-learning that draws each batch by the probabilities of all transitions in its memory."""

import numpy as np
import torch
from torch import nn
from window import FIXED, mark_step, windows

torch.manual_seed(0)
rng = np.random.default_rng(0)
SIZE, BATCH, FAN = 1_000_000, 128, 1000
states = torch.randn(4096, 128)
priorities = rng.uniform(0.1, 1, SIZE)
groups = priorities.reshape(-1, FAN).sum(1)
model = nn.Sequential(nn.Linear(128, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 6))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)


def draw():
    if not FIXED:
        return rng.choice(SIZE, BATCH, p=priorities / priorities.sum())
    tops = np.cumsum(groups)
    points = rng.uniform(0, tops[-1], BATCH)
    group = np.searchsorted(tops, points)
    within = np.cumsum(priorities.reshape(-1, FAN)[group], axis=1)
    place = (within < (points - tops[group] + groups[group])[:, None]).sum(1)
    return group * FAN + np.minimum(place, FAN - 1)


def train_step():
    rows = draw()
    errors = model(states[rows % 4096]).max(1).values - 1
    optimizer.zero_grad()
    errors.square().mean().backward()
    optimizer.step()
    fresh = errors.detach().abs().numpy() + 0.1
    np.add.at(groups, rows // FAN, fresh - priorities[rows])
    priorities[rows] = fresh


train_step()
for steps in windows(15, with_stack=True):
    for _ in steps:
        train_step()
        mark_step()
