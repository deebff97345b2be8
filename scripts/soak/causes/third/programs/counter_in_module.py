"""PyTorch compiled model that counts its own calls in an attribute, which ends in eager mode."""

import logging

import torch
from torch import nn
from window import FIXED, mark_step, windows

logging.getLogger("torch._dynamo").setLevel(logging.ERROR)
torch.manual_seed(0)


class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(1024))
        self.calls = 0

    def forward(self, x):
        if not FIXED:
            self.calls += 1
            if self.calls % 1000 == 0:
                logging.info("%d calls", self.calls)
        for _ in range(4):
            inner = 0.8 * (x + 0.04 * x.pow(3)) * self.scale
            x = 0.5 * x * (1 + inner.tanh()) + inner.sigmoid() * 0.1 - inner.exp() / (3 + inner.exp())
        return x


model = torch.compile(Gate())
x = torch.randn(256, 1024)
calls = 0
with torch.no_grad():
    for _ in range(12):
        model(x)
    for steps in windows(15, with_stack=True):
        for _ in steps:
            model(x)
            calls += 1
            if calls % 1000 == 0:
                logging.info("%d calls", calls)
            mark_step()
