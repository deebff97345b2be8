"""Healthy PyTorch inference of a compiled mixing network."""

import torch
from torch import nn
from window import mark_step, windows

torch.manual_seed(0)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(256)
        self.across, self.within = nn.Linear(64, 64), nn.Linear(256, 256)

    def forward(self, x):
        x = x + self.across(self.norm(x).transpose(1, 2)).transpose(1, 2)
        return x + nn.functional.gelu(self.within(x))


model = torch.compile(nn.Sequential(*[Block() for _ in range(3)]).eval())
batches = torch.randn(4, 32, 64, 256)
with torch.inference_mode():
    for batch in batches:
        model(batch)
    for steps in windows(15, with_stack=True):
        for step in steps:
            model(batches[step % 4])
            mark_step()
