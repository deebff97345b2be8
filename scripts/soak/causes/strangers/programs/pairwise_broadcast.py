"""A PyTorch contrastive loss that forms all differences between two sets of points, a tensor of three dimensions."""

import torch
from torch import nn
from window import FIXED, mark_step, windows

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(64, 512), nn.ReLU(), nn.Linear(512, 32))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
a, b = torch.randn(320, 64), torch.randn(320, 64)


def squared_distances(p, q):
    if FIXED:
        return (p**2).sum(1)[:, None] + (q**2).sum(1)[None] - 2 * p @ q.T
    return ((p[:, None] - q[None]) ** 2).sum(dim=-1)


def train_step():
    distances = squared_distances(model(a), model(b))
    loss = nn.functional.cross_entropy(-distances, torch.arange(320))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


train_step()
for steps in windows(14):
    for _ in steps:
        train_step()
        mark_step()
