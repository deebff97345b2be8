"""PyTorch fine-tuning of a head that also computes the gradients of the backbone, which nothing uses."""

import torch
from torch import nn
from window import FIXED, mark_step, windows

torch.manual_seed(0)
backbone = nn.Sequential(*[layer for _ in range(6) for layer in (nn.Linear(384, 384), nn.GELU())])
head = nn.Linear(384, 10)
if FIXED:
    backbone.requires_grad_(False)
optimizer = torch.optim.Adam(head.parameters(), lr=1e-3)
x, y = torch.randn(256, 384), torch.randint(0, 10, (256,))


def train_step():
    features = backbone(x)
    loss = nn.functional.cross_entropy(head(features), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


train_step()
for steps in windows(8, with_stack=True):
    for _ in steps:
        train_step()
        mark_step()
