"""A PyTorch model whose normalization and activation are written out as a chain of elementwise ops."""

import math

import torch
from torch import nn
from window import FIXED, mark_step, windows

torch.manual_seed(0)


class Norm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.scale, self.shift = nn.Parameter(torch.ones(width)), nn.Parameter(torch.zeros(width))

    def forward(self, x):
        if FIXED:
            return nn.functional.layer_norm(x, x.shape[-1:], self.scale, self.shift)
        mean = x.mean(dim=-1, keepdim=True)
        variance = ((x - mean) ** 2).mean(dim=-1, keepdim=True)
        return (x - mean) / torch.sqrt(variance + 1e-5) * self.scale + self.shift


def gelu(x):
    if FIXED:
        return nn.functional.gelu(x, approximate="tanh")
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.linear = Norm(192), nn.Linear(192, 192)

    def forward(self, x):
        return x + gelu(self.linear(self.norm(x)))


model = nn.Sequential(*[Block() for _ in range(4)])
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x = torch.randn(1024, 192)


def train_step():
    loss = model(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


train_step()
for steps in windows(14):
    for _ in steps:
        train_step()
        mark_step()
