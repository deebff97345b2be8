"""Healthy eager PyTorch training of a convolutional network with a loader of tensors."""

import torch
from torch import nn
from window import mark_step, windows

torch.manual_seed(0)
images, labels = torch.randn(512, 3, 32, 32), torch.randint(0, 10, (512,))
model = nn.Sequential(
    nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
    nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
    nn.Conv2d(64, 64, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(64 * 64, 10),
)  # fmt: skip
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)


def train_step(step):
    picked = slice(step % 4 * 128, step % 4 * 128 + 128)
    loss = nn.functional.cross_entropy(model(images[picked]), labels[picked])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


train_step(0)
for steps in windows(6, with_stack=True):
    for step in steps:
        train_step(step)
        mark_step()
