"""Healthy PyTorch training whose model and loss are compiled together."""

import torch
from torch import nn
from window import mark_step, windows

torch.manual_seed(0)
model = nn.Sequential(
    nn.Linear(256, 768), nn.GELU(), nn.LayerNorm(768), nn.Linear(768, 768), nn.GELU(), nn.Linear(768, 64)
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x, y = torch.randn(256, 256), torch.rand(256, 64)


@torch.compile
def loss_of(x, y):
    odds = torch.sigmoid(model(x))
    near = odds * y + (1 - odds) * (1 - y)
    return (-((1 - near) ** 2) * torch.log(near + 1e-6)).mean()


def train_step():
    loss = loss_of(x, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


for _ in range(3):
    train_step()
for steps in windows(8, with_stack=True):
    for _ in steps:
        train_step()
        mark_step()
