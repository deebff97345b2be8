"""PyTorch training whose batches are made by torch.tensor of a list of arrays."""

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader
from window import FIXED, mark_step, windows

torch.manual_seed(0)
rng = np.random.default_rng(0)
WIDTH = 4096
examples = [(rng.normal(size=WIDTH).astype(np.float32), int(rng.integers(10))) for _ in range(256)]
model = nn.Sequential(nn.Linear(WIDTH, 128), nn.ReLU(), nn.Linear(128, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)


def collate(rows):
    features, labels = zip(*rows)
    if FIXED:
        return torch.from_numpy(np.stack(features)), torch.tensor(labels)
    return torch.tensor(features), torch.tensor(labels)


def forever():
    loader = DataLoader(examples, batch_size=64, shuffle=True, collate_fn=collate)
    while True:
        yield from loader


batches = forever()


def train_step(x, y):
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


train_step(*next(batches))
for steps in windows(15, with_stack=True):
    for _ in steps:
        train_step(*next(batches))
        mark_step()
