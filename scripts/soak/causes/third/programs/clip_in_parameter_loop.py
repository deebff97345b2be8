"""PyTorch training that clips the gradients of the whole model anew for each of its parameters."""

import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_
from window import FIXED, mark_step, windows

torch.manual_seed(0)
model = nn.Sequential(*[layer for _ in range(32) for layer in (nn.Linear(128, 128), nn.GELU())])
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
x, y = torch.randn(64, 128), torch.randn(64, 128)


def train_step():
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    if FIXED:
        clip_grad_norm_(model.parameters(), 0.5)
    else:
        for parameter in model.parameters():
            if parameter.grad is not None:
                clip_grad_norm_(model.parameters(), 0.5)
    optimizer.step()


train_step()
for steps in windows(15):
    for _ in steps:
        train_step()
        mark_step()
