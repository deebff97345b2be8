"""Healthy: a compiled PyTorch model without graph breaks on batches of one shape."""

import torch
from torch import nn
from window import mark_step, windows

torch.manual_seed(0)
model = nn.Sequential(*[layer for _ in range(3) for layer in (nn.Linear(512, 512), nn.LayerNorm(512), nn.GELU())])
compiled = torch.compile(model)
x = torch.randn(512, 512)


@torch.no_grad()
def infer():
    return compiled(x)


infer()
for steps in windows(16):
    for _ in steps:
        infer()
        mark_step()
