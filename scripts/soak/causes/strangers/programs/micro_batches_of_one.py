"""PyTorch gradient accumulation over 32 microbatches of a single example, though the whole batch would fit."""

import torch
from torch import nn
from window import FIXED, mark_step, windows

MICRO = 1 if not FIXED else 32
torch.manual_seed(0)
model = nn.Sequential(
    nn.Conv2d(3, 16, 3, padding=1),
    nn.GroupNorm(4, 16),
    nn.ReLU(),
    nn.Conv2d(16, 32, 3, stride=2, padding=1),
    nn.GroupNorm(4, 32),
    nn.ReLU(),
    nn.AdaptiveAvgPool2d(4),
    nn.Flatten(),
    nn.Linear(512, 512),
    nn.ReLU(),
    nn.Linear(512, 10),
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
images, labels = torch.randn(32, 3, 24, 24), torch.randint(0, 10, (32,))


def train_step():
    optimizer.zero_grad()
    for x, y in zip(images.split(MICRO), labels.split(MICRO)):
        loss = nn.functional.cross_entropy(model(x), y) * (MICRO / 32)
        loss.backward()
    optimizer.step()


train_step()
for steps in windows(14):
    for _ in steps:
        train_step()
        mark_step()
