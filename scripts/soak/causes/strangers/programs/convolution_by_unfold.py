"""A PyTorch network whose convolution is written as unfold and a matrix product."""

import torch
from torch import nn
from window import FIXED, mark_step, windows

torch.manual_seed(0)


class Convolution(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(outputs, inputs, 3, 3) * 0.1)

    def forward(self, x):
        if FIXED:
            return nn.functional.conv2d(x, self.weight, padding=1)
        patches = nn.functional.unfold(x, 3, padding=1)
        return (self.weight.flatten(1) @ patches).unflatten(-1, x.shape[-2:])


model = nn.Sequential(
    Convolution(3, 16),
    nn.ReLU(),
    Convolution(16, 32),
    nn.ReLU(),
    nn.AdaptiveAvgPool2d(1),
    nn.Flatten(),
    nn.Linear(32, 10),
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
images, labels = torch.randn(24, 3, 32, 32), torch.randint(0, 10, (24,))


def train_step():
    loss = nn.functional.cross_entropy(model(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


train_step()
for steps in windows(14, with_stack=True, record_shapes=True):
    for _ in steps:
        train_step()
        mark_step()
