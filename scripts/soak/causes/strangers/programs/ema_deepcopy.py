"""PyTorch training that copies the whole model to average its weights, at each step."""

import copy

import torch
from torch import nn
from window import FIXED, mark_step, windows

torch.manual_seed(0)
model = nn.Sequential(*[layer for _ in range(24) for layer in (nn.Linear(384, 384), nn.LayerNorm(384), nn.ReLU())])
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
average = copy.deepcopy(model)
x = torch.randn(16, 384)


@torch.no_grad()
def update_average():
    global average
    if FIXED:
        torch._foreach_lerp_(list(average.parameters()), list(model.parameters()), 0.01)
        return
    updated = copy.deepcopy(model)
    for new, old in zip(updated.parameters(), average.parameters()):
        new.copy_(0.99 * old + 0.01 * new)
    average = updated


def train_step():
    loss = model(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    update_average()


train_step()
for steps in windows(14, with_stack=True):
    for _ in steps:
        train_step()
        mark_step()
