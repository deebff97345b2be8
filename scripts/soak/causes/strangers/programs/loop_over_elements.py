"""A PyTorch loss that goes over the elements of a tensor in Python."""

import torch
from torch import nn
from window import FIXED, mark_step, windows

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(128, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x, durations = torch.randn(256, 128), torch.rand(256)


def weights_of(durations):
    if FIXED:
        return torch.where(durations > 0.5, 2.0 * durations, 0.5)
    weights = torch.zeros(len(durations))
    for i in range(len(durations)):
        if durations[i] > 0.5:
            weights[i] = 2.0 * durations[i]
        else:
            weights[i] = 0.5
    return weights


def train_step():
    loss = (weights_of(durations) * (model(x)[:, 0] - durations) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


train_step()
for steps in windows(14, with_stack=True):
    for _ in steps:
        train_step()
        mark_step()
