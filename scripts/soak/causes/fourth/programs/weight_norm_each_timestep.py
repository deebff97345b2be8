"""PyTorch recurrent network that normalizes its weights anew at each of 30 time steps."""

from contextlib import nullcontext

import torch
from torch import nn
from torch.nn.utils import parametrize
from torch.nn.utils.parametrizations import weight_norm
from window import FIXED, mark_step, windows

torch.manual_seed(0)


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = weight_norm(nn.Linear(384, 384))
        self.outer = weight_norm(nn.Linear(384, 384))
        self.head = nn.Linear(384, 10)

    def forward(self, xs):
        state = torch.zeros(xs.shape[1], 384)
        for x in xs:
            state = torch.tanh(self.inner(x) + self.outer(state))
        return self.head(state)


model = Recurrent()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
xs, y = torch.randn(30, 32, 384), torch.randint(0, 10, (32,))


def train_step():
    with parametrize.cached() if FIXED else nullcontext():
        loss = nn.functional.cross_entropy(model(xs), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


train_step()
for steps in windows(8, with_stack=True):
    for _ in steps:
        train_step()
        mark_step()
