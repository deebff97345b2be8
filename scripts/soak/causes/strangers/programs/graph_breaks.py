"""A compiled PyTorch model whose layers print and read a number, so that the graph breaks in each of them."""

import torch
from torch import nn
from window import FIXED, mark_step, windows

torch.manual_seed(0)
norms = []


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(64, 64)

    def forward(self, x):
        for _ in range(3):
            x = x * torch.sigmoid(1.5 * x) + 0.1 * torch.tanh(x)
            if not FIXED:
                norms.append(x.norm().item())
            x = x - x.mean(dim=-1, keepdim=True)
        return self.linear(x)


model = nn.Sequential(*[Block() for _ in range(8)])
compiled = torch.compile(model)
x = torch.randn(256, 64)


@torch.no_grad()
def infer():
    return compiled(x)


infer()
for steps in windows(20):
    for _ in steps:
        for _ in range(2):
            infer()
        mark_step()
