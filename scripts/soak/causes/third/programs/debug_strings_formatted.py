"""PyTorch model whose layers format their tensors for debug messages that are not written anywhere."""

import logging

import torch
from torch import nn
from window import FIXED, mark_step, windows

logging.basicConfig(level=logging.INFO)
log = logging.getLogger("model")
torch.manual_seed(0)


class Block(nn.Module):
    def __init__(self, number):
        super().__init__()
        self.number = number
        self.inner = nn.Sequential(nn.LayerNorm(256), nn.Linear(256, 512), nn.GELU(), nn.Linear(512, 256))

    def forward(self, x):
        x = x + self.inner(x)
        if FIXED:
            log.debug("block %d gives %s", self.number, x)
        else:
            log.debug(f"block {self.number} gives {x}")
        return x


model = nn.Sequential(*[Block(number) for number in range(10)])
optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
x = torch.randn(4, 32, 256)


def train_step():
    loss = model(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


for steps in windows(12, with_stack=True):
    for _ in steps:
        train_step()
        mark_step()
