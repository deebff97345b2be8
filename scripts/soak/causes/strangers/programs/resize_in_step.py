"""A PyTorch classifier that enlarges its small images bicubically in each step, only to shrink them again."""

import torch
from torch import nn
from torch.nn.functional import interpolate
from window import FIXED, mark_step, windows

torch.manual_seed(0)
model = nn.Sequential(
    nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.ReLU(), nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.ReLU(),
    nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(512, 10)
)  # fmt: skip
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
images, labels = torch.rand(16, 3, 64, 64), torch.randint(0, 10, (16,))


def prepare(images):
    if FIXED:
        return images
    large = interpolate(images, size=(256, 256), mode="bicubic", antialias=True)
    large = (large - 0.5) / 0.25
    return interpolate(large, size=(64, 64), mode="bicubic", antialias=True)


def train_step():
    loss = nn.functional.cross_entropy(model(prepare(images)), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


train_step()
for steps in windows(14, with_stack=True):
    for _ in steps:
        train_step()
        mark_step()
